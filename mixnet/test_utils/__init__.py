"""``mx.test_utils``: comparing arrays, checking operators, random test data; for users' tests too.

``from mixnet.test_utils import *`` also hands out the modules that tests written for MXNet take from
here: ``np`` (NumPy), ``mx``, ``os``, ``rnd``, ``npt``, ``ss``, ...
"""

import bz2 as bz2
import errno as errno
import gzip as gzip
import importlib.util as _util
import json as json
import logging as logging
import numbers as numbers
import os as os
import platform as platform
import struct as struct
import sys as sys
import time as time
import traceback as traceback
import zipfile as zipfile
from collections import OrderedDict as OrderedDict
from contextlib import contextmanager as contextmanager
from typing import Any as _Any

import numpy as np
import numpy.random as rnd
import numpy.testing as npt

import mixnet as mx
from mixnet.context import Context as Context
from mixnet.context import current_context as current_context
from mixnet.ndarray.create import array as array
from mixnet.ndarray.ndarray import _STORAGE_TYPE_STR_TO_ID as _STORAGE_TYPE_STR_TO_ID
from mixnet.process.lazy import ModuleOnUse as _ModuleOnUse
from mixnet.process.lazy import names_later as _names_later
from mixnet.runtime.features import Features as Features
from mixnet.symbol.numpy import _Symbol as np_symbol
from mixnet.symbol.symbol import Symbol as Symbol
from mixnet.test_utils.check_operator import _parse_aux_states as _parse_aux_states
from mixnet.test_utils.check_operator import _parse_location as _parse_location
from mixnet.test_utils.check_operator import check_numeric_gradient as check_numeric_gradient
from mixnet.test_utils.check_operator import check_symbolic_backward as check_symbolic_backward
from mixnet.test_utils.check_operator import check_symbolic_forward as check_symbolic_forward
from mixnet.test_utils.check_operator import numeric_grad as numeric_grad
from mixnet.test_utils.check_operator import simple_forward as simple_forward
from mixnet.test_utils.compare import _find_max_violation as _find_max_violation
from mixnet.test_utils.compare import almost_equal as almost_equal
from mixnet.test_utils.compare import assert_allclose as assert_allclose
from mixnet.test_utils.compare import assert_almost_equal as assert_almost_equal
from mixnet.test_utils.compare import (
    assert_almost_equal_ignore_nan as assert_almost_equal_ignore_nan,
)
from mixnet.test_utils.compare import (
    assert_almost_equal_with_err as assert_almost_equal_with_err,
)
from mixnet.test_utils.compare import assign_each as assign_each
from mixnet.test_utils.compare import assign_each2 as assign_each2
from mixnet.test_utils.compare import checkShapes as checkShapes
from mixnet.test_utils.compare import collapse_sum_like as collapse_sum_like
from mixnet.test_utils.compare import compare_ndarray_tuple as compare_ndarray_tuple
from mixnet.test_utils.compare import locationError as locationError
from mixnet.test_utils.compare import np_reduce as np_reduce
from mixnet.test_utils.compare import same as same
from mixnet.test_utils.compare import same_array as same_array
from mixnet.test_utils.consistency import check_consistency as check_consistency
from mixnet.test_utils.consistency import (
    check_gluon_hybridize_consistency as check_gluon_hybridize_consistency,
)
from mixnet.test_utils.consistency import check_speed as check_speed
from mixnet.test_utils.consistency import same_symbol_structure as same_symbol_structure
from mixnet.test_utils.datasets import download as download
from mixnet.test_utils.datasets import download_model as download_model
from mixnet.test_utils.datasets import get_bz2_data as get_bz2_data
from mixnet.test_utils.datasets import get_cifar10 as get_cifar10
from mixnet.test_utils.datasets import get_im2rec_path as get_im2rec_path
from mixnet.test_utils.datasets import get_mnist as get_mnist
from mixnet.test_utils.datasets import get_mnist_iterator as get_mnist_iterator
from mixnet.test_utils.datasets import get_mnist_pkl as get_mnist_pkl
from mixnet.test_utils.datasets import get_mnist_ubyte as get_mnist_ubyte
from mixnet.test_utils.datasets import get_zip_data as get_zip_data
from mixnet.test_utils.distribution import chi_square_check as chi_square_check
from mixnet.test_utils.distribution import gen_buckets_probs_with_ppf as gen_buckets_probs_with_ppf
from mixnet.test_utils.distribution import mean_check as mean_check
from mixnet.test_utils.distribution import var_check as var_check
from mixnet.test_utils.distribution import verify_generator as verify_generator
from mixnet.test_utils.dummy_iter import DummyIter as DummyIter
from mixnet.test_utils.optimizers import compare_optimizer as compare_optimizer
from mixnet.test_utils.random_data import create_2d_tensor as create_2d_tensor
from mixnet.test_utils.random_data import create_sparse_array as create_sparse_array
from mixnet.test_utils.random_data import create_sparse_array_zd as create_sparse_array_zd
from mixnet.test_utils.random_data import create_vector as create_vector
from mixnet.test_utils.random_data import get_identity_mat as get_identity_mat
from mixnet.test_utils.random_data import get_identity_mat_batch as get_identity_mat_batch
from mixnet.test_utils.random_data import (
    new_matrix_with_real_eigvals_2d as new_matrix_with_real_eigvals_2d,
)
from mixnet.test_utils.random_data import (
    new_matrix_with_real_eigvals_nd as new_matrix_with_real_eigvals_nd,
)
from mixnet.test_utils.random_data import new_orthonormal_matrix_2d as new_orthonormal_matrix_2d
from mixnet.test_utils.random_data import (
    new_sym_matrix_with_real_eigvals_2d as new_sym_matrix_with_real_eigvals_2d,
)
from mixnet.test_utils.random_data import (
    new_sym_matrix_with_real_eigvals_nd as new_sym_matrix_with_real_eigvals_nd,
)
from mixnet.test_utils.random_data import rand_coord_2d as rand_coord_2d
from mixnet.test_utils.random_data import rand_ndarray as rand_ndarray
from mixnet.test_utils.random_data import rand_shape_2d as rand_shape_2d
from mixnet.test_utils.random_data import rand_shape_3d as rand_shape_3d
from mixnet.test_utils.random_data import rand_shape_nd as rand_shape_nd
from mixnet.test_utils.random_data import rand_sparse_ndarray as rand_sparse_ndarray
from mixnet.test_utils.random_data import random_arrays as random_arrays
from mixnet.test_utils.random_data import random_sample as random_sample
from mixnet.test_utils.random_data import random_uniform_arrays as random_uniform_arrays
from mixnet.test_utils.random_data import shuffle_csr_column_indices as shuffle_csr_column_indices
from mixnet.test_utils.settings import assert_exception as assert_exception
from mixnet.test_utils.settings import default_context as default_context
from mixnet.test_utils.settings import default_dtype as default_dtype
from mixnet.test_utils.settings import discard_stderr as discard_stderr
from mixnet.test_utils.settings import environment as environment
from mixnet.test_utils.settings import has_tvm_ops as has_tvm_ops
from mixnet.test_utils.settings import is_aarch64_run as is_aarch64_run
from mixnet.test_utils.settings import is_cd_run as is_cd_run
from mixnet.test_utils.settings import is_op_runnable as is_op_runnable
from mixnet.test_utils.settings import list_gpus as list_gpus
from mixnet.test_utils.settings import retry as retry
from mixnet.test_utils.settings import set_default_context as set_default_context
from mixnet.test_utils.tolerance import default_atols as default_atols
from mixnet.test_utils.tolerance import default_numeric_eps as default_numeric_eps
from mixnet.test_utils.tolerance import default_rtols as default_rtols
from mixnet.test_utils.tolerance import effective_dtype as effective_dtype
from mixnet.test_utils.tolerance import get_atol as get_atol
from mixnet.test_utils.tolerance import get_etol as get_etol
from mixnet.test_utils.tolerance import get_rtol as get_rtol
from mixnet.test_utils.tolerance import get_tolerance as get_tolerance
from mixnet.test_utils.tolerance import get_tols as get_tols
from mixnet.util import get_cuda_compute_capability as get_cuda_compute_capability
from mixnet.util import getenv as getenv
from mixnet.util import setenv as setenv
from mixnet.util import use_np as use_np

if _util.find_spec("requests"):
    requests = _ModuleOnUse("requests")
if _util.find_spec("scipy"):
    ss = _ModuleOnUse("scipy.stats")
_PARTS = ("check_operator", "compare", "consistency", "datasets", "distribution", "optimizers", "random_data",
          "settings", "tolerance", "dummy_iter")  # fmt: skip

__all__ = [each for each in list(globals()) if each[0] != "_" and each not in _PARTS]

__getattr__, __dir__ = _names_later(globals(), {})
