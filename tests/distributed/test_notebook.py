"""The recipe for notebooks on the page about clusters, with the engines of ipyparallel."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.distributed.launching import ROOT

# Runs cells as a notebook does, and prints what each engine has.
_RUN = """
import sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for cell in sys.stdin.read().split("# ---- cell\\n"):
    shell.run_cell(cell).raise_error()
"""
_TRAIN = """\
%%px
store.init("weight", mx.nd.zeros(3))
store.push("weight", mx.nd.ones(3) * (rank + 1))
out = mx.nd.zeros(3)
store.pull("weight", out=out)
sums = out.asnumpy().tolist()
"""
_READ = """\
print("sums", client[:]["sums"], client[:].apply_sync(lambda: store.num_workers))
"""


def cells() -> list[str]:
    """The cells of the page: one in the notebook's own process, one in all engines, and the end."""
    page = (ROOT / "docs" / "howto" / "cluster.md").read_text()
    recipe = page.partition("## From a notebook\n")[2].partition("\n## ")[0]
    code = [line for line in recipe.splitlines() if line.startswith("    ") or not line]
    first, in_all = textwrap.dedent("\n".join(code)).strip().split("%%")
    return [first, f"%%{in_all}", "client.shutdown(hub=True)"]


def test_cells_in_all_engines(tmp_path: Path) -> None:
    pytest.importorskip(
        "ipyparallel", reason="runs engines of ipyparallel: pip install ipyparallel"
    )
    first, in_all, end = cells()
    program = "# ---- cell\n".join([first, in_all, _TRAIN, _READ, end])
    env = {**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _RUN], input=program, capture_output=True, text=True, timeout=240,
        cwd=tmp_path, env=env,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"sums {[[3.0] * 3] * 2} {[2, 2]}" in done.stdout
