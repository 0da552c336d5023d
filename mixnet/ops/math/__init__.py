"""Arithmetic, reductions and linear algebra."""

from mixnet.ops.math import broadcast as broadcast
from mixnet.ops.math import checks as checks
from mixnet.ops.math import elementwise as elementwise
from mixnet.ops.math import fourier as fourier
from mixnet.ops.math import gradient as gradient
from mixnet.ops.math import hawkes as hawkes
from mixnet.ops.math import histogram as histogram
from mixnet.ops.math import linalg as linalg
from mixnet.ops.math import linalg_factor as linalg_factor
from mixnet.ops.math import linalg_product as linalg_product
from mixnet.ops.math import linalg_triangle as linalg_triangle
from mixnet.ops.math import reduce as reduce
from mixnet.ops.math import unary as unary
