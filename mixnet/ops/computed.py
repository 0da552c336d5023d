"""An operator computes by calling its function, and backward by a declared rule, where there is one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import DTypeError, MXNetError
from mixnet.ops.generators.source import (
    KEY_DEMAND,
    AnswerError,
    Asked,
    Demand,
    DrawnForHost,
    DrawnNow,
)
from mixnet.ops.operator import Arrays, Statics
from mixnet.ops.parameters import KEY, Parametrized, as_called
from mixnet.ops.schema.stream import key_at

_PARAMETERS = ("weight", "bias", "gamma", "beta")


class Computed(Parametrized):
    """An operator that calls its function; :class:`mixnet.ops.op.Op` documents what is declared."""

    one_dtype: bool
    integers: Sequence[str] | None
    booleans: bool
    draws_as_mxnet: bool
    draws_by_value: bool
    draws_on_numpy: str | None
    _gradient: Callable[..., Any] | None = None

    def apply(self, statics: Statics, arrays: Arrays, scalars: Arrays = ()) -> tuple[Any, ...]:
        """Outputs, then new states, of JAX arrays or tracers.

        With ``takes_key`` the last array is the stream and the last scalar the number of the draw.
        """
        arrays, scalars, key = self._with_key(arrays, scalars)
        if self._gradient is None:
            return self._call(statics, arrays, scalars, key)
        outputs = self._apply_with_gradient(statics, tuple(arrays), tuple(scalars), key)
        return (*outputs, *outputs) if self.keeps_outputs else outputs

    def _with_key(self, arrays: Arrays, scalars: Arrays) -> tuple[Arrays, Arrays, Any]:
        """The arrays and scalars of :meth:`apply` without the last, and the key that these say."""
        if not self.takes_key:
            return arrays, scalars, None
        *arrays, stream = arrays
        *scalars, draw = scalars
        return arrays, scalars, key_at(stream, draw, self.draws_as_mxnet)

    def with_declared_gradient(
        self, statics: Statics, arrays: Arrays, scalars: Arrays = ()
    ) -> tuple[tuple[Any, ...], Callable[[Arrays], list[Any]]] | None:
        """Outputs, and gradients of the arrays from those of all outputs, by the declared rule.

        A gradient is None where there is none. The result is None if no rule is declared, or if the rule
        needs the outputs of this very call.
        """
        if self._gradient is None or self.keeps_outputs:
            return None
        arrays, scalars, key = self._with_key(arrays, scalars)
        outputs = self._call(statics, arrays, scalars, key)

        def pull(heads: Arrays) -> list[Any]:
            return self._by_rule(statics, arrays, scalars, key, outputs, heads)

        return outputs, pull

    def gradient_of_call(
        self, statics: Statics, heads: Arrays, outputs: Arrays, arrays: Arrays
    ) -> tuple[Any, ...]:
        """Gradients of the arrays of a call whose outputs are known, None where there is none."""
        assert self._gradient is not None
        gradients = self._gradient(tuple(heads), tuple(outputs), *arrays, **self.keywords(statics))
        return (*gradients, *[None] * (len(arrays) - len(gradients)))

    def demands(
        self,
        statics: Statics,
        known: Sequence[tuple[tuple[int, ...], np.dtype]],
        scalars: Sequence[float],
    ) -> tuple[Demand, ...]:
        """What the host draws for a call.

        Args:
            statics: attributes, bound.
            known: shape and dtype of each array; without the stream.
            scalars: the numbers that are inputs; without that of the draw.
        """
        if not self.draws_as_mxnet:
            return (KEY_DEMAND,)
        numbers = tuple(scalars) if self.draws_by_value else (0.0,) * len(scalars)
        try:
            return _demands(self, statics, tuple(known), numbers)
        except MXNetError as error:
            error.args = (as_called(str(error)), *error.args[1:])
            error.__notes__ = []
            raise error.with_traceback(None) from error.__cause__
        except Exception:  # attributes of a wrong kind: explained where the results are inferred
            return (KEY_DEMAND,)

    def drawn_on_numpy(
        self, statics: Statics, scalars: Sequence[Any], count: int, key: DrawnForHost
    ) -> np.ndarray:
        """The next numbers of a call that draws with NumPy.

        Args:
            statics: attributes, bound.
            scalars: the numbers that are inputs, of NumPy; without that of the draw.
            count: how many.
            key: the draw.
        """
        keywords = self.keywords(statics, scalars)
        keywords.update({self.draws_on_numpy or "": (count,), KEY: key})
        numbers: np.ndarray = self.function(**keywords)
        return numbers

    def drawn_at_once(
        self,
        statics: Statics,
        arrays: Sequence[np.ndarray],
        scalars: Sequence[float],
        key: DrawnNow,
    ) -> list[np.ndarray]:
        """The results of a call whose arrays decide how much is drawn.

        Args:
            statics: attributes, bound.
            arrays: the inputs; without the stream.
            scalars: the numbers that are inputs; without that of the draw.
            key: the generators.
        """
        numbers = tuple(np.float64(each) for each in scalars)
        with jax.enable_x64(True):
            outputs = self._call(statics, tuple(arrays), numbers, cast(Any, key))
        return [np.asarray(each) for each in outputs]

    def _call(self, statics: Statics, arrays: Arrays, scalars: Arrays, key: jax.Array) -> tuple:
        keywords = self.keywords(statics, scalars)
        if self._axes:
            self._check_axes(keywords, arrays[0].ndim)
        if self.one_dtype:
            self._check_dtypes(statics, arrays)
        if self.integers is not None:
            self.check_first(arrays[0].dtype)
        if not self.booleans and arrays[0].dtype == np.bool_:
            raise DTypeError(
                f"{self.title} takes numbers, not booleans; cast with astype('float32')."
            )
        self._check_accepted(statics, [each if each is None else each.dtype for each in arrays])
        if self.takes_key:
            keywords[KEY] = key
        outputs = self.function(*self._place(statics, arrays), **keywords)
        return tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)

    def check_first(self, dtype: np.dtype) -> None:
        """Refuse the dtype of the first array if it is of integers that the operator does not take."""
        if self.integers is None or dtype.kind not in "biu" or dtype.name in self.integers:
            return
        first = self.arrays[0] if self.arrays else "input 0"
        raise DTypeError(
            f"{self.title}: {first} is {dtype.name}; it must be floating point. Cast it with "
            f"astype('float32')."
        )

    def _check_accepted(self, statics: Statics, dtypes: Sequence[np.dtype | None]) -> None:
        # The declared dtypes of arrays that do not take every one.
        if not self.dtypes.accepts:
            return
        names = self._names_of(statics, len(dtypes))
        for place, accepted in self.dtypes.accepted(names, len(dtypes)).items():
            dtype = dtypes[place] if place < len(dtypes) else None
            if dtype is not None and dtype.name not in accepted:
                name = names[place] if place < len(names) else f"input {place}"
                raise DTypeError(
                    f"{self.title}: {name} is {dtype.name}; it must be {' or '.join(accepted)}. "
                    f"Cast it with astype({accepted[0]!r})."
                )

    def _check_dtypes(self, statics: Statics, arrays: Arrays) -> None:
        own = self.dtypes.of_inputs(self._names_of(statics, len(arrays)), len(arrays))
        shared = [each for i, each in enumerate(arrays) if each is not None and i not in own]
        dtypes = list(dict.fromkeys(each.dtype.name for each in shared))
        if len(dtypes) > 1:
            which = (
                "the arrays" if len(shared) == len(arrays) else self._listed(statics, arrays, own)
            )
            raise DTypeError(
                f"{self.title}: {which} are {' and '.join(dtypes)}; all must have the same "
                f"dtype. Cast "
                f"those that differ with astype({self._common(statics, arrays, shared)!r})."
            )

    def _common(self, statics: Statics, arrays: Arrays, shared: Sequence[Any]) -> str:
        """The dtype to cast to: that of a layer's parameters, or the first that is floating."""
        named = zip(self._names_of(statics, len(arrays)), arrays, strict=False)
        parameters = [each for name, each in named if name in _PARAMETERS and each is not None]
        floating: list[str] = [
            each.dtype.name
            for each in (*parameters, *shared)
            if jnp.issubdtype(each.dtype, jnp.floating)
        ]
        return floating[0] if floating else str(shared[0].dtype)

    def _listed(self, statics: Statics, arrays: Arrays, own: Mapping[int, Any]) -> str:
        names = self._names_of(statics, len(arrays))
        places = [i for i in range(len(arrays)) if i not in own]
        return " and ".join(names[i] if i < len(names) else f"input {i}" for i in places)

    def _names_of(self, statics: Statics, count: int) -> Sequence[str]:
        """The array parameter of each input; none for variadic operators."""
        if self.variadic:
            return ()
        names = self.arrays
        return names if count == len(names) else self.argument_names(statics)

    def _place(self, statics: Statics, arrays: Arrays) -> Arrays:
        """Arrays at their parameters' places, None where an optional one is left out."""
        if self.variadic or len(arrays) == len(self.arrays):
            return arrays
        names = self.argument_names(statics)
        if len(names) != len(arrays):
            names = self.arrays
        by_name = dict(zip(names, arrays, strict=False))
        return [by_name.get(name) for name in self.arrays]

    def _apply_with_gradient(self, statics: Statics, arrays: tuple, scalars: tuple, key: Any):
        # Scalars and key are arguments, not closed over: a custom gradient may not capture tracers.
        def forward(arrays: tuple, scalars: tuple, key: jax.Array):
            return self._call(statics, arrays, scalars, key)

        def keep(arrays: tuple, scalars: tuple, key: jax.Array):
            outputs = forward(arrays, scalars, key)
            return outputs, (arrays, scalars, key, outputs)

        def pull(residuals: tuple, heads: tuple):
            arrays, scalars, key, outputs = residuals
            gradients = self._by_rule(statics, arrays, scalars, key, outputs, heads)
            grads = tuple(_cotangent(g, a) for g, a in zip(gradients, arrays, strict=True))
            return grads, tuple(_cotangent(None, s) for s in scalars), _cotangent(None, key)

        run = jax.custom_vjp(forward)
        run.defvjp(keep, pull)
        return run(arrays, scalars, key)

    def _by_rule(
        self, statics: Statics, arrays: Arrays, scalars: Arrays, key: Any, outputs: Any, heads: Any
    ) -> list[Any]:
        """The gradient of each array that the declared rule gives, None where it gives none."""
        assert self._gradient is not None
        keywords = self.keywords(statics, scalars)
        if self.takes_key:
            keywords[KEY] = key
        one = len(outputs) == 1
        placed = self._place(statics, arrays)
        gradients = self._gradient(
            heads[0] if one else heads, outputs[0] if one else outputs, *placed, **keywords
        )
        gradients = gradients if isinstance(gradients, (tuple, list)) else (gradients,)
        if len(placed) != len(arrays):
            gradients = [g for g, a in zip(gradients, placed, strict=False) if a is not None]
        return [*gradients, *[None] * (len(arrays) - len(gradients))]


def _cotangent(gradient: Any, primal: Any) -> Any:
    """A gradient in the form JAX wants for ``primal``: zeros for none, ``float0`` for integers."""
    if primal is None:
        return None
    shape, dtype = jnp.shape(primal), jnp.result_type(primal)  # it may be a number of Python
    if not jnp.issubdtype(dtype, jnp.floating):
        return np.zeros(shape, jax.dtypes.float0)
    if gradient is None:
        return jnp.zeros(shape, dtype)
    return jnp.broadcast_to(gradient, shape).astype(dtype)


@functools.lru_cache(maxsize=1024)
def _demands(
    op: Computed,
    statics: Statics,
    known: tuple[tuple[tuple[int, ...], np.dtype], ...],
    scalars: tuple[float, ...],
) -> tuple[Demand, ...]:
    demands: list[Demand] = []
    values = [np.float64(each) for each in scalars]

    def run(*inputs: Any) -> Any:
        arrays, numbers = inputs[: len(known)], inputs[len(known) :] or values
        try:
            return op._call(statics, arrays, numbers, cast(Any, Asked()))
        except AnswerError as answer:  # JAX would look through its traceback
            demands.extend(answer.demands)
            return ()

    if (op.draws_on_numpy or op.draws_by_value) and not known:
        run()
        return tuple(demands)
    inputs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in known]
    if not op.draws_by_value:
        inputs += [jax.ShapeDtypeStruct((), np.dtype(np.float64))] * len(scalars)
    with jax.enable_x64(True), jax.disable_jit():
        jax.eval_shape(run, *inputs)
    return tuple(demands)
