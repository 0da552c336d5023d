"""Rules for JAX's loop and branch primitives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.onnx.export.primitive_rules import dtype_of, is_narrow
from mixnet.onnx.export.primitives import Lowering, rule
from mixnet.private_jax.calls import counts_of_scan
from mixnet.private_jax.equation import Equation

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike
    from mixnet.onnx.export.builder import Builder


def _body(low: Lowering, carry: list[str], atoms: Any) -> tuple[Any, Lowering, list[str]]:
    """A loop's body, what lowers into it, and its inputs: number of the turn, condition, carried values."""
    inner = low.b.body()
    number, condition = inner.fresh(f"{low.b.scope}/turn"), inner.fresh(f"{low.b.scope}/going")
    inner.inputs = [(number, np.dtype("int64"), []), (condition, np.dtype(bool), [])]
    names = [inner.fresh(f"{low.b.scope}/carried") for _ in carry]
    _declare(inner, atoms, names, False)
    return inner, low.inside(inner), [number, condition, *names]


def _declare(inner: Any, atoms: Any, names: list[str], outputs: bool) -> None:
    declared = inner.outputs if outputs else inner.inputs
    for name, atom in zip(names, atoms, strict=True):
        dims = [int(e) if isinstance(e, int) else None for e in atom.aval.shape]
        declared.append((name, dtype_of(atom), dims))


def _unique(inner: Any, names: list[str]) -> list[str]:
    """Unique names, as required for the outputs of a body."""
    return [inner.Identity(each) for each in names]


def _any(b: Builder, holds: str, rank: int) -> str:
    """Whether any of several loops continues."""
    return (
        b.cast(b.reduce("ReduceMax", b.cast(holds, np.int32), range(rank), False), bool)
        if rank
        else holds
    )


def _chosen(low: Lowering, holds: str, rank: int, new: str, old: str, atom: Any) -> str:
    b, dtype = low.b, dtype_of(atom)
    axes = list(range(rank, len(atom.aval.shape)))
    holds = b.Unsqueeze(holds, axes) if axes else holds
    if is_narrow(dtype):
        new, old = b.cast(new, np.int64), b.cast(old, np.int64)
    chosen = b.Where(holds, new, old)
    return b.cast(chosen, dtype) if is_narrow(dtype) else chosen


@rule("while")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> Any:
    b, params = low.b, equation.params
    tests, bodies = params["cond_nconsts"], params["body_nconsts"]
    test_consts, body_consts, carry = (
        inputs[:tests],
        inputs[tests : tests + bodies],
        inputs[tests + bodies :],
    )
    atoms = equation.invars[tests + bodies :]
    test, rank = params["cond_jaxpr"], len(params["cond_jaxpr"].out_avals[0].shape)
    (holds,) = low.run(test, [*test_consts, *carry])
    running = _any(b, holds, rank)
    inner, inside, (_, _, *names) = _body(low, carry, atoms)
    after = inside.run(params["body_jaxpr"], [*body_consts, *names])
    if rank:  # several loops side by side: one that is over keeps its values
        (holds,) = inside.run(test, [*test_consts, *names])
        after = [
            _chosen(inside, holds, rank, new, old, a)
            for new, old, a in zip(after, names, atoms, strict=True)
        ]
    (holds,) = inside.run(test, [*test_consts, *after])
    continues = _any(inner, holds, rank)
    continues, *after = _unique(inner, [continues, *after])
    inner.outputs = [(continues, np.dtype(bool), [])]
    _declare(inner, atoms, after, True)
    return b.add_several("Loop", ("", running, *carry), len(carry), {"body": inner})


@rule("scan")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> Any:
    b, params = low.b, equation.params
    consts, carried = counts_of_scan(equation)
    fixed, carry, stacked = (
        inputs[:consts],
        inputs[consts : consts + carried],
        inputs[consts + carried :],
    )
    atoms = equation.invars[consts : consts + carried]
    inner, inside, (number, condition, *names) = _body(low, carry, atoms)
    at = number
    if params["reverse"]:
        at = inner.Sub(inside.scalar(params["length"] - 1), number)
    slices = [inner.Gather(each, at, axis=0) for each in stacked]
    after = _unique(inner, inside.run(params["jaxpr"], [*fixed, *names, *slices]))
    inner.outputs = [(inner.Identity(condition), np.dtype(bool), [])]
    _declare(inner, params["jaxpr"].jaxpr.outvars, after, True)
    starts = (low.scalar(params["length"]), b.constant(np.asarray(True)), *carry)
    results = b.add_several("Loop", starts, len(after), {"body": inner})
    if params["reverse"]:
        results = [
            *results[:carried],
            *[b.Slice(r, [-1], [-(1 << 60)], [0], [-1]) for r in results[carried:]],
        ]
    return results


@rule("cond")
def _(low: Lowering, equation: Equation, inputs: list[str]) -> Any:
    which, *operands = inputs
    branches = equation.params["branches"]
    dtype = dtype_of(equation.invars[0])
    known = low.b.known(which)
    if known is not None:
        return low.run(branches[int(np.clip(int(known), 0, len(branches) - 1))], operands)
    return _branch(low, low.b, equation, which, dtype, branches, operands)


def _branch(
    low: Lowering,
    b: Builder,
    equation: Equation,
    which: str,
    dtype: DTypeLike,
    branches: Any,
    operands: list[str],
) -> list[str]:
    """The first branch for 0, the others for larger indices."""
    first, *others = branches
    if not others:
        return Lowering(b, low.sizes).run(first, operands)
    if len(others) == 1 and dtype == np.bool_:
        chosen = which
    else:
        chosen = b.Greater(b.cast(which, np.int64, dtype), b.constant(np.int64(0)))
        which, dtype = (
            b.Sub(b.cast(which, np.int64, dtype), b.constant(np.int64(1))),
            np.dtype("int64"),
        )
    yes, no = b.body(), b.body()
    after = (
        _branch(low, yes, equation, which, dtype, others, operands)
        if len(others) > 1
        else low.inside(yes).run(others[0], operands)
    )
    before = low.inside(no).run(first, operands)
    for inner, names in ((yes, after), (no, before)):
        _declare(inner, equation.outvars, _unique(inner, names), True)
    outputs = len(equation.outvars)
    return b.add_several("If", (chosen,), outputs, {"then_branch": yes, "else_branch": no})
