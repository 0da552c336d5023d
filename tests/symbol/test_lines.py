"""Nodes of a symbol always store the line of the program that made them, also outside of notebooks."""

from __future__ import annotations

import copy
import inspect
from pathlib import Path
from types import FrameType

import pytest

import mixnet as mx
from mixnet.base import ShapeError
from mixnet.process.source import source_of, user_place
from mixnet.widgets import GraphView


def caller_line() -> int:
    """The number of the line that calls this."""
    frame = inspect.currentframe()
    assert isinstance(frame, FrameType) and frame.f_back is not None
    return frame.f_back.f_lineno


def lines(symbol: mx.sym.Symbol, variables: bool = False) -> dict[str, int]:
    return {
        node.name: node.source.line
        for node in symbol.graph.nodes
        if node.source is not None
        and Path(node.source.file) == Path(__file__)
        and node.is_variable == variables
    }


def composed() -> tuple[mx.sym.Symbol, dict[str, int]]:
    x, at = mx.sym.var("x"), {}
    y, at["dense"] = mx.sym.FullyConnected(x, num_hidden=4, name="dense"), caller_line()
    y, at["bend"] = mx.sym.Activation(y, "relu", name="bend"), caller_line()
    y, at["_mulscalar0"] = y * 2, caller_line()
    y, at["reshape0"] = y.reshape((-1,)), caller_line()
    return y, at


def test_every_way_to_compose() -> None:
    with mx.name.NameManager():
        symbol, at = composed()
    assert lines(symbol) == at
    assert all(
        node.source.function == "composed" for node in symbol.graph.nodes if not node.is_variable
    )


def test_variables_have_source_lines() -> None:
    x, at = mx.sym.var("x"), caller_line()
    y, layer = mx.sym.FullyConnected(x, num_hidden=4, name="dense"), caller_line()
    assert lines(y, variables=True) == {"x": at, "dense_weight": layer, "dense_bias": layer}
    z = mx.sym.Variable("z")
    composed = y(x=z, name="")
    assert lines(composed, variables=True)["z"] == at + 3
    assert all(node.line is None for node in mx.sym.load_json(y.tojson()).graph.nodes)
    dense, dense_line = mx.gluon.nn.Dense(4, in_units=3), caller_line()
    assert lines(dense(mx.sym.var("data")), variables=True) == {
        "data": dense_line + 1,
        **{each.name: dense_line for each in dense.collect_params().values()},
    }
    arrays = GraphView(dense, mx.nd.ones((2, 3))).payload
    place = arrays["sources"][arrays["nodes"]["source"][arrays["names"].index(dense.weight.name)]]
    assert place[1] == dense_line, "of a block that takes arrays"


def test_copies_and_gradients_have_source_lines_and_files_do_not() -> None:
    with mx.name.NameManager():
        symbol, at = composed()
    assert lines(copy.copy(symbol)) == at and lines(symbol.get_internals()["bend_output"]) == {
        name: at[name] for name in ("dense", "bend")
    }
    renamed = symbol(x=mx.sym.var("z"), name="")
    assert set(lines(renamed).values()) == set(at.values())
    assert Path(__file__).name not in symbol.tojson()
    assert all(node.line is None for node in mx.sym.load_json(symbol.tojson()).graph.nodes)


def test_a_view_shows_source_lines() -> None:
    with mx.name.NameManager():
        symbol, at = composed()
    view = GraphView(symbol, x=(2, 3), train=True)
    shown = {row[0]: row[7] for row in view.table()[1]}
    assert shown["dense"].endswith(f"{Path(__file__).name}:{at['dense']}")
    assert shown["bend_backward"] == shown["bend"], "a gradient has the line of its operation"


def test_an_error_names_the_line() -> None:
    symbol, at = mx.sym.reshape(mx.sym.var("x"), (7,), name="seven"), caller_line()
    with pytest.raises(ShapeError, match=rf"Node 'seven' .*test_lines\.py:{at}: symbol, at = "):
        symbol.infer_shape(x=(2, 3))


def test_a_place_in_long_code_has_its_line() -> None:
    text = "\n" * 300 + "place = user_place(0)"
    scope = {"user_place": user_place}
    exec(compile(text, "made_up.py", "exec"), scope)
    assert (source_of(scope["place"]).file, source_of(scope["place"]).line) == ("made_up.py", 301)
