"""``mx.distributed.measure``: real processes of this machine, the kernel's count of bytes, and
what is refused.
"""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Any

import pytest

import mixnet as mx
from mixnet.base import AttributeTypeError, AttributeValueError
from mixnet.distributed import MeasureError, measure, measuring
from mixnet.distributed.measuring import _Status
from mixnet.gluon import nn
from mixnet.tools.measured_job import bytes_sent


def network() -> nn.HybridSequential:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            nn.Dense(128, in_units=64), nn.BatchNorm(in_channels=128), nn.Dense(10, in_units=128)
        )
    net.initialize()
    return net


@pytest.mark.usefixtures("forked_jobs")
def test_two_workers_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    measured = measure(
        network(),
        mx.nd.ones((4, 64)),
        (2,),
        steps=2,
        repeats=3,
        device_seconds=0.02,
        progress=True,
    )
    out, errors = capsys.readouterr()
    assert (
        out == ""
        and errors.endswith("\r")
        and not errors.rpartition("\r")[0].split("\r")[-1].strip()
    )
    lines = [line.rstrip() for line in errors.split("\r") if line.strip()]
    assert lines[0] == "measure: job 1 of 1, 2 workers: starting (0 s)"
    assert re.search(r"2 workers: .*, (repeat )?\d+ of \d+ ", lines[-1]), lines
    (step,) = measured.steps
    assert (measured.batch, measured.repeats, step.workers) == (4, 3, 2)
    numbers = 64 * 128 + 128 + 2 * 128 + 128 * 10 + 10  # moving statistics have no gradients
    assert measured.gradient_bytes == 4 * numbers
    assert 0.02 <= step.compute <= step.seconds and step.fastest <= step.seconds <= step.slowest
    assert step.exchange > 0 and step.message > 0 and step.waiting >= 0
    # A ring of two sends what there is, once; small buckets are filled up to a power of two.
    if step.sent is not None:
        assert measured.gradient_bytes <= step.sent < 2 * measured.gradient_bytes + 4096
    run = measured.to_dict()
    assert run["origin"] == "processes of one machine" and run["bytes"] == measured.gradient_bytes
    assert run["points"][0]["thr"] == pytest.approx(8 / step.seconds)
    assert "exchange" in repr(measured) and len(repr(measured).splitlines()) == 3


def test_progress_is_printed_in_terminals_and_notebooks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lines(is_shown: bool | None) -> tuple[str, str]:
        status = _Status([1, 4], is_shown)
        status.show(4, "steps, repeat 2 of 5")
        status.show(4, "more")
        status.end(is_done=True)
        return capsys.readouterr()

    assert lines(None) == lines(False) == ("", "")  # neither a notebook nor a terminal
    first = "measure: job 2 of 2, 4 workers: steps, repeat 2 of 5 (0 s)"
    second = "measure: job 2 of 2, 4 workers: more (0 s)"
    text = f"\r{first}\r{second:<{len(first)}}\r{'':<{len(second)}}\r"
    assert lines(True) == ("", text)
    monkeypatch.setattr(measuring, "notebook_shell", lambda: "a shell")
    assert lines(None) == (f"{text}measured 1, 4 workers in 0 s\n", "")


def test_the_kernel_counts_what_a_process_sends() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as near:
        near.connect(server.getsockname())
        far, _ = server.accept()
        before = bytes_sent()
        near.sendall(b"x" * 5000)
        left = 5000
        while left:
            left -= len(far.recv(left))
        after = bytes_sent()
        far.close()
    if before is None or after is None:
        pytest.skip("this system does not count the bytes of connections")
    assert after - before == 5000


def test_bytes_that_wait_for_a_slow_network_are_counted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as near:
        near.connect(server.getsockname())
        far, _ = server.accept()  # which reads nothing
        near.setblocking(False)
        before, written = bytes_sent(), 0
        while True:
            try:
                written += near.send(b"x" * 65536)
            except BlockingIOError:
                break
        after = bytes_sent()
        far.close()
    if before is None or after is None:
        pytest.skip("this system does not count the bytes of connections")
    assert after - before == written


def test_a_job_that_exceeds_its_timeout_is_ended() -> None:
    with pytest.raises(MeasureError, match=r"2 workers had not ended after 0\.2 s"):
        measure(network(), mx.nd.ones((4, 64)), (2,), timeout=0.2)


def test_a_job_that_fails_shows_what_it_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho no such module; exit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr("mixnet.distributed.measuring.sys.executable", str(program))
    with pytest.raises(
        MeasureError, match=r"job of 2 workers failed \(exit code 3\)[^\0]*no such module"
    ):
        measure(network(), mx.nd.ones((4, 64)), (2,))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"workers": (0, 1)},
            r"workers=\(0, 1\): expected different counts of processes from 1 to 64",
        ),
        ({"workers": (2, 2)}, "different counts"),
        ({"workers": 3}, "workers=3"),
        ({"steps": 0}, "steps, repeats and timeout must be above 0, not 0"),
        ({"device_seconds": -1}, "device_seconds=-1: expected seconds above 0"),
    ],
)
def test_numbers_out_of_range_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(AttributeValueError, match=message):
        measure(**{"network": network(), "data": mx.nd.ones((4, 64)), **changes})


def test_networks_that_cannot_be_sent_are_refused() -> None:
    with pytest.raises(
        AttributeTypeError, match=r"network must be a gluon.HybridBlock.*not function"
    ):
        measure(lambda x: x, mx.nd.ones((4, 64)))
    with pytest.raises(AttributeTypeError, match=r"data must be an NDArray.*not list"):
        measure(network(), [[1.0]])
