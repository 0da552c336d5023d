"""The library finds the user's line, with and without a boundary."""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

import mixnet as mx
from mixnet import nd
from mixnet.gluon import HybridBlock, nn
from mixnet.graph.node import Entry, Node
from mixnet.ops.registry import find
from mixnet.process.source import (
    MOST_CALLERS,
    Source,
    are_lines_kept,
    in_project,
    line_in_project,
    source_lines,
    user_line,
    user_source,
)
from tests import processes
from tests.lines import line_of

HERE = __file__


def test_the_source_is_the_innermost_line_outside_of_the_library() -> None:
    source = user_source()  # called here
    assert source is not None
    assert source.file == HERE and source.line == line_of(HERE, "called here")
    assert source.function == "test_the_source_is_the_innermost_line_outside_of_the_library"
    assert source.text == "source = user_source()  # called here"
    assert str(source) == f"{HERE}:{source.line}: {source.text}"
    assert source.to_dict() == {
        "file": HERE, "line": source.line, "function": source.function, "text": source.text,
        "layer": None,
    }  # fmt: skip


def test_a_notebook_keeps_the_lines_of_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixnet.graph.node.notebook_shell", object)
    total = mx.sym.Variable("data") + 1  # in a cell
    assert total._heads[0].node.source.line == line_of(HERE, "in a cell")


def test_a_composed_node_keeps_its_line() -> None:
    data = mx.sym.Variable("data")
    assert not are_lines_kept()
    plain = mx.sym.relu(data)  # composed without asking
    assert plain._heads[0].node.source.line == line_of(HERE, "composed without asking")
    with source_lines():
        assert are_lines_kept()
        dense = mx.sym.FullyConnected(data, num_hidden=2)  # composed here
    assert not are_lines_kept()
    assert dense._heads[0].node.source.line == line_of(HERE, "composed here")


def test_operators_of_python_on_symbols_and_copies_of_nodes_keep_the_line() -> None:
    with mx.runtime.source_lines():
        total = mx.sym.Variable("a") + 1  # added here
    again = total(a=mx.sym.Variable("b"))
    for symbol in (total, again):
        assert symbol._heads[0].node.source.line == line_of(HERE, "added here")


def test_the_scope_ends_also_after_an_error() -> None:
    try:
        with source_lines():
            raise ValueError
    except ValueError:
        pass
    assert not are_lines_kept()


def test_a_layer_remembers_the_line_that_created_it() -> None:
    class Net(HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Dense(2)  # a layer of the net

    net = Net()  # the net
    assert net._mx_made_at.line == line_of(HERE, "the net")
    assert net.inner._mx_made_at.line == line_of(HERE, "a layer of the net")


def test_without_a_line_inside_of_the_boundary_the_layers_line_counts() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=3))  # the layer
    net.initialize()
    with source_lines(boundary=inspect.currentframe()):
        traced = net._mx_trace([nd.ones((1, 3))._spec], (tuple, (nd.NDArray,)), False)
    (node,) = [node for node in traced.graph.nodes if node.op is not None]
    assert node.source.line == line_of(HERE, "the layer")
    assert node.source.layer is None


def test_without_a_boundary_there_are_two_lines() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=3))  # another layer
    net.initialize()
    net.hybridize()
    with source_lines():
        net(nd.ones((1, 3)))  # called from here
    ((traced, _),) = net._mx_cache.values()
    (node,) = [node for node in traced.graph.nodes if node.op is not None]
    assert node.source.line == line_of(HERE, "called from here")
    assert node.source.layer.line == line_of(HERE, "another layer")


def test_made_from_passes_the_line_on() -> None:
    first, second = Node(None, name="a"), Node(None, name="b")
    assert second.made_from(first).source is None
    first.source = Source("file.py", 3, "f")
    assert second.made_from(first).source is first.source
    user = Node(find("relu"), (), (), (Entry(first),), "r").made_from(first)
    assert user.replaced((Entry(second),)).source is first.source


def test_a_file_that_is_not_there_has_no_text() -> None:
    source = Source("nowhere.py", 7, "f")
    assert source.text == "" and str(source) == "nowhere.py:7"


def test_the_setting_turns_lines_on_everywhere(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import mixnet as mx\n"
        "a = mx.sym.Variable('a')\n"
        "b = mx.sym.relu(a)\n"
        "print(b._heads[0].node.source.line)\n"
    )
    environment = {**os.environ, "MIXNET_SOURCE_LINES": "1"}
    root = str(Path(mx.__file__).parents[1])
    environment["PYTHONPATH"] = root
    process = processes.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
        timeout=240,
    )
    assert process.stdout.strip() == "3"


def test_a_cell_is_known_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"/somewhere/ipykernel_12/345.py": ("Cell", "In[7]")}
    compiler = SimpleNamespace(format_code_name=names.get)
    module = SimpleNamespace(get_ipython=lambda: SimpleNamespace(compile=compiler))
    monkeypatch.setitem(sys.modules, "IPython", module)
    for file, shown in (
        ("/somewhere/ipykernel_12/345.py", "In[7]"),
        ("/somewhere/ipykernel_12/6.py", "a cell"),
        ("train.py", "train.py"),
    ):
        names_here = {"user_line": user_line}
        exec(compile("line = user_line()", file, "exec"), names_here)
        assert names_here["line"] == f"{shown}:1"
        assert str(Source(file, 1, "f")) == f"{shown}:1"


def test_views_name_files_without_the_folders_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path.parent / "elsewhere"))
    for file, shown in (
        (tmp_path / "src" / "train.py", "src/train.py"),
        (tmp_path.parent / "elsewhere" / "part" / "nets.py", "part/nets.py"),
        (Path(sysconfig.get_path("purelib")) / "torch" / "nn.py", "torch/nn.py"),
        (tmp_path.parent / "nowhere" / "other.py", "other.py"),
        (Path(mx.__file__), "mixnet/__init__.py"),
        ("<string>", "<string>"),
    ):
        assert in_project(str(file)) == shown
        assert line_in_project(f"{file}:7") == f"{shown}:7"
    monkeypatch.chdir("/")
    assert in_project(str(tmp_path / "train.py")) == "train.py"
    assert line_in_project("") == ""


def test_callers_of_a_line_are_recorded_on_request() -> None:
    def inner() -> Source | None:
        return user_source()  # the line itself

    def outer() -> Source | None:
        return inner()  # its caller

    with source_lines():
        plain = outer()
    assert plain is not None and plain.callers == ()
    with source_lines(calls=True):
        source = outer()  # the caller of that
    assert source is not None and source.line == line_of(HERE, "the line itself")
    first, second = source.callers[:2]
    assert first.line == line_of(HERE, "its caller") and first.function.endswith("outer")
    assert second.line == line_of(HERE, "the caller of that")
    assert len(source.callers) <= MOST_CALLERS

    def deep(left: int) -> Source | None:
        return deep(left - 1) if left else user_source()

    with source_lines(calls=True):
        source = deep(2 * MOST_CALLERS)
    assert source is not None and len(source.callers) == MOST_CALLERS


def test_a_line_that_runs_again_does_not_repeat_its_warning() -> None:
    """As for MXNet's warnings, which ``warnings.warn`` prints once for each line."""
    layer = mx.gluon.nn.Dense(2, in_units=2)
    layer.initialize()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        for _ in range(3):
            layer.initialize()
        for _ in range(2):
            mx.mod.Module(mx.sym.var("data") * 2, label_names=["label"])
    names = ["dense0_weight", "dense0_bias", "label_names=['label']"]
    assert len(warned) == len(names)
    for name, each in zip(names, warned, strict=True):
        assert name.rpartition("_")[2] in str(each.message) and each.filename == __file__
