"""``mx.operator``: operators written in Python, with custom gradients, for nd, sym and Gluon."""

from __future__ import annotations

if __name__ == "operator":  # Python looks for its own module in this folder
    raise ImportError(
        "Python runs in the folder mixnet/, whose files hide modules of the standard library (operator). "
        "Start it in another folder, or as python -P."
    )

import ctypes
import inspect
import itertools
import warnings as warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mixnet import context as context
from mixnet import symbol as symbol
from mixnet.autograd.scope import RecordingScope
from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    DTypeError,
    MXNetError,
    NotDefinedError,
    ShapeError,
)
from mixnet.context import cpu
from mixnet.dtype import CODES, as_dtype
from mixnet.engine.timeline import timeline
from mixnet.ndarray.create import array, zeros
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.control.custom import add_factory
from mixnet.ops.registry import OPERATORS, find
from mixnet.process import locks
from mixnet.process.lazy import names_later
from mixnet.runtime.record.keys import drawing_in_operator
from mixnet.runtime.value.state import separate_recording
from mixnet.runtime.value.value import Value

if TYPE_CHECKING:
    from mixnet.context import Context


class CustomOp:
    """Base of operators in Python: override ``forward`` and ``backward``."""

    def forward(
        self,
        is_train: int,
        req: Sequence[str],
        in_data: Sequence[NDArray],
        out_data: Sequence[NDArray],
        aux: Sequence[NDArray],
    ) -> None:
        """Compute the outputs and ``assign`` them to ``out_data``.

        Args:
            is_train: whether in training.
            req: ``'write'`` for each output, as :meth:`assign` takes it.
            in_data: the inputs.
            out_data: arrays for the outputs.
            aux: the states, which may be changed.
        """
        raise NotDefinedError(f"{type(self).__name__} does not define forward.")

    def backward(
        self,
        req: Sequence[str],
        out_grad: Sequence[NDArray],
        in_data: Sequence[NDArray],
        out_data: Sequence[NDArray],
        in_grad: Sequence[NDArray],
        aux: Sequence[NDArray],
    ) -> None:
        """Compute the gradients and ``assign`` them to ``in_grad``.

        Args:
            req: ``'write'`` for each gradient, as :meth:`assign` takes it.
            out_grad: gradients of the outputs.
            in_data: the inputs.
            out_data: the outputs.
            in_grad: arrays for the gradients of the inputs.
            aux: the states; changes are lost.
        """
        raise NotDefinedError(f"{type(self).__name__} does not define backward.")

    def assign(self, dst: NDArray, req: str, src: object) -> None:
        """Write ``src`` to ``dst`` as ``req`` says: ``write``, ``inplace``, ``add`` or ``null``."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] = dst + src


class CustomOpProp:
    """Base of descriptions of such operators: their arguments, outputs, shapes and dtypes.

    Args:
        need_top_grad: whether ``backward`` reads the gradients of the outputs.
    """

    has_open_shapes = False
    """Whether extents that ``infer_shape`` gives as -1 are those of what ``forward`` assigns.

    MXNet has no such operators. They run where they are called, and have no auxiliary states.
    """

    def __init__(self, need_top_grad: bool = True):
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Names of states, which are arrays that ``forward`` and ``backward`` may change."""
        return []

    def infer_shape(self, in_shape: list[Any]) -> tuple[Any, ...]:
        """Shapes of inputs, outputs and states; by default outputs are as the first input.

        Args:
            in_shape: shapes of the inputs.
        """
        return in_shape, (in_shape[0],) * len(self.list_outputs()), ()

    def infer_type(self, in_type: list[Any]) -> tuple[Any, ...]:
        """Dtypes of inputs, outputs and states; by default all are as the first input.

        Args:
            in_type: dtypes of the inputs.
        """
        return (
            in_type,
            [in_type[0]] * len(self.list_outputs()),
            [in_type[0]] * len(self.list_auxiliary_states()),
        )

    def infer_storage_type(self, in_stype: list[str]) -> tuple[list[str], list[str], list[str]]:
        """Storage types of inputs, outputs and states: all dense.

        Args:
            in_stype: storage types of the inputs.
        """
        return (
            in_stype,
            ["default"] * len(self.list_outputs()),
            ["default"] * len(self.list_auxiliary_states()),
        )

    def infer_storage_type_backward(
        self,
        ograd_stype: list[str],
        in_stype: list[str],
        out_stype: list[str],
        igrad_stype: list[str],
        aux_stype: list[str],
    ) -> tuple[list[str], ...]:
        """Storage types in backward: the gradients are dense.

        Args:
            ograd_stype: storage types of the outputs' gradients.
            in_stype: storage types of the inputs.
            out_stype: storage types of the outputs.
            igrad_stype: storage types of the inputs' gradients.
            aux_stype: storage types of the states.
        """
        gradients = ["default"] * len(igrad_stype)
        return ograd_stype, in_stype, out_stype, gradients, aux_stype

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> list[int]:
        """The arrays that backward reads: gradients of outputs if ``need_top_grad``, inputs, outputs.

        Args:
            out_grad: numbers of the outputs' gradients.
            in_data: numbers of the inputs.
            out_data: numbers of the outputs.
        """
        return [*(out_grad if self.need_top_grad_ else []), *in_data, *out_data]

    def create_operator(
        self, ctx: Context | str | None, in_shapes: object, in_dtypes: object
    ) -> CustomOp:
        """The operator for inputs of these shapes and dtypes.

        Args:
            ctx: the device.
            in_shapes: shapes of the inputs.
            in_dtypes: dtypes of the inputs.
        """
        return CustomOp()


# Calls whose gradient has not come yet, in training and otherwise: the oldest go first, so that a
# program that never calls backward does not grow.
_WAITING = {True: 1024, False: 16}
_WRAP = 1 << 24  # float32 holds whole numbers below exactly


_Inference = tuple[tuple[Any, ...], tuple[Any, ...]]  # what was asked about, and the answer


class PropRunner:
    """Runs the operator that a ``CustomOpProp`` describes on host arrays."""

    def __init__(self, prop: CustomOpProp, name: str):
        self.prop, self.name = prop, name
        self.arguments, self.outputs = list(prop.list_arguments()), list(prop.list_outputs())
        self.states = list(prop.list_auxiliary_states())
        self.has_open_shapes = bool(prop.has_open_shapes)
        if self.has_open_shapes and self.states:
            raise AttributeValueError(
                f"Custom: {name!r} has open shapes, and the auxiliary states {', '.join(self.states)}. Make "
                f"the states arguments and outputs, or give all shapes."
            )
        self._latest_shapes: _Inference = ((), ())
        self._latest_types: _Inference = ((), ())
        self._operators: dict[Any, CustomOp] = {}
        self._waiting: dict[bool, OrderedDict[int, tuple[CustomOp, dict[str, Any]]]] = {
            training: OrderedDict() for training in _WAITING
        }
        self._tickets = itertools.count(1)
        self._lock = locks.make("custom operator")  # never while the operator runs

    def _infer_shape(self, shapes: Sequence[Sequence[int]]) -> tuple[Any, ...]:
        """``infer_shape`` of the user's, called again only when the shapes differ from the latest ones.

        It may keep what ``create_operator`` reads, which then belongs to these shapes.
        """
        latest, inferred = self._latest_shapes
        if not inferred or latest != tuple(map(tuple, shapes)):
            inferred = self._infer_shape_anew(shapes)
        return inferred

    def _infer_shape_anew(self, shapes: Sequence[Sequence[int]]) -> tuple[Any, ...]:
        inferred = tuple(self.prop.infer_shape([list(each) for each in shapes]))
        self._latest_shapes = tuple(map(tuple, shapes)), inferred
        return inferred

    def _infer_type(self, types: Sequence[Any]) -> tuple[Any, ...]:
        """``infer_type`` of the user's, called again only when the types differ from the latest ones."""
        key = tuple(types)
        latest, inferred = self._latest_types
        if not inferred or key != latest:
            inferred = tuple(self.prop.infer_type(list(types)))
            self._latest_types = key, inferred
        return inferred

    def input_shapes(self, shapes: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        """Shapes of arguments and states from those of some arguments.

        Raises:
            MXNetError: ``infer_shape`` raised.
        """
        with self._explained("infer_shape"):
            inferred = self._infer_shape_anew([shapes.get(each, ()) for each in self.arguments])
        names = [*self.arguments, *self.states]
        all_shapes = [*inferred[0], *(inferred[2] if len(inferred) > 2 else ())]
        return {
            name: tuple(shape) for name, shape in zip(names, all_shapes, strict=False) if len(shape)
        }

    @contextmanager
    def _explained(self, method: str) -> Iterator[None]:
        """Scope of a call of the user's: its error says what raised it."""
        try:
            yield
        except MXNetError:
            raise
        except Exception as error:
            raise MXNetError(
                f"Custom: {self.name!r}: {type(self.prop).__name__}.{method} raised "
                f"{type(error).__name__}: {error}"
            ) from error

    def output_shapes(self, inputs: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """Shapes of the outputs.

        Raises:
            ShapeError: there are more inputs than arguments, or fewer.
            MXNetError: ``infer_shape`` or ``infer_type`` raised.
        """
        if len(inputs) != len(self.arguments):
            raise ShapeError(
                f"{type(self.prop).__name__} takes {', '.join(self.arguments)}; "
                f"{len(inputs)} array(s) were given."
            )
        with self._explained("infer_shape"):
            shapes = self._infer_shape(inputs)[1]
        for name, shape in zip(self.outputs, shapes, strict=False):
            if any(extent < 0 for extent in shape) and not self.has_open_shapes:
                raise ShapeError(
                    f"{type(self.prop).__name__}.infer_shape gives {tuple(shape)} for {name!r}. Set "
                    f"has_open_shapes = True in the class if forward determines the extents that are -1; "
                    f"otherwise give them."
                )
        return [tuple(each) for each in shapes]

    def output_storage(self, inputs: Sequence[str]) -> list[str]:
        """Storage types of the outputs for arguments of known ones.

        Raises:
            MXNetError: ``infer_storage_type`` raised.
        """
        with self._explained("infer_storage_type"):
            return list(self.prop.infer_storage_type(list(inputs))[1])

    def structs(self, inputs: Sequence[Any]) -> tuple[list[tuple[int, ...]], list[np.dtype]]:
        """Shapes and dtypes of the outputs.

        Raises:
            ShapeError: there are more inputs than arguments, or fewer.
        """
        shapes = self.output_shapes([each.shape for each in inputs])
        # Shapes are inferred from assumed dtypes, too: ``dtypes`` checks those that are known.
        with self._explained("infer_type"):
            dtypes = self._infer_type([np.dtype(each.dtype).type for each in inputs])[1]
        return shapes, [as_dtype(each) for each in dtypes]

    def dtypes(self, known: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Dtypes of arguments and states, and of outputs, from those that are known; None for
        unknown ones.

        Raises:
            DTypeError: ``infer_type`` gives an argument another dtype than it has, or dtypes of too few
                arrays.
            MXNetError: ``infer_type`` raised.
        """
        if type(self.prop).infer_type is CustomOpProp.infer_type:
            return [], []  # all are alike, as of any operator
        known_types = [None if each is None else each.type for each in known[: len(self.arguments)]]
        with self._explained("infer_type"):
            inferred = self._infer_type(known_types)
        states = inferred[2] if len(inferred) > 2 else [None] * len(self.states)
        name = f"{type(self.prop).__name__}.infer_type"
        for kind, types, names in (
            ("arguments", inferred[0], self.arguments),
            ("outputs", inferred[1], self.outputs),
        ):
            if len(types) != len(names):
                raise DTypeError(
                    f"{name} gives dtypes of {len(types)} {kind}, not of {len(names)}."
                )

        def as_known(types: Sequence[Any]) -> list[Any]:
            return [None if each is None else as_dtype(each) for each in types]

        arguments = as_known(inferred[0])
        for argument, has, wants in zip(self.arguments, known, arguments, strict=False):
            if has is not None and wants is not None and has != wants:
                raise DTypeError(
                    f"{name} gives {argument!r} the dtype {wants.name}, but it is {has.name}. Cast it with "
                    f"astype({wants.name!r})."
                )
        return [*arguments, *as_known(states)], as_known(inferred[1])

    def create(
        self, instance: int, shapes: Sequence[Sequence[int]], dtypes: Sequence[np.dtype]
    ) -> CustomOp:
        """The operator for inputs of these shapes and dtypes; that of an instance is created once.

        Args:
            instance: a number, the same for the runs of one operator; 0 for an operator of its own.
            shapes: of the arguments, then of the auxiliary states.
            dtypes: of these.
        """
        shapes = [list(each) for each in shapes]
        codes = [CODES[each] for each in dtypes]
        key = (instance, *map(tuple, shapes), *codes)
        operator = self._operators.get(key)
        if operator is None:
            self._infer_shape(shapes[: len(self.arguments)])
            operator = self.prop.create_operator(_HOST, shapes, codes)
            if not instance:
                return operator
            with self._lock:  # another thread may have been quicker
                operator = self._operators.setdefault(key, operator)
        return operator

    def _for_arrays(self, instance: int, arrays: Sequence[np.ndarray]) -> CustomOp:
        return self.create(
            instance, [each.shape for each in arrays], [each.dtype for each in arrays]
        )

    def forward(
        self,
        training: bool,
        instance: int,
        inputs: Sequence[np.ndarray],
        states: Sequence[np.ndarray],
    ) -> tuple[list[np.ndarray], float, list[np.ndarray]]:
        """Outputs on the host, what ``backward`` finds the operator by, and new states."""
        shapes, dtypes = self.structs(inputs)
        called_by = timeline.called_by(self.name)
        with called_by, _operator_scope(training):
            outputs = [
                self._output(*each) for each in zip(self.outputs, shapes, dtypes, strict=True)
            ]
            auxiliary = _arrays(states)
            operator = self._for_arrays(instance, [*inputs, *states])
            _by_name(
                operator.forward,
                is_train=int(training),  # an int, as MXNet's C interface passes it
                req=["write"] * len(outputs),
                in_data=_arrays(inputs),
                out_data=outputs,
                aux=auxiliary,
            )
            ticket = next(self._tickets) % _WRAP
            waiting = self._waiting[training]
            with self._lock:
                waiting[ticket] = operator, dict(vars(operator))
                if len(waiting) > _WAITING[training]:
                    waiting.popitem(last=False)
            return [e.asnumpy() for e in outputs], ticket, [e.asnumpy() for e in auxiliary]

    def _output(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> NDArray:
        if any(extent < 0 for extent in shape):
            from mixnet.ndarray.open_custom import OpenOutput  # few programs need it

            return OpenOutput.declared(f"Output {name!r}", shape, dtype)
        return zeros(shape, _HOST, dtype)

    def run_at_once(self, training: bool, instance: int, values: Sequence[Value]) -> list[Value]:
        """The values of the outputs, of an operator with open shapes."""
        from mixnet.ndarray.open_custom import OpenCustom

        inputs = [NDArray._wrap(value) for value in values]
        outputs = OpenCustom(self, self.name, training, instance)(*inputs)
        return [each._read() for each in outputs]

    def backward(
        self,
        ticket: float,
        heads: Sequence[np.ndarray],
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        states: Sequence[np.ndarray],
    ) -> list[np.ndarray]:
        """Gradients of the inputs and new states on the host."""
        called_by = timeline.called_by(f"_backward_{self.name}")
        with called_by, _operator_scope(True):
            gradients = [zeros(each.shape, _HOST, each.dtype) for each in inputs]
            # Other calls may have run since: this gradient needs what its own forward kept.
            with self._lock:
                waiting = [self._waiting[each].get(int(ticket)) for each in _WAITING]
            operator, auxiliary = (
                waiting[0] or waiting[1] or (self._for_arrays(0, [*inputs, *states]), {})
            )
            vars(operator).update(auxiliary)
            state_arrays = _arrays(states)
            _by_name(
                operator.backward,
                req=["write"] * len(gradients),
                out_grad=_arrays(heads),
                in_data=_arrays(inputs),
                out_data=_arrays(outputs),
                in_grad=gradients,
                aux=state_arrays,
            )
            return [each.asnumpy() for each in (*gradients, *state_arrays)]


def _by_name(method: Callable[..., object], **arguments: object) -> None:
    """Call by name, as MXNet does, since parameters may stand in any order; by position if they have
    names of their own.
    """
    try:
        inspect.signature(method).bind(**arguments)
    except TypeError:
        method(*arguments.values())
    else:
        method(**arguments)


@contextmanager
def _operator_scope(training: bool) -> Iterator[None]:
    with separate_recording(), RecordingScope(False, training), drawing_in_operator():
        yield


_HOST = cpu(0)


def _arrays(data: Sequence[np.ndarray]) -> list[NDArray]:
    return [array(each, ctx=_HOST, dtype=each.dtype) for each in data]


def register(reg_name: str) -> Callable[[type[CustomOpProp]], type[CustomOpProp]]:
    """Decorator: make a ``CustomOpProp`` known, for ``mx.nd.Custom(..., op_type=reg_name)``.

    Keyword arguments of ``Custom`` reach its constructor as strings, as in MXNet.
    """

    def add(prop: type[CustomOpProp]) -> type[CustomOpProp]:
        def make(**parameters: str) -> PropRunner:
            try:
                inspect.signature(prop).bind(**parameters)
            except TypeError as error:
                arguments = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
                raise AttributeTypeError(
                    f"Custom: {reg_name!r} is made by {prop.__name__}{inspect.signature(prop)}, which "
                    f"does not take ({arguments}): {error}. Give its arguments to Custom(...) by name."
                ) from None
            return PropRunner(prop(**parameters), reg_name)  # type: ignore[arg-type]

        add_factory(reg_name, make)
        return prop

    return add


class OperatorArguments(NamedTuple):
    """Arguments of an operator: how many, their names, and their types as MXNet words them."""

    narg: int
    names: list[str]
    types: list[str]


def get_all_registered_operators() -> list[str]:
    """Names of all operators, aliases too."""
    return sorted(OPERATORS)


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """The arguments of an operator: arrays, then attributes.

    Args:
        op_name: name of the operator.

    Raises:
        MXNetError: there is no such operator.
    """
    op = find(op_name)
    arrays = [op.variadic] if op.variadic else list(op.arrays)
    kind = "NDArray-or-Symbol[]" if op.variadic else "NDArray-or-Symbol"
    types = [kind] * len(arrays) + [each.description() for each in op.attributes.values()]
    return OperatorArguments(len(types), [*arrays, *op.attributes], types)


c_int_p = ctypes.POINTER(ctypes.c_int)

# MXNet's oldest interface, which few programs need.
__getattr__, __dir__ = names_later(
    globals(), dict.fromkeys(("NDArrayOp", "NumpyOp", "PythonOp"), "mixnet.legacy.python_op:")
)
