"""Build the table of settings: ``python docs/reference/build_settings.py`` writes ``settings.md``.

Everything in it comes from ``mixnet/config.py``. A test fails when the page is not what it gives.
"""

from __future__ import annotations

from pathlib import Path

from mixnet.config import SETTINGS

PAGE = Path(__file__).parent / "settings.md"

HEAD = """# Settings

Every setting is an environment variable, read when mixnet is imported. Those that begin with `MXNET_` are
MXNet's own; the rest of MXNet's variables control its C++ library (memory pools, cuDNN, MKL-DNN, TensorRT)
and mean nothing here.

| variable | default | what it does |
| --- | --- | --- |
"""


def page() -> str:
    """The page."""
    rows = []
    for name, setting in sorted(SETTINGS.items()):
        default = setting.default if setting.default != "" else "empty"
        rows.append(f"| `{name}` | `{default}` | {setting.sentence} |\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
