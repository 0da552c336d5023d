"""Arrays: creation, reshaping, indexing."""

from mixnet.ops.array import array_list as array_list
from mixnet.ops.array import create as create
from mixnet.ops.array import dynamic as dynamic
from mixnet.ops.array import extents as extents
from mixnet.ops.array import indexing as indexing
from mixnet.ops.array import join as join
from mixnet.ops.array import rearrange as rearrange
from mixnet.ops.array import shape as shape
from mixnet.ops.array import slicing as slicing
from mixnet.ops.array import view as view
