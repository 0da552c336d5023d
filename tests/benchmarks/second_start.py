"""Seconds that the tour's kernel spends compiling: at its first start, and at its second.

Both run the code of notebooks/00_tour.ipynb in a process of their own, over an empty folder of
compiled programs that the first leaves to the second.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOUR = Path(__file__).parents[2] / "notebooks" / "00_tour.ipynb"
PROGRAM = """
import sys, time
from jax import monitoring
spent = {}
def listen(event, seconds, **_):
    spent[event] = spent.get(event, 0.0) + seconds
monitoring.register_event_duration_secs_listener(listen)
import matplotlib; matplotlib.use("Agg")
start = time.perf_counter()
exec(compile(open(sys.argv[1]).read(), "tour", "exec"), {"__name__": "__main__"})
print("SPENT", spent.get("/jax/core/compile/backend_compile_duration", 0.0), time.perf_counter() - start)
"""


def main() -> None:
    """Print both and the ratio."""
    cells = json.loads(TOUR.read_text())["cells"]
    code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    code = "\n".join(line for line in code.splitlines() if not line.startswith(("%", "!")))
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "tour.py"
        script.write_text(code)
        environment = {**os.environ, "MIXNET_CACHE_DIR": str(Path(folder) / "cache")}
        figures = []
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM, str(script)],
                env=environment,
                cwd=TOUR.parent,
                capture_output=True,
                text=True,
                check=True,
            )
            line = next(x for x in done.stdout.splitlines() if x.startswith("SPENT"))
            figures.append([float(each) for each in line.split()[1:]])
    (first, first_all), (second, second_all) = figures
    print(
        f"the tour's kernel: compiling {first:.1f} s at the first start, {second:.1f} s at the "
        f"second, ratio {first / second:.1f}; in all {first_all:.1f} s and {second_all:.1f} s"
    )


if __name__ == "__main__":
    main()
