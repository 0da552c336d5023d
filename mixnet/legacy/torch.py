"""``mx.th``: Torch 7 functions, which MXNet had in special builds; there are none here."""

from mixnet.ndarray.ndarray import NDArray as NDArray
