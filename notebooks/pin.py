"""Pin what the notebooks need: ``python notebooks/pin.py`` writes ``constraints.txt`` from what
is installed here.

Run it in a fresh environment (``make clean lab CONSTRAINTS=``), run the notebooks there, then
commit the file.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

FILE = Path(__file__).parent / "constraints.txt"

HEAD = """# What the notebooks were run with: `make lab`, `make tour` and Binder install these versions,
# so that a course given next year still runs. CPU only; Python 3.11 to 3.13.
# Written by `python notebooks/pin.py`.
"""


def plain(name: str) -> str:
    """A package's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(root: str = "mixnet", extra: str = "lab") -> dict[str, str]:
    """Everything that ``root[extra]`` installs, with the versions that are installed.

    Raises:
        PackageNotFoundError: something of it is not installed here.
    """
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(root, ""), (root, extra)]
    while waiting:
        name, part = waiting.pop()
        if (plain(name), part) in seen:
            continue
        seen.add((plain(name), part))
        package = distribution(name)
        if plain(name) != plain(root):
            found[plain(name)] = package.version
        for text in package.requires or []:
            each = Requirement(text)
            if each.marker is None or each.marker.evaluate({"extra": part}):
                waiting += [(each.name, ""), *((each.name, one) for one in each.extras)]
    return dict(sorted(found.items()))


def main() -> None:
    """Write the file."""
    try:
        packages = needed()
    except PackageNotFoundError as error:
        raise SystemExit(f"{error} is not installed: pip install -e '.[lab]' first.") from None
    lines = "".join(f"{name}=={version}\n" for name, version in packages.items())
    FILE.write_text(HEAD + lines, encoding="utf-8")
    print(f"{len(packages)} versions in {FILE}")


if __name__ == "__main__":
    main()
