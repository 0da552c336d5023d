"""Benchmarks; they start many fresh processes, which must find the package's bytecode, as installed packages have it."""

import compileall
import os
import sys
from pathlib import Path

# Where bytecode may not be written, as in many containers, every process would compile the package's sources:
# half a second that neither users nor the other contenders have.
os.environ["PYTHONDONTWRITEBYTECODE"] = ""
sys.dont_write_bytecode = False
if "pytest" not in sys.modules:
    compileall.compile_dir(Path(__file__).parents[2] / "mixnet", quiet=1)
