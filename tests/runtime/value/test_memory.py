"""Live memory: bytes alive, the log of arrays with their lines, and errors when memory runs out."""

from __future__ import annotations

import json

import jax
import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet.base import MXNetError, OutOfMemoryError
from mixnet.runtime.devices.in_flight import in_flight
from mixnet.runtime.record import copy as copies
from tests.lines import line_of

pytestmark = pytest.mark.usefixtures("only_own_arrays")

KB = 250  # elements of float32


def ready(*shape: int) -> nd.NDArray:
    array = nd.ones(shape)
    array.wait_to_read()
    return array


def test_live_bytes_count_arrays_while_they_live() -> None:
    before = mx.runtime.live_bytes()
    a = ready(KB)
    assert mx.runtime.live_bytes() - before == 1000
    assert mx.runtime.live_bytes(mx.cpu()) <= mx.runtime.live_bytes()
    b = a * 2  # pending: no buffer yet
    assert mx.runtime.live_bytes() - before == 1000
    b.wait_to_read()
    assert mx.runtime.live_bytes() - before == 2000
    del a, b
    assert mx.runtime.live_bytes() == before


def test_arrays_that_share_a_buffer_count_once() -> None:
    before = mx.runtime.live_bytes()
    a = ready(KB)
    b = a.as_in_context(mx.cpu_pinned())  # the same device
    b.wait_to_read()
    assert mx.runtime.live_bytes() - before == 1000


def test_every_array_is_logged_with_its_line_and_its_life() -> None:
    with mx.runtime.memory() as log:
        a = nd.ones((KB,))  # made
        b = a * 3  # multiplied
        b.wait_to_read()
        c = nd.array(np.zeros(2 * KB, np.float32))  # from the host
        del c
        assert a.shape == (KB,)
    of = {each.name: each for each in log.allocations if each.name != "before"}
    assert set(of) == {"_ones", "_mul_scalar", "from host"}
    for name, mark in (("_ones", "made"), ("_mul_scalar", "multiplied"),
                       ("from host", "from the host")):  # fmt: skip
        assert of[name].source is not None and of[name].source.line == line_of(__file__, mark)
    assert of["from host"].died is not None and of["from host"].bytes == 2000
    assert of["_ones"].died is None and of["_ones"].context == "cpu(0)"
    assert of["_ones"].born <= of["from host"].born < of["from host"].died


def test_the_log_names_the_peak_and_the_arrays_alive_at_it() -> None:
    with mx.runtime.memory() as log:
        start = log.timeline()[-1][1] if log.timeline() else 0
        a = ready(1000 * KB)
        b = ready(3000 * KB)
        del b
        c = ready(1000 * KB)
    at, size = log.peak(mx.cpu())
    assert size - start == 4_000_000 == log.peak_bytes - start
    ours = [each.bytes for each in log.alive(at) if each.name != "before"]  # others' may be larger
    assert ours == [3_000_000, 1_000_000]
    assert [e.bytes for e in log.alive() if e.name != "before"] == [1_000_000, 1_000_000]
    assert str(log).startswith("peak ")
    del a, c


def test_the_timeline_adds_up() -> None:
    with mx.runtime.memory() as log:
        arrays = [ready(KB) for _ in range(5)]
        del arrays[1:4]
        arrays.append(ready(2 * KB))
    points = log.timeline()
    assert [at for at, _ in points] == sorted(at for at, _ in points)
    # Not those alive now: an array of an earlier test may have been freed since.
    assert points[-1][1] == sum(each.bytes for each in log.alive(points[-1][0]))
    assert max(total for _, total in points) == log.peak_bytes
    assert all(total >= 0 for _, total in points)


def test_an_array_updated_in_place_is_not_counted_twice() -> None:
    a = ready(1000 * KB)
    with mx.runtime.memory() as log:
        start = log.peak_bytes
        for _ in range(3):
            a += 1  # reuses the old buffer
            a.wait_to_read()
    assert log.peak_bytes == start


def test_a_training_step_names_the_lines_of_the_user() -> None:
    net = mx.gluon.nn.Dense(3, in_units=2)
    net.initialize()
    net.hybridize()
    with mx.runtime.memory() as log:
        with mx.autograd.record():
            y = net(nd.ones((4, 2)))  # forward
        y.backward()
        y.wait_to_read()
    lines = {each.source.line for each in log.allocations if each.source}
    assert line_of(__file__, "forward") in lines


def test_plain_data_survives_json() -> None:
    with mx.runtime.memory() as log:
        a = ready(KB)
    data = log.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert set(data) == {"version", "allocations", "contexts"}
    cpu = data["contexts"]["cpu(0)"]
    assert cpu["peak"]["bytes"] == log.peak(mx.cpu())[1]
    ids = {row["id"] for row in data["allocations"]}
    assert set(cpu["at_peak"]) <= ids and len(ids) == len(data["allocations"])
    del a


def test_logs_nest_and_end() -> None:
    with mx.runtime.memory() as outer:
        with mx.runtime.memory() as inner:
            a = ready(KB)
        b = ready(2 * KB)
    c = ready(3 * KB)
    assert sum(each.name == "_ones" for each in inner.allocations) == 1
    assert sum(each.name == "_ones" for each in outer.allocations) == 2
    del a, b, c


def test_copies_between_devices_are_logged() -> None:
    with mx.runtime.memory() as log:
        a = nd.ones((KB,)).as_in_context(mx.cpu_pinned())  # copied
        a.wait_to_read()
    (copy,) = [each for each in log.allocations if each.name == "copy"]
    assert copy.source is not None and copy.source.line == line_of(__file__, "copied")


HUGE = 1 << 44  # elements: 64 TB


def test_an_error_names_the_largest_arrays_and_their_lines() -> None:
    with mx.runtime.memory():
        big = nd.zeros((100_000, KB))  # the largest
        big.wait_to_read()
        expected = nd.ones((HUGE,))
        with pytest.raises(
            OutOfMemoryError, match=r"Out of memory allocating|Unable to allocate"
        ) as caught:
            expected.wait_to_read()  # requested
    text = str(caught.value)
    assert f"{__file__}:{line_of(__file__, 'the largest')}" in text and "_zeros" in text
    assert f"{__file__}:{line_of(__file__, 'requested')}" in text
    assert "float32[100000, 250]" in text and "cpu(0)" in text
    assert isinstance(caught.value, MemoryError) and isinstance(caught.value, MXNetError)
    assert isinstance(caught.value.__cause__, (MemoryError, jax.errors.JaxRuntimeError))


def test_without_a_log_the_error_says_how_to_get_lines() -> None:
    big = ready(1000, KB)
    with pytest.raises(OutOfMemoryError, match=r"mx\.runtime\.memory\(\)"):
        nd.ones((HUGE,)).asnumpy()
    assert big.shape == (1000, KB)


def test_work_recorded_with_a_failed_allocation_fails_too_and_later_work_continues() -> None:
    expected = nd.ones((HUGE,))
    with pytest.raises(OutOfMemoryError):
        expected.wait_to_read()
    assert (ready(2) + 1).asnumpy().tolist() == [2, 2]


def test_the_last_log_remains_and_references_no_array() -> None:
    from mixnet.runtime.value.memory import last_log

    with mx.runtime.memory() as log:
        a = mx.nd.ones((10, 10))
        a.wait_to_read()
    assert last_log() is log
    del a
    assert all(each.died is not None for each in log.allocations if each.name == "_ones")


OUT = (
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 64.00TiB with allocator GPU_0_bfc."
)


@pytest.mark.parametrize("way", ["wait", "read"])
def test_a_gpu_that_runs_out_of_memory_after_the_call(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise jax.errors.JaxRuntimeError(text)

    array = nd.array(np.ones(KB))  # is on its device, unlike the result of an interpreted program
    monkeypatch.setattr(copies, way, fail)
    use = array.wait_to_read if way == "wait" else array.asnumpy
    text = OUT
    with pytest.raises(OutOfMemoryError, match=r"cpu\(0\) has no memory left.*allocate 64.00TiB"):
        use()
    text = "INTERNAL: something broke"
    with pytest.raises(MXNetError, match=r"A program on cpu\(0\) failed while it ran: INTERNAL"):
        use()


def test_waiting_for_all_names_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise jax.errors.JaxRuntimeError(OUT)

    monkeypatch.setattr(in_flight, "wait", fail)
    with pytest.raises(MXNetError, match="A program failed while it ran: Out of memory"):
        nd.waitall()


def test_an_array_that_has_no_pointer_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unusual:
        """One device, several buffers."""

        nbytes = 40

        def is_deleted(self) -> bool:
            return False

        def is_ready(self) -> bool:
            return True

        def devices(self) -> set[jax.Device]:
            return {mx.cpu().device}

        def unsafe_buffer_pointer(self) -> int:
            raise jax.errors.JaxRuntimeError("supported only for unsharded arrays")

    monkeypatch.setattr(jax, "live_arrays", lambda platform: [Unusual()])
    assert mx.runtime.live_bytes(mx.cpu()) == 40
