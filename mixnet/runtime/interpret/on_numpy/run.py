"""Conversion of a jaxpr to a function of NumPy arrays.

The preparation flattens nested functions into one list of equations, removes those whose results are not
used, evaluates those that depend only on constants, and takes a function from the table for every other
equation. A run calls these functions; results are in numbered slots and are dropped after their last use.
"""

from __future__ import annotations

import contextvars
import math
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, TypeVar

import jax
import numpy as np

from mixnet.private_jax.calls import called
from mixnet.private_jax.jaxprs import ClosedJaxpr, Literal, literal_array
from mixnet.runtime.interpret.on_numpy.table import RULES, NoRuleError, is_key

Program = Callable[..., list[np.ndarray]]
Equation = tuple[Any, list[int], list[int]]  # with the slots that it reads and writes
Step = tuple[Callable[..., Any], list[int], list[int]]

Result = TypeVar("Result")

_MOST_FOLDED = 4096
"""The most elements of a result that is precomputed because it depends only on constants."""
RUNS_BEFORE_WRITING = 200
"""The number of runs of a program before code is generated for it, which takes as long as some hundred."""
_MOST_COUNTED = 1 << 20
"""The longest range of numbers that is precomputed: a network needs them again, and long ones memory."""
_VIEWS = {"broadcast_in_dim", "reshape", "squeeze", "slice", "transpose", "expand_dims"}

_quiet = contextvars.Context()
_quiet.run(np.seterr, all="ignore")


def quietly(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function with NumPy's warnings disabled, since infinities and NaN are ordinary results.

    NumPy stores these settings in a context variable; running in another context is faster than np.errstate.
    """
    return _quiet.copy().run(function, *arguments)


def compiled(function: Callable[..., Any], *specs: Any) -> Program:
    """Convert a function of JAX arrays to one of NumPy arrays, for arguments of these specs.

    Raises:
        NoRuleError: it uses an unsupported primitive.
    """
    with jax.enable_x64(True):
        program = closed(jax.make_jaxpr(function)(*specs))
    return lambda *arrays: quietly(program, *arrays)


def closed(jaxpr: ClosedJaxpr) -> Program:
    """Convert a closed jaxpr to a function of NumPy arrays that returns a list of NumPy arrays.

    They have the shapes and dtypes of the jaxpr's results. Results that depend on no input are new arrays,
    others may be views of inputs. Call the function, or one that calls several of them, through
    ``quietly``.

    Raises:
        NoRuleError: it uses an unsupported primitive.
    """
    flat = _Flat()
    count = len(jaxpr.jaxpr.invars)
    flat.size = count
    outputs = flat.inline(jaxpr.jaxpr, jaxpr.consts, list(range(count)))
    steps = flat.steps(outputs)
    bare = [i for i, v in enumerate(jaxpr.jaxpr.outvars) if not v.aval.shape and not is_key(v.aval)]
    return _runner(count, steps, [flat.known.get(i, i) for i in outputs], flat, bare)


# ---- preparing ----------------------------------------------------------------------------------

_SAME = {"copy", "copy_p", "stop_gradient", "random_wrap", "random_unwrap", "optimization_barrier",
         "device_put", "pvary"}  # fmt: skip


class _Flat:
    """The equations of a jaxpr and of the jaxprs inside it, with slots for variables.

    A constant has a negative slot: constants are at the end of the list of slots.
    """

    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self.constants: list[Any] = []
        self.size = 0
        self.known: dict[int, int] = {}  # slot -> its constant value

    def constant(self, value: Any) -> int:
        self.constants.append(value)
        return -len(self.constants)

    def inline(self, jaxpr: Any, consts: Sequence[Any], inputs: Sequence[int]) -> list[int]:
        """Add the equations of a jaxpr with these inputs; returns the slots of its results."""
        places: dict[Any, int] = dict(zip(jaxpr.invars, inputs, strict=True))
        for variable, value in zip(jaxpr.constvars, consts, strict=True):
            places[variable] = self.constant(_constant(value))

        def place(variable: Any) -> int:
            if type(variable) is Literal:
                return self.constant(literal_array(variable))
            return places[variable]

        for equation in jaxpr.eqns:
            name = equation.primitive.name
            read = [place(variable) for variable in equation.invars]
            inner = None if name in RULES else called(equation)
            if name in _SAME:
                written = read
            elif inner is not None:
                written = self.inline(inner.jaxpr, inner.consts, read)
            else:
                written = list(range(self.size, self.size + len(equation.outvars)))
                self.size += len(written)
                self.equations.append((equation, read, written))
            places.update(zip(equation.outvars, written, strict=True))
        return [place(variable) for variable in jaxpr.outvars]

    def steps(self, outputs: Sequence[int]) -> list[Step]:
        """The steps needed for these results."""
        # Backwards: an equation that nothing needs is skipped, and so are those that only it needed.
        needed = set(outputs)
        live = []
        for each in reversed(self.equations):
            if not needed.isdisjoint(each[2]):
                needed.update(each[1])
                live.append(each)
        steps: list[Step] = []
        known = self.known
        for equation, read, written in reversed(live):
            read = [known.get(i, i) for i in read]
            name = equation.primitive.name
            if name not in RULES:
                raise NoRuleError(name)
            run = RULES[name](equation, **equation.params)
            if max(read, default=-1) < 0 and _is_small(name, equation):
                self._fold(run, read, written)
            else:
                steps.append((run, read, written))
        return steps

    def _fold(self, run: Callable[..., Any], read: Sequence[int], written: Sequence[int]) -> None:
        results = quietly(run, *[self.constants[-1 - i] for i in read])
        for slot, value in zip(written, results if len(written) > 1 else [results], strict=True):
            self.known[slot] = self.constant(value)


def _is_small(name: str, equation: Any) -> bool:
    # A view needs no memory of its own; any other result lives as long as the program.
    if name == "iota":
        return bool(equation.params["shape"][equation.params["dimension"]] <= _MOST_COUNTED)
    return name in _VIEWS or (
        name not in _LOOPS
        and all(math.prod(v.aval.shape) <= _MOST_FOLDED for v in equation.outvars)
    )


_LOOPS = {"while", "scan", "cond", "pure_callback"}


def _constant(value: np.ndarray) -> Any:
    if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
        return np.asarray(jax.random.key_data(value))
    return np.asarray(value)


# ---- running ------------------------------------------------------------------------------------


def _runner(
    count: int, steps: Sequence[Step], outputs: Sequence[int], flat: _Flat, bare: Sequence[int]
) -> Program:
    """A function that runs the steps.

    Args:
        count: number of inputs, in the first slots.
        outputs: slots of the results.
        flat: holds the constants.
        bare: which results have no axes, since NumPy may return scalars.
    """
    if len(steps) == 1 and list(outputs) == steps[0][2] and len(outputs) == 1:
        one = _one(count, *steps[0][:2], flat.constants, bool(bare))
        if one is not None:
            return one
    # Constant -1 is in the last slot, -2 in the one before it: a negative slot is a valid list index.
    template = [None] * flat.size + flat.constants[::-1]
    calls = _calls(steps, outputs)
    fixed = [i for i, slot in enumerate(outputs) if slot < 0]
    runs = 0
    written: Program | None = None

    def run(*arrays: Any) -> list[np.ndarray]:
        nonlocal runs, written
        if written is not None:
            return written(*arrays)
        if len(arrays) != count:
            raise TypeError(f"{len(arrays)} arrays for a program of {count}")
        runs += 1
        if runs == RUNS_BEFORE_WRITING:
            written = _written_out(count, steps, calls, outputs, flat.constants, bare)
        slots = template.copy()
        slots[:count] = arrays
        for function, single, several, to, dead in calls:
            result = function(slots[single]) if several is None else function(*several(slots))
            # Most steps return one result, not a list. For small programs, this loop is most of the cost.
            if to.__class__ is int:
                slots[to] = result
            else:
                for where, each in zip(to, result, strict=True):
                    slots[where] = each
            for where in dead:
                slots[where] = None
        results = [slots[i] for i in outputs]
        for i in bare:
            results[i] = np.asarray(results[i])
        for i in fixed:  # the caller may write to a result, but all runs share the constant
            results[i] = np.array(results[i])
        return results

    return run


def _written_out(
    count: int,
    steps: Sequence[Step],
    calls: Sequence[tuple[Any, ...]],
    outputs: Sequence[int],
    constants: Sequence[Any],
    bare: Sequence[int],
) -> Program:
    """The function that ``_runner`` gives as generated code, which takes a fifth of the loop's own time.

    Args:
        count: number of inputs.
        steps: the steps.
        calls: the same, with the slots that are unused after each.
        outputs: slots of the results.
        constants: constant -1 is the first.
        bare: which results have no axes.
    """
    names: dict[str, Any] = {f"c{i}": each for i, each in enumerate(constants)}
    names.update(array=np.array, asarray=np.asarray)

    def name(slot: int) -> str:
        return f"v{slot}" if slot >= 0 else f"c{-1 - slot}"

    lines = [f"def run({', '.join(map(name, range(count)))}):"]
    for number, ((function, read, places), (*_, dead)) in enumerate(zip(steps, calls, strict=True)):
        names[f"f{number}"] = function
        target = name(places[0]) if len(places) == 1 else "".join(f"{name(i)}, " for i in places)
        lines.append(f" {target} = f{number}({', '.join(map(name, read))})")
        if dead:
            lines.append(f" {' = '.join(map(name, dead))} = None")
    results = [
        f"array({name(slot)})"
        if slot < 0
        else f"asarray({name(slot)})"
        if i in bare
        else name(slot)
        for i, slot in enumerate(outputs)
    ]
    lines.append(f" return [{', '.join(results)}]")
    exec("\n".join(lines), names)
    program: Program = names["run"]
    return program


def _one(
    count: int, function: Callable[..., Any], read: Sequence[int], constants: Any, bare: bool
) -> Program | None:
    """The fast path for a single step that reads the inputs in order."""
    if bare:
        return None
    if list(read) == list(range(count)):
        if count == 1:
            return lambda array: [function(array)]
        if count == 2:
            return lambda one, other: [function(one, other)]
        return lambda *arrays: [function(*arrays)]
    if count == 1 and len(read) == 2 and 0 in read and min(read) < 0:
        constant = constants[-1 - min(read)]
        if read[0] == 0:
            return lambda array: [function(array, constant)]
        return lambda array: [function(constant, array)]
    return None


def _calls(steps: Sequence[Step], outputs: Sequence[int]) -> list[tuple[Any, ...]]:
    """Each step with its input and result slots, and the slots that are unused afterwards."""
    needed = set(outputs)
    calls: list[tuple[Any, ...]] = []
    for function, read, written in reversed(steps):
        dead = [i for i in {*read, *written} if i >= 0 and i not in needed]
        needed.update(dead)
        several: Callable[[Any], tuple[Any, ...]] | None = None
        if not read:
            several = _nothing
        elif len(read) > 1:
            several = itemgetter(*read)
        to = written[0] if len(written) == 1 else written
        calls.append((function, read[0] if read else 0, several, to, dead))
    calls.reverse()
    return calls


def _nothing(slots: object) -> tuple[()]:
    return ()
