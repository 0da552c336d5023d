"""Names beyond MXNet's documented ones that programs import, and the names of ``import *``."""

import importlib

import pytest

from tests.each_record import each_record

NAMES = {
    "contrib.quantization": ["_get_optimal_threshold", "_LayerHistogramCollector"],
    "gluon": ["tensor_types"],
    "gluon.data.dataloader": ["ForkingPickler", "ThreadPool"],
    "gluon.utils": ["_indent", "_brief_print_list"],
    "image.image": ["_get_interp_method"],
    "io": ["_init_data"],
}


@pytest.mark.parametrize(("module", "names"), NAMES.items())
def test_private_names_that_programs_import(module: str, names: list[str]) -> None:
    actual = importlib.import_module(f"mixnet.{module}")
    assert [name for name in names if not hasattr(actual, name)] == []


STARS = {
    "io.io": [
        "NDArrayIter",
        "ImageRecordIter",
        "NDArray",
        "CSRNDArray",
        "array",
        "concat",
        "tile",
        "np",
    ],
    "io.utils": ["NDArray", "CSRNDArray", "sparse_array", "np", "OrderedDict"],
    "numpy.fallback": ["allclose", "nanmax", "promote_types", "rollaxis", "argwhere"],
    "symbol.symbol": ["Symbol", "Variable", "Group", "split_v2", "hypot", "zeros", "load_json"],
    "contrib.quantization": ["quantize_model", "logging", "os", "np", "cpu", "NDArray", "ndarray"],
    "image.detection": ["ImageDetIter", "json", "np", "numeric_types"],
    "image.image": ["imread", "json", "np", "random", "Number"],
    "initializer": ["Xavier", "register", "string_types"],
    "recordio": ["pack_img", "cv2", "np", "struct", "namedtuple", "numbers"],
    "rnn": ["LSTMCell", "numeric_types", "string_types"],
    "rnn.rnn_cell": ["LSTMCell", "functools", "init", "symbol", "string_types"],
    "ndarray": ["FullyConnected", "zeros", "NDArray", "concat", "waitall"],
    "ndarray.sparse": ["csr_matrix", "dot", "retain", "abs", "sgd_update"],
    "ndarray.contrib": ["foreach", "quadratic"],
    "symbol": ["FullyConnected", "Variable", "Group", "Symbol"],
    "symbol.linalg": ["gemm2", "potrf"],
    "io": ["NDArrayIter", "CSVIter", "ImageRecordIter", "ImageDetRecordIter"],
    "image": ["imread", "np", "random", "logging", "cv2"],
    "metric": ["Accuracy", "numpy", "math", "numeric_types", "string_types"],
    "model": ["load_checkpoint", "np", "time", "mx_real_t"],
    "libinfo": ["find_lib_path", "platform"],
    "visualization": ["plot_network", "json", "re"],
    "module.module": ["Module", "nd", "DataDesc"],
    "module.bucketing_module": ["BucketingModule", "np", "sym", "warnings"],
    "module.sequential_module": ["SequentialModule", "copy"],
    "gluon.contrib": ["nn", "data", "estimator"],
}


@each_record(("module", "names"), STARS.items())
def test_import_star_brings(module: str, names: list[str]) -> None:
    actual: dict = {}
    exec(f"from mixnet.{module} import *", actual)
    assert [name for name in names if name not in actual] == []
    assert not [n for n in actual if n.startswith("_") and n != "__builtins__"]


NOT_BROUGHT = {
    "ndarray.ndarray": ["np", "warnings", "Context"],
    "symbol.symbol": ["np", "os", "Graph"],
    "numpy.fallback": ["onp", "ndarray", "NDArray"],
    "symbol": ["np", "npx", "op", "symbol"],
    "ndarray": ["np", "op", "ndarray"],
    "io": ["shuffle", "batch", "loader"],
    "metric": ["loss", "accuracy"],
    "initializer": ["constant"],
    "image": ["transform", "augment"],
    "gluon.nn": ["dense", "activation"],
    "gluon.rnn": ["cell", "layer"],
    "gluon.data": ["download"],
    "gluon.block": ["compose", "initializer"],
    "gluon.parameter": ["context", "constant"],
    "profiler": ["table"],
    "callback": ["Sequence", "Any"],
    "lr_scheduler": ["CheckError"],
    "module.base_module": ["Mapping", "NDArray", "require"],
    "module.executor_group": ["Mapping", "Groups"],
    "module.module": ["np", "flush", "initialize"],
    "module.python_module": ["Callable"],
}


@each_record(("module", "names"), NOT_BROUGHT.items())
def test_import_star_keeps_the_names_of_the_program(module: str, names: list[str]) -> None:
    actual: dict = dict.fromkeys(names, "mine")
    exec(f"from mixnet.{module} import *", actual)
    assert {name: actual[name] for name in names} == dict.fromkeys(names, "mine")


def test_import_star_from_the_file_of_arrays() -> None:
    names: dict = {}
    exec("from mixnet.ndarray.ndarray import *", names)
    first, second = names["split_v2"](names["arange"](4), 2)
    assert names["concatenate"]([second, first]).asnumpy().tolist() == [2, 3, 0, 1]
    assert names["_GRAD_REQ_MAP"]["add"] == 3
    assert len([name for name in names if name != "__builtins__"]) == 42


def test_functions_of_the_fallback_take_arrays_of_mx_np() -> None:
    from mixnet import np
    from mixnet.numpy import fallback

    assert fallback.nanmax(np.array([1.0, float("nan"), 3.0])).item() == 3
    assert fallback.argwhere(np.array([0, 2, 3])).tolist() == [[1], [2]]
    with pytest.raises(AttributeError, match="has no attribute 'nanmaximum'"):
        _ = fallback.nanmaximum


def test_the_interpolation_of_a_code() -> None:
    from mixnet.image.image import _get_interp_method

    assert [_get_interp_method(i) for i in (0, 1, 2, 3, 4)] == [0, 1, 2, 3, 4]
    assert _get_interp_method(9, (4, 4, 2, 2)) == 3
    assert _get_interp_method(9, (2, 2, 4, 4)) == 2
    assert _get_interp_method(9) == 2


def test_the_scope_of_a_thread_can_be_set() -> None:
    import mixnet as mx
    from mixnet.attribute import AttrScope
    from mixnet.name import NameManager, Prefix

    scope, names = AttrScope.current, NameManager.current
    try:
        AttrScope.current = AttrScope(z="set")
        NameManager.current = Prefix("mine_")
        relu = mx.sym.relu(mx.sym.var("v"))
        assert relu.attr("z") == "set"
        assert relu.name.startswith("mine_relu")
    finally:
        AttrScope.current, NameManager.current = scope, names
