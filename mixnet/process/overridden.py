"""Methods that a program has put in place of the library's: shortcuts must not go past them."""

from __future__ import annotations


class Methods:
    """Some methods of a class as the library defines them.

    Args:
        owner: the class.
        names: of its methods.
    """

    def __init__(self, owner: type, *names: str):
        self._functions = {name: getattr(owner, name) for name in names}

    def are_those_of(self, instance: object) -> bool:
        """Whether neither a subclass, nor the instance, nor a patch of the class has replaced one."""
        kind = type(instance)
        attributes = vars(instance)
        for name, function in self._functions.items():
            if name in attributes or getattr(kind, name) is not function:
                return False
        return True
