"""Splitting, clipping, downloads from a server in this process."""

from __future__ import annotations

import hashlib
import http.client
import http.server
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, nd
from mixnet.gluon import utils
from mixnet.ndarray import indexing
from mixnet.runtime.devices.host_value import HostValue
from tests.waiting import join

CONTENT = bytes(range(256)) * 40
SHA1 = hashlib.sha1(CONTENT).hexdigest()


def test_split_data_divides_a_batch() -> None:
    data = nd.arange(20).reshape((10, 2))
    assert [each.shape for each in utils.split_data(data, 3, even_split=False)] == [
        (4, 2), (3, 2), (3, 2),
    ]  # fmt: skip
    assert [each.shape for each in utils.split_data(data, 2, batch_axis=1)] == [(10, 1)] * 2
    parts = utils.split_data(data, 12, even_split=False)
    assert [each.shape[0] for each in parts] == [1] * 10 + [0, 0]
    with pytest.raises(ValueError, match="10 samples"):
        utils.split_data(data, 3)
    loaded = utils.split_and_load([[1, 2], [3, 4]], [mx.cpu(0), mx.cpu(1)])
    assert [each.context for each in loaded] == [mx.cpu(0), mx.cpu(1)]
    assert loaded[1].asnumpy().tolist() == [[3, 4]] and loaded[1].dtype == np.float32
    (single,) = utils.split_and_load(np.ones((3, 2)), [mx.cpu(1)])
    assert single.context == mx.cpu(1)


CONTEXTS = [mx.cpu(0), mx.cpu(1), mx.cpu(2)]


@pytest.mark.parametrize("kind", [nd, mx.np])
def test_a_computed_batch_is_split_without_operations(kind: Any) -> None:
    batch = kind.array(np.arange(14).reshape(7, 2))
    batch.wait_to_read()
    before = mx.runtime.counters()
    parts = utils.split_and_load(batch, CONTEXTS, even_split=False)
    assert all(type(part._value) is HostValue for part in parts)
    assert mx.runtime.counters() == before
    assert [part.context for part in parts] == CONTEXTS
    assert [type(part) for part in parts] == [type(batch)] * 3
    assert [part.asnumpy().tolist() for part in parts] == [
        [[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9]], [[10, 11], [12, 13]],
    ]  # fmt: skip


def test_the_part_on_the_context_of_the_batch_is_a_view() -> None:
    # The numbers are those of MXNet 1.9.1.
    batch = nd.array(np.arange(8).reshape(4, 2))
    own, other = utils.split_and_load(batch, CONTEXTS[:2])
    own[:] = 9
    other[:] = 7
    assert batch.asnumpy().tolist() == [[9, 9], [9, 9], [4, 5], [6, 7]]
    batch[:] = 1
    assert own.asnumpy().tolist() == [[1, 1], [1, 1]]
    assert other.asnumpy().tolist() == [[7, 7], [7, 7]]


def test_tasks_copy_the_parts_of_pending_and_of_large_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def check(batch: nd.NDArray) -> None:
        parts = utils.split_and_load(batch, CONTEXTS[:2])
        assert [part.asnumpy().tolist() for part in parts] == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]

    batch = nd.arange(8).reshape((4, 2)) + 1
    check(batch)
    monkeypatch.setattr(indexing, "MOST_BYTES_AT_ONCE", 16)
    monkeypatch.setattr(indexing, "copy_of_part", pytest.fail)
    check(batch)


def test_gradients_pass_through_a_split_batch() -> None:
    # The numbers are those of MXNet 1.9.1.
    batch = nd.array(np.arange(8).reshape(4, 2))
    batch.attach_grad()
    with autograd.record():
        squares = [(each * each).sum() for each in utils.split_and_load(batch, CONTEXTS[:2])]
    autograd.backward(squares)
    assert batch.grad.asnumpy().tolist() == [[0, 2], [4, 6], [8, 10], [12, 14]]


def test_a_batch_is_split_over_contexts_only() -> None:
    with pytest.raises(TypeError, match="not str"):
        utils.split_and_load(nd.ones((4, 2)), [mx.cpu(0), "cpu(1)"])


def test_clip_global_norm_scales_gradients() -> None:
    def arrays():
        return [nd.ones((2, 2)) * 3, nd.ones((3,)) * 4]

    norm = np.sqrt(4 * 9 + 3 * 16)
    inputs = arrays()
    actual = utils.clip_global_norm(inputs, 1.0)
    assert isinstance(actual, np.float32) and actual == pytest.approx(norm)
    np.testing.assert_allclose(inputs[0].asnumpy(), 3 / norm, rtol=1e-5)
    inputs = arrays()
    lazily = utils.clip_global_norm(inputs, 1.0, check_isfinite=False)
    assert lazily.shape == (1,) and lazily.asscalar() == pytest.approx(norm)
    np.testing.assert_allclose(inputs[1].asnumpy(), 4 / norm, rtol=1e-5)
    inputs = arrays()
    utils.clip_global_norm(inputs, 100.0)
    np.testing.assert_array_equal(inputs[0].asnumpy(), 3)
    with pytest.warns(UserWarning, match="nan or inf"):
        utils.clip_global_norm([nd.array([np.inf])], 1.0)
    with pytest.raises(AssertionError, match="non-empty"):
        utils.clip_global_norm([], 1.0)


def test_shape_is_known_without_zeros() -> None:
    """The empty shape is unknown, unless NumPy's rules hold: MXNet 1.9.1."""
    shapes = (None, (), (0, 1), (1, 2))
    assert [utils.shape_is_known(each) for each in shapes] == [False, False, False, True]
    with pytest.raises(AssertionError, match="at least 0"):
        utils.shape_is_known((-1, 2))
    with mx.util.np_shape():
        assert [utils.shape_is_known(each) for each in shapes] == [False, True, True, True]
        assert utils.shape_is_known((0, 1)) and not utils.shape_is_known((-1, 2))


class Server(http.server.BaseHTTPRequestHandler):
    """Sends ``CONTENT``; the first answers to ``/broken`` end too early, and ``/gone`` does not exist."""

    requests: list[str]
    failures = 0

    def do_GET(self) -> None:
        type(self).requests.append(self.headers.get("Range", ""))
        if self.path == "/gone":
            self.send_error(404)
            return
        start = int(self.headers["Range"][6:-1]) if "Range" in self.headers else 0
        if start >= len(CONTENT):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        end = len(CONTENT)
        if self.path == "/broken" and type(self).failures:
            type(self).failures -= 1
            end = start + 3000
        self.wfile.write(CONTENT[start:end])

    def log_message(self, *args) -> None:
        pass


@pytest.fixture
def server():
    Server.requests, Server.failures = [], 2
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()
    join(thread)


def test_a_download_is_verified_and_stored(server: str, tmp_path: Path, capsys) -> None:
    path = utils.download(f"{server}/a.bin", str(tmp_path), sha1_hash=SHA1)
    assert path == str(tmp_path / "a.bin") and Path(path).read_bytes() == CONTENT
    assert f"Downloading {path} from {server}/a.bin..." in capsys.readouterr().out
    assert utils.check_sha1(path, SHA1) and not utils.check_sha1(path, "0")
    utils.download(f"{server}/a.bin", path, sha1_hash=SHA1)
    assert len(Server.requests) == 1
    Path(path).write_bytes(b"other")
    utils.download(f"{server}/a.bin", path, sha1_hash=SHA1)
    utils.download(f"{server}/a.bin", path, overwrite=True)
    assert len(Server.requests) == 3 and Path(path).read_bytes() == CONTENT
    assert [each.name for each in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_download_into_a_pipe_or_a_device_leaves_it_there(server: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    utils.download(f"{server}/a.bin", str(pipe), overwrite=True)
    assert os.read(reader, 100_000) == CONTENT
    os.close(reader)
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"] and pipe.is_fifo()


def test_a_broken_download_is_resumed(server: str, tmp_path: Path) -> None:
    path = utils.download(f"{server}/broken", str(tmp_path / "new" / "b"), sha1_hash=SHA1)
    assert Path(path).read_bytes() == CONTENT
    assert Server.requests == ["", "bytes=3000-", "bytes=6000-"]


def test_failed_downloads_are_errors(server: str, tmp_path: Path) -> None:
    target = tmp_path / "c"
    with pytest.raises(OSError, match=rf"put it at {target}"):
        utils.download(f"{server}/gone", str(target), retries=0)
    with pytest.raises(OSError, match="does not have the SHA-1"):
        utils.download(f"{server}/a.bin", str(target), sha1_hash="0", retries=0)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "c.part").write_bytes(CONTENT * 2)  # left by another file
    utils.download(f"{server}/a.bin", str(target), sha1_hash=SHA1)
    with pytest.raises(AssertionError, match="does not end in a file name"):
        utils.download(f"{server}/")
    with pytest.raises(AssertionError, match="retries"):
        utils.download(f"{server}/a.bin", str(tmp_path / "d"), retries=-1)


@pytest.mark.parametrize(
    ("error", "raised"),
    [(http.client.IncompleteRead(b""), "put it at"), (LookupError("no proxy"), "no proxy")],
)
def test_a_download_is_tried_again_after_any_error(
    error: Exception, raised: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []

    def fetch(url: str, *more: object) -> None:
        attempts.append(url)
        raise error

    monkeypatch.setattr(utils, "_fetch", fetch)
    with pytest.raises(OSError if raised == "put it at" else LookupError, match=raised):
        utils.download("https://example.invalid/a.txt", str(tmp_path / "a"), retries=2)
    assert attempts == ["https://example.invalid/a.txt"] * 2


def test_downloads_use_the_configured_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    assert utils._get_repo_file_url("gluon/x", "y.zip").endswith("amazonaws.com/gluon/x/y.zip")
    monkeypatch.setenv("MXNET_GLUON_REPO", "http://here")
    assert utils._get_repo_file_url("a", "b") == "http://here/a/b"


def test_long_lists_of_names() -> None:
    """MXNet 1.9.1's answers."""
    assert utils._brief_print_list(range(1, 9), 3) == "'1', ..., '7', '8'"
    assert utils._brief_print_list("abc", 3) == "'a', 'b', 'c'"
    assert utils._brief_print_list("abcdefghi") == "'a', 'b', 'c', ..., 'f', 'g', 'h', 'i'"
