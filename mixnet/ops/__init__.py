"""All operators, each declared once."""

from mixnet.ops import array as array
from mixnet.ops import backward as backward
from mixnet.ops import control as control
from mixnet.ops import math as math
from mixnet.ops import nn as nn
from mixnet.ops import numpy as numpy
from mixnet.ops import quantized as quantized
from mixnet.ops import random as random
from mixnet.ops import sparse as sparse
from mixnet.ops import update as update
from mixnet.ops import vision as vision
from mixnet.ops.op import Op as Op
from mixnet.ops.registry import OPERATORS as OPERATORS
from mixnet.ops.registry import find as find
from mixnet.ops.registry import register as register
from mixnet.ops.schema.attributes import DType as DType
from mixnet.ops.schema.attributes import Scalar as Scalar
from mixnet.ops.schema.attributes import Shape as Shape
from mixnet.ops.schema.ranges import Range as Range
