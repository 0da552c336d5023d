"""A loaded StableHLO program as an operator of a symbol."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from mixnet.array_like import has_dtype
from mixnet.base import FileFormatError, GradientError, ShapeError
from mixnet.dtype import as_dtype
from mixnet.export.stablehlo import parameters_beside
from mixnet.export.stablehlo_file import read_program
from mixnet.ndarray.params_file import load
from mixnet.ops.op import Op
from mixnet.symbol.compose import compose
from mixnet.symbol.symbol import Symbol, Variable


@dataclass(frozen=True)
class Loaded:
    """A program as a symbol.

    Args:
        symbol: its outputs.
        input_names: of its inputs, in their order.
        params: arrays of its other variables by name; empty where they are inside of the program.
    """

    symbol: Symbol
    input_names: list[str]
    params: dict[str, Any]


def load_stablehlo(
    path: str | os.PathLike[str], params: str | os.PathLike[str] | None = None
) -> Loaded:
    """A StableHLO program as a symbol, with its parameters.

    Args:
        path: of a file that ``export(format="stablehlo")`` or ``jax.export`` wrote.
        params: file of its parameters, where its function takes a dict of them first; by default
            the safetensors file of the same name beside it.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: a file is damaged, or they do not go together.
    """
    program, digest = read_program(path)
    name = os.fspath(path)
    positional, keywords = jax.tree.unflatten(program.in_tree, program.in_avals)
    if keywords or not positional:
        raise FileFormatError(f"{name}: its function does not take arrays, or a dict and arrays.")
    first, rest = (positional[0], positional[1:]) if _is_dict(positional[0]) else ({}, positional)
    if not all(map(has_dtype, (*first.values(), *rest))):
        raise FileFormatError(
            f"{name}: the arguments of its function are nested; it should take arrays, or a dict and arrays."
        )
    for each in program.in_avals:
        as_dtype(each.dtype)
    arrays = _parameters(name, params, first) if first else {}
    inputs = ["data"] if len(rest) == 1 else [f"data{i}" for i in range(len(rest))]
    order = sorted(first)  # as JAX flattens a dict
    op = _operator(program, digest, name)
    variables = [Variable(each) for each in (*order, *inputs)]
    return Loaded(compose(op, op.name, variables, {}, "program"), inputs, arrays)


def _is_dict(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _parameters(name: str, params: Any, specs: dict[str, Any]) -> dict[str, Any]:
    path = parameters_beside(name) if params is None else os.fspath(params)
    arrays = load(path)
    if not isinstance(arrays, dict):
        raise FileFormatError(f"{path} holds arrays without names, not parameters.")
    for key, spec in specs.items():
        if key not in arrays:
            raise FileFormatError(f"{path} has no array {key!r}, which the program {name} takes.")
        if arrays[key].shape != tuple(spec.shape) or arrays[key].dtype != spec.dtype:
            raise FileFormatError(
                f"{path}: array {key!r} is {arrays[key].dtype}{arrays[key].shape}; the program {name} takes "
                f"{spec.dtype}{tuple(spec.shape)}."
            )
    return {key: arrays[key] for key in specs}


def _operator(program: Any, digest: str, path: str) -> Op:
    """An operator that calls the program; named by its content, as no other program is."""
    described = ", ".join(f"{each.dtype}{list(each.shape)}" for each in program.in_avals)
    call_program = program.call if program.has_vjp() else _without_gradient(program.call, path)

    def call(*arrays: Any) -> Any:
        """Outputs of a StableHLO program."""
        try:
            leaves = call_program(*jax.tree.unflatten(program.in_tree, arrays)[0])
        except (ValueError, TypeError):
            shapes = ", ".join(f"{each.dtype}{list(each.shape)}" for each in arrays)
            raise ShapeError(
                f"{path} takes {described}; these arrays do not fit: {shapes}."
            ) from None
        return tuple(jax.tree.leaves(leaves))

    return Op(
        f"stablehlo_{digest[:12]}",
        call,
        outputs=len(program.out_avals),
        num_args=None,
        output_names=_names(program.out_avals),
    )


def _without_gradient(function: Callable[..., Any], path: str) -> Callable[..., Any]:
    """The function, with an error of ours where its gradient is asked for."""

    def forward(*arguments: Any) -> tuple[Any, None]:
        return function(*arguments), None

    def backward(_: None, heads: object) -> Any:
        raise GradientError(
            f"{path} was exported without its gradient, so it cannot be differentiated. Export "
            f"it again, with "
            f"gradients=True."
        )

    wrapped = jax.custom_vjp(function)
    wrapped.defvjp(forward, backward)
    return wrapped


def _names(outputs: Sequence[Any]) -> list[str]:
    return ["output"] if len(outputs) == 1 else [f"output{i}" for i in range(len(outputs))]
