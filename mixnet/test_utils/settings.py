"""Test settings: the default context, environment variables, and repeated tests."""

from __future__ import annotations

import functools
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mixnet.context import Context, current_context, num_gpus, set_default
from mixnet.process.source import function_name
from mixnet.runtime.features import Features
from mixnet.util import getenv, setenv


def default_context() -> Context:
    """The context that tests run on."""
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Set the context of everything that does not name another, in this thread.

    In a ``with context:``, it holds until that ends, as in MXNet.

    Args:
        ctx: the context.
    """
    set_default(ctx)


def default_dtype() -> type:
    """float32."""
    return np.float32


def list_gpus() -> range:
    """Numbers of the GPUs of this machine."""
    return range(num_gpus())


def has_tvm_ops() -> bool:
    """Whether operators compiled by TVM exist."""
    return Features().is_enabled("TVM_OP")


def is_op_runnable() -> bool:
    """Whether operators compiled by TVM, if there are any, run on the current context."""
    return True


def is_cd_run() -> bool:
    """Whether this is a run of continuous delivery: environment variable ``CD_JOB`` is 1."""
    return getenv("CD_JOB") == "1"


def is_aarch64_run() -> bool:
    """Whether the processor is a 64-bit ARM."""
    return platform.machine() == "aarch64"


@contextmanager
def environment(*args: object) -> Iterator[None]:
    """A scope with other environment variables.

    Args:
        args: a name and its value; or a dict of them. None as a value removes the variable.

    Raises:
        AssertionError: anything else.
    """
    if len(args) == 1 and isinstance(args[0], dict):
        variables = dict(args[0])
    elif len(args) == 2:
        variables = {args[0]: args[1]}
    else:
        raise AssertionError(
            f"environment takes a dict, or a name and a value; {len(args)} argument(s) were given."
        )
    before = {name: getenv(name) for name in variables}
    try:
        for name, value in variables.items():
            setenv(name, value)
        yield
    finally:
        for name, value in before.items():
            setenv(name, value)


@contextmanager
def discard_stderr() -> Iterator[None]:
    """A scope in which nothing reaches the standard error of the process."""
    sys.stderr.flush()
    stream = 2
    with open(os.devnull, "wb") as nowhere:
        duplicate = os.dup(stream)
        os.dup2(nowhere.fileno(), stream)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(duplicate, stream)
            os.close(duplicate)


def assert_exception(
    f: Callable[..., Any], exception_type: Any, *args: Any, **kwargs: object
) -> None:
    """Raise unless ``f(*args, **kwargs)`` raises ``exception_type``.

    Raises:
        AssertionError: it raises nothing.
    """
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{function_name(f)} did not raise {exception_type}.")


def retry(n: int) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Decorator: call a test up to ``n`` times, until no assertion in it fails.

    Raises:
        AssertionError: ``n`` is not positive; or the last call failed.
    """
    assert n > 0, f"retry takes a positive number, not {n}."

    def decorate(test: Callable[..., Any]) -> Callable[..., None]:
        @functools.wraps(test)
        def repeated(*args: object, **kwargs: object) -> None:
            for left in reversed(range(n)):
                try:
                    test(*args, **kwargs)
                    return
                except AssertionError:
                    if not left:
                        raise

        return repeated

    return decorate
