"""The stub file with the methods of arrays, for type checkers and editors, lists the methods that exist."""

from __future__ import annotations

import subprocess
import sys

from mixnet.ndarray.build_installed import PATH


def test_the_stub_file_lists_the_methods_of_the_class() -> None:
    # In a process of its own: other tests declare operators.
    program = "from mixnet.ndarray.build_installed import text; print(text(), end='')"
    expected = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=240
    ).stdout
    assert PATH.read_text(encoding="utf-8") == expected, (
        "methods of arrays have changed; run python -m mixnet.ndarray.build_installed"
    )
    assert (
        "    def sum(" in expected
        and "    def __add__(" in expected
        and "    def asnumpy(" not in expected
    )
