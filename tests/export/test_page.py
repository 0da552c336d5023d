"""Pages that run networks: the interpreter against mixnet's numbers, and a page in a real browser."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.export.page.program import _SAME_AS, PRIMITIVES
from mixnet.gluon import nn
from tests.export.engine import ENGINE, needs_node, node, run_pages
from tests.own_thread import in_own_thread

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def _called(net: Any, x: np.ndarray) -> np.ndarray:
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net(mx.nd.array(x)).asnumpy()


def _sequential(*layers: Any) -> Any:
    net = nn.HybridSequential()
    net.add(*layers)
    return net


class Residual(nn.HybridBlock):
    """A strided, a grouped and a transposed convolution, and a sum that skips them."""

    def __init__(self) -> None:
        super().__init__()
        self.body = _sequential(
            nn.Conv2D(8, 3, strides=2, padding=1, use_bias=False), nn.BatchNorm(), nn.LeakyReLU(0.1),
            nn.Conv2D(8, 3, padding=2, dilation=2, groups=4), nn.Swish(),
            nn.Conv2DTranspose(3, 4, strides=2, padding=1),
        )  # fmt: skip

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.concat(x + self.body(x), F.flip(x, axis=3), dim=1)


class OnSequence(nn.HybridBlock):
    """Rows of a picture as words, and attention among them."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.norm = nn.Dense(6, flatten=False), nn.LayerNorm()
        self.gelu = nn.GELU()

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = self.gelu(self.norm(self.project(F.squeeze(x, axis=1))))
        scores = F.softmax(F.batch_dot(x, x, transpose_b=True) / 2, axis=-1)
        return F.mean(F.batch_dot(scores, x), axis=1)


NETWORKS = {
    "lenet": (
        lambda: _sequential(
            nn.Conv2D(6, 5, activation="tanh"),
            nn.MaxPool2D(2, 2),
            nn.Dropout(0.5),
            nn.Conv2D(8, 5, activation="sigmoid"),
            nn.AvgPool2D(3, 2, padding=1),
            nn.Flatten(),
            nn.Dense(12, activation="relu"),
            nn.Dense(10),
        ),
        (1, 1, 28, 28),
    ),
    "residual": (
        lambda: _sequential(Residual(), nn.GlobalAvgPool2D(), nn.Dense(4)),
        (1, 3, 16, 16),
    ),
    "sequence": (OnSequence, (1, 1, 5, 7)),
    "small resnet": (
        lambda: mx.gluon.model_zoo.vision.get_resnet(2, 18, classes=10),
        (1, 3, 32, 32),
    ),
}


@needs_node
def test_numbers_are_those_of_mixnet(tmp_path: Path) -> None:
    paths, inputs, expected = [], [], []
    for name, (make, shape) in NETWORKS.items():
        net, x = make(), _random(*shape)
        expected.append(_called(net, x))
        paths.append(net.export_page(str(tmp_path / f"{name}.html")))
        inputs.append(x)
    outputs = run_pages(paths, inputs)
    for name, output, reference in zip(NETWORKS, outputs, expected, strict=True):
        actual = output.reshape(reference.shape)
        np.testing.assert_allclose(actual, reference, rtol=1e-4, atol=1e-4, err_msg=name)


@needs_node
def test_the_engine_has_every_primitive_that_is_written() -> None:
    code = (
        "const { PRIMITIVES } = await import(process.argv[1]); "
        "console.log(Object.keys(PRIMITIVES).join(' '))"
    )
    implemented = set(node(code, ENGINE.as_uri()).split())
    assert {_SAME_AS.get(name, name) for name in PRIMITIVES} == implemented


@pytest.fixture
def lenet(tmp_path: Path) -> tuple[Path, np.ndarray, np.ndarray]:
    """A page of a LeNet of full size, an input, and its output."""
    net = _sequential(
        nn.Conv2D(20, 5, activation="tanh"), nn.MaxPool2D(2, 2), nn.Conv2D(50, 5, activation="tanh"),
        nn.MaxPool2D(2, 2), nn.Flatten(), nn.Dense(500, activation="tanh"), nn.Dense(10),
    )  # fmt: skip
    x = _random(1, 1, 28, 28)
    expected = _called(net, x)
    names = [
        "nought",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine </script>",
    ]
    path = net.export_page(str(tmp_path / "digits.html"), draw=True, labels=names)
    return Path(path), x, expected


def test_one_small_file_that_asks_for_nothing(lenet: Any) -> None:
    text = lenet[0].read_text()
    assert len(text) < 5_000_000
    assert "http:" not in text and "https:" not in text and " src=" not in text
    assert "default-src 'none'" in text
    assert "nine </script>" not in text


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (Debian: apt install chromium)")
@in_own_thread
def test_a_person_draws(lenet: Any, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    path, x, expected = lenet
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text))
        page.goto(path.as_uri())
        actual = page.evaluate(
            "x => Array.from(mixnetPage.run(x).outputs[0].data)", x.ravel().tolist()
        )
        np.testing.assert_allclose(actual, expected.ravel(), rtol=1e-4, atol=1e-4)
        assert page.locator("#best").inner_text() == "–"
        box = page.locator("#pad").bounding_box()
        page.mouse.move(box["x"] + 140, box["y"] + 60)
        page.mouse.down()
        page.mouse.move(box["x"] + 140, box["y"] + 220, steps=5)
        page.mouse.up()
        playwright.expect(page.locator("#best")).not_to_have_text("–")
        assert page.locator("#scores li").count() == 10
        assert page.locator(".layer").count() == 10
        assert page.locator(".layer").first.locator("canvas").count() == 20
        # A picture of the same: a dark line on light is turned over.
        import cv2

        picture = np.full((64, 48), 255, np.uint8)
        picture[12:52, 22:27] = 0
        cv2.imwrite(str(tmp_path / "one.png"), picture)
        before = page.locator("#best").inner_text()
        page.locator("#clear").click()
        assert page.locator("#best").inner_text() == "–"
        page.locator("#file").set_input_files(str(tmp_path / "one.png"))
        playwright.expect(page.locator("#best")).not_to_have_text("–")
        assert page.locator("#best").inner_text() == before
        assert problems == []
        browser.close()


@pytest.fixture(scope="module")
def reader_of_digits() -> tuple[Any, np.ndarray, np.ndarray]:
    """A network that learned real digits of 8 by 8 pixels, and 8 pictures with labels that it never saw."""
    digits = pytest.importorskip(
        "sklearn.datasets", reason="pip install scikit-learn"
    ).load_digits()
    images = (digits.images[:, None] / 16).astype("float32")
    net = _sequential(
        nn.Conv2D(16, 3, padding=1, activation="relu"), nn.MaxPool2D(2, 2), nn.Dense(64, activation="relu"),
        nn.Dense(10),
    )  # fmt: skip
    mx.random.seed(1)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 5e-3})
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    x, y = mx.nd.array(images[8:]), mx.nd.array(digits.target[8:])
    for _ in range(3):
        for i in range(0, len(x), 64):
            with mx.autograd.record():
                loss = loss_of(net(x[i : i + 64]), y[i : i + 64])
            loss.backward()
            trainer.step(len(loss))
    return net, images[:8], digits.target[:8]


@pytest.fixture
def page_of_digits(reader_of_digits: Any, tmp_path: Path) -> tuple[Any, np.ndarray, np.ndarray]:
    """A page of a network that learned real digits, its examples, and their labels."""
    net, images, labels = reader_of_digits
    path = net.export_page(str(tmp_path / "digits.html"), draw=True, fill=1.0, examples=images)
    return Path(path), images, labels


# Strokes of digits that a hand draws, on a board of 280 by 280.
STROKES = {
    "0": [
        [
            (140, 60),
            (95, 90),
            (85, 150),
            (100, 210),
            (140, 225),
            (180, 200),
            (192, 140),
            (175, 80),
            (140, 60),
        ]
    ],
    "3": [
        [
            (95, 70),
            (150, 60),
            (180, 85),
            (165, 125),
            (125, 138),
            (170, 155),
            (185, 190),
            (150, 222),
            (92, 212),
        ]
    ],
    "4": [[(150, 60), (90, 160), (200, 160)], [(165, 110), (160, 225)]],
}


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (Debian: apt install chromium)")
@in_own_thread
def test_it_reads_examples_and_drawings(page_of_digits: Any, reader_of_digits: Any) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    path, images, labels = page_of_digits
    expected = reader_of_digits[0](mx.nd.array(images)).asnumpy()
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.goto(path.as_uri())
        best = page.locator("#best")
        assert best.inner_text() == str(expected[0].argmax()), "it opens with the first example"
        buttons = page.locator("#examples button")
        answers = []
        for i in range(buttons.count()):
            buttons.nth(i).click()
            answers.append(best.inner_text())
        assert answers == [str(each) for each in expected.argmax(1)]
        assert np.mean([a == str(b) for a, b in zip(answers, labels, strict=True)]) > 0.8
        box = page.locator("#pad").bounding_box()
        drawn = {}
        for digit, strokes in STROKES.items():
            page.locator("#clear").click()
            for stroke in strokes:
                page.mouse.move(box["x"] + stroke[0][0], box["y"] + stroke[0][1])
                page.mouse.down()
                for x, y in stroke[1:]:
                    page.mouse.move(box["x"] + x, box["y"] + y, steps=3)
                page.mouse.up()
            playwright.expect(page.locator("#best")).not_to_have_text("–")
            page.evaluate("() => new Promise(requestAnimationFrame)")
            drawn[digit] = best.inner_text()
        browser.close()
    assert drawn == {digit: digit for digit in STROKES}


def test_an_operator_that_the_page_does_not_have(tmp_path: Path) -> None:
    data = mx.sym.Variable("data")
    ordered = mx.sym.sort(data, name="ordered")
    with pytest.raises(
        mx.MXNetError, match=r"Operator sort of node 'ordered' .* a page: it computes 'sort'"
    ):
        mx.export.export_page(ordered, {}, [(1, 1, 4, 4)], tmp_path / "x.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((1, 7), {}, r"is not a picture.*draw=\(height, width\)"),
        ((1, 7), {"draw": (2, 3)}, "does not have as many numbers"),
        ((1, 1, 2000, 2), {}, "1024 pixels"),
        ((1, 1, 2, 2), {"labels": ["a"]}, "labels has 1 names, but the network has 3 outputs"),
        ((1, 1, 2, 2), {"std": 0}, "only numbers above 0"),
        ((1, 1, 2, 2), {"mean": [1, 2]}, "one for each of 1 channels"),
        ((1, 1, 2, 2), {"fill": 0}, "fill=0 is not a fraction of a side; give a number above 0"),
        (
            (1, 1, 2, 2),
            {"examples": np.zeros((3, 5))},
            r"shape \(3, 5\); expected 1 to 20 pictures of 4",
        ),
        (
            (1, 1, 2, 2),
            {"examples": np.full((1, 4), 255)},
            "from 255 to 255; pictures have numbers from 0 to 1",
        ),
    ],
)
def test_contradicting_arguments_are_refused(
    tmp_path: Path, shape: Any, options: Any, message: str
) -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, no_bias=True, name="dense")
    params = {"dense_weight": np.ones((3, int(np.prod(shape))), "float32")}
    with pytest.raises(mx.MXNetError, match=message):
        mx.export.export_page(net, params, [shape], tmp_path / "x.html", **options)
