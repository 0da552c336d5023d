"""A network as a program of JAX primitives, as plain data for the page's JavaScript engine."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from mixnet.base import MXNetError
from mixnet.export.network import (
    Network,
    as_function,
    draws,
    predicted_inputs,
    refusal,
)
from mixnet.export.trace import traced
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.private_jax.calls import called, counts_of_scan
from mixnet.private_jax.equation import Equation
from mixnet.private_jax.jaxprs import ClosedJaxpr, Literal, literal_array

FORMAT_NAME = "a page"
_ALIGNED = 8
_SMALL = 4096  # bytes of a constant that may grow when it is computed ahead

Parameters = Callable[["Program", Any], dict[str, Any] | None]
PRIMITIVES: dict[str, Parameters] = {}
"""What the engine must know of an equation, by the name of its primitive; the engine has a
function for each.
"""


class NoRule(MXNetError):
    """A primitive, or a form of it, that the engine of a page does not have."""


def parameters_of(*names: str) -> Callable[[Parameters], Parameters]:
    """Decorator that declares the parameters of primitives."""

    def declare(function: Parameters) -> Parameters:
        PRIMITIVES.update(dict.fromkeys(names, function))
        return function

    return declare


class Program:
    """The program of a network.

    Values are numbers: of constants, of the input, and of results.

    Args:
        network: what is exported; with one input.
    """

    def __init__(self, network: Network):
        self.specs: list[tuple[str, list[int]]] = []
        self.known: dict[int, np.ndarray] = {}  # constants by value number
        self.layers: list[dict[str, Any]] = []
        self._steps: list[Any] = []
        values: dict[Entry, int] = {}
        (data_input,) = network.inputs
        for node in network.graph.inputs:
            if node.name == data_input.name:
                self.input = values[Entry(node)] = self._value(data_input.shape, data_input.dtype)
            elif node.name in network.params:
                values[Entry(node)] = self.constant(network.params[node.name])
        for node in Graph(network.graph.heads).nodes:
            if not node.is_variable:
                self._node(node, values)
        self.outputs = [values[entry] for entry in network.graph.heads]

    # ---- values ---------------------------------------------------------------------------------

    def _value(self, shape: Any, dtype: Any) -> int:
        self.specs.append((np.dtype(dtype).name, [int(e) for e in shape]))
        return len(self.specs) - 1

    def constant(self, array: object) -> int:
        """The number of a constant."""
        array = np.asarray(array)
        number = self._value(array.shape, array.dtype)
        self.known[number] = array
        return number

    def spec(self, number: int) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and dtype of a value."""
        dtype, shape = self.specs[number]
        return tuple(shape), np.dtype(dtype)

    # ---- nodes ----------------------------------------------------------------------------------

    def _node(self, node: Node, values: dict[Entry, int]) -> None:
        if node.op.calls_python:
            raise refusal(node, FORMAT_NAME, "it runs Python.")
        if draws(node):
            raise refusal(node, FORMAT_NAME, "it draws random numbers.")
        inputs = [values[entry] for entry in predicted_inputs(node)]
        inputs += inputs[:1] * len(node.op.labels)  # which a prediction does not read
        self._steps = []
        try:
            closed, _ = traced(as_function(node), [self.spec(each) for each in inputs])
            outputs = self.run(closed, inputs)
        except NoRule as error:
            raise refusal(node, FORMAT_NAME, f"{error}.") from None
        for i, number in enumerate(outputs):
            values[Entry(node, i)] = number
        if outputs[0] in self.known:
            return  # computed from parameters alone
        before = {number: i for i, layer in enumerate(self.layers) for number in layer["outputs"]}
        self.layers.append(
            {
                "name": node.name,
                "op": node.op.title,
                "output": outputs[0],
                "outputs": outputs,
                "inputs": sorted(
                    {before.get(each, -1) for each in inputs if each not in self.known}
                ),
                "steps": self._steps,
            }
        )

    def run(self, closed: ClosedJaxpr, inputs: Sequence[int]) -> list[int]:
        """Add a program's equations; returns the numbers of its results.

        Raises:
            NoRule: names the primitive that the engine does not have.
        """
        jaxpr = closed.jaxpr
        numbers: dict[Any, int] = dict(zip(jaxpr.invars, inputs, strict=True))
        for variable, value in zip(jaxpr.constvars, closed.consts, strict=True):
            numbers[variable] = self.constant(value)

        def number(atom: object) -> int:
            if isinstance(atom, Literal):
                return self.constant(literal_array(atom))
            return numbers[atom]

        for equation in jaxpr.eqns:
            results = self._equation(equation, [number(each) for each in equation.invars])
            numbers.update(zip(equation.outvars, results, strict=True))
        return [number(each) for each in jaxpr.outvars]

    def _equation(self, equation: Equation, inputs: list[int]) -> list[int]:
        name = equation.primitive.name
        inner = called(equation)
        if inner is not None:
            return self.run(inner, inputs)
        if name == "platform_index":  # the program of CPUs, which knows nothing of any device
            platforms = equation.params["platforms"]
            place = next(i for i, each in enumerate(platforms) if each is None or "cpu" in each)
            return [self.constant(np.int32(place))]
        if name == "cond" and inputs[0] in self.known:
            branches = equation.params["branches"]
            chosen = int(np.clip(int(self.known[inputs[0]]), 0, len(branches) - 1))
            return self.run(branches[chosen], inputs[1:])
        ahead = self._computed_ahead(equation, inputs)
        if ahead is not None:
            return ahead
        if name not in PRIMITIVES:
            raise NoRule(f"it computes {name!r}, which the engine of a page does not have")
        outputs = [self._value(each.aval.shape, each.aval.dtype) for each in equation.outvars]
        parameters = PRIMITIVES[name](self, equation)
        step = _SAME_AS.get(name, name)
        self._steps.append([step, inputs, outputs] + ([] if parameters is None else [parameters]))
        return outputs

    def _computed_ahead(self, equation: Equation, inputs: list[int]) -> list[int] | None:
        """Results of constants alone, where they take no more room than the constants."""
        if any(each not in self.known for each in inputs):
            return None
        size = sum(self.known[each].nbytes for each in inputs)
        produced = sum(
            int(np.prod(v.aval.shape)) * np.dtype(v.aval.dtype).itemsize for v in equation.outvars
        )
        if produced > max(size, _SMALL):
            return None
        with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
            arrays = [self.known[each] for each in inputs]
            results = equation.primitive.bind(*arrays, **equation.params)
        results = results if equation.primitive.multiple_results else [results]
        return [self.constant(each) for each in results]

    def body(self, closed: ClosedJaxpr) -> dict[str, Any]:
        """The body of a loop."""
        before, self._steps = self._steps, []
        inputs = [self._value(v.aval.shape, v.aval.dtype) for v in closed.jaxpr.invars]
        outputs = self.run(closed, inputs)
        description = {"inputs": inputs, "outputs": outputs, "steps": self._steps}
        self._steps = before
        return description

    # ---- as data --------------------------------------------------------------------------------

    def to_dict(self) -> tuple[dict[str, Any], str]:
        """The program as JSON takes it, and its constants in base64."""
        read = _read(step for layer in self.layers for step in layer["steps"])
        read |= set(self.outputs)
        pieces, places, offset = [], [], 0
        for number, array in self.known.items():
            if number not in read:
                continue
            single = array.dtype.name in ("float32", "float16", "bfloat16")
            content = array.astype("<f4" if single else "<f8").tobytes()
            content += bytes(-len(content) % _ALIGNED)
            places.append([number, offset])
            pieces.append(content)
            offset += len(content)
        layers = [{k: v for k, v in layer.items() if k != "outputs"} for layer in self.layers]
        described = {"specs": self.specs, "constants": places, "input": self.input, "outputs": self.outputs,
                     "layers": layers}  # fmt: skip
        return described, base64.b64encode(b"".join(pieces)).decode()


def _read(steps: Any) -> set[int]:
    numbers: set[int] = set()
    for step in steps:
        numbers.update(step[1])
        body = step[3].get("body") if len(step) > 3 else None
        if body is not None:
            numbers |= _read(body["steps"]) | set(body["outputs"])
    return numbers


_SAME_AS = {"squeeze": "reshape", "expand_dims": "reshape", "quotient": "div"}
_PLAIN = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cbrt",
    "ceil",
    "copy",
    "copy_p",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "is_finite",
    "log",
    "log1p",
    "logistic",
    "neg",
    "optimization_barrier",
    "reduce_precision",
    "rsqrt",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "stop_gradient",
    "tan",
    "tanh",
    "add",
    "add_any",
    "sub",
    "mul",
    "max",
    "min",
    "pow",
    "atan2",
    "rem",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "div",
    "quotient",
    "select_n",
    "clamp",
    "convert_element_type",
    "reshape",
    "squeeze",
    "expand_dims",
    "not",
]


@parameters_of(*_PLAIN)
def _(program: Program, equation: Equation) -> None:
    return None


@parameters_of("and", "or", "xor")
def _(program: Program, equation: Equation) -> None:
    if np.dtype(equation.invars[0].aval.dtype) != np.bool_:
        raise NoRule("it computes with the bits of numbers")


@parameters_of("integer_pow")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    return {"y": int(equation.params["y"])}


@parameters_of("round")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    return {"even": int(equation.params["rounding_method"]) == 1}


@parameters_of("transpose")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    return {"order": list(equation.params["permutation"])}


@parameters_of("broadcast_in_dim")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    return {"axes": list(equation.params["broadcast_dimensions"])}


@parameters_of("concatenate")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    return {"axis": equation.params["dimension"]}


@parameters_of("split")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    return {"axis": equation.params["axis"], "sizes": list(equation.params["sizes"])}


@parameters_of("slice")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    start = list(equation.params["start_indices"])
    return {"start": start, "steps": list(equation.params["strides"] or [1] * len(start))}


@parameters_of("rev")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    return {"axes": list(equation.params["dimensions"])}


@parameters_of("pad")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    return {"padding": [list(each) for each in equation.params["padding_config"]]}


@parameters_of(
    "reduce_sum",
    "reduce_prod",
    "reduce_max",
    "reduce_min",
    "reduce_and",
    "reduce_or",
    "argmax",
    "argmin",
)
def _(program: Program, equation: Equation) -> dict[str, Any]:
    return {"axes": list(equation.params["axes"])}


@parameters_of("cumsum", "cumprod", "cummax", "cummin")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    return {"axis": equation.params["axis"], "reverse": bool(equation.params["reverse"])}


@parameters_of("reduce_window_sum", "reduce_window_max", "reduce_window_min")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    params = equation.params
    if any(each != 1 for each in params["base_dilation"]):
        raise NoRule("its windows run over dilated data")
    return {
        "window": list(params["window_dimensions"]),
        "strides": list(params["window_strides"]),
        "padding": [list(each) for each in params["padding"]],
        "dilation": list(params["window_dilation"]),
    }


@parameters_of("dot_general")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    contract, batch = equation.params["dimension_numbers"]
    return {"contract": [list(each) for each in contract], "batch": [list(each) for each in batch]}


@parameters_of("conv_general_dilated")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    params = equation.params
    if params["batch_group_count"] != 1:
        raise NoRule("it is a convolution with batch groups")
    if len(params["window_strides"]) not in (1, 2):
        raise NoRule(f"it is a convolution over {len(params['window_strides'])} axes, not 1 or 2")
    lhs, rhs, out = params["dimension_numbers"]
    return {
        "lhs": list(lhs),
        "rhs": list(rhs),
        "out": list(out),
        "strides": list(params["window_strides"]),
        "padding": [list(each) for each in params["padding"]],
        "lhs_dilation": list(params["lhs_dilation"]),
        "rhs_dilation": list(params["rhs_dilation"]),
        "groups": params["feature_group_count"],
    }


@parameters_of("gather")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    params, numbers = equation.params, equation.params["dimension_numbers"]
    mode = str(params["mode"]).lower()
    fill = params["fill_value"]
    if fill is None:
        fill = "NaN" if np.dtype(equation.outvars[0].aval.dtype).kind == "f" else 0
    return {
        "offset": list(numbers.offset_dims),
        "collapsed": list(numbers.collapsed_slice_dims),
        "map": list(numbers.start_index_map),
        "operandBatch": list(numbers.operand_batching_dims),
        "indexBatch": list(numbers.start_indices_batching_dims),
        "sizes": list(params["slice_sizes"]),
        "clip": "fill" not in mode,
        "fill": fill,
    }


@parameters_of("dynamic_slice")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    return {"sizes": list(equation.params["slice_sizes"])}


@parameters_of("scan")
def _(program: Program, equation: Equation) -> dict[str, Any]:
    params = equation.params
    constants, carried = counts_of_scan(equation)
    return {
        "constants": constants,
        "carried": carried,
        "length": params["length"],
        "reverse": bool(params["reverse"]),
        "body": program.body(params["jaxpr"]),
    }
