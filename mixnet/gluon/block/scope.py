"""Name scopes of new blocks, their parameters and their symbols."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from mixnet.gluon.parameter import ParameterDict
from mixnet.name import NameManager, Prefix
from mixnet.name import current as current_names
from mixnet.process.scopes import Entries, Exit
from mixnet.process.tasks import read

if TYPE_CHECKING:
    from mixnet.gluon.block.block import Block


class _BlockScope:
    """``with block.name_scope():`` blocks created inside are named as its parts, with a counter per class.

    Symbols created inside are also named as its parts, with a new counter each time.
    """

    _current = threading.local()

    def __init__(self, block: Block):
        self._block = block
        self._counter: dict[str, int] = {}
        self._entered = Entries()

    @staticmethod
    def create(
        prefix: str | None, params: ParameterDict | None, hint: str
    ) -> tuple[str, ParameterDict]:
        """Prefix and parameters of a new block.

        Args:
            prefix: passed by the user.
            params: parameters to share, passed by the user.
            hint: name of blocks of its class.
        """
        scope: _BlockScope | None = read(_BlockScope._current, "value")
        if scope is None:
            if prefix is None:
                prefix = current_names().get(None, hint) + "_"
            if params is None:
                return prefix, ParameterDict(prefix)
            return prefix, ParameterDict(params.prefix, params)
        if prefix is None:
            count = scope._counter.get(hint, 0)
            prefix = f"{hint}{count}_"
            scope._counter[hint] = count + 1
        if params is None:
            parent = scope._block.params
            parameters = ParameterDict(parent.prefix + prefix, parent._shared)
        else:
            parameters = ParameterDict(params.prefix, params)
        return scope._block.prefix + prefix, parameters

    def __enter__(self) -> _BlockScope:
        entry = self._entered.add()
        if not self._block._empty_prefix:
            entry.set(_BlockScope._current, "value", self)
            entry.set(NameManager._current, "value", Prefix(self._block.prefix))
        return self

    __exit__ = Exit()
