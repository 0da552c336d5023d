"""Tracebacks: the program's lines, the innermost line of mixnet, and no second error."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
import types

import pytest

import mixnet as mx
from mixnet import nd
from mixnet.gluon import nn
from mixnet.process import tracebacks
from mixnet.process.tracebacks import show


class _Network(mx.gluon.HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(2, in_units=4)

    def hybrid_forward(self, F, x):
        return self.dense(F.relu(x))


def _frames(hybridize: bool) -> list[str]:
    net = _Network()
    net.initialize()
    net.hybridize(hybridize)
    with pytest.raises(mx.base.ShapeError) as raised:
        net(nd.ones((2, 3)))
    return [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]


def test_a_network_shows_the_lines_of_the_program() -> None:
    assert _frames(False)[:-1] == ["_frames", "hybrid_forward"]


def test_a_hybridized_network_is_as_short() -> None:
    assert len(_frames(True)) <= 3


def _notes(net: mx.gluon.Block) -> list[str]:
    net.initialize()
    with pytest.raises(mx.base.ShapeError) as raised:
        net(nd.ones((2, 3)))
    return getattr(raised.value, "__notes__", [])


def _two_layers() -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(nn.Dense(5, in_units=3), nn.Dense(2, in_units=4, prefix="second_"))
    return net


class _Sum(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return x + F.ones((2, 2))


def test_an_error_names_the_layer_of_a_container() -> None:
    (note,) = _notes(_two_layers())
    assert note.startswith("In layer second: Dense(4 -> 2, linear), made in ")
    assert "test_tracebacks.py" in note and "net.add(nn.Dense(5" in note


def test_an_error_names_the_node_of_a_hybridized_network() -> None:
    net = _two_layers()
    net.hybridize()
    (note,) = _notes(net)
    assert note.startswith("In node second_fwd, made in ") and "net(nd.ones((2, 3)))" in note


def test_an_error_names_the_line_of_a_hybridized_block_of_the_program() -> None:
    net = nn.HybridSequential()
    net.add(_Sum(prefix="sum_"))
    assert _notes(net) == []  # the traceback shows the line
    net.hybridize()
    (note,) = _notes(net)
    assert note.startswith("In node sum_") and note.endswith(": return x + F.ones((2, 2))")


def test_all_frames_are_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIXNET_FULL_TRACEBACK", "1")
    assert len(_frames(False)) > 6


def test_frames_of_jax_are_hidden() -> None:
    with pytest.raises(mx.base.ShapeError) as raised:
        nd.batch_take(nd.ones((2, 3)), nd.ones(3, dtype="int32"))
    error = raised.value
    assert error.__cause__ is None and error.__suppress_context__
    assert isinstance(error.__context__, ValueError) and "broadcasting" in str(error.__context__)


def test_the_author_of_an_operator_sees_what_it_raised() -> None:
    @mx.ops.register("mistaken_operator")
    def mistaken_operator(data):
        return data + {}["scale"]

    try:
        with pytest.raises(mx.base.ShapeError, match="scale") as raised:
            nd.mistaken_operator(nd.ones((2, 3)))
    finally:
        del mx.ops.OPERATORS["mistaken_operator"]
    assert isinstance(raised.value.__cause__, KeyError)


def test_an_error_suggests_the_nearest_name() -> None:
    near = mx.base.did_you_mean
    assert near("lr", ["lr_mult", "learning_rate", "wd"]) == " Did you mean 'learning_rate'?"
    assert near("Relu", ["relu", "sigmoid"]) == " Did you mean 'relu'?"
    assert near("zzz", ["b", "a"], "There are {}.") == " There are a, b."
    assert near("zzz", ["a"]) == near("zzz", [], "There are {}.") == ""


def _printed(work: object) -> str:
    """What the end of a program with the error of ``work`` prints, up to the error's text."""
    printed: list[str] = []
    try:
        work()
    except Exception as error:
        before = error.__traceback__
        show(lambda *three: printed.extend(traceback.format_exception(*three)), error)
        assert error.__traceback__ is before, "whoever looks at the error later sees all of it"
    return "".join(printed)


def _updated(update: object) -> object:
    store = mx.kv.create("local")
    store.init("w", nd.zeros(3))
    store.set_updater(update)
    return lambda: store.push("w", nd.ones(3))


def test_the_end_of_a_job_shows_the_lines_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        mx.kv.create("local").push("q", nd.ones(3))

    text = _printed(refused)
    assert "in refused" in text and "key q doesn't exist" in text
    assert f"{os.sep}mixnet{os.sep}kvstore" not in text and text.count("  File ") == 2
    monkeypatch.setenv("MIXNET_FULL_TRACEBACK", "1")
    assert f"{os.sep}mixnet{os.sep}kvstore" in _printed(refused)


def test_errors_of_the_program_within_this_library_show_their_lines() -> None:
    def update(key: object, pushed: object, stored: object) -> None:
        try:
            stored[:] = nd.ones(3) + nd.ones(4)
        except mx.MXNetError as error:
            raise ValueError("no update today") from error

    text = _printed(_updated(update))
    assert text.count("in update\n") == 2 and "direct cause" in text and "no update today" in text
    assert f"{os.sep}mixnet{os.sep}" not in text.replace(__file__, "")


def test_an_error_that_this_library_did_not_foresee_shows_where_it_was_raised() -> None:
    def unforeseen() -> None:
        tracebacks.of_program(None)

    assert "tracebacks.py" in _printed(unforeseen)


def test_errors_of_a_custom_optimizer_show_its_frames() -> None:
    class Stateless(mx.optimizer.Optimizer):
        def create_state(self, index: object, weight: object) -> None:
            return None

        def update(self, index: object, weight: object, grad: object, state: object) -> None:
            raise ValueError("no update today")

    store = mx.kv.create("local")
    store.init("w", nd.zeros(3))
    store.set_optimizer(Stateless())
    with pytest.raises(ValueError, match="no update today"):
        store.push("w", nd.ones(3))


_OPERATOR = """
import mixnet as mx

class Op(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + mx.nd.ones(7))

@mx.operator.register("unready")
class Properties(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Op()
"""
_MISTAKES = (
    "mx.nd.load('nothing.params')",
    "mx.nd.Custom(mx.nd.ones(2), op_type='unready').asnumpy()",
)
_SHELL = f"""
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_line_magic("colors", "nocolor")
shell.run_cell({_OPERATOR!r})
for code in {_MISTAKES}:
    assert shell.run_cell(code).error_in_exec
"""


def test_a_notebook_shows_the_lines_of_its_cells() -> None:
    pytest.importorskip("IPython")
    process = subprocess.run(
        [sys.executable, "-c", _SHELL],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    text = process.stdout
    assert process.returncode == 0, process.stderr
    assert "couldn't open file" in text and "'unready' raised" in text
    assert text.count("Cell In[") == 3 and "in Op.forward" in text and "File " not in text


class _Shell:
    """What is used of an IPython shell."""

    def __init__(self) -> None:
        self.custom_exceptions: tuple = ()
        self.shown: list[str] = []

    def set_custom_exc(self, kinds: tuple, handler: object) -> None:
        self.custom_exceptions, self.handler = kinds, handler

    def showtraceback(self, three: tuple, tb_offset: int | None = None) -> None:
        self.shown += traceback.format_exception(*three)


def test_notebooks_of_a_job_show_the_lines_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = _Shell()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    tracebacks.show_in_notebook()
    handler = shell.handler
    tracebacks.show_in_notebook()
    assert shell.handler is handler and shell.custom_exceptions == (mx.MXNetError,)
    try:
        mx.kv.create("local").push("q", nd.ones(3))
    except mx.MXNetError as error:
        handler(shell, type(error), error, error.__traceback__, tb_offset=1)
    text = "".join(shell.shown)
    assert "doesn't exist" in text and f"{os.sep}mixnet{os.sep}kvstore" not in text
