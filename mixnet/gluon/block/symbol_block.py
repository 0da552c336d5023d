"""SymbolBlock: a block around a symbol."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mixnet import symbol as sym
from mixnet.base import AttributeValueError, CheckError, NotDefinedError
from mixnet.context import as_context, current_context
from mixnet.dtype import dtype_name
from mixnet.gluon.block.hybrid import HybridBlock, first_input
from mixnet.gluon.block.run_symbol import run_symbol
from mixnet.gluon.parameter import ParameterDict
from mixnet.gluon.parameter.arrays import is_initialized
from mixnet.graph.node import Entry
from mixnet.ndarray.ndarray import NDArray
from mixnet.passes.infer_shape import (
    check_one_shape,
    infer,
    variables_of_one_shape,
)
from mixnet.process.source import warn_user
from mixnet.symbol.symbol import Symbol, Variable
from mixnet.util import is_np_array, set_module

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.context import Context
    from mixnet.dtype import DTypeLike
    from mixnet.gluon.block.tensor import Tensor


def _flat_symbols(nested: object) -> list[Symbol]:
    if isinstance(nested, Symbol):
        return [nested]
    if not isinstance(nested, (list, tuple)):
        raise AttributeValueError(
            f"SymbolBlock takes symbols, or lists of them, for outputs and inputs, not {nested!r:.60}; "
            f"an input is mx.sym.var('data')."
        )
    return [each for part in nested for each in _flat_symbols(part)]


@set_module("mixnet.gluon.block")
class SymbolBlock(HybridBlock):
    """A block around a symbol.

    Args:
        outputs: a symbol, or a list.
        inputs: the variables that are inputs; all others become parameters.
        params: parameters to share.

    Raises:
        CheckError: an input is not a variable.
    """

    def __init__(
        self,
        outputs: Symbol | Sequence[Symbol],
        inputs: Symbol | Sequence[Symbol],
        params: ParameterDict | None = None,
    ):
        super().__init__(prefix=None, params=params)
        self._prefix = ""
        self._params = ParameterDict("", params)
        if isinstance(outputs, (list, tuple)) and len(outputs) == 1:
            outputs = outputs[0]
        heads, variables = _flat_symbols(outputs), _flat_symbols(inputs)
        for each in variables:
            if each.num_outputs != 1 or not each._heads[0].node.is_variable:
                raise CheckError(
                    f"SymbolBlock: an input is a variable, such as mx.sym.var('data'); {each!r} is the "
                    f"output of operators."
                )
        self._symbol = heads[0] if len(heads) == 1 else sym.Group(heads, type(heads[0]))
        self._single = isinstance(outputs, Symbol) and outputs.num_outputs == 1
        self._inputs = [str(each.name) for each in variables]
        self._one_shape = variables_of_one_shape(self._symbol.graph)
        self._cached_graph = (variables, self._symbol)
        states = set(self._symbol.list_auxiliary_states())
        names = [*self._symbol.list_arguments(), *self._symbol.list_auxiliary_states()]
        self._check_dense()
        dtypes = self._dtypes(names, variables)
        for name in names:
            if name not in self._inputs:
                options: dict[str, Any] = {"grad_req": "null"} if name in states else {}
                if name in dtypes:
                    options["dtype"] = dtypes[name]
                self.params.get(name, allow_deferred_init=True, **options)
        cut = len(_common_prefix(list(self._params.keys())))
        self._reg_params = {name[cut:]: each for name, each in self._params.items()}

    def _set_values(self, values: Mapping[str, NDArray], ctx: Any) -> None:
        """Initialize the parameters with arrays, on a device or a list of them; None is the current one."""
        devices = ctx if isinstance(ctx, (list, tuple)) else [ctx]
        contexts = [current_context() if each is None else as_context(each) for each in devices]
        for name, parameter in self.collect_params().items():
            value = values[name]
            parameter.shape, parameter.dtype = value.shape, value.dtype
            parameter._load_init(value, contexts)

    def _check_dense(self) -> None:
        for node in self._symbol.graph.nodes:
            sparse = node.attrs.get("__storage_type__", "0") not in ("0", "-1")
            if node.is_variable and sparse and node.name not in self._inputs:
                raise CheckError(
                    f"SymbolBlock: parameter {node.name!r} is not dense, as a SymbolBlock requires. "
                    f"Make the variable without stype, or bind the symbol."
                )

    def _dtypes(self, names: list[str], inputs: Sequence[Symbol]) -> dict[str, Any]:
        """Dtypes of variables that the attributes of the symbol and the inputs state or imply."""
        graph = self._symbol.graph
        known = {}
        for each in inputs:
            dtype = infer(each.graph, {}, {}, default_dtype=None).dtypes.get(each.graph.heads[0])
            if dtype is not None and each.name in names:
                known[each.name] = dtype
        dtypes = infer(graph, {}, known, default_dtype=None).dtypes if names else {}
        entries = {node.name: Entry(node) for node in graph.nodes if node.is_variable}
        return {n: dtypes[entries[n]].type for n in names if n in entries and entries[n] in dtypes}

    def __repr__(self) -> str:
        variables, symbol = self._inputs, self._symbol
        return f"{type(self).__name__}(\n{symbol!r} : {len(variables)} -> {symbol.num_outputs}\n)"

    @staticmethod
    def imports(
        symbol_file: str,
        input_names: str | Sequence[str],
        param_file: str | None = None,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> SymbolBlock:
        """Load a network written by ``export``.

        Args:
            symbol_file: path of the symbol.
            input_names: names of its inputs.
            param_file: path of the parameters.
            ctx: context of the parameters.
            allow_missing: leave parameters that the file does not have.
            ignore_extra: ignore values that the network does not have.

        Raises:
            FileFormatError: a file is truncated or corrupted.
            CheckError: names do not match.
        """
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        symbol = sym.load(os.fspath(symbol_file))
        variables = [Variable(name) for name in names]
        if is_np_array():
            symbol = symbol.as_np_ndarray()
            variables = [each.as_np_ndarray() for each in variables]
        known = symbol.list_inputs()
        unknown = [name for name in names if name not in known]
        misspelled = CheckError(
            f"{symbol_file} has no input {', '.join(map(repr, unknown))}; it has "
            f"{', '.join(known[:8])}."
        )
        if unknown and len(unknown) == len(names):
            raise misspelled
        block = SymbolBlock(symbol, variables)
        if param_file is not None:
            try:
                block.collect_params().load(
                    os.fspath(param_file),
                    ctx,
                    allow_missing,
                    ignore_extra,
                    cast_dtype=True,
                    dtype_source="saved",
                )
            except CheckError as error:
                if unknown:  # its data is among the missing parameters
                    raise misspelled from error
                raise
        if unknown:  # export() leaves inputs out that the network does not read
            warn_user(
                f"Input {', '.join(unknown)} is not used by any computation of {symbol_file}."
            )
        return block

    def _clear_cached_op(self) -> None:
        graph = self.__dict__.get("_cached_graph", ())
        super()._clear_cached_op()
        self.__dict__["_cached_graph"] = graph  # the graph defines the block

    def _mx_input_names(self, count: int) -> list[str]:
        return list(self._inputs) if count == len(self._inputs) else super()._mx_input_names(count)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_cached_graph": self._cached_graph}

    def reset_ctx(self, ctx: Context | Sequence[Context] | None) -> None:
        """Move all values to other contexts.

        Args:
            ctx: a context or a list of them; the current one by default.
        """
        self.collect_params().reset_ctx(ctx)

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype; for float16, the parameters of batch normalization are float32."""
        super().cast(dtype)

    def _mx_cast_all(self, dtype: DTypeLike) -> None:
        super()._mx_cast_all(dtype)
        if dtype_name(dtype) == "float16":  # as nn.BatchNorm: statistics need the precision
            for name in self._of_batch_norm():
                if name in self.params:
                    self.params[name].cast("float32")

    def _of_batch_norm(self) -> list[str]:
        """Names of the variables that are parameters of batch normalization, in any order."""
        return [
            entry.node.name
            for node in self._symbol.graph.nodes
            if not node.is_variable and "moving_var" in node.op.arrays
            for entry in node.inputs[1:]
            if entry.node.is_variable
        ]

    def __call__(self, x: Tensor, *args: Any) -> Any:
        """See ``forward``; first checks inputs for which the symbol has a fixed shape."""
        if self._one_shape:  # a hybridized call does not check the shapes of the symbol's variables
            for name, each in zip(self._inputs, _flat((x, *args)), strict=False):
                if name in self._one_shape and isinstance(each, NDArray):
                    check_one_shape(self._one_shape[name], each.shape)
        return super().__call__(x, *args)

    def forward(self, x: Tensor, *args: Any) -> Any:
        """Outputs of the symbol for its inputs in order.

        Args:
            x: first input, an array or a symbol.
            args: further inputs.
        """
        first = first_input(self, (x, *args))
        inputs = _flat((x, *args))
        if len(inputs) != len(self._inputs):
            raise CheckError(
                f"SymbolBlock takes {len(self._inputs)} input(s) ({', '.join(self._inputs)}), not "
                f"{len(inputs)}."
            )
        by_name: dict[str, Any] = dict(zip(self._inputs, inputs, strict=True))
        if isinstance(first, Symbol):
            # Parameters keep their attributes.
            known = set(self._symbol.list_inputs())
            composed = self._symbol(**{n: s for n, s in by_name.items() if n in known})
            return composed if self._single else list(composed)
        waiting = [each for each in self._params.values() if not is_initialized(each)]
        if waiting:
            shapes = {name: array.shape for name, array in by_name.items()}
            inferred = infer(self._symbol.graph, shapes).shapes
            in_order = [
                n for n in self._symbol.graph.nodes if n.is_variable and n.name in self._params
            ]
            for node in in_order:
                self._params[node.name]._complete_shape(inferred.get(Entry(node)))
            for node in in_order:  # random numbers are drawn in this order
                self._params[node.name]._finish_deferred_init()
        handles = {name: each.data(first.context) for name, each in self._params.items()}
        outputs = run_symbol(self._symbol, by_name | handles, type(first))
        return outputs[0] if self._single else outputs

    def hybrid_forward(self, F: ModuleType, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Not used: the symbol defines the computation."""
        raise NotDefinedError("A SymbolBlock has no hybrid_forward: call it.")


def _flat(nested: Any) -> list[Any]:
    if isinstance(nested, (NDArray, Symbol)):
        return [nested]
    return [each for part in nested for each in _flat(part)]


def _common_prefix(names: list[str]) -> str:
    """The common prefix of all names."""
    if not names:
        return ""
    low, high = min(names), max(names)
    same = 0
    while same < len(low) and low[same] == high[same]:
        same += 1
    return low[:same]
