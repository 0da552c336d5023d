"""The content of an array that exists but is not filled yet, as in pickles of MXNet."""

from __future__ import annotations

from typing import Any

from mixnet.base import MXNetError


class _NoContent:
    """Stands for the value of an array that unpickling has made and not filled yet."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        raise MXNetError(
            "This array has no content: NDArray(None) is for unpickling, which fills it. Use "
            "mx.nd.array(source), mx.nd.zeros(shape), ..."
        )


NO_CONTENT: Any = _NoContent()
