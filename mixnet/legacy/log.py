"""``mx.log``: loggers with a coloured prefix of level, time, process and source location."""

from __future__ import annotations

import logging
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

__all__ = [
    "CRITICAL",
    "DEBUG",
    "ERROR",
    "INFO",
    "NOTSET",
    "WARNING",
    "getLogger",
    "get_logger",
    "logging",
    "warnings",
]

_RED, _GREEN, _BLUE = "\x1b[31m", "\x1b[32m", "\x1b[34m"
_LETTERS = {CRITICAL: "C", ERROR: "E", WARNING: "W", INFO: "I", DEBUG: "D"}


class _Formatter(logging.Formatter):
    """``I1231 23:59:59 process path:function:line] message``."""

    def __init__(self, colored: bool = True):
        super().__init__(datefmt="%m%d %H:%M:%S")
        self.colored = colored

    def format(self, record: logging.LogRecord) -> str:
        colour = _RED if record.levelno >= WARNING else _BLUE if record.levelno == DEBUG else _GREEN
        place = f"{record.pathname}:{record.funcName}:{record.lineno}]"
        time = self.formatTime(record, self.datefmt)
        head = f"{_LETTERS.get(record.levelno, 'U')}{time} {record.process} {place}"
        if self.colored:
            head = f"{colour}{head}\x1b[0m"
        # The base class adds tracebacks; it formats by what the style says.
        self._style._fmt = f"{head.replace('%', '%%')} %(message)s"
        return super().format(record)


def get_logger(
    name: str | None = None,
    filename: str | None = None,
    filemode: str | None = None,
    level: int = WARNING,
) -> logging.Logger:
    """A logger with MXNet's line format; a second call gives the same one.

    Args:
        name: its name; the root logger, left as it is, if None.
        filename: a file to write to, without the head of the line; by default standard error.
        filemode: mode of the file, ``'a'`` by default.
        level: messages below it are dropped.
    """
    logger = logging.getLogger(name)
    if name is not None and not getattr(logger, "_init_done", None):
        logger._init_done = True  # type: ignore[attr-defined]
        handler: logging.Handler
        if filename:
            handler = logging.FileHandler(filename, filemode or "a")
        else:
            handler = logging.StreamHandler()
            handler.setFormatter(_Formatter())
        logger.addHandler(handler)
        logger.setLevel(level)
    return logger


def getLogger(
    name: str | None = None,
    filename: str | None = None,
    filemode: str | None = None,
    level: int = WARNING,
) -> logging.Logger:
    """The old name of :func:`get_logger`.

    Args:
        filename: file to write to; stderr by default.
        filemode: ``'a'`` to append to the file, ``'w'`` to replace it.
        level: messages of a lower level are dropped.
    """
    warnings.warn("getLogger is deprecated; call get_logger.", DeprecationWarning, stacklevel=2)
    return get_logger(name, filename, filemode, level)
