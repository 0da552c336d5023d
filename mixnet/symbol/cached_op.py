"""``CachedOp``: a symbol as a function of arrays, compiled at the first call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.base import AttributeTypeError
from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.call import is_array
from mixnet.passes.facts import Facts
from mixnet.runtime.trace.graph_op import GraphOp, call_graph, move_states
from mixnet.runtime.value.state import state
from mixnet.symbol.executable import executable_graph, state_graph
from mixnet.symbol.symbol import Symbol


class CachedOp:
    """A symbol as a function.

    ``handle`` is the symbol, ``is_np_sym`` whether it follows NumPy's rules.

    Args:
        sym: the symbol.
        flags: MXNet's, as pairs of names and values; they have no effect.
    """

    __slots__ = ("_names", "_ops", "flags", "handle", "is_np_sym")

    def __init__(self, sym: Symbol, flags: Any = ()):
        self.handle = sym
        self.is_np_sym = is_array(sym)
        self.flags = tuple(flags)
        self._ops: dict[Any, tuple[GraphOp, list[int]]] = {}
        self._names = sym.list_inputs()

    def __call__(self, *args: NDArray, **kwargs: object) -> Any:
        """Outputs: an array, or a list of several.

        Args:
            args: one array for each name of ``sym.list_inputs()``; states are written.
            kwargs: ``out``, arrays for the outputs; ``default_ctx`` is taken.

        Raises:
            AttributeTypeError: too many or too few arrays.
        """
        if len(args) != len(self._names):
            raise AttributeTypeError(
                f"CachedOp takes {len(self._names)} arrays ({', '.join(self._names)}), not "
                f"{len(args)}."
            )
        op, order = self._op(bool(state.training), args)
        handles = [args[i] for i in order]
        values = [each._read() for each in handles]
        outputs, states = call_graph(op, values, args[0].context)
        move_states(
            op, [handles[i] for i in op.graph.states], [values[i] for i in op.graph.states], states
        )
        results = [type(args[0])._wrap(value) for value in outputs]
        out = kwargs.get("out")
        if out is not None:
            targets = out if isinstance(out, (list, tuple)) else [out]
            for target, result in zip(targets, results, strict=True):
                target[:] = result
            return out
        return results[0] if len(results) == 1 else results

    def _op(self, training: bool, args: Sequence[NDArray]) -> tuple[GraphOp, list[int]]:
        specs = tuple([(each.shape, each._spec.dtype) for each in args])
        key = (training, specs)
        if key not in self._ops:
            inputs = state_graph(self.handle, training).inputs
            order = [self._names.index(node.name) for node in inputs]
            facts = Facts(args[0].context.device.platform, [specs[i] for i in order])
            graph = executable_graph(self.handle, training, facts)
            self._ops[key] = GraphOp(graph, self.handle.name or "group"), order
        return self._ops[key]
