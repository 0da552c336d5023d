"""A block as a pure function of JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from mixnet.autograd.scope import RecordingScope
from mixnet.base import MXNetError
from mixnet.context import current_context
from mixnet.gluon.block.block import Block
from mixnet.gluon.trace import unflatten
from mixnet.ndarray.ndarray import NDArray
from mixnet.runtime.compile.lower import lower
from mixnet.runtime.value.value import Spec

if TYPE_CHECKING:
    from mixnet.gluon.block.traced_block import TracedBlock


def functionalize(block: TracedBlock, inputs: tuple[Any, ...]) -> tuple[Any, dict[str, jax.Array]]:
    """See ``HybridBlock.functionalize``."""
    if inputs:
        with RecordingScope(False, False):
            Block.__call__(block, *inputs)
    by_name = {each.name: each for each in block.collect_params().values()}
    params = {name: jax.numpy.array(each.data().__jax_array__()) for name, each in by_name.items()}

    def function(
        params: dict[str, jax.Array],
        *arrays: Any,
        training: bool = False,
        key: Any = None,
        states: bool = False,
    ) -> Any:
        context = current_context()
        with jax.enable_x64(True):
            arrays = tuple(jax.numpy.asarray(each) for each in arrays)
            specs = [Spec.of(tuple(a.shape), a.dtype, context) for a in arrays]
            structure = (tuple, (NDArray,) * len(arrays))
            program = block._mx_trace(specs, structure, training)
            names = [each.name for each in program.parameters]
            values = [*arrays, *[params[name] for name in names]]
            values += [value.array for value in program.captured]
            if len(values) < len(program.graph.inputs):  # the graph draws
                if key is None and not training:  # dropout draws nothing when predicting
                    key = jax.numpy.zeros(2, jax.numpy.uint32)
                if key is None:
                    raise MXNetError(
                        "The network draws random numbers: pass key=jax.random.key(0)."
                    )
                typed = jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key)
                words = jax.random.key_data(key) if typed else key
                values.append(jax.numpy.append(words, jax.numpy.uint32(0)))
            results = lower(program.graph)(values, ())
        count = program.graph.num_outputs
        output = unflatten(iter(results[:count]), program.outputs)
        if not states:
            return output
        new = dict(params)
        for i, value in zip(program.graph.states, results[count:], strict=True):
            new[names[i - len(arrays)]] = value
        return output, new

    return function, params
