"""python -m tests.fuzz [--many] [--count N] [--seed N] [--formats a,b] [--replay FILE]

Loads damaged files of every format, 1,000 of each; ``--many`` takes 100,000. Nothing but errors of the
``MXNetError`` family may come of it: no other error, no crash, no hang, no memory beyond 10 times the
file and a fixed amount. What is found lies in ``build/fuzz``; ``--replay`` loads such a file again.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.fuzz.driver import SEED, replay, run
from tests.fuzz.formats import names
from tests.fuzz.worker import limit_memory


def main() -> int:
    """Run the command; 1 if something was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--many", action="store_true")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--formats", default=",".join(names()))
    parser.add_argument("--replay", type=Path)
    given = parser.parse_args()
    if given.replay:
        limit_memory()
        problem = replay(given.replay)
        print(problem or "loads as it should, or says why not")
        return int(problem is not None)
    count = given.count or (100_000 if given.many else 1000)
    failed = False
    for name in given.formats.split(","):
        start = time.perf_counter()
        found = run([name], count, given.seed)
        seconds = time.perf_counter() - start
        print(f"{name:12} {count} mutations, {len(found)} finding(s), {seconds:.1f} s", flush=True)
        for each in found:
            print(each, flush=True)
        failed |= bool(found)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
