"""Reads pickles as data: an interpreter for the few opcodes that files of plain values need.

Python's unpickler does what a file says: it imports, calls, and sets the state of whatever the file
names. This one has no way to reach an object of the process. A name from the file stays a name; what
calling it or giving it a state means is decided by who uses the machine. Nesting, the number of
values and the memory that they take are limited by the size of the file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mixnet.base import FileFormatError

_ROOM = 32 << 20  # bytes that the values of even the smallest file may take
_TIMES = 5  # plus this multiple of the size of the file
_MOST_BITS = 64  # of an integer: sets of longer ones can be made to take forever
_MOST_KEYS = 16  # values in a tuple that is a key
MOST_LEVELS = 50
"""Containers within containers; the states of optimizers have 6."""


class Name(NamedTuple):
    """A class or function that a file names."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class Budget:
    """The memory that the values of a file may take.

    Args:
        size: bytes of the file.
    """

    def __init__(self, size: int):
        self.size = size
        self.left = _ROOM + _TIMES * size

    def spend(self, amount: int) -> None:
        """Count bytes that are about to be allocated.

        Raises:
            FileFormatError: the file asks for too many.
        """
        self.left -= amount
        if self.left < 0:
            raise FileFormatError(
                f"The {self.size} bytes ask for values that take more than {_TIMES} times as much "
                f"memory: this was not written by an optimizer. Save the states again."
            )


Call = Callable[[Name, tuple[Any, ...], Budget], Any]
Build = Callable[[Any, Any, Budget], None]


class Machine:
    """Runs the instructions of a pickle.

    Args:
        content: the pickle.
        call: what it means that a name is called with arguments; raises if it means nothing.
        build: what it means that such a result is given a state.
    """

    def __init__(self, content: bytes, call: Call, build: Build):
        self.content = content
        self.budget = Budget(len(content))
        self.instructions = 0
        self._call, self._build = call, build
        self._stack: list[Any] = []
        self._marked: list[list[Any]] = []  # the objects below each mark
        self._memo: dict[int, Any] = {}

    def run(self) -> Any:
        """The value of the pickle.

        Raises:
            FileFormatError: it holds an instruction that files of plain values do not need, or asks
                for too much memory.
            Exception: it is not a pickle, or a broken one.
        """
        argument: Any
        import pickletools  # only states that are read need it

        for opcode, argument, _ in pickletools.genops(self.content):
            self.instructions += 1
            name = opcode.name
            if name == "STOP":
                break
            if name in _IGNORED:
                continue
            if name in _CONSTANTS:
                self.budget.spend(16)
                self._stack.append(_CONSTANTS[name])
            elif name in _VALUES:
                self._stack.append(self._checked(argument))
            elif name in _MEMOIZED:
                self.budget.spend(128)
                self._memo[len(self._memo) if argument is None else argument] = self._stack[-1]
            elif name in _RECALLED:
                self.budget.spend(16)
                self._stack.append(self._memo[argument])
            elif name in _WORK:
                _WORK[name](self, argument)
            elif name in _OUTSIDE:
                raise FileFormatError("The optimizer states refer to something outside the file.")
            else:
                raise FileFormatError(
                    f"The pickle holds the instruction {name}, which files of optimizer states do not "
                    f"have: reading stopped before any of it ran."
                )
        return self._stack.pop()

    def _checked(self, value: object) -> Any:
        """A number or text of the file, counted in the budget."""
        if isinstance(value, str):
            self.budget.spend(64 + len(value) * (1 if value.isascii() else 4))
        elif isinstance(value, (bytes, bytearray)):
            self.budget.spend(64 + len(value))
        else:
            self.budget.spend(48)
            if isinstance(value, int) and value.bit_length() > _MOST_BITS:
                raise FileFormatError(
                    f"The pickle holds an integer of {value.bit_length()} bits; those of optimizer "
                    f"states have {_MOST_BITS}."
                )
        return value

    # ---- instructions ---------------------------------------------------------------------------

    def _mark(self) -> None:
        self.budget.spend(64)
        self._marked.append(self._stack)
        self._stack = []

    def _since_mark(self) -> list[Any]:
        items, self._stack = self._stack, self._marked.pop()
        return items

    def _drop_mark(self) -> None:
        self._since_mark()

    def _pop(self) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._since_mark()

    def _tuple(self, items: list[Any]) -> None:
        self.budget.spend(64 + 8 * len(items))
        self._stack.append(tuple(items))

    def _short_tuple(self, count: int) -> None:
        items = self._stack[-count:]
        if len(items) < count:
            raise IndexError("too few values")
        del self._stack[-count:]
        self._tuple(items)

    def _empty(self, kind: Callable[[], Any]) -> None:
        self.budget.spend(256)
        self._stack.append(kind())

    def _append(self, items: list[Any]) -> None:
        self.budget.spend(16 * len(items))
        _exactly(self._stack[-1], list).extend(items)

    def _set_items(self, items: list[Any]) -> None:
        self.budget.spend(64 * len(items))
        keys, values = items[::2], items[1::2]
        table = _exactly(self._stack[-1], dict)
        for key, value in zip(keys, values, strict=True):
            table[as_key(key)] = value

    def _add_items(self, items: list[Any]) -> None:
        self.budget.spend(128 * len(items))
        _exactly(self._stack[-1], set).update(map(as_key, items))

    def _list(self) -> None:
        items = self._since_mark()
        self.budget.spend(64 + 8 * len(items))
        self._stack.append(items)

    def _dict(self) -> None:
        items = self._since_mark()
        self.budget.spend(64)
        self._stack.append({})
        self._set_items(items)

    def _frozenset(self) -> None:
        items = self._since_mark()
        self.budget.spend(256 + 128 * len(items))
        self._stack.append(frozenset(map(as_key, items)))

    def _name(self, path: str) -> None:
        module, name = path.split(" ", 1)
        self.budget.spend(256)
        self._stack.append(Name(module, name))

    def _stack_name(self) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        self.budget.spend(128)
        self._stack.append(Name(_exactly(module, str), _exactly(name, str)))

    def _reduce(self) -> None:
        arguments, name = self._stack.pop(), self._stack.pop()
        self.budget.spend(64)
        self._stack.append(
            self._call(_exactly(name, Name), _exactly(arguments, tuple), self.budget)
        )

    def _new_object(self) -> None:
        arguments, name = self._stack.pop(), self._stack.pop()
        if arguments:
            raise FileFormatError(
                f"The pickle creates {_exactly(name, Name)} with arguments; optimizers and "
                f"schedulers in such files consist of their attributes alone."
            )
        self.budget.spend(64)
        new = Name("copyreg", "__newobj__")
        self._stack.append(self._call(new, (_exactly(name, Name),), self.budget))

    def _give_state(self) -> None:
        state = self._stack.pop()
        self._build(self._stack[-1], state, self.budget)


_WORK: dict[str, Callable[[Machine, Any], None]] = {
    "MARK": lambda self, _: self._mark(),
    "POP": lambda self, _: self._pop(),
    "POP_MARK": lambda self, _: self._drop_mark(),
    "TUPLE": lambda self, _: self._tuple(self._since_mark()),
    "TUPLE1": lambda self, _: self._short_tuple(1),
    "TUPLE2": lambda self, _: self._short_tuple(2),
    "TUPLE3": lambda self, _: self._short_tuple(3),
    "EMPTY_LIST": lambda self, _: self._empty(list),
    "EMPTY_DICT": lambda self, _: self._empty(dict),
    "EMPTY_SET": lambda self, _: self._empty(set),
    "LIST": lambda self, _: self._list(),
    "DICT": lambda self, _: self._dict(),
    "FROZENSET": lambda self, _: self._frozenset(),
    "APPEND": lambda self, _: self._append([self._stack.pop()]),
    "APPENDS": lambda self, _: self._append(self._since_mark()),
    "SETITEM": lambda self, _: self._set_items([self._stack.pop(), self._stack.pop()][::-1]),
    "SETITEMS": lambda self, _: self._set_items(self._since_mark()),
    "ADDITEMS": lambda self, _: self._add_items(self._since_mark()),
    "GLOBAL": lambda self, path: self._name(path),
    "STACK_GLOBAL": lambda self, _: self._stack_name(),
    "REDUCE": lambda self, _: self._reduce(),
    "NEWOBJ": lambda self, _: self._new_object(),
    "BUILD": lambda self, _: self._give_state(),
}
_IGNORED = {"PROTO", "FRAME"}
_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_VALUES = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
_OUTSIDE = {"PERSID", "BINPERSID", "EXT1", "EXT2", "EXT4", "NEXT_BUFFER", "READONLY_BUFFER"}
_MEMOIZED = {"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"}
_RECALLED = {"GET", "BINGET", "LONG_BINGET"}


def _exactly(value: object, kind: type) -> Any:
    """A value of this very type; ``OrderedDict`` counts as a dict."""
    if type(value) is kind or (kind is dict and isinstance(value, dict)):
        return value
    raise FileFormatError(
        f"The pickle has a {type(value).__name__} where a {kind.__name__} belongs: it is corrupted."
    )


def as_key(value: object) -> Any:
    """A key of a dict or an item of a set: hashing nested ones could take forever, or overflow the stack.

    Raises:
        FileFormatError: it is neither a plain value nor a short tuple of these.
    """
    items = value if type(value) is tuple and len(value) <= _MOST_KEYS else (value,)
    for each in items:
        if not (
            each is None
            or isinstance(each, (bool, int, float, str, bytes, np.integer, np.floating))
        ):
            raise FileFormatError(
                f"The pickle has a {type(each).__name__} as a key; keys of optimizer states are "
                f"numbers and names."
            )
    return value
