"""``mx.np``: NumPy's interface on lazy, differentiable arrays."""

from types import FunctionType as _FunctionType

import numpy as _onp

from mixnet.numpy import _internal as _internal
from mixnet.numpy import linalg as linalg
from mixnet.numpy import random as random
from mixnet.numpy.creation import arange as arange
from mixnet.numpy.creation import array as array
from mixnet.numpy.creation import blackman as blackman
from mixnet.numpy.creation import copy as copy
from mixnet.numpy.creation import empty as empty
from mixnet.numpy.creation import empty_like as empty_like
from mixnet.numpy.creation import eye as eye
from mixnet.numpy.creation import full as full
from mixnet.numpy.creation import full_like as full_like
from mixnet.numpy.creation import hamming as hamming
from mixnet.numpy.creation import hanning as hanning
from mixnet.numpy.creation import identity as identity
from mixnet.numpy.creation import indices as indices
from mixnet.numpy.creation import linspace as linspace
from mixnet.numpy.creation import logspace as logspace
from mixnet.numpy.creation import meshgrid as meshgrid
from mixnet.numpy.creation import ones as ones
from mixnet.numpy.creation import ones_like as ones_like
from mixnet.numpy.creation import zeros as zeros
from mixnet.numpy.creation import zeros_like as zeros_like
from mixnet.numpy.dispatch import Dispatch as _Dispatch
from mixnet.numpy.elementwise import FUNCTIONS as _ELEMENTWISE
from mixnet.numpy.elementwise import around as around
from mixnet.numpy.elementwise import clip as clip
from mixnet.numpy.elementwise import nan_to_num as nan_to_num
from mixnet.numpy.elementwise import round as round
from mixnet.numpy.elementwise import round_ as round_
from mixnet.numpy.fallback import FUNCTIONS as _FALLBACK
from mixnet.numpy.io import genfromtxt as genfromtxt
from mixnet.numpy.io import set_printoptions as set_printoptions
from mixnet.numpy.ndarray import ndarray as ndarray
from mixnet.numpy.products import dot as dot
from mixnet.numpy.products import einsum as einsum
from mixnet.numpy.products import inner as inner
from mixnet.numpy.products import matmul as matmul
from mixnet.numpy.products import outer as outer
from mixnet.numpy.products import polyval as polyval
from mixnet.numpy.products import tensordot as tensordot
from mixnet.numpy.products import vdot as vdot
from mixnet.numpy.reduce import all as all
from mixnet.numpy.reduce import amax as amax
from mixnet.numpy.reduce import amin as amin
from mixnet.numpy.reduce import any as any
from mixnet.numpy.reduce import argmax as argmax
from mixnet.numpy.reduce import argmin as argmin
from mixnet.numpy.reduce import average as average
from mixnet.numpy.reduce import bincount as bincount
from mixnet.numpy.reduce import cumsum as cumsum
from mixnet.numpy.reduce import diff as diff
from mixnet.numpy.reduce import ediff1d as ediff1d
from mixnet.numpy.reduce import histogram as histogram
from mixnet.numpy.reduce import max as max
from mixnet.numpy.reduce import mean as mean
from mixnet.numpy.reduce import min as min
from mixnet.numpy.reduce import percentile as percentile
from mixnet.numpy.reduce import prod as prod
from mixnet.numpy.reduce import product as product
from mixnet.numpy.reduce import quantile as quantile
from mixnet.numpy.reduce import sometrue as sometrue
from mixnet.numpy.reduce import std as std
from mixnet.numpy.reduce import sum as sum
from mixnet.numpy.reduce import var as var
from mixnet.numpy.selection import argsort as argsort
from mixnet.numpy.selection import argwhere as argwhere
from mixnet.numpy.selection import delete as delete
from mixnet.numpy.selection import diag as diag
from mixnet.numpy.selection import diagflat as diagflat
from mixnet.numpy.selection import diagonal as diagonal
from mixnet.numpy.selection import extract as extract
from mixnet.numpy.selection import flatnonzero as flatnonzero
from mixnet.numpy.selection import insert as insert
from mixnet.numpy.selection import nonzero as nonzero
from mixnet.numpy.selection import sort as sort
from mixnet.numpy.selection import take as take
from mixnet.numpy.selection import trace as trace
from mixnet.numpy.selection import tril as tril
from mixnet.numpy.selection import unique as unique
from mixnet.numpy.selection import where as where
from mixnet.numpy.shape import append as append
from mixnet.numpy.shape import array_split as array_split
from mixnet.numpy.shape import atleast_1d as atleast_1d
from mixnet.numpy.shape import atleast_2d as atleast_2d
from mixnet.numpy.shape import atleast_3d as atleast_3d
from mixnet.numpy.shape import broadcast_arrays as broadcast_arrays
from mixnet.numpy.shape import broadcast_to as broadcast_to
from mixnet.numpy.shape import column_stack as column_stack
from mixnet.numpy.shape import concatenate as concatenate
from mixnet.numpy.shape import diag_indices_from as diag_indices_from
from mixnet.numpy.shape import dsplit as dsplit
from mixnet.numpy.shape import dstack as dstack
from mixnet.numpy.shape import expand_dims as expand_dims
from mixnet.numpy.shape import flip as flip
from mixnet.numpy.shape import fliplr as fliplr
from mixnet.numpy.shape import flipud as flipud
from mixnet.numpy.shape import hsplit as hsplit
from mixnet.numpy.shape import hstack as hstack
from mixnet.numpy.shape import may_share_memory as may_share_memory
from mixnet.numpy.shape import moveaxis as moveaxis
from mixnet.numpy.shape import pad as pad
from mixnet.numpy.shape import ravel as ravel
from mixnet.numpy.shape import repeat as repeat
from mixnet.numpy.shape import reshape as reshape
from mixnet.numpy.shape import resize as resize
from mixnet.numpy.shape import roll as roll
from mixnet.numpy.shape import rollaxis as rollaxis
from mixnet.numpy.shape import rot90 as rot90
from mixnet.numpy.shape import row_stack as row_stack
from mixnet.numpy.shape import shape as shape
from mixnet.numpy.shape import shares_memory as shares_memory
from mixnet.numpy.shape import split as split
from mixnet.numpy.shape import squeeze as squeeze
from mixnet.numpy.shape import stack as stack
from mixnet.numpy.shape import swapaxes as swapaxes
from mixnet.numpy.shape import tile as tile
from mixnet.numpy.shape import transpose as transpose
from mixnet.numpy.shape import unravel_index as unravel_index
from mixnet.numpy.shape import vsplit as vsplit
from mixnet.numpy.shape import vstack as vstack
from mixnet.process.docstrings import complete_arguments as _complete_arguments

# Tables of functions that differ by their operator alone.
globals().update(_FALLBACK)
globals().update(_ELEMENTWISE)

bool = bool
bool_ = _onp.bool_
float16 = _onp.float16
float32 = _onp.float32
float64 = _onp.float64
int8 = _onp.int8
int32 = _onp.int32
int64 = _onp.int64
uint8 = _onp.uint8
finfo = _onp.finfo
newaxis = None
pi = _onp.pi
e = _onp.e
inf = PINF = _onp.inf
nan = NaN = NAN = _onp.nan
NINF = -_onp.inf
PZERO, NZERO = 0.0, -0.0

ndarray._dispatch = _Dispatch(globals())

# The methods of arrays take the arguments of the functions of the same names.
for _name, _method in vars(ndarray).items():
    if isinstance(_method, _FunctionType):
        _complete_arguments(_method, getattr(globals().get(_name), "__doc__", None))
