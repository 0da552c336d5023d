"""Every script of docs/examples runs in a small form and learns."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests import processes

pytestmark = pytest.mark.spread
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"

# Script and arguments; between what the number at the end of its last line must be.
CASES = [
    ("train_mnist.py --num-epochs 4 --lr-step-epochs 3", 0.85, 1),
    ("train_mnist.py --network lenet --num-epochs 2 --gc-type 2bit", 0.3, 1),
    ("train_cifar10.py --pictures 320 --epochs 3 --lr 0.05 --batch-size 16", 0.15, 1),
    ("char_rnn.py --epochs 1 --hidden 48 --write 10", 1, 1.6),
    ("word_lm_bucketing.py --sentences 1200 --num-epochs 3", 1, 7),
    ("translate_transformer.py --epochs 8 --layers 1 --size 48 --lr 0.005", 0.3, 1),
    ("ssd.py --pictures 320 --epochs 2", 0.3, 1),
    ("dcgan.py --epochs 2", 0, 0.45),
    ("matrix_factorization.py --epochs 3", 0, 0.6),
    ("vae.py --epochs 5", -35, 0),
    ("tictactoe.py --episodes 60 --games 64", 0.5, 1),
]


def test_every_example_is_tested() -> None:
    scripts = {path.name for path in EXAMPLES.glob("*.py")} - {"fit.py"}
    assert scripts == {case[0].split()[0] for case in CASES}


@pytest.mark.parametrize(("line", "least", "most"), CASES, ids=lambda each: str(each).split(".")[0])
def test_an_example_runs_and_learns(line: str, least: float, most: float, tmp_path: Path) -> None:
    script, *arguments = line.split()
    root = str(EXAMPLES.parents[1])
    ran = processes.run(
        [sys.executable, str(EXAMPLES / script), *arguments],
        cwd=tmp_path,  # where neither data nor checkpoints are
        env={**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    match = re.search(r": (-?[\d.]+)$", ran.stdout.strip().splitlines()[-1])
    assert match is not None, ran.stdout[-500:]
    assert least < float(match.group(1)) <= most, ran.stdout[-1500:]
