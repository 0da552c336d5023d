"""AttrScope: attributes that every symbol made inside the scope gets."""

from __future__ import annotations

import threading

from mixnet.base import AttributeTypeError

# What a node is told about how to run: kept, and written to files, as ``__name__``.
HIDDEN = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage", "profiler_scope")


class AttrScope:
    """``with mx.AttrScope(ctx_group='stage1'):`` symbols made inside have these attributes.

    Args:
        attributes: names and string values; a symbol's own attributes win.
    """

    _current = threading.local()

    def __init__(self, **attributes: str):
        for name, value in attributes.items():
            if not isinstance(value, str):
                raise AttributeTypeError(
                    f"AttrScope: attribute {name}={value!r} must be a string; give {str(value)!r}."
                )
        self._attr = attributes
        self._before: AttrScope | None = None

    def get(self, attributes: dict[str, str] | None) -> dict[str, str]:
        """The scope's attributes under a symbol's own, those of MXNet as ``__name__``."""
        merged = {**self._attr, **(attributes or {})}
        return {f"__{k}__" if k in HIDDEN else k: v for k, v in merged.items()}

    def __enter__(self) -> AttrScope:
        self._before = current_attributes()
        merged = AttrScope(**{**self._before._attr, **self._attr})
        AttrScope._current.value = merged
        return self

    def __exit__(self, *_: object) -> None:
        AttrScope._current.value = self._before


def current_attributes() -> AttrScope:
    """The innermost scope of this thread."""
    found = getattr(AttrScope._current, "value", None)
    if found is None:
        found = AttrScope._current.value = AttrScope()
    return found


def current() -> AttrScope:
    """The innermost scope of this thread; the name is MXNet's."""
    return current_attributes()
