"""Layers: convolutions, normalization, recurrence, losses."""

from mixnet.ops.nn import activation as activation
from mixnet.ops.nn import attention as attention
from mixnet.ops.nn import batch_norm as batch_norm
from mixnet.ops.nn import columns as columns
from mixnet.ops.nn import convolution as convolution
from mixnet.ops.nn import ctc as ctc
from mixnet.ops.nn import deformable as deformable
from mixnet.ops.nn import dense as dense
from mixnet.ops.nn import loss_head as loss_head
from mixnet.ops.nn import normalization as normalization
from mixnet.ops.nn import pooling as pooling
from mixnet.ops.nn import recurrent as recurrent
from mixnet.ops.nn import resample as resample
from mixnet.ops.nn import sequence as sequence
from mixnet.ops.nn import softmax as softmax
