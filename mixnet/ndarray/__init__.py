"""``mx.nd``: lazy arrays, and every operator as a function on them."""

from mixnet import ops as _ops
from mixnet.ndarray import _internal as _internal
from mixnet.ndarray import contrib as contrib
from mixnet.ndarray import display as _display
from mixnet.ndarray import image as image
from mixnet.ndarray import indexing as _indexing
from mixnet.ndarray import linalg as linalg
from mixnet.ndarray import methods as _methods
from mixnet.ndarray import namespace as _namespace
from mixnet.ndarray import op as op
from mixnet.ndarray import operators as _operators
from mixnet.ndarray import random as random
from mixnet.ndarray import sparse as sparse
from mixnet.ndarray.create import _new_empty_handle as _new_empty_handle
from mixnet.ndarray.create import arange as arange
from mixnet.ndarray.create import array as array
from mixnet.ndarray.create import concatenate as concatenate
from mixnet.ndarray.create import empty as empty
from mixnet.ndarray.create import eye as eye
from mixnet.ndarray.create import from_dlpack as from_dlpack
from mixnet.ndarray.create import from_numpy as from_numpy
from mixnet.ndarray.create import full as full
from mixnet.ndarray.create import histogram as histogram
from mixnet.ndarray.create import linspace as linspace
from mixnet.ndarray.create import moveaxis as moveaxis
from mixnet.ndarray.create import onehot_encode as onehot_encode
from mixnet.ndarray.create import ones as ones
from mixnet.ndarray.create import to_dlpack_for_read as to_dlpack_for_read
from mixnet.ndarray.create import to_dlpack_for_write as to_dlpack_for_write
from mixnet.ndarray.create import waitall as waitall
from mixnet.ndarray.create import zeros as zeros
from mixnet.ndarray.custom import Custom as Custom
from mixnet.ndarray.image_file import imdecode as imdecode
from mixnet.ndarray.indexing import get_indexing_dispatch_code as get_indexing_dispatch_code
from mixnet.ndarray.indexing import get_oshape_of_gather_nd_op as get_oshape_of_gather_nd_op
from mixnet.ndarray.indexing import (
    indexing_key_expand_implicit_axes as indexing_key_expand_implicit_axes,
)
from mixnet.ndarray.methods import split_v2 as split_v2
from mixnet.ndarray.ndarray import _DTYPE_MX_TO_NP as _DTYPE_MX_TO_NP
from mixnet.ndarray.ndarray import _DTYPE_NP_TO_MX as _DTYPE_NP_TO_MX
from mixnet.ndarray.ndarray import _GRAD_REQ_MAP as _GRAD_REQ_MAP
from mixnet.ndarray.ndarray import NDArray as NDArray
from mixnet.ndarray.operators import add as add
from mixnet.ndarray.operators import divide as divide
from mixnet.ndarray.operators import equal as equal
from mixnet.ndarray.operators import greater as greater
from mixnet.ndarray.operators import greater_equal as greater_equal
from mixnet.ndarray.operators import hypot as hypot
from mixnet.ndarray.operators import lesser as lesser
from mixnet.ndarray.operators import lesser_equal as lesser_equal
from mixnet.ndarray.operators import logical_and as logical_and
from mixnet.ndarray.operators import logical_or as logical_or
from mixnet.ndarray.operators import logical_xor as logical_xor
from mixnet.ndarray.operators import maximum as maximum
from mixnet.ndarray.operators import minimum as minimum
from mixnet.ndarray.operators import modulo as modulo
from mixnet.ndarray.operators import multiply as multiply
from mixnet.ndarray.operators import not_equal as not_equal
from mixnet.ndarray.operators import power as power
from mixnet.ndarray.operators import subtract as subtract
from mixnet.ndarray.operators import true_divide as true_divide
from mixnet.ndarray.params_file import load as load
from mixnet.ndarray.params_file import load_frombuffer as load_frombuffer
from mixnet.ndarray.params_file import save as save
from mixnet.ndarray.sparse import _ndarray_cls as _ndarray_cls
from mixnet.ndarray.sparse import cast_storage as cast_storage
from mixnet.process.lazy import star_names as _star_names

for _part in (_operators, _indexing, _methods, _display):
    _part.install(NDArray)


__getattr__, __dir__ = _namespace.OPERATORS.hooks(
    globals(),
    ("_internal", "contrib", "image", "linalg", "ndarray", "op", "random", "sparse", "utils"),
)

_MODULES = ("contrib", "image", "linalg", "random", "sparse")
# The names of ``from mixnet.ndarray import *``, including operators, whose functions are created on demand.
__all__ = sorted({*_star_names(globals(), _MODULES), *_namespace.OPERATORS.names()})
