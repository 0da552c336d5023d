"""A process that a benchmark asks, one JSON object a line. It runs under Python 3.10 as well."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any


def serve(worker: Callable[[str, int], Any]) -> None:
    """Answer requests ``{"do": method, ...}`` on standard input until it ends.

    Args:
        worker: gets the first argument of the command line (a framework) and the second (its threads), and
            returns the object that has the methods. The third argument is the descriptor that answers
            are written to; standard output is left to libraries.
    """
    name, threads, descriptor = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.set_inheritable(descriptor, False)  # else processes of libraries would hold it open
    answers = os.fdopen(descriptor, "w")
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(threads)
    if hasattr(os, "sched_setaffinity"):  # XLA and ONNX Runtime count the cores that they may use
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    served = worker(name, threads)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"value": getattr(served, request.pop("do"))(**request)}
        except Exception:
            answer = {"error": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
