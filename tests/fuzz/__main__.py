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
    options = parser.parse_args()
    if options.replay:
        limit_memory()
        problem = replay(options.replay)
        print(problem or "loads as it should, or says why not")
        return int(problem is not None)
    count = options.count or (100_000 if options.many else 1000)
    failed = False
    for name in options.formats.split(","):
        start = time.perf_counter()
        result = run([name], count, options.seed)
        seconds = time.perf_counter() - start
        print(f"{name:12} {count} mutations, {len(result)} finding(s), {seconds:.1f} s", flush=True)
        for each in result:
            print(each, flush=True)
        failed |= bool(result)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
