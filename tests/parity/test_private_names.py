"""Names beyond MXNet's documented interface that public programs import, the most used first."""

from __future__ import annotations

import importlib
import pickle
from itertools import product
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from tests.each_record import each_record

# In how many files of public programs a name was seen; more than ten were not counted.
RANKED = [
    (
        10,
        "base",
        "_LIB _as_list _Null c_array c_str c_str_array check_call mx_uint mx_float py_str",
    ),
    (10, "base", "numeric_types string_types SymbolHandle NDArrayHandle"),
    (10, "executor_manager", "_split_input_slice"),
    (10, "gluon.data.dataloader", "ForkingPickler rebuild_ndarray reduce_ndarray _MultiWorkerIter"),
    (10, "gluon.loss", "_apply_weighting _reshape_like"),
    (10, "gluon.utils", "_brief_print_list _get_repo_file_url _get_repo_url _indent"),
    (10, "gluon.trainer", "Trainer._check_and_rescale_grad Trainer._row_sparse_pull"),
    (10, "model", "_create_kvstore _initialize_kvstore _update_params _update_params_on_kvstore"),
    (10, "ndarray.ndarray", "_new_from_shared_mem NDArray._to_shared_mem"),
    (10, "module.executor_group", "DataParallelExecutorGroup _load_data _load_general"),
    (10, "symbol._internal", "_plus _maximum _minimum_scalar _square_sum _zeros"),
    (10, "test_utils", "np os mx logging time download get_mnist_iterator same"),
    (9, "gluon.trainer", "Trainer._init_kvstore Trainer._init_params"),
    (9, "module.base_module", "_as_list _check_input_names _parse_data_desc"),
    (7, "gluon.rnn.rnn_cell", "_format_sequence _get_begin_state"),
    (6, "model", "_create_sparse_kvstore"),
    (5, "gluon.model_zoo.vision.densenet", "_make_dense_block"),
    (5, "gluon.nn.conv_layers", "_Conv _Pooling"),
    (5, "image.image", "_get_interp_method numeric_types"),
    (4, "gluon.block", "HybridBlock._deferred_infer_shape HybridBlock._call_cached_op"),
    (4, "gluon.block", "Block._check_container_with_block _BlockScope"),
    (3, "gluon.rnn.rnn_cell", "_mask_sequence_variable_length tensor_types"),
    (3, "gluon.rnn.rnn_layer", "_RNNLayer"),
    (2, "gluon.block", "_flatten _regroup"),
    (2, "gluon.nn.conv_layers", "_infer_weight_shape numeric_types"),
    (2, "ndarray.ndarray", "py_slice _STORAGE_TYPE_STR_TO_ID NDArray._sync_copyfrom array zeros"),
    (2, "optimizer.optimizer", "adam_update NDArray zeros clip sqrt"),
    (2, "recordio", "_IR_FORMAT _IR_SIZE struct"),
    (1, "base", "_MXClassPropertyDescriptor"),
    (1, "executor_manager", "_check_arguments _load_general _load_data _load_label"),
    (1, "gluon", "tensor_types"),
    (1, "gluon.data.dataloader", "_as_in_context _worker_fn _worker_initializer"),
    (1, "gluon.data.dataloader", "_thread_worker_fn _thread_worker_initializer"),
    (1, "gluon.rnn.rnn_cell", "_cells_begin_state _cells_state_info _reverse_sequences"),
    (1, "ndarray._internal", "_identity_with_attr_like_rhs _crop_assign _square_sum"),
    (1, "ndarray.utils", "zeros array empty load save"),
    (1, "symbol.symbol", "Symbol zeros ones var"),
    (1, "util", "_NumpyArrayScope _NumpyShapeScope"),
]
NAMES = [(where, name) for _, where, names in RANKED for name in names.split()]


@each_record("where, name", NAMES, ids=".".join)
def test_every_private_name_exists(where: str, name: str) -> None:
    result: Any = importlib.import_module(f"mixnet.{where}")
    for part in name.split("."):
        result = getattr(result, part)


def test_the_list_is_ranked() -> None:
    counts = [count for count, _, _ in RANKED]
    assert counts == sorted(counts, reverse=True)


# ---- what they do: the answers are those of MXNet 1.9.1 -------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def _arrays() -> None:
    global x
    x = nd.arange(12).reshape((2, 3, 2))


@pytest.mark.parametrize(
    ("inputs", "shapes", "axis", "batch"),
    [
        (lambda: (3, x, "NTC", False), [(2, 2)] * 3, 1, 2),
        (lambda: (3, x, "NTC", True), (2, 3, 2), 1, 2),
        (lambda: (3, x, "TNC", False, "NTC"), [(2, 2)] * 3, 0, 3),
        (lambda: (3, x, "TNC", True, "NTC"), (3, 2, 2), 0, 3),
        (lambda: (None, [x[0], x[1]], "NTC", True), (3, 2, 2), 1, 3),
        (lambda: (2, [x[0], x[1]], "NTC", None), [(3, 2)] * 2, 1, 3),
    ],
)
def test_format_sequence(inputs: Any, shapes: Any, axis: int, batch: int) -> None:
    data, time, F, size = gluon.rnn.rnn_cell._format_sequence(*inputs())
    results = [each.shape for each in data] if isinstance(data, list) else data.shape
    assert (results, time, F, size) == (shapes, axis, nd, batch)


def test_format_sequence_of_another_length() -> None:
    with pytest.raises(AssertionError):
        gluon.rnn.rnn_cell._format_sequence(5, x, "NTC", False)


def test_sequences_are_masked_and_reversed() -> None:
    valid = nd.array([1, 2])
    mask = gluon.rnn.rnn_cell._mask_sequence_variable_length
    whole = [[[0, 1], [0, 0], [0, 0]], [[6, 7], [8, 9], [0, 0]]]
    assert mask(nd, x, 3, valid, 1, True).asnumpy().tolist() == whole
    steps = mask(nd, x, 3, valid, 1, False)
    assert [each.asnumpy().tolist() for each in steps][1] == [[0, 0], [8, 9]]
    turned = gluon.rnn.rnn_cell._reverse_sequences
    steps = [x[:, i] for i in range(3)]
    assert turned(steps, 3)[0].asnumpy().tolist() == [[4, 5], [10, 11]]
    results = [each.asnumpy().tolist() for each in turned(steps, 3, valid)]
    assert results == [[[0, 1], [8, 9]], [[2, 3], [6, 7]], [[4, 5], [10, 11]]]


def test_states_of_cells() -> None:
    cells = gluon.rnn.rnn_cell
    cell = gluon.rnn.LSTMCell(4)
    assert [each.shape for each in cells._get_begin_state(cell, nd, None, x, 2)] == [(2, 4)] * 2
    assert cells._get_begin_state(cell, nd, [x], x, 2) == [x]
    states = cells._cells_begin_state([cell, cell], batch_size=3)
    assert [each.shape for each in states] == [(3, 4)] * 4
    info = {"shape": (3, 4), "__layout__": "NC"}
    assert cells._cells_state_info([cell, cell], 3) == [info] * 4


def test_weight_shape_of_a_convolution() -> None:
    infer = gluon.nn.conv_layers._infer_weight_shape
    options = {"kernel": (3, 3), "num_filter": 8, "layout": "NCHW"}
    assert infer("Convolution", (0, 3, 0, 0), options) == [(0, 3, 0, 0), (8, 3, 3, 3), (8,)]
    assert infer("Convolution", (0, 0, 0, 0), options) == [(0, 0, 0, 0), (8, 0, 3, 3), (8,)]
    assert infer("Deconvolution", (0, 3, 0, 0), options) == [(0, 3, 0, 0), (3, 8, 3, 3)]


def test_store_of_sparse_parameters() -> None:
    store, updates = mx.model._create_sparse_kvstore("local")
    assert (store.type, updates) == ("local", True)
    assert mx.model._create_sparse_kvstore(store) == (store, True)
    for wrong in (None, 3):
        with pytest.raises(TypeError, match="row_sparse"):
            mx.model._create_sparse_kvstore(wrong)


def test_an_array_in_shared_memory() -> None:
    shared = x._to_shared_mem()
    again = nd.NDArray(nd.ndarray._new_from_shared_mem(*shared))
    assert again.asnumpy().tolist() == x.asnumpy().tolist()


def test_sync_copyfrom() -> None:
    y = nd.zeros((2, 3))
    y._sync_copyfrom(onp.arange(6).reshape(2, 3))
    assert y.asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="Shape inconsistent"):
        y._sync_copyfrom(onp.arange(6))


def test_functions_of_workers() -> None:
    loader = gluon.data.dataloader
    dataset = [nd.ones(2), nd.zeros(2)]
    batch = loader._thread_worker_fn([0, 1], loader.default_batchify_fn, dataset)
    assert batch.asnumpy().tolist() == [[1, 1], [0, 0]]
    sent = loader._worker_fn([1], loader.default_batchify_fn, dataset)
    assert pickle.loads(sent).asnumpy().tolist() == [[0, 0]]
    assert loader.ForkingPickler is ForkingPickler


def test_batches_of_a_group_along_the_axis_of_the_batch() -> None:
    group = mx.module.executor_group
    target = nd.zeros((3, 1))
    group._load_data(
        mx.io.DataBatch([nd.arange(6).reshape((3, 2))]), [[(slice(1, 2), target)]], [1]
    )
    assert target.asnumpy().tolist() == [[1], [3], [5]]
    halves = [[nd.ones((2, 1)), nd.zeros((2, 1))]]
    merged = group._merge_multi_context(halves, [1])
    assert merged[0].asnumpy().tolist() == [[1, 0], [1, 0]]


class _Old(gluon.HybridBlock):
    """A block whose ``forward`` was copied from that of MXNet's blocks."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(3, 0), allow_deferred_init=True)

    def forward(self, x: Any, *args: Any) -> Any:
        if not isinstance(x, nd.NDArray):
            params = {name: each.var() for name, each in self._reg_params.items()}
            return self.hybrid_forward(mx.sym, x, *args, **params)
        if self._active:
            return self._call_cached_op(x, *args)
        try:
            params = {name: each.data() for name, each in self._reg_params.items()}
        except gluon.parameter.DeferredInitializationError:
            self._deferred_infer_shape(x, *args)
            for each in self.params.values():
                each._finish_deferred_init()
            params = {name: each.data() for name, each in self._reg_params.items()}
        return self.hybrid_forward(nd, x, *args, **params)

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        return F.FullyConnected(x, weight, no_bias=True, num_hidden=3)


def test_a_forward_of_old() -> None:
    block = _Old()
    block.initialize(mx.init.One())
    data = nd.ones((2, 5))
    assert block(data).asnumpy().tolist() == [[5, 5, 5]] * 2
    assert block.weight.shape == (3, 5)
    block.hybridize()
    with autograd.record():
        out = block(data)
    out.backward()
    assert out.asnumpy().tolist() == [[5, 5, 5]] * 2
    assert block.weight.grad().asnumpy().tolist() == [[2] * 5] * 3


class _Accumulating(gluon.Trainer):
    """A trainer whose ``step`` was copied from MXNet's."""

    def step(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        self._check_and_rescale_grad(self._scale / batch_size)
        if not self._kv_initialized:
            self._init_kvstore()
        if self._params_to_init:
            self._init_params()
        self._allreduce_grads()
        self._update(ignore_stale_grad)


def test_a_trainer_of_old() -> None:
    layer = gluon.nn.Dense(1, use_bias=False, in_units=2)
    layer.initialize(mx.init.One())
    trainer = _Accumulating(layer.collect_params(), "sgd", {"learning_rate": 0.5})
    with autograd.record():
        loss = layer(nd.array([[1, 2], [3, 4]]))
    loss.backward()
    trainer.step(2)
    assert layer.weight.data().asnumpy().tolist() == [[0, -0.5]]


def test_slices_that_are_one_piece_of_the_storage() -> None:
    one_piece = nd.NDArray._basic_indexing_slice_is_contiguous
    place = onp.arange(9).reshape(3, 3)
    cuts = [slice(*each) for each in [(0, 1, 1), (0, 3, 1), (0, 3, 2), (2, 0, -1), (1, 1, 1)]]
    for key in product(cuts, cuts):
        cut = place[key].ravel()
        assert one_piece(key, (3, 3)) == bool((onp.diff(cut) == 1).all()), key


@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_layer_as_a_stack_of_cells_with_its_parameters(bidirectional: bool) -> None:
    layer = gluon.rnn.LSTM(3, 2, bidirectional=bidirectional, dropout=0.5, prefix="n_")
    stack = layer._unfuse()
    names = ["LSTMCell", "DropoutCell", "LSTMCell"]
    if bidirectional:
        names = ["BidirectionalCell", "DropoutCell", "BidirectionalCell"]
    assert [type(stack[place]).__name__ for place in range(len(stack))] == names
    assert list(stack.collect_params()) == list(layer.collect_params())
    layer.initialize(mx.init.Uniform(1))
    data = nd.random.normal(shape=(5, 2, 4))
    whole = layer(data)
    steps, _ = stack.unroll(5, data, layout="TNC", merge_outputs=True)
    onp.testing.assert_allclose(steps.asnumpy(), whole.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layer", [gluon.rnn.RNN, gluon.rnn.LSTM, gluon.rnn.GRU])
def test_a_stack_of_cells_has_the_initializers_of_its_layer(layer: type) -> None:
    layer = layer(3, i2h_bias_initializer="ones", h2h_weight_initializer="zeros", prefix="n_")
    parameters = layer._unfuse().collect_params()
    # of MXNet 1.9.1
    assert [each.init for each in parameters.values()] == [None, "zeros", "ones", "zeros"]


def test_a_layer_with_a_projection_cannot_be_unfused() -> None:
    with pytest.raises(mx.MXNetError, match="cells have neither projection_size nor"):
        gluon.rnn.LSTM(3, projection_size=2)._unfuse()


def test_functions_of_opencv_under_their_operators_names() -> None:
    """Values: MXNet 1.9.1."""
    image = nd.arange(24).reshape((2, 4, 3)).astype("uint8")
    smaller = nd._internal._cvimresize(image, 2, 4, 1)
    assert smaller[:, :, 0].asnumpy().tolist() == [[1, 7], [4, 10], [10, 16], [13, 19]]
    framed = nd._internal._cvcopyMakeBorder(image, 1, 0, 0, 1, type=0, values=7.0)
    assert framed[0, :2].asnumpy().tolist() == [[7, 0, 0], [7, 0, 0]]
    assert nd._internal._cvimdecode is mx.image.imdecode


def test_handles_identify_objects() -> None:
    array, symbol = nd.ones((2, 3)), mx.sym.var("x")
    for each in (array, symbol, mx.np.ones(2), array.tostype("csr")):
        assert isinstance(each.handle, mx.base.NDArrayHandle)
        assert each.handle.value == each.handle.value
    assert array.handle.value != array.copy().handle.value
    assert array.handle.value != array[0:1].handle.value


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (
            "ndarray._internal",
            "_plus _maximum_scalar _square_sum _copyto _set_value _onehot_encode",
        ),
        ("symbol._internal", "_plus _maximum_scalar _square_sum _zeros _foreach"),
        ("symbol.numpy", "abs concatenate einsum linspace var where zeros_like"),
        ("symbol.numpy.linalg", "cholesky norm svd"),
    ],
)
def test_star_import(module: str, names: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"from mixnet.{module} import *", scope)
    assert not [each for each in names.split() if not callable(scope.get(each))]
    assert "annotations" not in scope
