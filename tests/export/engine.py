"""The interpreter of exported pages, run by Node."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx

ENGINE = Path(mx.__file__).parent / "export" / "page" / "engine.js"
needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="needs Node 20 or newer (Debian: apt install nodejs)"
)
_RUN = """
import { readFileSync } from "node:fs";
const { engineOf } = await import(process.argv[1]);
for (const { path, numbers } of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  const html = readFileSync(path, "utf8");
  const part = (id) => html.match(new RegExp(`id="${id}">([^<]*)<`))[1];
  const run = engineOf(JSON.parse(part("data")).program, part("constants"));
  console.log(JSON.stringify(Array.from(run(numbers).outputs[0].data)));
}
"""


def node(*arguments: str) -> str:
    """What a program that Node runs prints; a module's text, and its arguments."""
    command = ["node", "--input-type=module", "-e", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert run.returncode == 0, run.stderr
    return run.stdout


def run_pages(paths: Sequence[str], inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The first output, flat, of each page for its input."""
    jobs = [
        {"path": str(path), "numbers": each.ravel().tolist()}
        for path, each in zip(paths, inputs, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "jobs.json"
        listed.write_text(json.dumps(jobs))
        lines = node(_RUN, ENGINE.as_uri(), str(listed)).splitlines()
    return [np.array([np.nan if v is None else v for v in json.loads(line)]) for line in lines]
