"""The networks of the model zoo: their parameters, graphs and scores as MXNet's; their files."""

from __future__ import annotations

import hashlib
import json
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet.gluon.model_zoo import model_store, vision
from tests.parity.cases import recurrent as cases
from tests.waiting import join

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"
FACTS = json.loads((FIXTURES / "recurrent.json").read_text())["nets"]
ARRAYS = np.load(FIXTURES / "recurrent.npz")


@pytest.mark.parametrize("name", cases.NETS)
def test_a_network_is_that_of_mxnet(name: str) -> None:
    assert cases.net(mx, name) == FACTS[name]


def test_all_networks_are_known() -> None:
    assert sorted(cases.NETS) == sorted(vision._MODELS)
    assert set(cases.NETS) == set(model_store._model_sha1)
    assert isinstance(vision.get_model("ResNet18_v1", classes=2), vision.ResNetV1)
    with pytest.raises(ValueError, match=r"Model foo is not supported. Available[\s\S]*\tvgg19_bn"):
        vision.get_model("foo")


def test_a_file_of_mxnet_gives_its_scores() -> None:
    net = cases.small_net(mx)
    net.load_parameters(str(FIXTURES / "zoo_tiny.params"))
    scores = net(nd.array(cases.data((2, 3, 8, 8))))
    np.testing.assert_allclose(scores.asnumpy(), ARRAYS["tiny|0"], rtol=1e-4)


def test_scores_of_mobilenet_are_mxnets() -> None:
    scores = cases.forward(mx, "mobilenet0.25", (1, 3, 32, 32))
    np.testing.assert_allclose(scores, ARRAYS["mobilenet0.25|0"], rtol=1e-3, atol=1e-4)


def test_networks_accept_arguments() -> None:
    assert len(vision.get_resnet(1, 18, thumbnail=True).features) == 6
    assert "Dropout(p = 0.1" in repr(vision.densenet121(dropout=0.1))
    assert vision.alexnet(prefix="q_").prefix == "q_"
    assert vision.get_mobilenet(0.33, classes=3).output._units == 3
    assert vision.vgg11_bn(classes=2).features[1].__class__.__name__ == "BatchNorm"
    block = vision.BasicBlockV1(8, 1, True)(mx.sym.Variable("data"))
    assert block.infer_shape(data=(1, 3, 4, 4))[1] == [(1, 8, 4, 4)]


def test_errors_of_networks_name_the_mistake() -> None:
    with pytest.raises(AssertionError, match="Invalid resnet version: 3"):
        vision.get_resnet(3, 18)
    with pytest.raises(AssertionError, match="Invalid number of layers: 19"):
        vision.get_resnet(1, 19)
    with pytest.raises(AssertionError, match=r"Unsupported SqueezeNet version 1\.2"):
        vision.SqueezeNet("1.2")
    with pytest.raises(AssertionError, match="need 3 channels"):
        vision.ResNetV2(vision.BasicBlockV2, [1, 1], [8, 8])
    with pytest.raises(AssertionError, match="differ in length"):
        vision.VGG([1], [8, 8])
    with pytest.raises(KeyError):
        vision.get_vgg(12)


# ---- the store -----------------------------------------------------------------------------------


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A server with an archive of the small network, which is known by the name ``tiny``."""
    content = (FIXTURES / "zoo_tiny.params").read_bytes()
    digest = hashlib.sha1(content).hexdigest()
    monkeypatch.setitem(model_store._model_sha1, "tiny", digest)
    folder = tmp_path / "server" / "gluon" / "models"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / f"tiny-{digest[:8]}.zip", "w") as packed:
        packed.writestr(f"tiny-{digest[:8]}.params", content)
    server = HTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path / "server")))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("MXNET_GLUON_REPO", f"http://127.0.0.1:{server.server_port}")
    yield folder
    server.shutdown()
    join(thread)
    server.server_close()


def test_a_file_is_downloaded_once_and_checked(repository: Path, tmp_path: Path) -> None:
    root = tmp_path / "models"
    path = Path(model_store.get_model_file("tiny", root=str(root)))
    assert path.read_bytes() == (FIXTURES / "zoo_tiny.params").read_bytes()
    assert [each.name for each in root.iterdir()] == [path.name]
    net = cases.small_net(mx)
    model_store.with_pretrained(net, True, "tiny", mx.cpu(), str(root))
    for archive in repository.iterdir():
        archive.unlink()
    assert model_store.get_model_file("tiny", root=str(root)) == str(path)  # nothing is fetched
    model_store.purge(str(root))
    assert not list(root.iterdir())


def test_a_damaged_file_is_fetched_again(repository: Path, tmp_path: Path) -> None:
    path = Path(model_store.get_model_file("tiny", root=str(tmp_path)))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    model_store.get_model_file("tiny", root=str(tmp_path))
    assert path.read_bytes() == whole


def test_a_missing_parameter_file_says_where_to_put_it(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (archive,) = repository.iterdir()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(archive.with_suffix(".params").name, b"another")
    with pytest.raises(ValueError, match=r"does not have the hash[\s\S]*put the file"):
        model_store.get_model_file("tiny", root=str(tmp_path / "a"))
    archive.write_bytes(b"no archive")
    with pytest.raises(ValueError, match="is not an archive"):
        model_store.get_model_file("tiny", root=str(tmp_path / "b"))
    monkeypatch.setattr(model_store, "download", _unreachable)
    with pytest.raises(ConnectionError, match=r"put the file squeezenet1.1-33ba0f93.params"):
        vision.squeezenet1_1(pretrained=True, root=str(tmp_path / "c"))
    with pytest.raises(ValueError, match="Pretrained model for foo is not available"):
        model_store.short_hash("foo")


def _unreachable(*_: object, **__: object) -> str:
    raise ConnectionError("no network")
