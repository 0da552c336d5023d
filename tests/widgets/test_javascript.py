"""The front end's own tests, and that the committed bundles are those of the sources."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "widgets"
needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="needs Node 20 or newer (Debian: apt install nodejs)"
)


@needs_node
def test_front_end() -> None:
    tests = sorted(map(str, (SOURCES / "test").glob("*.test.mjs")))
    assert tests
    run = subprocess.run(
        ["node", "--test", *tests], cwd=SOURCES, capture_output=True, text=True, timeout=240
    )
    assert run.returncode == 0, run.stdout + run.stderr


@needs_node
@pytest.mark.skipif(
    not (SOURCES / "node_modules" / "esbuild").is_dir(),
    reason="needs esbuild: (cd widgets && npm ci)",
)
def test_bundles_are_built_from_the_sources(tmp_path: Path) -> None:
    subprocess.run(
        ["node", "build.mjs", "--out", str(tmp_path)], cwd=SOURCES, check=True, timeout=240
    )
    committed = ROOT / "mixnet" / "widgets" / "static"
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(built) == {path.name for path in committed.iterdir()}, "npm run build"
    differing = [name for name, text in built.items() if (committed / name).read_bytes() != text]
    assert differing == [], "sources changed: (cd widgets && npm run build)"
