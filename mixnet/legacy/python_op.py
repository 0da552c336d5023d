"""MXNet's oldest operators in Python, ``PythonOp`` and its kinds, behind the interface of ``CustomOp``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import NotDefinedError
from mixnet.ndarray.ndarray import NDArray
from mixnet.operator import CustomOp, CustomOpProp, PropRunner
from mixnet.ops.control.custom import add_factory
from mixnet.symbol.custom import Custom

if TYPE_CHECKING:
    from mixnet.context import Context


class PythonOp:
    """Base of MXNet's oldest operators in Python: ``op = MyOp(); y = op(data=x, name='y')``.

    They work on symbols. ``CustomOp`` is what replaced them.

    Args:
        need_top_grad: whether ``backward`` reads the gradients of the outputs.
    """

    def __init__(self, need_top_grad: bool = True):
        self.need_top_grad_ = need_top_grad

    def __call__(self, *args: Any, **kwargs: object) -> Any:
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: object, **kwargs: object) -> Any:
        """The operator applied to symbols.

        Args:
            args: the symbols.
            kwargs: symbols by name, and ``name``.
        """
        raise NotDefinedError(f"{type(self).__name__} does not define get_symbol.")

    def forward(self, in_data: Sequence[NDArray], out_data: Sequence[NDArray]) -> None:
        """Write the outputs to ``out_data``; the first input by default."""
        out_data[0][:] = in_data[0]

    def backward(
        self,
        out_grad: Any,
        in_data: Any,
        out_data: Any,
        in_grad: Any,
    ) -> None:
        """Write the gradients to ``in_grad``; ones by default.

        Args:
            out_grad: gradients of the outputs.
            in_data: the inputs.
            out_data: the outputs.
        """
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: list[Any]) -> tuple[Any, Any]:
        """Shapes of inputs and outputs; outputs are as the first input by default.

        Args:
            in_shape: shapes of the inputs.
        """
        return in_shape, [in_shape[0]]

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def need_top_grad(self) -> bool:
        """Whether ``backward`` reads the gradients of the outputs."""
        return self.need_top_grad_


class _Adapted(CustomOp):
    """An old operator behind the interface of the new ones."""

    def __init__(self, op: PythonOp, to: Callable[[Any], Any]):
        self.op, self.to = op, to

    def forward(
        self,
        is_train: Any,
        req: Sequence[str] | str,
        in_data: Sequence[NDArray],
        out_data: Sequence[NDArray],
        aux: Sequence[NDArray],
    ) -> None:
        """Run the operator's own ``forward``."""
        outputs = [self.to(each) for each in out_data]
        self.op.forward(in_data=[self.to(each) for each in in_data], out_data=outputs)
        self._assign(out_data, outputs)

    def backward(
        self,
        req: Any,
        out_grad: Any,
        in_data: Any,
        out_data: Any,
        in_grad: Any,
        aux: Any,
    ) -> None:
        """Run the operator's own ``backward``."""
        gradients = [self.to(each) for each in in_grad]
        self.op.backward(
            out_grad=[self.to(each) for each in out_grad],
            in_data=[self.to(each) for each in in_data],
            out_data=[self.to(each) for each in out_data],
            in_grad=gradients,
        )
        self._assign(in_grad, gradients)

    @staticmethod
    def _assign(targets: Any, values: Any) -> None:
        for target, value in zip(targets, values, strict=True):
            if target is not value:
                target[:] = value


class _AdaptedProp(CustomOpProp):
    def __init__(self, op: PythonOp, to: Callable[[Any], Any]):
        super().__init__(op.need_top_grad())
        self.op, self.to = op, to

    def list_arguments(self) -> list[str]:
        return self.op.list_arguments()

    def list_outputs(self) -> list[str]:
        return self.op.list_outputs()

    def infer_shape(self, in_shape: list[Any]) -> tuple[Any, ...]:
        return (*self.op.infer_shape(in_shape), [])

    def create_operator(
        self, ctx: Context | str | None, in_shapes: object, in_dtypes: object
    ) -> CustomOp:
        return _Adapted(self.op, self.to)


def _old_symbol(op: PythonOp, to: Callable[[Any], Any], args: Any, kwargs: Any) -> Any:
    name = f"_python_op_{id(op)}"
    add_factory(name, lambda **parameters: PropRunner(_AdaptedProp(op, to), name))
    return Custom(*args, op_type=name, **kwargs)


class NumpyOp(PythonOp):
    """An operator whose ``forward`` and ``backward`` read and write NumPy arrays."""

    def get_symbol(self, *args: object, **kwargs: object) -> Any:
        """The operator applied to symbols."""
        return _old_symbol(self, lambda array: array.asnumpy(), args, kwargs)


class NDArrayOp(PythonOp):
    """An operator whose ``forward`` and ``backward`` read and write ``mx.nd`` arrays."""

    def get_symbol(self, *args: object, **kwargs: object) -> Any:
        """The operator applied to symbols."""
        return _old_symbol(self, lambda array: array, args, kwargs)

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> list[int]:
        """The arrays that backward reads: gradients of outputs if they are needed, inputs, outputs."""
        return [*(out_grad if self.need_top_grad() else []), *in_data, *out_data]
