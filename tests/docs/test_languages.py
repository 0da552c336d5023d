"""The programs of docs/howto/other-languages.md, if their requirements are installed.

``MIXNET_NODE_MODULES`` names the ``node_modules`` folder of ``npm install onnxruntime-node onnxruntime-web``,
``MIXNET_ONNXRUNTIME_CPP`` the unpacked release of ONNX Runtime for C++. Without the release, npm's package
``com.github.asus4.onnxruntime`` has its headers (in a framework for iOS) and its library for Linux.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.gluon import nn
from tests.own_thread import in_own_thread
from tests.waiting import join

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "other-languages.md"
MODULES = Path(
    os.environ.get("MIXNET_NODE_MODULES") or PAGE.parents[2] / "widgets" / "node_modules"
)
OPENCV_JAR = Path("/usr/share/java/opencv.jar")
OPENCV_JNI = Path("/usr/lib/jni")
ONNXRUNTIME_CPP = Path(os.environ.get("MIXNET_ONNXRUNTIME_CPP", "onnxruntime")).absolute()
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def _section(heading: str) -> str:
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1]
    return text.split("\n## ")[0]


def _program(heading: str, language: str) -> str:
    (text,) = re.findall(rf"```{language}\n(.*?)```", _section(heading), re.DOTALL)
    return str(text)


def _needs(package: str) -> Any:
    return pytest.mark.skipif(
        not (MODULES / package).is_dir() or shutil.which("node") is None,
        reason=f"needs Node, and npm install {package}, its folder named by MIXNET_NODE_MODULES",
    )


@pytest.fixture
def network(tmp_path: Path) -> tuple[Path, np.ndarray]:
    """The folder of ``net.onnx``, and its scores."""
    pytest.importorskip("onnx", reason="pip install 'mixnet[onnx]'")
    net = nn.HybridSequential()
    net.add(nn.Conv2D(6, 5, activation="relu"), nn.MaxPool2D(2, 2), nn.Dense(10))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    scores = net(mx.nd.full((1, 1, 28, 28), 0.5)).asnumpy()
    net.export(str(tmp_path / "net"), format="onnx")
    return tmp_path, scores.ravel()


@_needs("onnxruntime-node")
def test_the_program_for_node_runs(network: Any) -> None:
    folder, scores = network
    (folder / "predict.mjs").write_text(_program("Node", "js"))
    (folder / "node_modules").symlink_to(MODULES)
    command = ["node", "predict.mjs", "net.onnx"]
    run = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=240
    )
    assert run.returncode == 0, run.stderr
    np.testing.assert_allclose(json.loads(run.stdout), scores, rtol=1e-4, atol=1e-5)


@_needs("onnxruntime-web")
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (Debian: apt install chromium)")
@in_own_thread
def test_the_page_runs_in_a_browser(network: Any) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    folder, scores = network
    (folder / "index.html").write_text(_program("A browser", "html"))
    names = ("ort.wasm.min.js", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
    for name in names:
        shutil.copy(MODULES / "onnxruntime-web" / "dist" / name, folder)
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with playwright.sync_playwright() as play:
                browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                page = browser.new_page()
                page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
                page.wait_for_function("document.querySelector('#scores').textContent !== ''")
                actual = json.loads(page.locator("#scores").inner_text())
                browser.close()
        finally:
            server.shutdown()
            join(thread)
    np.testing.assert_allclose(actual, scores, rtol=1e-4, atol=1e-5)


def _commands(heading: str, folder: Path) -> str:
    """Run the commands below a heading, as they stand on the page; what the last one says."""
    (commands,) = re.findall(r"```\n(.*?)```", _section(heading), re.DOTALL)
    run = subprocess.run(
        ["sh", "-ec", commands],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def _has_cpp() -> bool:
    if shutil.which("g++") is None or shutil.which("pkg-config") is None:
        return False
    return (
        subprocess.run(["pkg-config", "--exists", "opencv4"], check=False, timeout=60).returncode
        == 0
    )


@pytest.mark.skipif(
    not _has_cpp(), reason="needs OpenCV for C++ (Debian: apt install g++ pkg-config libopencv-dev)"
)
def test_the_program_in_cpp_runs(network: Any) -> None:
    folder, scores = network
    (folder / "predict.cpp").write_text(_program("C++", "cpp"))
    actual = json.loads(_commands("C++", folder))
    np.testing.assert_allclose(actual, scores, rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(
    not (ONNXRUNTIME_CPP / "include").is_dir() or shutil.which("g++") is None,
    reason="needs g++, and ONNX Runtime for C++, its folder named by MIXNET_ONNXRUNTIME_CPP",
)
def test_the_program_in_cpp_with_onnx_runtime_runs(network: Any) -> None:
    folder, scores = network
    (folder / "predict.cpp").write_text(_program("C++ with ONNX Runtime", "cpp"))
    (folder / "onnxruntime").symlink_to(ONNXRUNTIME_CPP)
    actual = json.loads(_commands("C++ with ONNX Runtime", folder))
    np.testing.assert_allclose(actual, scores, rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(
    not (OPENCV_JAR.exists() and any(OPENCV_JNI.glob("libopencv_java*.so")) and shutil.which("javac")),
    reason="needs OpenCV for Java (Debian: apt install default-jdk-headless libopencv-java)",
)  # fmt: skip
def test_the_program_in_java_runs(network: Any) -> None:
    folder, scores = network
    (folder / "Predict.java").write_text(_program("Java", "java"))
    before = OPENCV_JAR.stat()
    actual = json.loads(_commands("Java", folder))
    np.testing.assert_allclose(actual, scores, rtol=1e-4, atol=1e-5)
    after = OPENCV_JAR.stat()
    assert (after.st_ino, after.st_mtime) == (before.st_ino, before.st_mtime), (
        "it is not ours to write"
    )


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""
