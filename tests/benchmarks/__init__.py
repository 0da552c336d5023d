"""Benchmarks; their many fresh processes find bytecode of the package, as they do where it is installed."""

import compileall
import os
import sys
from pathlib import Path

# Where bytecode may not be written, as in many containers, every process would compile the package's sources:
# half a second that neither users nor the other contenders have.
os.environ["PYTHONDONTWRITEBYTECODE"] = ""
sys.dont_write_bytecode = False
# The real MXNet runs under an older Python, which cannot compile the package, and has no use for it.
if "pytest" not in sys.modules and sys.version_info >= (3, 11):
    compileall.compile_dir(Path(__file__).parents[2] / "mixnet", quiet=2)
