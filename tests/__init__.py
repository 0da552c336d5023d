"""Tests and benchmarks; processes that they start find bytecode, as they do where mixnet is installed."""

import os
import sys

# Where bytecode may not be written, as in many containers, each process would compile the package's sources.
# Set before the first server of processes starts, whose environment has to be that of all tests.
os.environ["PYTHONDONTWRITEBYTECODE"] = ""
sys.dont_write_bytecode = False
