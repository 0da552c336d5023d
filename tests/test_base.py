"""Small things that programs written for MXNet import: base, error, registry, log, libinfo, ..."""

from __future__ import annotations

import array
import ctypes
import io
import logging
import pickle
import re
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import base, nd
from mixnet.__main__ import main


def test_null_is_no_value() -> None:
    assert repr(base._Null) == "_Null" and base._Null
    x = nd.array([[3.0, 1.0, 2.0]])
    for value in (base._Null, None):
        np.testing.assert_array_equal(nd.sum(x, axis=value).asnumpy(), [6])
        np.testing.assert_array_equal(nd.argsort(x, dtype=value).asnumpy(), [[1, 2, 0]])
    assert nd.random.uniform(shape=base._Null).shape == (1,)
    symbol = mx.sym.sum(mx.sym.var("x"), axis=base._Null)
    assert "_Null" not in symbol.tojson()


def test_types_and_text() -> None:
    assert isinstance(np.int32(1), base.integer_types)
    assert isinstance(np.float16(1), base.numeric_types)
    assert base.string_types == (str,) and base.mx_real_t is np.float32
    assert base.py_str(b"a") == base.py_str("a") == "a"
    assert base._as_list(1) == [1] and base._as_list((1,)) == (1,)
    assert base.__version__ == mx.__version__ == "1.9.1"
    text = base.build_param_doc(["a", "b", "a"], ["int", "float", "x"], ["the a", "", "z"])
    assert text == "Parameters\n----------\na : int\n    the a\nb : float\n"
    text = base.build_param_doc(["a", "a"], ["int", "x"], ["the a", "z"], False)
    assert text.endswith("a : x\n    z\n")


def test_versions(capsys: pytest.CaptureFixture[str]) -> None:
    assert [int(part) for part in mx.__version__.split(".")] == [1, 9, 1]
    own = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mixnet {own['version']}, as MXNet 1.9.1\n"


def test_ctypes_helpers() -> None:
    assert base.c_str("abc").value == b"abc"
    assert list(base.c_array(base.mx_uint, [1, 2])) == [1, 2]
    assert list(base.c_str_array(["a", "b"])) == [b"a", b"b"]
    assert list(base.c_array_buf(base.mx_uint, array.array("I", [1, 2]))) == [1, 2]
    assert len(base.c_handle_array([])) == 0
    chars = ctypes.cast(ctypes.create_string_buffer(b"abc"), ctypes.POINTER(ctypes.c_char))
    assert base.ctypes2buffer(chars, 3) == b"abc"
    floats = (ctypes.c_float * 4)(1, 2, 3, 4)
    shared = base.ctypes2numpy_shared(ctypes.cast(floats, base.mx_float_p), (2, 2))
    floats[3] = 9
    np.testing.assert_array_equal(shared, [[1, 2], [3, 9]])
    with pytest.raises(TypeError, match="pointer to char"):
        base.ctypes2buffer(3, 3)
    with pytest.raises(RuntimeError, match="pointer to float"):
        base.ctypes2numpy_shared(3, (1,))
    base.check_call(0)
    with pytest.raises(mx.MXNetError):
        base.check_call(-1)
    with pytest.raises(AttributeError, match="no C library"):
        _ = base._LIB.MXGetVersion


def test_classes_of_classes() -> None:
    class Meta(type):
        pass

    class WithMetaclass(base.with_metaclass(Meta, dict)):  # type: ignore[misc]
        @base.classproperty
        def title(cls):
            return cls.__name__

    assert type(WithMetaclass) is Meta and WithMetaclass.__mro__ == (WithMetaclass, dict, object)
    assert WithMetaclass.title == WithMetaclass().title == "WithMetaclass"
    assert mx.Context.default_ctx == mx.cpu(0)
    with mx.AttrScope(a="1") as scope:
        assert mx.AttrScope.current is scope
        assert mx.AttrScope.current.get({"b": "2"}) == {"a": "1", "b": "2"}
    assert mx.AttrScope.current.get(None) == {}
    with pytest.raises(ValueError, match="must be a string"):
        mx.AttrScope(a=1)


def test_errors_by_name() -> None:
    @mx.error.register
    class OurError(mx.MXNetError):
        pass

    assert base.error_types["OurError"] is OurError
    mx.error.register("Other.name", ValueError)
    assert base.error_types["Other.name"] is ValueError
    text, kind = base.c2pyerror("OurError: bar\nStack trace:\n  1 2")
    assert text == "Traceback (most recent call last):\n  1 2\nOurError: bar" and kind == "OurError"
    assert base.c2pyerror("whatever") == ("whatever", None)
    assert "MXNet hint:" in str(mx.error.InternalError("x"))
    text = str(base.NotSupportedForSparseNDArray(len, "+", 1, 2))
    assert text.startswith(
        "Function len (namely operator \"+\") with arguments (<class 'int'>, <class 'int'>) is not "
        "supported for SparseNDArray and only available in NDArray"
    )


class Example:
    def __init__(self, a=1, **more):
        self.a, self.more = a, more


def test_classes_are_registered_by_name() -> None:
    register = mx.registry.get_register_func(Example, "thing")
    alias = mx.registry.get_alias_func(Example, "thing")
    create = mx.registry.get_create_func(Example, "thing")

    @register
    class Foo(Example):
        pass

    @alias("bar", "BAZ")
    class Bar(Example):
        pass

    assert mx.registry.get_registry(Example) == {"foo": Foo, "bar": Bar, "baz": Bar}
    assert create("FOO", 3, z=2).more == {"z": 2}
    assert type(create("baz")) is Bar
    for text in ('{"thing": "foo", "a": 4}', '["foo", {"a": 4}]', {"thing": "foo", "a": 4}):
        assert create(text).a == 4
    assert create(thing="foo", a=4).a == 4
    instance = Foo(7)
    assert create(instance) is instance
    for wrong in (lambda: create(instance, 1), lambda: create("nope"), lambda: create(3),
                  lambda: register(int)):  # fmt: skip
        with pytest.raises(AssertionError):
            wrong()
    with pytest.warns(UserWarning, match="overriding existing thing .*Foo"):
        register(Bar, "foo")


def test_log(tmp_path) -> None:
    logger = mx.log.get_logger("mixnet.test", level=mx.log.DEBUG)
    assert mx.log.get_logger("mixnet.test") is logger and len(logger.handlers) == 1
    stream = io.StringIO()
    logger.handlers[0].stream = stream
    logger.propagate = False
    logger.info("in %d%%", 3)
    logger.warning("w")
    logger.debug("d")
    lines = stream.getvalue().splitlines()
    head = r"\d{4} \d\d:\d\d:\d\d \d+ .*test_base.py:test_log:\d+\]\x1b\[0m"
    assert re.fullmatch(rf"\x1b\[32mI{head} in 3%", lines[0])
    assert re.fullmatch(rf"\x1b\[31mW{head} w", lines[1])
    assert re.fullmatch(rf"\x1b\[34mD{head} d", lines[2])
    path = tmp_path / "x.log"
    to_file = mx.log.get_logger("mixnet.file", str(path), level=mx.log.INFO)
    to_file.propagate = False
    to_file.info("hello")
    assert path.read_text() == "hello\n"
    to_file.handlers[0].close()
    assert mx.log.get_logger() is logging.getLogger()
    with pytest.warns(DeprecationWarning):
        mx.log.getLogger("mixnet.test")


def test_unavailable_names_suggest_an_alternative(tmp_path) -> None:
    library = tmp_path / "lib.so"
    library.write_bytes(b"")
    cases = [
        (lambda: mx.rtc.CudaModule("source"), "mx.ops.register"),
        (lambda: mx.library.load("/nonexistent.so"), "does not exist"),
        (lambda: mx.library.load(str(library)), "mx.ops.register"),
        (lambda: mx.libinfo.find_include_path(), "no C headers"),
        (lambda: mx.libinfo.find_conf_path(), "XLA"),
        (lambda: mx.notebook.callback.LiveLearningCurve("acc"), "PandasLogger"),
    ]
    for call, text in cases:
        with pytest.raises(RuntimeError, match=text):
            call()
    assert mx.libinfo.find_lib_path()


def test_paths_and_short_names() -> None:
    from mixnet.executor import Executor

    assert mx.symbol.Executor is Executor
    assert mx.rnd is mx.random and mx.th is mx.torch
    assert mx.contrib.nd is mx.contrib.ndarray is mx.nd.contrib
    assert mx.contrib.sym is mx.sym.contrib
    assert callable(mx.contrib.onnx.import_model)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = mx.contrib.nothing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert mx.contrib.quantization.stats.__name__ == "scipy.stats"


def test_the_first_interface_of_autograd() -> None:
    from mixnet.contrib import autograd

    gradients, value = autograd.grad_and_loss(lambda x, y: x * x * y)(
        nd.array([1.0, 2.0]), nd.array([3.0, 4.0])
    )
    np.testing.assert_array_equal(value.asnumpy(), [3, 16])
    np.testing.assert_array_equal(gradients[0].asnumpy(), [6, 16])
    np.testing.assert_array_equal(gradients[1].asnumpy(), [1, 4])
    only = autograd.grad(lambda x, y: x * y, argnum=1)(nd.array([2.0]), nd.array([5.0]))
    assert [each.asscalar() for each in only] == [2]
    x, gradient = nd.array([3.0]), nd.zeros((1,))
    autograd.mark_variables([x], [gradient])
    with autograd.train_section():
        assert mx.autograd.is_training() and mx.autograd.is_recording()
        y = x * x
        with autograd.test_section():
            assert not mx.autograd.is_training() and not mx.autograd.is_recording()
    autograd.backward([y])
    assert gradient.asscalar() == 6
    assert not mx.autograd.is_recording()
    before = autograd.set_is_training(True)
    assert autograd.set_is_training(before) is True


def test_in_place_operators_of_sparse_arrays() -> None:
    for make in (lambda: nd.array([[1.0, 0], [0, 2]]).tostype("csr"),
                 lambda: nd.array([[1.0, 0], [0, 2]]).tostype("row_sparse")):  # fmt: skip
        a = b = make()
        a += make()
        a *= 3
        assert a is b and a.stype != "default"
        np.testing.assert_array_equal(a.asnumpy(), [[6, 0], [0, 12]])


def test_a_missing_file_is_an_error_of_both_kinds(tmp_path) -> None:
    missing = str(tmp_path / "gone" / "net")
    calls = [
        lambda: mx.nd.load(missing),
        lambda: mx.nd.save(missing, mx.nd.ones((1,))),
        lambda: mx.sym.load(missing),
        lambda: mx.model.load_checkpoint(missing, 1),
        lambda: mx.mod.Module.load(missing, 1),
        lambda: mx.gluon.nn.Dense(1).load_parameters(missing),
        lambda: mx.gluon.SymbolBlock.imports(missing, ["data"]),
    ]
    for call in calls:
        with pytest.raises(mx.base.MXNetError, match=r"(?i)no such file|does not exist") as caught:
            call()
        assert isinstance(caught.value, FileNotFoundError)
        assert caught.value.filename.startswith(missing) and missing in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        base.MissingFileError("/a/b.params", "there is no such folder"),
        base.FileError("/a/b.params", "the disk is full", 28),
    ],
)
def test_errors_of_files_can_be_sent_to_other_processes(error: base.FileError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)
    assert (again.errno, again.filename) == (error.errno, error.filename)


@pytest.mark.parametrize("code", [0, 3, 99, "3"])
def test_a_number_is_not_a_dtype(code: object) -> None:
    for make in (
        lambda: mx.nd.zeros(2, dtype=code),
        lambda: mx.nd.zeros(2).astype(code),
        lambda: mx.sym.Variable("x", dtype=code),
        lambda: mx.np.zeros(2, dtype=code),
    ):
        with pytest.raises(TypeError, match="not a data type"):
            make()


def test_every_lazily_loaded_name_exists() -> None:
    program = "import mixnet.base as b; print([n for n in dir(b) if not hasattr(b, n)], 'c_str' in b.__all__)"
    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=240
    )
    assert process.stdout.split() == ["[]", "True"]


@pytest.mark.parametrize(
    "register",
    [mx.optimizer.register, mx.kv.KVStoreBase.register, mx.metric.register, mx.init.register],
)
def test_only_classes_are_registered(register: Any) -> None:
    with pytest.raises(AssertionError, match=r"registered.*not 3"):
        register(3)
