"""``mx.rtc``: kernels in CUDA source, which mixnet does not compile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import MXNetError

if TYPE_CHECKING:
    from mixnet.context import Context


def _refuse(feature: str) -> MXNetError:
    return MXNetError(
        f"{feature}: CUDA source is left out of mixnet on purpose, see docs/from-mxnet.md. Write the "
        f"kernel as a JAX function (Pallas for GPUs and TPUs) and register it with mx.ops.register."
    )


class CudaModule:
    """A module of CUDA kernels.

    Args:
        source: CUDA source.
        options: of the compiler.
        exports: names of kernels.

    Raises:
        MXNetError: always.
    """

    def __init__(self, source: str, options: Sequence[str] = (), exports: Sequence[str] = ()):
        self.handle: Any = None
        raise _refuse("mx.rtc.CudaModule")

    def __del__(self) -> None:
        pass

    def get_kernel(self, name: str, signature: str) -> CudaKernel:
        """A kernel of the module."""
        raise _refuse("mx.rtc.CudaModule.get_kernel")


class CudaKernel:
    """A kernel of a module.

    Args:
        handle: of the kernel.
        name: of the kernel.
        is_ndarray: which arguments are arrays.
        dtypes: of the arguments.

    Raises:
        MXNetError: always.
    """

    def __init__(self, handle: Any, name: str, is_ndarray: Any, dtypes: Any):
        self.handle: Any = None
        raise _refuse("mx.rtc.CudaKernel")

    def __del__(self) -> None:
        pass

    def launch(
        self,
        args: Sequence[Any],
        ctx: Context | Sequence[Context] | None,
        grid_dims: Sequence[int],
        block_dims: Sequence[int],
        shared_mem: int = 0,
    ) -> None:
        """Run the kernel."""
        raise _refuse("mx.rtc.CudaKernel.launch")
