"""``mx.npx``: extensions of NumPy's interface: neural networks, devices, files."""

from mixnet.context import Context as Context
from mixnet.context import cpu as cpu
from mixnet.context import cpu_pinned as cpu_pinned
from mixnet.context import current_context as current_context
from mixnet.context import gpu as gpu
from mixnet.context import gpu_memory_info as gpu_memory_info
from mixnet.context import num_gpus as num_gpus
from mixnet.ndarray.create import waitall as waitall
from mixnet.numpy._internal import make as _make
from mixnet.numpy_extension import image as image
from mixnet.numpy_extension import random as random
from mixnet.numpy_extension import utils as utils
from mixnet.numpy_extension.checks import constraint_check as constraint_check
from mixnet.numpy_extension.utils import load as load
from mixnet.numpy_extension.utils import save as save
from mixnet.ops.namespace import Namespace as _Namespace
from mixnet.util import get_cuda_compute_capability as get_cuda_compute_capability
from mixnet.util import is_np_array as is_np_array
from mixnet.util import is_np_shape as is_np_shape
from mixnet.util import reset_np as reset_np
from mixnet.util import set_np as set_np
from mixnet.util import use_np as use_np
from mixnet.util import use_np_array as use_np_array
from mixnet.util import use_np_shape as use_np_shape

__getattr__, __dir__ = _Namespace("mx.npx", _make, "_npx_").hooks(
    globals(), ("image", "random", "utils")
)
