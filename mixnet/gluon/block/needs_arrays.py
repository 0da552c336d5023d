"""Whether a forward failed on symbols because it needs arrays.

If so, forward may run on arrays. Otherwise, the error is the user's own and is raised at once: running the
code again would repeat its side effects, and hide the error if the second run takes another path.
"""

from __future__ import annotations

import dis
import os
from types import ModuleType

from mixnet import base
from mixnet.symbol.symbol import Symbol

_LIBRARY = os.path.dirname(os.path.abspath(base.__file__)) + os.sep


def needs_arrays(error: Exception) -> bool:
    """Whether an error of a forward on symbols means that it needs arrays.

    It does if this library, or other code that got a symbol, raised the error; or if the forward itself used
    something that symbols do not have: an attribute, or an operation of numbers or lists. Errors that the
    forward raises itself (assertions, divisions, look-ups) would occur on arrays as well.
    """
    if isinstance(error, AttributeError):
        return isinstance(error.obj, (Symbol, ModuleType)) or _is_raised_by_library(error)
    if isinstance(error, TypeError) and "Symbol" in str(error) and not _is_in_words(error):
        return True
    return _is_raised_by_library(error)


def _is_in_words(error: Exception) -> bool:
    """Whether it was raised by a ``raise`` statement of the program, not by Python itself."""
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _is_raised_by_library(error: Exception) -> bool:
    trace = error.__traceback__
    file = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        trace = trace.tb_next
    file = os.path.abspath(file)
    return file.startswith(_LIBRARY) or "site-packages" in file
