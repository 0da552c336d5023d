"""Why is this array alive? Answered by following the references to it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import FrameType, ModuleType
from typing import Any

from mixnet.autograd.tape import Mark
from mixnet.gluon.block import Block
from mixnet.gluon.parameter import Parameter
from mixnet.graph.node import Node
from mixnet.ndarray.ndarray import NDArray
from mixnet.optimizer.updater import Updater
from mixnet.process.source import is_users, known_as
from mixnet.runtime.record.segment import Segment
from mixnet.widgets.why.question import Answer

ASK = "Why is it alive?"
_DEEP = 6  # steps from a handle to the named owner; the dict of an object may be one of them
_MOST = 8
_MANY = 2000  # things that refer to the array, until the walk is given up


def of_array(array: NDArray) -> Answer:
    """The objects that keep an array alive; this computes nothing."""
    value = array._value
    about = f"{value.spec.dtype.name}{list(value.spec.shape)} on {value.spec.context}"
    [holding] = holders([[array, value, *([] if value.array is None else [value.array])]])
    if value.array is None and value.segment is not None:
        pending = (
            "It has not been computed yet: it is a recorded operation, which holds the arrays it "
            "reads"
        )
        return Answer(ASK, about, f"{pending}.", tuple(f"It is {each}." for each in holding))
    if not holding:
        return Answer(ASK, about, "Only the expression in your question holds it.")
    return Answer(
        ASK, about, f"It is {holding[0]}.", tuple(f"It is {each}." for each in holding[1:])
    )


def of_buffers(buffers: Sequence[Any]) -> list[list[str]]:
    """The objects that keep each of these JAX arrays alive."""
    return holders([[each] for each in buffers])


def holders(starts: Sequence[Iterable[Any]]) -> list[list[str]]:
    """The objects that keep each of these contents alive, in words, without mixnet's own in between.

    All are followed at once, since Python searches every existing object for references to one.

    Args:
        starts: for each content its handles, values or JAX arrays.
    """
    variables = _variables()
    scopes = {id(scope) for _, scope in variables}
    walks = [_Walk(start) for start in starts]
    for _ in range(_DEEP):
        active = [walk for walk in walks if not walk.is_done]
        if not active:
            break
        for walk in active:
            walk.look_at(variables)
        every = [value for walk in active for value in walk.level.values()]
        ignored = {id(every), *scopes, *[number for walk in active for number in walk.own()]}
        for holder in gc.get_referrers(*every):
            if id(holder) in ignored or isinstance(holder, (FrameType, ModuleType)):
                continue
            references = {id(each): each for each in gc.get_referents(holder)}
            for walk in active:
                walk.meet(holder, references)
        for walk in active:
            walk.go_up()
    return [list(walk.named)[:_MOST] for walk in walks]


class _Walk:
    """A walk from one content along the references to it, level by level."""

    def __init__(self, start: Iterable[Any]):
        self.named: dict[str, None] = {}
        self.level = {id(each): each for each in start}
        self._above: dict[int, Any] = {}
        self._visited: dict[int, Any] = {}
        self._gradients: set[int] = set()  # what was reached from its gradient

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to follow, or enough was met."""
        met = len(self._visited) + len(self.level)
        return not self.level or len(self.named) >= _MOST or met > _MANY

    def own(self) -> list[int]:
        """The walk's own references, which do not count."""
        return [id(each) for each in (self.level, self._above, self._visited)]

    def look_at(self, variables: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Name the variables that hold what this level has."""
        self._visited.update(self.level)
        for text, scope in variables:
            for name, value in list(scope.items()):
                if id(value) in self.level:
                    words = _of_gradient(id(value) in self._gradients, text.format(name))
                    self.named[words] = None

    def meet(self, holder: object, references: Mapping[int, Any]) -> None:
        """Name what refers to something of this level, or keep it for the next one."""
        if id(holder) in self._visited:
            return
        matching = [number for number in references if self.level.get(number) is references[number]]
        if not matching:
            return
        is_gradient = isinstance(holder, Mark) or not self._gradients.isdisjoint(matching)
        words = _named(holder, references[matching[0]], is_gradient)
        if words is None:
            self._above[id(holder)] = holder
            if is_gradient:
                self._gradients.add(id(holder))
        elif words:
            self.named[words] = None

    def go_up(self) -> None:
        """Go to the next level."""
        self.level, self._above = self._above, {}


def _of_gradient(is_gradient: bool, text: str) -> str:
    return f"the gradient of {text}" if is_gradient else text


def _named(holder: object, target: object, is_gradient: bool) -> str | None:
    """A description of a holder; None: continue with what holds it, empty: it does not count.

    Args:
        holder: it refers to ``target``.
        thing: the array, or what holds it.
        is_gradient: what the walk began from is the gradient of what was reached.
    """
    if isinstance(holder, Parameter):
        return f"the {'gradient' if is_gradient else 'data'} of parameter {holder.name}"
    if isinstance(holder, Node):
        if is_gradient:
            return ""  # the tape knows where it will write
        return f"saved for the gradient of {holder.name}: backward frees it"
    if isinstance(holder, Segment):
        return "read by recorded operations that have not run yet"
    if isinstance(holder, Updater):
        return f"a state of the optimizer {type(holder.optimizer).__name__}"
    of_project = type(holder).__module__.startswith(("mixnet.", "jax", "builtins", "weakref", "_"))
    if isinstance(holder, Block) or not of_project:
        owner = holder.name if isinstance(holder, Block) else f"a {type(holder).__name__}"
        names = [key for key, value in getattr(holder, "__dict__", {}).items() if value is target]
        text = f"the attribute {names[0]} of {owner}" if names else f"held by {owner}"
        return _of_gradient(is_gradient, text)
    return None


def _variables() -> list[tuple[str, Mapping[str, Any]]]:
    """Variables of the user's modules and running functions, in all threads: text, and the variables."""
    frames: list[tuple[str, Mapping[str, Any]]] = []
    for name, module in sys.modules.copy().items():
        if module is None:  # its import is blocked
            continue
        if name == "__main__" or is_users(getattr(module, "__file__", None) or "<none>"):
            where = "the program" if name == "__main__" else name
            frames.append((f"the variable {{}} of {where}", vars(module)))
    for frame in sys._current_frames().values():
        each: FrameType | None = frame
        while each is not None:
            code = each.f_code
            if is_users(code.co_filename) and code.co_name != "<module>":
                file = known_as(code.co_filename).rsplit("/", 1)[-1]
                place = f"the variable {{}} of {code.co_name}, {file}:{each.f_lineno}"
                frames.append((place, each.f_locals))
            each = each.f_back
    return frames
