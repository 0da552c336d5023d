"""Which methods a program has put in the place of the package's own.

A step that replaces several calls of public methods by one is right only while these are the package's own.
"""

from __future__ import annotations

from collections.abc import Iterable


def are_own(instance: object, base: type, methods: Iterable[str]) -> bool:
    """Whether methods of an object are those of a class: no subclass, and nobody who set an attribute
    of the object, has replaced one.

    Args:
        instance: of the class or of a subclass.
        base: the class.
        methods: their names.
    """
    kind, attributes = type(instance), vars(instance)
    return all(
        getattr(kind, each) is getattr(base, each) and each not in attributes for each in methods
    )
