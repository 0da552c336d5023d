"""Common features of all views (``examples.py`` creates one of each)."""

from __future__ import annotations

import errno
import html
import json
import math
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from xml.etree import ElementTree

import pytest

import mixnet as mx
from mixnet.base import FileError
from mixnet.files import whole_file
from mixnet.widgets import View, live, page
from mixnet.widgets.board import store
from mixnet.widgets.sight import MEANINGS, plain
from tests import processes
from tests.widgets.examples import EXAMPLES

BUDGET = 47_000  # bytes of a bundle; one copy for each live view is sent to the page
# It contains the graph, the memory view and the timeline; see docs/concepts/widgets.md.
OWN_BUDGET = {"look": 105_000}


@pytest.fixture(scope="module", autouse=True)
def _boards_without_throughput() -> Iterator[None]:
    """A live board samples its throughput after a while, which may be between two pictures of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_SAMPLE", math.inf)
        yield


@pytest.fixture(scope="module", params=sorted(EXAMPLES))
def view(request: pytest.FixtureRequest) -> View:
    """One for all tests that only read it."""
    with mx.name.NameManager():
        return EXAMPLES[request.param]()


@pytest.fixture(params=sorted(EXAMPLES))
def fresh(request: pytest.FixtureRequest) -> View:
    return EXAMPLES[request.param]()


def test_no_folder_of_this_machine_is_in_a_view(view: View) -> None:
    """A saved page is sent to others."""
    text = json.dumps(view.payload) + view.html() + view.svg()
    folders = Path(__file__).parents[2], Path(mx.__file__).parents[1], sysconfig.get_path("purelib")
    assert [each for each in folders if f"{each}/" in text] == []


def test_every_view_has_an_example() -> None:
    import mixnet.widgets.view as module

    assert {type(make()).__name__ for make in EXAMPLES.values()} == {
        cls.__name__ for cls in module._VIEWS.values()
    }


def test_a_view_is_a_function_of_its_payload(view: View) -> None:
    again = View.of(json.loads(view.to_json()), view.state)
    assert type(again) is type(view)
    assert again.svg() == view.svg()
    assert again.summary() == view.summary()


def test_the_picture_is_well_formed_and_says_what_it_is(view: View) -> None:
    root = ElementTree.fromstring(view.to_svg())
    assert root.get("role") == "img" and root.get("aria-label")
    assert float(root.get("width")) <= 1400, "wider than a notebook's page"


def test_a_view_is_saved_as_png(view: View, tmp_path) -> None:
    pytest.importorskip("resvg_py", reason="to_png needs resvg_py: pip install 'mixnet[widgets]'")
    assert view.to_png(tmp_path / "a.png")[:8] == b"\x89PNG\r\n\x1a\n"
    assert (tmp_path / "a.png").stat().st_size > 500


def test_a_view_has_a_table_and_a_summary(view: View) -> None:
    header, rows = view.table()
    rows = [list(row) for row in rows]
    assert rows and all(len(row) == len(header) for row in rows)
    assert "\n" not in view.summary() and len(view.summary()) > 10


def test_the_page_contains_its_data_and_loads_nothing(view: View, tmp_path) -> None:
    text = view.to_html(tmp_path / "a.html")
    assert not re.search(r'(?:src|href)="(?!data:)[^"]+"|@import|url\((?!["\']?data:)', text)
    packed = re.search(r'<script type="application/x-mixnet">([^<]+)</script>', text)
    assert packed and page.unpack(packed[1])["payload"] == json.loads(view.to_json())


def test_bundles_are_small(view: View) -> None:
    assert len(page.static(f"{view.bundle}.js").encode()) <= OWN_BUDGET.get(view.bundle, BUDGET)


def test_it_says_what_to_look_at_first(view: View) -> None:
    first = view.payload["sight"]
    assert 20 < len(first["text"]) < 240 and first["text"].endswith(".")
    assert first["words"], "at least one word leads to the glossary"
    assert html.escape(plain(first["text"])) in view.html(), "also where no script runs"


def test_the_glossary_says_what_words_of_views_mean() -> None:
    page_text = (Path(__file__).parents[2] / "docs/concepts/glossary.md").read_text()
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", page_text.split("## In views")[1], re.M))
    assert {word: rows.get(word) for word in MEANINGS} == MEANINGS


def test_the_state_of_a_live_view_is_restored(fresh: View) -> None:
    pytest.importorskip(
        "anywidget", reason="live views need anywidget: pip install 'mixnet[widgets]'"
    )
    states = []
    fresh.watch(states.append)
    fresh.widget.state = {**fresh.state, "probe": 7}
    assert fresh.state["probe"] == 7 and states[-1]["probe"] == 7
    fresh.choose(probe=8)
    assert fresh.widget.state["probe"] == 8
    data, _ = fresh._repr_mimebundle_()
    assert {"text/plain", "text/html", live.MIME} <= set(data), (
        "no notebook: nobody looks for places"
    )


@pytest.mark.parametrize(
    ("frames", "kinds"),
    [(False, {"text/plain", "text/html"}), (True, {"text/plain", "text/html", live.MIME})],
)
def test_a_notebook_stores_pictures_alone(
    frames: bool, kinds: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("anywidget", reason="pip install 'mixnet[widgets]'")
    monkeypatch.setattr(live, "notebook_shell", lambda: object())
    monkeypatch.delenv("VSCODE_PID", raising=False)
    if frames:
        monkeypatch.setenv("VSCODE_PID", "1")
    view = EXAMPLES["array"]()
    data, _ = view._repr_mimebundle_()
    assert set(data) == kinds
    assert f'data-place="{view.widget.place}"' in data["text/html"]
    assert "data-place" not in view.html(), "a page of its own has no widgets"


@pytest.mark.parametrize("frames", [False, True], ids=["one page", "frames"])
def test_no_output_relies_on_the_widget_alone(
    view: View, frames: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("anywidget", reason="pip install 'mixnet[widgets]'")
    monkeypatch.setattr(live, "notebook_shell", lambda: object())
    monkeypatch.setattr(live, "finds_its_place", lambda: not frames)
    text = view.summary()
    # That of a running board may change in between: it measures its speed while it waits.
    monkeypatch.setattr(type(view), "summary", lambda self: text)
    data, _ = view._repr_mimebundle_()
    assert (live.MIME in data) == frames
    assert '<img alt="' in data["text/html"] and "data:image/svg+xml;base64," in data["text/html"]
    assert data["text/plain"] == text


def test_colab_gets_its_widget_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anywidget", reason="pip install 'mixnet[widgets]'")
    called = []
    output = ModuleType("google.colab.output")
    output.enable_custom_widget_manager = lambda: called.append(True)
    output._widgets = SimpleNamespace(_installed_url="https://colab.example/manager.js")
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    monkeypatch.setitem(sys.modules, "google.colab.output", output)
    monkeypatch.setattr(live, "notebook_shell", lambda: object())
    data, metadata = EXAMPLES["array"]()._repr_mimebundle_()
    assert live.MIME in data and "<figure" in data["text/html"]
    assert (
        metadata[live.MIME]["colab"]["custom_widget_manager"]["url"]
        == output._widgets._installed_url
    )
    assert called


def test_a_shown_view_renews_its_stored_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display", reason="pip install 'mixnet[widgets]'")
    monkeypatch.setattr(live, "notebook_shell", lambda: object())
    monkeypatch.delenv("VSCODE_PID", raising=False)
    shown, renewed = [], []
    monkeypatch.setattr(display, "display", lambda data, **rest: shown.append(rest["display_id"]))
    monkeypatch.setattr(
        display, "update_display", lambda data, **rest: renewed.append((data, rest["display_id"]))
    )
    view = EXAMPLES["array"]()
    view.payload = {**view.payload, "context": "unseen"}
    assert renewed == []
    view._ipython_display_()
    view.payload = {**view.payload, "context": "gpu(7)"}
    ((data, name),) = renewed
    assert [name] == shown and "gpu(7)" in data["text/plain"]


def test_without_anywidget_views_are_pictures(fresh: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "available", lambda: False)
    data, _ = fresh._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html"}
    with pytest.raises(mx.MXNetError, match=r"pip install 'mixnet\[widgets\]'"):
        _ = fresh.widget


def test_an_unknown_schema_is_an_error() -> None:
    with pytest.raises(mx.base.AttributeValueError, match=r"got 'x/1'"):
        View.of({"schema": "x/1"})


def test_mixnet_without_views_does_not_load_them() -> None:
    code = (
        "import sys, mixnet; print(any(m.startswith('mixnet.widgets') for m in sys.modules)); "
        "mixnet.widgets.View"
    )
    process = processes.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240
    )
    assert process.stdout.strip() == "False"


@pytest.mark.parametrize("write", ["to_html", "to_svg", "to_png"])
def test_what_a_view_writes_replaces_an_older_file_whole(
    write: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if write == "to_png":
        pytest.importorskip("resvg_py")
    path = tmp_path / "view"
    path.write_bytes(b"old")
    monkeypatch.setattr(whole_file, "_write", fail)
    with pytest.raises(FileError, match="No space left on device"):
        getattr(EXAMPLES[sorted(EXAMPLES)[0]](), write)(path)
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["view"]
