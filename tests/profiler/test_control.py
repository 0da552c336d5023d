"""Starting, stopping, pausing and writing; traces of programs in the profile."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from mixnet import autograd, engine, gluon, nd, profiler, sym
from mixnet.base import AttributeTypeError, AttributeValueError, CheckError, MXNetError
from mixnet.profiler import control, session
from mixnet.runtime.record import record
from tests import processes
from tests.each_record import each_record
from tests.threads import all_at_once
from tests.waiting import join, until


def operators() -> dict[str, dict[str, Any]]:
    """The section of operators: statistics by name."""
    nd.waitall()
    return json.loads(profiler.dumps(format="json"))["Time"].get("operator", {})


def counts() -> dict[str, int]:
    return {name: each["Count"] for name, each in operators().items()}


def trace(config: dict[str, Any]) -> list[dict[str, Any]]:
    return json.loads(Path(config["filename"]).read_text())["traceEvents"]


def program() -> nd.NDArray:
    a = nd.ones((8, 8))
    return (nd.dot(a, a) + 1).relu()


# Names and numbers of rows as MXNet 1.9.1 has them for the same program.
def test_each_operator_has_its_own_row(config: dict) -> None:
    profiler.set_config(profile_all=True, **config)
    profiler.set_state("run")
    program().asnumpy()
    profiler.set_state("stop")
    assert counts() == {"_ones": 1, "dot": 1, "_plus_scalar": 1, "relu": 1}


def test_the_defaults_show_operators_as_in_mxnet(config: dict) -> None:
    profiler.set_config(**config)
    profiler.set_state("run")
    program().asnumpy()
    assert set(counts()) == {"_ones", "dot", "_plus_scalar", "relu"}


def test_programs_as_they_run_have_one_row(config: dict) -> None:
    profiler.set_config(profile_imperative=False, profile_symbolic=False, **config)
    profiler.set_state("run")
    program().asnumpy()
    assert counts() == {"segment of 4 operations: _ones, dot, _plus_scalar, relu": 1}


def dense() -> gluon.nn.Dense:
    net = gluon.nn.Dense(3, activation="tanh", in_units=8)
    net.initialize()
    net.hybridize()
    return net


def test_operators_of_a_hybridized_block_have_rows(config: dict) -> None:
    net, x = dense(), nd.ones((4, 8))
    expected = net(x).asnumpy()
    profiler.set_config(profile_imperative=False, **config)
    profiler.set_state("run")
    actual = net(x).asnumpy()
    assert counts() == {"FullyConnected": 1, "Activation": 1}  # as in MXNet
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


def test_a_hybridized_block_can_be_profiled_as_one_program(config: dict) -> None:
    net, x = dense(), nd.ones((4, 8))
    net(x).asnumpy()
    profiler.set_config(profile_symbolic=False, **config)
    profiler.set_state("run")
    net(x).asnumpy()
    assert counts() == {net.name: 1}


def test_operators_of_a_bound_symbol_have_rows(config: dict) -> None:
    x = sym.var("x")
    executor = sym.tanh(sym.exp(x)).bind(args={"x": nd.ones((2,))})
    profiler.set_config(profile_imperative=False, **config)
    profiler.set_state("run")
    (out,) = executor.forward()
    np.testing.assert_allclose(out.asnumpy(), np.tanh(np.exp(np.ones(2))), rtol=1e-6)
    assert counts() == {"exp": 1, "tanh": 1}


def test_gradients_are_listed_as_operators(config: dict) -> None:
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    profiler.set_config(**config)
    profiler.set_state("run")
    with autograd.record():
        y = nd.exp(x) * 3
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 3 * np.exp([1.0, 2.0]), rtol=1e-6)
    actual = counts()
    assert actual["exp"] == 1 and actual["_mul_scalar"] >= 1
    assert sum(actual.values()) >= 4  # forward, the head's ones, two gradients


def test_execution_is_lazy_again_after_the_profile(config: dict) -> None:
    profiler.set_config(profile_all=True, **config)
    profiler.set_state("run")
    nd.ones((2,)) + 1  # runs, though it is never read
    profiler.set_state("stop")
    assert counts() == {"_ones": 1, "_plus_scalar": 1}
    assert not engine.timeline.on
    before = len(engine.timeline.to_dict()["rows"])
    x = nd.ones((2,)) + 1
    assert x.to_dict()["state"] == "pending"
    x.asnumpy()
    assert len(engine.timeline.to_dict()["rows"]) == before


def test_a_timeline_that_was_on_stays_on(config: dict) -> None:
    engine.timeline.start()
    try:
        profiler.set_config(**config)
        profiler.set_state("run")
        profiler.set_state("stop")
        assert engine.timeline.on
    finally:
        engine.timeline.stop()


def test_operations_count_in_the_scope_that_recorded_them(config: dict) -> None:
    profiler.set_config(profile_imperative=False, **config)
    before = nd.ones((2,)) * 2
    profiler.set_state("run")
    during = nd.ones((2,)) * 4 + 1
    profiler.set_state("stop")
    after = nd.ones((2,)) + 8
    assert (before + during + after).asnumpy().tolist() == [16, 16]
    assert counts() == {"segment of 3 operations: _ones, _mul_scalar, _plus_scalar": 1}


def test_the_profiler_pauses_and_resumes(config: dict) -> None:
    profiler.set_config(**config)
    profiler.set_state("run")
    nd.ones((2,)).exp().asnumpy()
    profiler.pause()
    nd.ones((2,)).log().asnumpy()
    profiler.resume()
    nd.ones((2,)).sin().asnumpy()
    assert set(counts()) == {"_ones", "exp", "sin"}
    assert counts()["_ones"] == 2


@pytest.mark.parametrize(
    "states", [("run", "pause", "run"), ("pause", "run"), ("pause", "pause", "run")]
)
def test_a_start_ends_a_pause(config: dict, states: tuple[str, ...]) -> None:
    profiler.set_config(**config)
    for state in states:
        if state == "pause":
            profiler.pause()
        else:
            profiler.set_state(state)
    nd.ones((2,)).asnumpy()
    assert counts() == {"_ones": 1}  # as MXNet's table has it


def test_operations_of_all_threads_are_counted(config: dict) -> None:
    profiler.set_config(**config)
    profiler.set_state("run")
    threads = [
        threading.Thread(target=lambda: [nd.ones((3,)).tanh().asnumpy() for _ in range(5)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    join(*threads)
    assert counts() == {"_ones": 20, "tanh": 20}


@pytest.mark.usefixtures("compiling_at_once")
def test_the_time_of_an_operator_is_without_compiling_it(config: dict) -> None:
    profiler.set_config(**config)
    profiler.set_state("run")
    nd.ones((3, 1, 7)).cosh().asnumpy()  # a shape that no other test has
    nd.waitall()
    profiler.set_state("stop")
    time_of = json.loads(profiler.dumps(format="json"))["Time"]
    (row,) = [row for row in profiler.to_dict()["rows"] if row["name"] == "cosh"]
    whole = (row["ended"] - row["started"]) / 1e6
    assert time_of["compile"]["compile"]["Count"] >= 1
    assert 0 < time_of["operator"]["cosh"]["Total"] < whole  # what is left went to compiling


def test_memory_follows_what_is_alive(config: dict) -> None:
    profiler.set_config(**config)
    profiler.set_state("run")
    array = nd.zeros((1000, 1000))
    array.wait_to_read()
    nd.ones((2,)).asnumpy()
    profiler.set_state("stop")
    values = [e["value"] for e in profiler.to_dict()["events"] if e["kind"] == "memory"]
    assert len(values) >= 2 and all(value >= array.size * 4 for value in values)
    section = json.loads(profiler.dumps(format="json"))["Memory"]["Device Storage"]
    (statistics,) = section.values()
    assert statistics["Count"] == len(values)
    assert statistics["Max"] == max(values) / 1000


def test_memory_is_profiled_on_request_only(config: dict) -> None:
    profiler.set_config(profile_memory=False, **config)
    profiler.set_state("run")
    nd.ones((2,)).asnumpy()
    assert not [e for e in profiler.to_dict()["events"] if e["kind"] == "memory"]
    assert not engine.timeline.watchers


# ---- the table ----------------------------------------------------------------------------------


def test_without_aggregate_stats_there_is_no_table(config: dict) -> None:
    profiler.set_config(**{**config, "aggregate_stats": False})
    profiler.set_state("run")
    nd.ones((2,)).asnumpy()
    assert profiler.dumps() == ""


def test_reset_begins_a_new_table(config: dict) -> None:
    profiler.set_config(**config)
    profiler.set_state("run")
    nd.ones((2,)).asnumpy()
    assert "_ones" in profiler.dumps(reset=True)
    assert counts() == {}
    nd.ones((2,)).exp().asnumpy()
    assert counts() == {"_ones": 1, "exp": 1}
    profiler.dump()
    assert sum(e["name"] == "_ones" for e in trace(config)) == 2  # the trace keeps both


# ---- the file -----------------------------------------------------------------------------------


def names(config: dict[str, Any]) -> set[str]:
    return {e["name"] for e in trace(config) if e["ph"] == "X" and e["cat"].startswith("compute")}


def test_a_running_profile_is_dumped_to_a_file(config: dict) -> None:
    profiler.set_config(**config)
    profiler.set_state("run")
    nd.ones((3,)).asnumpy()
    profiler.dump(finished=False)
    assert names(config) == {"_ones"}
    nd.zeros((3,)).exp().asnumpy()
    profiler.dump(finished=False)
    assert names(config) == {"_ones", "_zeros", "exp"}
    nd.zeros((3,)).sin().asnumpy()
    profiler.dump()
    assert names(config) == {"_ones", "_zeros", "exp", "sin"}
    nd.zeros((3,)).cos().asnumpy()
    with pytest.raises(MXNetError, match=r"nothing was profiled.*set_state\('run'\)"):
        profiler.dump()
    profiler.set_state("run")
    nd.zeros((3,)).log().asnumpy()
    profiler.dump()
    assert names(config) == {"_zeros", "log"}


def test_a_file_that_cannot_be_written_is_an_error(config: dict, tmp_path: Path) -> None:
    profiler.set_config(**{**config, "filename": str(tmp_path / "no" / "profile.json")})
    profiler.set_state("run")
    with pytest.raises(OSError, match=r"profile\.json"):
        profiler.dump()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_device_is_written_to_and_not_replaced(config: dict, tmp_path: Path) -> None:
    """As ``os.devnull`` is: a user who may change its folder would otherwise put a file in its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()), daemon=True)
    reader.start()
    profiler.set_config(**{**config, "filename": str(pipe)})
    profiler.set_state("run")
    nd.exp(nd.ones(2)).wait_to_read()
    profiler.dump()
    if not pipe.is_fifo():  # it has no writer any more
        raise AssertionError("a file has replaced the device")
    join(reader)
    assert "exp" in {event["name"] for event in json.loads(received[0])["traceEvents"]}


def test_the_profile_is_dumped_continuously(config: dict) -> None:
    profiler.set_config(**{**config, "continuous_dump": True}, dump_period=0.01)
    profiler.set_state("run")
    nd.ones((3,)).asnumpy()
    until(lambda: os.path.exists(config["filename"]) and "_ones" in names(config))
    assert names(config) == {"_ones"}


def test_autostart_writes_at_the_end_of_the_process(tmp_path: Path) -> None:
    code = "import mixnet as mx; mx.nd.ones((2,)).exp().asnumpy()"
    environment = {**os.environ, "MXNET_PROFILER_AUTOSTART": "1",
                   "PYTHONPATH": os.pathsep.join(sys.path)}  # fmt: skip
    processes.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True, timeout=120
    )
    assert names({"filename": tmp_path / "profile.json"}) == {"_ones", "exp"}


@pytest.mark.parametrize("switch", ["scope", "config"])
def test_xla_writes_its_own_profile(config: dict, tmp_path: Path, switch: str) -> None:
    folder = tmp_path / "xla"
    if switch == "scope":
        with profiler.xla_trace(str(folder)):
            nd.ones((3,)).exp().asnumpy()
    else:
        profiler.set_config(xla_trace_dir=str(folder), **config)
        profiler.set_state("run")
        nd.ones((3,)).exp().asnumpy()
        profiler.set_state("stop")
    assert any(path.suffix in (".pb", ".gz") for path in folder.rglob("*"))


def test_a_profile_that_cannot_start_changes_nothing(config: dict, tmp_path: Path) -> None:
    profiler.set_config(xla_trace_dir=str(tmp_path / "profile"), **config)
    with (
        profiler.xla_trace(str(tmp_path / "other")),
        pytest.raises(RuntimeError, match="Only one profile"),
    ):
        profiler.set_state("run")
    assert not (session.session.running or session.session.on or engine.timeline.on)
    assert not session.session._watches_compiling
    assert not record._one_by_one


def test_a_profile_whose_end_fails_has_ended(
    config: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        stop()
        raise OSError("No space left on device")

    stop = jax.profiler.stop_trace
    profiler.set_config(xla_trace_dir=str(tmp_path), **config)
    profiler.set_state("run")
    monkeypatch.setattr(jax.profiler, "stop_trace", fail)
    with pytest.raises(OSError, match="No space left"):
        profiler.set_state("stop")
    assert not (session.session.on or engine.timeline.on)
    profiler.set_config(**config)
    profiler.set_state("run")
    assert session.session.on and engine.timeline.on


def test_work_that_a_switch_waits_for_may_use_the_profiler(
    config: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was recorded is handed over first, which may wait for operators in Python on other threads."""
    handed_over: list[str] = []

    def hand_over(reason: str) -> None:
        handed_over.append(reason)
        thread = threading.Thread(target=session.session.set_paused, args=(False,), daemon=True)
        with monkeypatch.context() as other:
            other.setattr(session, "hand_over_all", lambda reason: None)
            thread.start()
            join(thread)

    monkeypatch.setattr(session, "hand_over_all", hand_over)
    profiler.set_config(**config)
    profiler.set_state("run")
    profiler.pause()
    profiler.resume()
    profiler.set_state("stop")
    assert len(handed_over) == 4


# ---- errors -------------------------------------------------------------------------------------


@each_record(
    ("call", "error", "words"),
    [
        (lambda: profiler.set_state("go"), AttributeValueError, "'go'.*'run' or 'stop'"),
        (lambda: profiler.set_state(3), AttributeValueError, "3.*'run' or 'stop'"),
        (lambda: profiler.set_state("run", "all"), AttributeValueError, "'all'.*'worker'"),
        (lambda: profiler.pause("server"), AttributeValueError, "'server'.*'worker'"),
        (lambda: profiler.resume("x"), AttributeValueError, "'x'.*'worker'"),
        (lambda: profiler.dump(True, "x"), AttributeValueError, "'x'.*'worker'"),
        (lambda: profiler.set_config(nonsense=1), AttributeTypeError, "'nonsense'.*profile_all"),
        (lambda: profiler.set_config(profile_all="maybe"), AttributeValueError, "'maybe'.*True"),
        (lambda: profiler.set_config(aggregate_stats=None), AttributeValueError, "None.*True"),
        (lambda: profiler.set_config(dump_period=0), AttributeValueError, "0.*above 0"),
        (lambda: profiler.set_config(dump_period="x"), AttributeValueError, "'x'.*seconds"),
        (lambda: profiler.set_config(filename=3), AttributeValueError, "3.*path"),
        (lambda: profiler.set_config(profile_process="x"), AttributeValueError, "'x'.*'worker'"),
        (lambda: profiler.pause("x"), KeyError, "'x'.*'worker'"),
        (lambda: profiler.dumps(format="xml"), CheckError, "'xml'.*'table', 'json'"),
        (lambda: profiler.dumps(sort_by="name"), CheckError, "'name'.*'total'"),
        (lambda: profiler.dumps(ascending=3), CheckError, "3.*False, True"),
        (lambda: profiler.dumps(reset="x"), CheckError, "'x'.*False, True"),
    ],
)
def test_errors_say_what_was_passed_and_expected(call: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        call()
    assert not engine.timeline.on


def test_settings_that_are_refused_change_nothing(config: dict) -> None:
    profiler.set_config(**config)
    with pytest.raises(AttributeTypeError):
        profiler.set_config(profile_all=True, nonsense=1)
    profiler.set_state("run")
    nd.ones((2,)).asnumpy()
    assert "_ones" in profiler.dumps()


def test_booleans_may_be_text_and_numbers() -> None:
    from mixnet.profiler.settings import parse

    assert parse({"profile_all": "true"}).profile_all is True
    assert parse({"profile_api": 0}).profile_api is False
    assert parse({"dump_period": "2"}).dump_period == 2.0


def test_older_names_work_with_a_warning(config: dict) -> None:
    with pytest.warns(UserWarning, match=r"set_config\(\)"):
        profiler.profiler_set_config("all", config["filename"])
    profiler.set_config(**config)
    with pytest.warns(UserWarning, match=r"set_state\(\)"):
        profiler.profiler_set_state("run")
    nd.ones((2,)).asnumpy()
    with pytest.warns(UserWarning, match=r"dump\(\)"):
        profiler.dump_profile()
    assert names(config) == {"_ones"}
    with pytest.warns(UserWarning), pytest.raises(AttributeTypeError, match="profile_go"):
        profiler.profiler_set_config("go")


def test_the_profiler_accepts_the_handle_of_a_kvstore() -> None:
    store = object()
    assert profiler.profiler_kvstore_handle.value is None
    profiler.set_kvstore_handle(store)
    try:
        assert profiler.profiler_kvstore_handle.value is store
    finally:
        profiler.set_kvstore_handle(None)


def test_the_file_is_not_replaced_by_an_older_trace(
    config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    profiler.set_config(**config)
    profiler.set_state("run")
    has_read, chrome_trace = threading.Event(), control.chrome_trace

    def slowly(*arguments: Any) -> Any:
        older = chrome_trace(*arguments)
        monkeypatch.setattr(control, "chrome_trace", chrome_trace)
        has_read.set()
        time.sleep(0.2)
        return older

    monkeypatch.setattr(control, "chrome_trace", slowly)
    writer = threading.Thread(target=control._writer.write)  # as continuous_dump does
    writer.start()
    assert has_read.wait(60)
    profiler.Marker(profiler.Domain("domain"), "the last").mark()
    profiler.dump()
    join(writer)
    assert "the last" in Path(config["filename"]).read_text()


def test_threads_that_start_and_stop_leave_no_thread_that_writes(config: dict[str, Any]) -> None:
    profiler.set_config(**{**config, "continuous_dump": True, "dump_period": 0.001})

    def start_and_stop(_: int) -> None:
        for _ in range(150):
            profiler.set_state("run")
            profiler.set_state("stop")

    all_at_once(3, start_and_stop)
    profiler.set_state("stop")
    until(lambda: all(each.name != "mixnet profiler" for each in threading.enumerate()), 20)
