"""The program of every process of ``mx.distributed.measure``: ``mixnet-launch -n 2 python -m
mixnet.tools.measured_job FOLDER``.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import statistics
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mixnet as mx
from mixnet import autograd, config, gluon
from mixnet.distributed.measuring import STATUS_FILE
from mixnet.distributed.processes import World, world

_WARM = 5  # steps after a step has become one program, before anything is measured
_WARM_SPLIT = 10  # a part is compiled after it ran some times
_RATE = 1e-9  # nothing is to be learnt
_TCP_INFO_BYTES = 232
# Offsets of members of Linux's ``struct tcp_info``.
_NOTSENT_BYTES = 144
_BYTES_SENT_AND_RETRANSMITTED = 200


def main(folder: str) -> None:
    """Measure steps; the first worker writes what it found to ``answer.json``."""
    settings = json.loads(Path(folder, "settings.json").read_text(encoding="utf-8"))
    job = _Job(Path(folder), settings)
    step = job.repeated(job.step, "steps")
    sent = job.sent_by(job.step)
    parts = job.parts()
    message = job.repeated(lambda: job.world.gather(np.zeros(4, np.float32)), "short messages")
    if job.world.rank == 0:
        answer = {
            "workers": job.world.size,
            "seconds": statistics.median(step),
            "fastest": min(step),
            "slowest": max(step),
            **parts,
            "message": statistics.median(message) if job.world.size > 1 else 0.0,
            "sent": sent,
            "gradient_bytes": job.gradient_bytes,
        }
        part = Path(folder, "answer.part")
        part.write_text(json.dumps(answer), encoding="utf-8")
        part.replace(Path(folder, "answer.json"))


class _Job:
    """A network, a batch and two trainers of it.

    Args:
        folder: with ``network-symbol.json``, ``network-0000.params`` and ``data.npy``.
        settings: ``steps``, ``repeats``, ``device_seconds``, ``compression``.
    """

    def __init__(self, folder: Path, settings: dict[str, Any]):
        self.world: World = world()
        self._status = folder / STATUS_FILE if self.world.rank == 0 else None
        self.steps, self.repeats = settings["steps"], settings["repeats"]
        self.device_seconds: float | None = settings["device_seconds"]
        symbol, values = folder / "network-symbol.json", folder / "network-0000.params"
        self.network = gluon.SymbolBlock.imports(str(symbol), ["data"], str(values))
        self.network.hybridize()
        self.data = mx.nd.array(np.load(folder / "data.npy"))
        self.batch = self.data.shape[0]
        parameters = [p for p in self.network.collect_params().values() if p.grad_req != "null"]
        self.gradient_bytes = sum(each.grad().asnumpy().nbytes for each in parameters)
        results = {
            "optimizer": "sgd",
            "optimizer_params": {"learning_rate": _RATE},
            "compression_params": settings["compression"],
        }
        self.whole = gluon.Trainer(self.network.collect_params(), kvstore="dist_sync", **results)
        self.separate = gluon.Trainer(
            self.network.collect_params(), kvstore="dist_sync", update_on_kvstore=False, **results
        )
        self.say("compiling")
        for _ in range(config.get("MIXNET_JOINT_STEP_AFTER") + _WARM):
            self.step()
        mx.nd.waitall()

    def backward(self) -> None:
        """Gradients of a batch; or so long as they would take elsewhere."""
        if self.device_seconds is not None:
            time.sleep(self.device_seconds)
            return
        with autograd.record():
            loss = (self.network(self.data) ** 2).mean()
        loss.backward()

    def step(self) -> None:
        """A step as programs have it."""
        self.backward()
        self.whole.step(self.batch, ignore_stale_grad=True)
        if self.device_seconds is not None:
            mx.nd.waitall()  # a device computes what the exchange before has brought

    def say(self, text: str) -> None:
        """Let ``measure`` know what is being done."""
        if self._status is not None:
            part = self._status.with_suffix(".part")
            part.write_text(text, encoding="utf-8")
            part.replace(self._status)

    def repeated(self, step: Callable[[], Any], name: str) -> list[float]:
        """Seconds of a step, of each repeat: those of the slowest worker."""
        times = []
        for number in range(self.repeats):
            self.say(f"{name}, repeat {number + 1} of {self.repeats}")
            self._meet()
            begin = time.perf_counter()
            for _ in range(self.steps):
                step()
            mx.nd.waitall()
            mine = (time.perf_counter() - begin) / self.steps
            times.append(float(self._all(mine).max()))
        return times

    def parts(self) -> dict[str, float]:
        """Medians of the parts of a step: each is waited for before the next begins."""
        count = _WARM_SPLIT + self.steps * self.repeats
        rows = []
        for number in range(count):
            if number % 5 == 0:
                self.say(f"parts of a step, {number + 1} of {count}")
            rows.append(self._split())
        medians = np.median(np.array(rows[_WARM_SPLIT:]), axis=0)
        return dict(zip(("compute", "exchange", "waiting"), map(float, medians), strict=True))

    def _split(self) -> tuple[float, float, float]:
        self._meet()
        start = time.perf_counter()
        self.backward()
        mx.nd.waitall()
        computed = time.perf_counter()
        self._meet()
        together = time.perf_counter()
        self.separate.allreduce_grads()
        mx.nd.waitall()
        exchanged = time.perf_counter()
        self.separate.update(self.batch, ignore_stale_grad=True)
        mx.nd.waitall()
        updated = time.perf_counter()
        compute = self._all(computed - start)
        update = self._all(updated - exchanged)
        exchange = float(self._all(exchanged - together).min())  # of the one that came last
        mean = float(compute.mean())
        if self.world.size == 1:
            return mean + float(update.mean()), 0.0, 0.0
        return mean + float(update.mean()), exchange, float(compute.max()) - mean

    def sent_by(self, step: Callable[[], Any]) -> float | None:
        """Bytes that this process sends in a step; None where the system does not count them."""
        before = bytes_sent()
        for _ in range(self.steps):
            step()
        mx.nd.waitall()
        after = bytes_sent()
        return None if before is None or after is None else (after - before) / self.steps

    def _meet(self) -> None:
        mx.nd.waitall()
        self.world.gather(np.zeros(1, np.int32))

    def _all(self, value: float) -> np.ndarray:
        return self.world.gather(np.array([value]))[:, 0]


def bytes_sent() -> int | None:
    """Bytes that this process has written to its TCP connections so far.

    Those that the kernel still keeps for a slow network are included, retransmissions are not.
    None where the system has no ``/proc/self/fd`` or does not say.
    """
    total, has_said = 0, False
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            count = _sent_on(int(name))
            if count is not None:
                total, has_said = total + count, True
    return total if has_said else None


def _sent_on(number: int) -> int | None:
    try:
        if not os.readlink(f"/proc/self/fd/{number}").startswith("socket:"):
            return None
        with socket.socket(fileno=os.dup(number)) as connection:
            if connection.family not in (socket.AF_INET, socket.AF_INET6):
                return None
            if connection.type != socket.SOCK_STREAM:
                return None
            about = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    except OSError:
        return None
    if len(about) < _TCP_INFO_BYTES:
        return None
    (waiting,) = struct.unpack_from("=I", about, _NOTSENT_BYTES)
    sent, retransmitted = struct.unpack_from("=QQ", about, _BYTES_SENT_AND_RETRANSMITTED)
    return int(sent - retransmitted + waiting)


if __name__ == "__main__":
    main(sys.argv[1])
