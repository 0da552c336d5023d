"""Frozen notebooks and pages."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat
import pytest

import mixnet as mx
from mixnet.base import AttributeValueError
from mixnet.widgets import ArrayView, freeze
from mixnet.widgets.__main__ import main
from mixnet.widgets.freeze import freeze_file

LIVE = "application/vnd.jupyter.widget-view+json"


def saved_notebook(path: Path) -> Path:
    """A notebook as JupyterLab saves it: a view whose reader chose slice 2, and a foreign widget."""
    view = ArrayView([[[1.0, 2.0]], [[3.0, 4.0]], [[5.0, 6.0]]])
    state = {"payload": view.payload, "state": {"slice": 2}, "_esm": "x" * 9000}
    widgets = {"state": {"m1": {"model_name": "AnyModel", "state": state}, "m2": {"state": {}}}}
    data = [
        {LIVE: {"model_id": "m1"}, "text/plain": "old", "text/html": "old"},
        {LIVE: {"model_id": "m2"}, "text/plain": "a slider"},
    ]
    outputs = [nbformat.v4.new_output("display_data", data=each) for each in data]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("view", outputs=outputs)])
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": widgets}
    path.write_text(nbformat.writes(notebook))
    return path


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_freezing_into_a_pipe_or_a_device_writes_to_it(tmp_path: Path) -> None:
    path, pipe = saved_notebook(tmp_path / "a.ipynb"), tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    freeze_file(path, pipe)
    assert pipe.is_fifo()
    assert nbformat.reads(os.read(reader, 100_000).decode(), as_version=4).cells
    os.close(reader)


def test_freeze_keeps_the_last_state(tmp_path: Path) -> None:
    path = saved_notebook(tmp_path / "a.ipynb")
    assert main(["freeze", str(path)]) == 0
    notebook = nbformat.read(path, as_version=4)
    assert "widgets" not in notebook.metadata
    mine, other = (output.data for output in notebook.cells[0].outputs)
    assert LIVE not in mine and LIVE not in other and other["text/plain"] == "a slider"
    packed = re.search(r'application/x-mixnet">([^<]+)<', mine["text/html"])
    assert packed and freeze.page.unpack(packed[1])["state"] == {"slice": 2}
    assert path.stat().st_size < 9000, "scripts are not stored"
    again = path.read_text()
    assert main(["freeze", str(path)]) == 0 and path.read_text() == again


def test_freeze_identifies_a_view_by_its_place(tmp_path: Path) -> None:
    view = ArrayView([[1.0, 2.0]])
    state = {"payload": view.payload, "state": {"at": 1}, "place": "p7"}
    widgets = {"state": {"m1": {"model_name": "AnyModel", "state": state}}}
    outputs = [
        nbformat.v4.new_output("display_data", data={"text/html": view._html(place)})
        for place in ("p7", "p8")
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("view", outputs=outputs)])
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": widgets}
    freeze.freeze(notebook)
    mine, other = (each.data["text/html"] for each in notebook.cells[0].outputs)
    assert "data-place" not in mine + other
    packed = re.search(r'application/x-mixnet">([^<]+)<', mine)
    assert packed and freeze.page.unpack(packed[1])["state"] == {"at": 1}
    assert other == view.html(), "without a saved state it stays as it is"


def test_the_frozen_page_is_complete(tmp_path: Path) -> None:
    path = saved_notebook(tmp_path / "a.ipynb")
    before = path.read_text()
    assert main(["page", str(path)]) == 0
    html = (tmp_path / "a.html").read_text()
    assert path.read_text() == before
    assert html.count('id="mx-bundles"') == 1 and html.count('class="mx-static"') == 1
    assert not re.search(r'<(?:script|link)[^>]+(?:src|href)="[^"]', html)


def test_a_file_that_is_not_a_notebook_is_unchanged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text("not json")
    with pytest.raises(AttributeValueError, match=r"expected a notebook"):
        freeze.read(path)
    assert main(["freeze", str(path)]) == 1 and "expected a notebook" in capsys.readouterr().err
    assert path.read_text() == "not json" and list(tmp_path.iterdir()) == [path]


def test_all_views_of_one_output_are_frozen() -> None:
    views = ArrayView([[1.0, 2.0]]), ArrayView([[3.0], [4.0]])
    shown = "".join(view._html(place) for view, place in zip(views, ("p7", "p8"), strict=True))
    state = {"payload": views[0].payload, "state": {"at": 1}, "place": "p7"}
    widgets = {"state": {"m1": {"model_name": "AnyModel", "state": state}}}
    output = nbformat.v4.new_output("display_data", data={"text/html": shown})
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("v", outputs=[output])])
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": widgets}
    freeze.freeze(notebook)
    (html,) = (each.data["text/html"] for each in notebook.cells[0].outputs)
    packed = re.findall(r'application/x-mixnet">([^<]+)<', html)
    assert [freeze.page.unpack(each)["payload"] for each in packed] == [v.payload for v in views]
    assert "data-place" not in html


def test_a_page_of_an_onnx_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx", reason="needs onnx: pip install onnx")
    net = mx.gluon.nn.Dense(2, in_units=3, prefix="dense_")
    net.initialize()
    parameters = {name: each.data() for name, each in net.collect_params().items()}
    path = tmp_path / "net.onnx"
    mx.onnx.export_model(net(mx.sym.var("data")), parameters, [(4, 3)], "float32", str(path))
    assert main(["look", str(path)]) == 0
    page = path.with_suffix(".html").read_text()
    assert "net.onnx" in capsys.readouterr().out and 'class="mx-static"' in page
    out = tmp_path / "other.html"
    assert main(["look", str(path), "data=4,3", "--out", str(out)]) == 0 and out.is_file()
    assert main(["look", str(path), "data=4,7"]) == 1 and "data" in capsys.readouterr().err
    for wrong in ("data", "data=many"):
        with pytest.raises(SystemExit):
            main(["look", str(path), wrong])
        assert "data=1,3,224,224" in capsys.readouterr().err
