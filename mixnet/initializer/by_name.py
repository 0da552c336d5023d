"""Initializers that select by parameter name: from a file, or from a list of patterns."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

from mixnet.base import AttributeValueError, CheckError
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.params_file import load


class Load:
    """Values from a file or a dict, by name; another initializer for names that are not there.

    Args:
        param: path of a ``.params`` file, or a dict of arrays; ``arg:`` and ``aux:`` are dropped.
        default_init: for names that are not there.
        verbose: log where each value is from.
    """

    def __init__(self, param: Any, default_init: Any = None, verbose: bool = False):
        if isinstance(param, str):
            param = load(param)
        if not isinstance(param, dict):
            raise CheckError(
                f"mx.init.Load takes a dict of arrays or a file of one, not {type(param).__name__}."
            )
        self.param = {
            name[4:] if name.startswith(("arg:", "aux:")) else name: value
            for name, value in param.items()
        }
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        """Fill ``arr``.

        Raises:
            CheckError: the shape differs, or there is no such name and no default.
        """
        if name in self.param:
            initializer = self.param[name]
            if arr.shape != initializer.shape:
                raise CheckError(
                    f"mx.init.Load: {name} has shape {arr.shape}, but the loaded array has "
                    f"{initializer.shape}."
                )
            arr._write_all(initializer)  # which may be of the other face
            if self.verbose:
                logging.info("Initialized %s by loading", name)
            return
        if self.default_init is None:
            raise CheckError(
                f"mx.init.Load: there is no {name} among the loaded arrays; give default_init for "
                f"such names."
            )
        self.default_init(name, arr)
        if self.verbose:
            logging.info("Initialized %s by default", name)


class Mixed:
    """An initializer for each pattern of names; the first that matches is taken.

    Args:
        patterns: regular expressions, matched from the beginning of a name.
        initializers: one for each.
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Any]):
        if len(patterns) != len(initializers):
            raise CheckError(
                f"mx.init.Mixed: {len(patterns)} patterns, but {len(initializers)} initializers."
            )
        self.map = list(zip([re.compile(each) for each in patterns], initializers, strict=True))

    def __call__(self, name: str, arr: NDArray) -> None:
        """Fill ``arr``.

        Raises:
            ValueError: no pattern matches.
        """
        for pattern, initializer in self.map:
            if pattern.match(name):
                initializer(name, arr)
                return
        raise AttributeValueError(
            f'mx.init.Mixed: no pattern matches {name}. Add ".*" as the last pattern, with an '
            f"initializer for the rest."
        )
