"""Cases that MXNet 1.9.1 is asked for, one module a family; see ``tests/parity/record.py``."""
