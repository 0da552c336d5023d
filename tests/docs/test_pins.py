"""One file pins all packages that the notebooks and Binder install."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = ROOT / "notebooks" / "constraints.txt"
LINES = [line for line in FILE.read_text().splitlines() if line and not line.startswith("#")]


def test_every_line_is_a_version() -> None:
    assert [line for line in LINES if not re.fullmatch(r"[a-z0-9-]+==[\w.]+(; .+)?", line)] == []


def test_versions_are_within_what_the_package_allows() -> None:
    requirements = pytest.importorskip("packaging.requirements", reason="pip install packaging")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    pinned = dict(line.partition(";")[0].split("==") for line in LINES)
    for text in [*project["dependencies"], *extras["lab"], *extras["widgets"]]:
        each = requirements.Requirement(text)
        name = re.sub(r"[-_.]+", "-", each.name).lower()
        if name != "mixnet":
            assert name in pinned, (
                f"{name} is not in notebooks/constraints.txt: python notebooks/pin.py"
            )
            assert each.specifier.contains(pinned[name]), f"{text}, but {pinned[name]} is pinned"


def test_everything_that_is_installed_for_the_notebooks_is_pinned() -> None:
    pytest.importorskip("jupyterlab", reason="pip install '.[lab]'")
    code = "import pin, json; print(json.dumps(sorted(pin.needed())))"
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=FILE.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    if "ModuleNotFoundError" in process.stderr or "PackageNotFoundError" in process.stderr:
        pytest.skip(f"needs mixnet[lab] and packaging installed: {process.stderr.splitlines()[-1]}")
    assert process.returncode == 0, process.stderr
    pinned = {line.split("==")[0] for line in LINES}
    assert [name for name in eval(process.stdout) if name not in pinned] == []


def test_make_and_binder_take_the_file() -> None:
    assert "notebooks/constraints.txt" in (ROOT / "Makefile").read_text()
    assert (ROOT / "binder" / "requirements.txt").read_text().splitlines() == [
        "-c ../notebooks/constraints.txt",
        "-e .[lab]",
    ]


def test_repo2docker_uses_the_files_in_binder() -> None:
    program = shutil.which(
        "jupyter-repo2docker", path=str(Path(sys.executable).parent)
    ) or shutil.which("jupyter-repo2docker")
    if program is None:
        pytest.skip("pip install jupyter-repo2docker to see what Binder would do")
    process = subprocess.run(
        [program, "--no-build", "--debug", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    output = process.stdout + process.stderr
    assert process.returncode == 0, output[-2000:]
    assert "python=3.11" in output
    assert 'pip install --no-cache-dir -r "binder/requirements.txt"' in output
    assert "RUN ./binder/postBuild" in output
    # The pins lie outside of binder/: the whole checkout has to be there before pip runs.
    assert output.index("COPY --chown=0:0 src/ ") < output.index("pip install --no-cache-dir -r")
    assert (ROOT / "binder" / "postBuild").stat().st_mode & 0o111
