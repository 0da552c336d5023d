"""AttrScope: attributes for every symbol created inside the scope."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from mixnet.base import AttributeValueError, _MXClassPropertyMetaClass, classproperty
from mixnet.process.scopes import Entries, Exit
from mixnet.process.tasks import read, write

# How a node should run; kept on it, and written to files, as ``__name__``.
HIDDEN = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage", "profiler_scope")

_scopes = threading.local()


class AttrScope(metaclass=_MXClassPropertyMetaClass):
    """``with mx.AttrScope(ctx_group='stage1'):`` symbols made inside have these attributes.

    Args:
        kwargs: names and string values; a symbol's own attributes win.

    Raises:
        AttributeValueError: a value is not a string.
    """

    _current = _scopes
    # The scope of this thread; it can be set.
    current: Any = classproperty(lambda cls: _current()).setter(
        lambda cls, value: write(_scopes, "value", value)
    )

    def __init__(self, **kwargs: str):
        for name, value in kwargs.items():
            if not isinstance(value, str):
                raise AttributeValueError(
                    f"AttrScope: attribute {name}={value!r} must be a string; give {str(value)!r}."
                )
        self._attr = kwargs
        self._entered = Entries()

    def get(self, attr: Mapping[str, str] | None) -> dict[str, str]:
        """The scope's attributes, overridden by a symbol's own.

        Args:
            attr: the symbol's own attributes, which take precedence.
        """
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> AttrScope:
        self._attr = {**_current()._attr, **self._attr}
        self._entered.add().set(_scopes, "value", self)
        return self

    __exit__ = Exit()


def _current() -> AttrScope:
    scope: AttrScope | None = read(_scopes, "value")
    if scope is None:
        scope = AttrScope()
        write(_scopes, "value", scope)
    return scope


def node_attributes(
    attr: Mapping[str, str] | None = None, keywords: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Attributes of a node made now: keywords, then the scope's under its own, hidden ones as ``__name__``.

    The order and which of two values counts are MXNet's: ``attr`` before a keyword of the same
    name; of ``lr_mult`` and ``__lr_mult__``, the first.
    """
    attributes: dict[str, str] = {}
    for key, value in {**(keywords or {}), **_current().get(attr)}.items():
        attributes.setdefault(hidden(key), value)
    return attributes


def hidden(key: str) -> str:
    """The name under which a node stores an attribute: ``__name__`` for those of MXNet itself."""
    return f"__{key}__" if key in HIDDEN else key
