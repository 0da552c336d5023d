"""What can be computed: every operator, declared once."""

from mixnet.ops import activation as activation
from mixnet.ops import attention as attention
from mixnet.ops import broadcast as broadcast
from mixnet.ops import control_flow as control_flow
from mixnet.ops import convolution as convolution
from mixnet.ops import create as create
from mixnet.ops import ctc as ctc
from mixnet.ops import custom as custom
from mixnet.ops import dense as dense
from mixnet.ops import dynamic as dynamic
from mixnet.ops import elementwise as elementwise
from mixnet.ops import hawkes as hawkes
from mixnet.ops import indexing as indexing
from mixnet.ops import linalg as linalg
from mixnet.ops import linalg_factor as linalg_factor
from mixnet.ops import linalg_product as linalg_product
from mixnet.ops import linalg_triangle as linalg_triangle
from mixnet.ops import loss_head as loss_head
from mixnet.ops import normalization as normalization
from mixnet.ops import numpy_arithmetic as numpy_arithmetic
from mixnet.ops import numpy_create as numpy_create
from mixnet.ops import numpy_linalg as numpy_linalg
from mixnet.ops import numpy_products as numpy_products
from mixnet.ops import numpy_reduce as numpy_reduce
from mixnet.ops import numpy_shape as numpy_shape
from mixnet.ops import optimizer_update as optimizer_update
from mixnet.ops import pooling as pooling
from mixnet.ops import quantize as quantize
from mixnet.ops import recurrent as recurrent
from mixnet.ops import reduce as reduce
from mixnet.ops import sample as sample
from mixnet.ops import sequence as sequence
from mixnet.ops import shape as shape
from mixnet.ops import softmax as softmax
from mixnet.ops import view as view

from mixnet.ops import aliases as aliases  # isort: skip  # names the operators above
from mixnet.ops.attributes import DType as DType
from mixnet.ops.attributes import Scalar as Scalar
from mixnet.ops.attributes import Shape as Shape
from mixnet.ops.registry import OPERATORS as OPERATORS
from mixnet.ops.registry import Op as Op
from mixnet.ops.registry import find as find
from mixnet.ops.registry import register as register
