"""The content of a profile: the arguments of ``set_config``, checked."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mixnet.base import (
    AttributeValueError,
    OperatorTypeError,
    OperatorValueError,
    UnknownValueError,
)

PROCESSES = ("worker", "server")


@dataclass(frozen=True)
class Settings:
    """The arguments of ``set_config``; the names and defaults are MXNet's, but for ``xla_trace_dir``."""

    profile_all: bool = False
    profile_symbolic: bool = True
    profile_imperative: bool = True
    profile_memory: bool = True
    profile_api: bool = True
    filename: str = "profile.json"
    continuous_dump: bool = True
    dump_period: float = 1.0
    aggregate_stats: bool = False
    profile_process: str = "worker"
    xla_trace_dir: str | None = None

    @property
    def arrays_by_operator(self) -> bool:
        """Whether operations on arrays run one at a time."""
        return self.profile_all or self.profile_imperative

    @property
    def graphs_by_operator(self) -> bool:
        """Whether the operators of blocks and executors run one at a time."""
        return self.profile_all or self.profile_symbolic

    @property
    def memory(self) -> bool:
        """Whether bytes alive are counted."""
        return self.profile_all or self.profile_memory


def _boolean(value: object) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false", "1", "0"):
        return value.lower() in ("true", "1")
    if value in (0, 1):
        return bool(value)
    raise ValueError("True or False")


def _seconds(value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError("a number of seconds above 0")
    return seconds


def _path(value: object) -> str:
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise ValueError("a path")
    return os.fspath(value)


def _optional_path(value: object) -> str | None:
    return None if value is None else _path(value)


def _process(value: str) -> str:
    if value not in PROCESSES:
        raise ValueError("'worker' (this process) or 'server'")
    check_process("set_config", value)
    return value


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "profile_all": _boolean,
    "profile_symbolic": _boolean,
    "profile_imperative": _boolean,
    "profile_memory": _boolean,
    "profile_api": _boolean,
    "filename": _path,
    "continuous_dump": _boolean,
    "dump_period": _seconds,
    "aggregate_stats": _boolean,
    "profile_process": _process,
    "xla_trace_dir": _optional_path,
}


def parse(options: dict[str, Any]) -> Settings:
    """Settings from keyword arguments; what is not given has its default.

    Raises:
        AttributeTypeError: an unknown name.
        AttributeValueError: a value of the wrong kind.
    """
    parsed = {}
    for name, value in options.items():
        if name not in _PARSERS:
            raise OperatorTypeError(
                f"set_config has no argument {name!r}; use one of {', '.join(_PARSERS)}."
            )
        try:
            parsed[name] = _PARSERS[name](value)
        except AttributeValueError:
            raise
        except ValueError as expected:
            raise OperatorValueError(
                f"set_config({name}={value!r}): expected {expected}."
            ) from None
    return Settings(**parsed)


def check_process(function: str, process: object) -> None:
    """Raise unless ``process`` is one whose profile can be steered from here.

    Raises:
        KeyError: it is neither ``'worker'`` nor ``'server'``.
        MXNetError: it is ``'server'``.
    """
    if process not in PROCESSES:
        raise UnknownValueError(
            f"{function}(profile_process={process!r}): expected 'worker' (this process) or 'server'."
        )
    if process == "server":
        raise AttributeValueError(
            f"{function}(profile_process='server'): servers cannot be controlled from here; call "
            f"mx.profiler in the server's own program, and use 'worker' for this process."
        )
