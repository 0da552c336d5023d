"""Benchmarks; the bytecode of the package is complete before anything is measured."""

import compileall
import sys
from pathlib import Path

# Compiling sources takes half a second that neither users nor the other contenders have. The real MXNet
# runs under an older Python, which cannot compile the package, and has no use for it.
if "pytest" not in sys.modules and sys.version_info >= (3, 11):
    compileall.compile_dir(Path(__file__).parents[2] / "mixnet", quiet=2)
