"""``mx.th``: functions of Torch 7, which MXNet had when it was built with it; there are none."""

from mixnet.ndarray.ndarray import NDArray as NDArray
