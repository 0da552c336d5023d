"""NumPy's functions that no MXNet operator covers for both ``nd`` and ``np``."""

from mixnet.ops.numpy import arithmetic as arithmetic
from mixnet.ops.numpy import create as create
from mixnet.ops.numpy import join as join
from mixnet.ops.numpy import linalg as linalg
from mixnet.ops.numpy import products as products
from mixnet.ops.numpy import random as random
from mixnet.ops.numpy import reduce as reduce
from mixnet.ops.numpy import selection as selection
from mixnet.ops.numpy import shape as shape
