"""Stored traces: they equal new traces, and those of other sources or settings are not used."""

from __future__ import annotations

import gc
import inspect
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet.ops.registry import find
from mixnet.ops.schema.attributes import ONE, Dynamic
from mixnet.ops.tracing import shape_free, stored, traced
from mixnet.ops.tracing.inlined import inlined
from mixnet.ops.tracing.template import Call
from mixnet.passes.differentiate import BackwardOp
from mixnet.private_jax import pickling
from mixnet.tools import store_traces
from tests import processes

F32 = np.dtype("float32")
pytestmark = pytest.mark.skipif(
    not stored.path_here().exists(), reason=f"no traces are stored for JAX {jax.__version__}"
)


@pytest.fixture(autouse=True)
def fresh() -> Any:
    """Nothing was traced or read before."""
    traced.clear()
    shape_free._families.clear()
    stored.use(None)
    yield
    traced.clear()
    shape_free._families.clear()
    stored.use(None)


PROGRAM = """
import json, sys
import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.ops.tracing import stored, traced
from mixnet.ops.tracing.inlined import inlined
from mixnet.ops.tracing.template import Call

if sys.argv[1] == "without":
    stored.use(stored.NONE)
count = 0
trace = traced._traced
def noted(*arguments):
    global count
    count += 1
    return trace(*arguments)
traced._traced = noted
net = gluon.nn.HybridSequential()
net.add(gluon.nn.Dense(29, activation="relu"), gluon.nn.Dense(6))
net.initialize(mx.init.One())
loss = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
x, y = nd.arange(8 * 21).reshape((8, 21)) / 100, nd.arange(8) % 6
losses = []
for _ in range(3):
    with autograd.record():
        value = loss(net(x), y)
    value.backward()
    trainer.step(8)
    losses.append(float(value.mean().asscalar()))
different = [
    op.name
    for (op, *call), jaxpr in traced._traces.items()
    if stored.name_of(op) and str(inlined(jaxpr)) != str(inlined(trace(op, *call)))
]
print(json.dumps([losses, count, different]))
"""


def run(option: str) -> Any:
    done = processes.run(
        [sys.executable, "-c", PROGRAM, option],
        env={**os.environ, "MIXNET_CACHE_DIR": "off"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_training_step_traces_little_and_gives_the_same() -> None:
    """On sizes that nothing was stored with."""
    losses, few, different = run("with")
    expected, many, _ = run("without")
    assert losses == expected and not different
    assert many > 20 and few <= 0.3 * many


def usable_keys(file: stored.File) -> list[bytes]:
    """The keys of the entries whose source files have not changed."""
    entries = {key: file.entry(key) for key in file.all_keys()}
    return [k for k, each in entries.items() if each and stored._changed.isdisjoint(each[0])]


@pytest.mark.parametrize("part", range(10))
def test_entries_are_what_is_traced(part: int, request: pytest.FixtureRequest) -> None:
    """A part of a sample."""
    calls, _ = store_traces.known_calls()
    file = stored._file()
    assert file is not None
    keys = usable_keys(file)[part::200]
    stored.use(stored.NONE)  # a form is that of a trace, not of a stored template
    request.addfinalizer(lambda: stored.use(None))
    traced.clear()
    for key in keys:
        kind, name, rest, examples = calls[key]
        op = store_traces.operator_of(name)
        entry = file.entry(key)
        assert entry is not None
        content = pickling.loads(entry[1])
        if kind == shape_free.KIND:
            form = shape_free.confirmed_form((op, *rest), examples[0])
            (known,) = content
            assert (form is None) == (known is None), name
            if form is not None:
                assert shape_free._normal_form(form) == shape_free._normal_form(known), name
            continue
        filled_in = [
            (call, program)
            for call in examples
            for template in content
            if (program := template.at(call)) is not None
        ]
        assert filled_in, name
        for call, program in filled_in:
            expected = str(inlined(traced.trace(op, call, rest[1])))
            assert str(program) == expected, (name, call)


def test_most_entries_can_be_used() -> None:
    file = stored._file()
    assert file is not None
    changed = [name for i, name in enumerate(file.sources) if i in stored._changed]
    assert len(usable_keys(file)) > 0.7 * len(file.all_keys()), (
        f"{changed} have changed since operators were traced: run python -m mixnet.tools.store_traces"
    )


def test_keys_distinguish_types() -> None:
    op = find("sum")
    keys = [
        stored.key_of("form", op, each)
        for each in (1, True, 1.0, "1", (1,), ((1,),), None, Dynamic(1), F32)
    ]
    assert None not in keys and len(set(keys)) == len(keys)
    assert stored.key_of("form", op, 1) != stored.key_of("templates", op, 1)
    assert stored.key_of("form", op, np.zeros(3)) is None


def test_only_operators_that_are_the_same_everywhere_have_names() -> None:
    @mx.ops.register("test_own_operator")
    def own(data: Any) -> Any:
        return data + 1

    assert stored.name_of(find("test_own_operator")) is None
    assert stored.name_of(find("Custom")) is None  # calls the program's Python
    name = stored.name_of(BackwardOp(find("dot")))
    assert name is not None and store_traces.operator_of(name) is BackwardOp(find("dot"))


def test_an_operator_whose_source_has_changed_is_traced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = stored._file()
    assert file is not None
    for name in file.sources:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(stored.SOURCES / name, tmp_path / name)
    monkeypatch.setattr(stored, "SOURCES", tmp_path)
    of_exp = "form", find("exp"), (), ((((True, True)), F32),), 0
    of_softmax = "templates", find("softmax"), *_softmax_call()[:2]
    later = stored.path_here().stat().st_mtime + 1000

    def known() -> tuple[bool, bool]:
        stored.use(None)
        return stored.find(*of_exp) is not None, stored.find(*of_softmax) is not None

    assert known() == (True, True)
    path = tmp_path / source_of("softmax")
    text = path.read_text()
    path.write_text(text.replace("a", "b", 1))  # as long as before
    os.utime(path, (later, later))
    assert known() == (True, False)
    path.write_text(text)
    os.utime(path, (later, later))
    assert known() == (True, True)
    path.write_text(text + "\n")
    assert known() == (True, False)
    path.unlink()
    assert known() == (True, False)


def source_of(name: str) -> str:
    """The path in the package of the file that declares an operator."""
    function = find(name).function
    assert function is not None
    return str(Path(inspect.getfile(function)).relative_to(Path(mx.__file__).parent))


def test_the_source_of_an_operator_is_recorded_when_it_is_traced() -> None:
    with store_traces.SourcesRead() as sources:
        traced.trace(find("softmax"), _softmax_call()[2], 0)
    assert source_of("softmax") in sources.names()
    assert not any(name.startswith("ops/tracing/") for name in sources.names())


def _softmax_call() -> tuple[Any, int, Call]:
    """What decides on the templates of softmax of two axes, and a call."""
    for kind, name, rest, examples in store_traces.known_calls()[0].values():
        if (kind, name) == ("templates", "softmax") and rest[0][1] == ((F32, (True, True)),):
            return rest[0], rest[1], examples[0]
    raise AssertionError("no call of softmax is known")


def test_settings_of_jax_that_tracing_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stored._file() is not None
    jax.config.update("jax_default_matmul_precision", "highest")
    try:
        assert stored._file() is None
    finally:
        jax.config.update("jax_default_matmul_precision", None)
    assert stored._file() is not None


def test_a_damaged_entry_is_traced(monkeypatch: pytest.MonkeyPatch, traces: list[str]) -> None:
    file = stored._file()
    assert file is not None
    damaged = file._replace(dictionary=b"damaged" + file.dictionary[7:])
    monkeypatch.setattr(stored, "_loaded", damaged)
    statics, inputs = _softmax_call()[2]
    assert traced.traced(find("softmax"), statics, tuple(inputs), 0).eqns
    assert traces == ["softmax"]


def test_a_truncated_file_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = stored.path_here().read_bytes()
    monkeypatch.setattr(stored, "FOLDER", tmp_path)
    for part in (b"", content[: len(content) // 2], b"not a pickle"):
        stored.path_here().write_bytes(part)
        stored.use(None)
        assert stored._file() == stored.NONE
        statics, inputs = (), (((3, 4), F32),)
        assert traced.traced(find("exp"), statics, inputs, 0).eqns
        traced.clear()


def test_programs_with_loops_and_numbers_survive() -> None:
    def function(x: Any, n: Any) -> Any:
        total, rows = jax.lax.scan(lambda c, row: (c + row.sum(), c * row), n, x)
        return jax.lax.cond(total > 0, lambda: rows, lambda: -rows)

    with jax.enable_x64(True):
        jaxpr = jax.make_jaxpr(function)(np.ones((3, 4), np.float32), np.float32(2))
    again = pickling.loads(pickling.dumps(jaxpr))
    assert str(again) == str(jaxpr)
    assert pickling.loads(pickling.dumps(ONE)) is ONE


def test_entries_that_cannot_be_written_are_refused() -> None:
    printing = jax.make_jaxpr(lambda x: (jax.debug.print("{}", x), x)[1])(1.0)
    with pytest.raises(pickling.UnwritableError):
        pickling.dumps(printing)
    with pytest.raises(pickling.UnwritableError):
        pickling.dumps([jax.numpy.ones(3)])
    with pytest.raises(pickling.UnwritableError):
        pickling.dumps(lambda: None)


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, traces: list[str]
) -> None:
    monkeypatch.setattr(stored, "FOLDER", tmp_path / "traces")
    script = tmp_path / "program.py"
    script.write_text(
        "import mxnet as mx\n(mx.nd.ones((3, 5)) * 2).exp().asnumpy()\n"
        "mx.nd.dot(mx.nd.ones((3, 5)), mx.nd.ones((5, 4))).asnumpy()\n"
    )
    monkeypatch.setattr("sys.argv", ["store_traces", str(script)])
    store_traces.main()
    assert "more calls" in capsys.readouterr().out
    stored.use(None)
    traces.clear()
    nd.dot(nd.ones((7, 6)), nd.ones((6, 2))).asnumpy()
    nd.exp(nd.ones((7, 6))).asnumpy()
    assert "dot" not in traces and "exp" not in traces


def test_the_command_keeps_entries_whose_sources_have_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store_traces.current_entries()
    key, (sources, content) = next(iter(before.items()))
    file = stored._file()
    assert file is not None and len(before) == len(usable_keys(file))
    calls, _ = store_traces.known_calls()
    monkeypatch.setattr(store_traces, "SourcesRead", None)  # nothing is traced
    assert store_traces.entries_of({key: calls[key]}, before) == {key: (sources, content)}
    for each in file.sources:
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(stored.SOURCES / each, tmp_path / each)
    name = source_of("softmax")
    (tmp_path / name).write_text("another program")
    monkeypatch.setattr(stored, "SOURCES", tmp_path)
    after = store_traces.current_entries()
    assert after and all(name not in paths for paths, _ in after.values())
    assert after.items() <= before.items()


def test_shapes_that_follow_from_the_data() -> None:
    op = find("FullyConnected")
    statics, _ = op.bind({"num_hidden": 5})
    inputs = ((3, 4), F32), ((9, 9), F32), ((9,), F32)
    shapes = ((3, 4), F32), ((5, 4), F32), ((5,), F32)
    assert store_traces.with_inferred_shapes(op, 0, Call(statics, inputs)).inputs == shapes
    gradient = Call((statics, (0,), (0, 1)), (((9, 9), F32), *inputs))
    inferred = store_traces.with_inferred_shapes(BackwardOp(op), 0, gradient)
    assert inferred.inputs == (((3, 5), F32), *shapes)


def test_writing_while_modules_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection may run a finalizer that imports, at any allocation."""
    jaxpr = jax.make_jaxpr(lambda x: jnp.sin(x) + jnp.expand_dims(x, 0))(1.0)
    monkeypatch.setattr(pickling, "_places", {})
    names: list[str] = []

    def imports(phase: str, _: dict[str, int]) -> None:
        names.append(f"{__name__}_{phase}_{len(names)}")
        sys.modules[names[-1]] = pickling

    usual = gc.get_threshold()
    gc.callbacks.append(imports)
    gc.set_threshold(1)
    try:
        content = pickling.dumps(jaxpr)
    finally:
        gc.set_threshold(*usual)
        gc.callbacks.remove(imports)
        for name in names:
            del sys.modules[name]
    assert names and str(pickling.loads(content)) == str(jaxpr)


def test_templates_for_each_size_of_a_kernel() -> None:
    """No formula of extents gives the padding in these gradients."""
    op = BackwardOp(find("Convolution"))

    def call(batch: int, channels: int, filters: int, extent: int, kernel: int) -> Call:
        pad = kernel // 2
        forward = (
            (kernel, kernel), (1, 1), (1, 1), (pad, pad), filters, 1, 1024, True, None, False, "NCHW",
        )  # fmt: skip
        shapes = [
            (batch, filters, extent, extent),
            (batch, channels, extent, extent),
            (filters, channels, kernel, kernel),
        ]
        return Call((forward, (0,), (0, 1)), tuple((shape, F32) for shape in shapes))

    templates = store_traces.templates_of(op, 0, [call(17, 13, 29, 40, k) for k in (3, 5)])
    assert len(templates) == 2
    for kernel in (3, 5):
        other = call(6, 31, 19, 23, kernel)
        (program,) = [p for each in templates if (p := each.at(other)) is not None]
        assert str(program) == str(inlined(traced.trace(op, other, 0)))
    assert all(each.at(call(6, 31, 19, 23, 7)) is None for each in templates)
