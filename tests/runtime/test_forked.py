"""A forked process computes with NumPy; what needs XLA's threads is an error there, and it always ends."""

from __future__ import annotations

import os
import sys

import pytest

from tests import processes

if not hasattr(os, "fork"):
    pytest.skip("this system does not fork", allow_module_level=True)

BEGIN = """
import os, signal, sys, tempfile, threading, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import mixnet as mx
from mixnet import nd, engine

def child(work, seconds=60):
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        signal.alarm(seconds)  # kills a child that hangs
        work()
        sys.exit(0)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)

def refused(work):
    try:
        work()
    except mx.MXNetError as error:
        assert "forked" in str(error) and "spawn" in str(error), error
    else:
        raise AssertionError("computed")
"""


def run(program: str, seconds: int = 240) -> str:
    process = processes.run(
        [sys.executable, "-c", BEGIN + program], capture_output=True, text=True, timeout=seconds
    )
    assert process.returncode == 0, process.stderr[-3000:]
    return process.stdout


TRAIN = """
from mixnet import autograd, gluon

def train(hybridize):
    mx.random.seed(3)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(3, 3), gluon.nn.BatchNorm(), gluon.nn.Dense(4, activation="relu"))
    net.add(gluon.nn.Dropout(0.3), gluon.nn.Dense(2))
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
    x = nd.random.uniform(shape=(6, 1, 8, 8))
    y = nd.array([0, 1, 0, 1, 1, 0])
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    losses = []
    for _ in range(8):
        with autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(6)
        losses.append(float(value.mean().asscalar()))
    return losses
"""


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_child_trains_like_its_parent(hybridize: bool) -> None:
    run(
        TRAIN
        + f"""
expected = train({hybridize})
def work():
    losses = train({hybridize})
    assert np.allclose(losses, expected, rtol=1e-4), (losses, expected)
    threads = []
    for _ in range(3):
        threads.append(threading.Thread(target=lambda: results.append(train({hybridize}))))
        threads[-1].start()
        threads[-1].join()
    assert all(np.allclose(each, expected, rtol=1e-4) for each in results)

results = []
assert child(work) == 0
"""
    )


def test_operators_in_python_run_in_a_child_and_in_workers_of_a_loader() -> None:
    run("""
class Double(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        if in_data[0].shape == (7,):
            raise ValueError("seven")
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2)

@mx.operator.register("double_of_a_test")
class DoubleProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Double()

def gradient(x):
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(x, op_type="double_of_a_test") ** 2
    y.backward()
    return x.grad

def work():
    assert gradient(nd.array([1.0, 2.0])).asnumpy().tolist() == [8, 16]
    try:
        nd.Custom(nd.ones((7,)), op_type="double_of_a_test").asnumpy()
    except mx.MXNetError as error:
        assert "seven" in str(error)
    else:
        raise AssertionError("no error")
    assert gradient(nd.array([3.0])).asnumpy().tolist() == [24]

(nd.ones((2,)) + 1).wait_to_read()
assert child(work) == 0
data = mx.gluon.data.SimpleDataset(list(range(4))).transform(lambda i: gradient(nd.ones((2,)) * i))
loader = mx.gluon.data.DataLoader(data, 2, num_workers=2)
batches = np.concatenate([batch.asnumpy() for batch in loader])
assert batches.tolist() == [[8 * i, 8 * i] for i in range(4)], batches
""")


def test_jax_does_not_warn_about_a_fork() -> None:
    process = processes.run(
        [
            sys.executable,
            "-c",
            "import os\nimport mixnet as mx\n(mx.nd.ones((2,)) * 2).wait_to_read()\n"
            "os._exit(0) if not os.fork() else os.wait()",
        ],
        capture_output=True,
        text=True,
        timeout=240,
    )
    # Since 3.12, Python itself warns about every fork of a process with threads.
    assert process.returncode == 0 and "JAX" not in process.stderr, process.stderr


def test_a_program_without_a_rule_for_numpy_is_an_error_that_says_what_to_do() -> None:
    run("""
import jax

@mx.ops.register("hessenberg_of_a_test")
def hessenberg(data):
    return jax.lax.linalg.hessenberg(data)[0]

x = nd.ones((3, 3))
(x + 1).wait_to_read()
assert child(lambda: refused(lambda: nd.hessenberg_of_a_test(x).asnumpy())) == 0
""")


def test_a_forked_child_computes_copies_draws_and_saves() -> None:
    run("""
a = nd.array(np.arange(12.0).reshape(3, 4))
b = a * 2 + 1
b.wait_to_read()
big = nd.ones((600, 600))
big.wait_to_read()
pending = a * 5

def work():
    assert b.asnumpy()[0, 1] == 3 and "3." in repr(b)
    b.wait_to_read()
    made = nd.array(np.ones((700, 700)))  # an array of a size that XLA would copy with threads
    assert made.asnumpy().sum() == 490000 and made.shape == (700, 700)
    assert (a * 2 + 1).asnumpy()[0, 1] == 3  # the parent has a compiled program for it
    assert (nd.dot(big, big).asnumpy() == 600).all()
    (made + 1).wait_to_read()
    assert (pending.asnumpy() == a.asnumpy() * 5).all()
    assert big[1:2].asnumpy().sum() == 600 and b[1].asnumpy().tolist() == [9, 11, 13, 15]
    layer = mx.gluon.nn.Dense(2, in_units=4)
    layer.initialize(mx.init.One())
    assert layer(b).asnumpy().tolist() == (b.asnumpy().sum(1, keepdims=True) * [1, 1]).tolist()
    other = b.copyto(mx.cpu(1))
    assert other.context == mx.cpu(1) and (other * 2).asnumpy()[0, 1] == 6
    draws = nd.random.gamma(3.0, 2.0, shape=(4000,)).asnumpy()
    assert abs(draws.mean() - 6) < 0.4
    parts = [nd.ones((2,), ctx=mx.cpu(i)) for i in range(2)]
    store = mx.kv.create("device")
    store.init(0, parts[0])
    refused(lambda: store.push(0, parts))
    var, out = engine.Var("x"), []
    engine.push(lambda: out.append(1), (), (var,))
    engine.push(lambda: out.append(2), (), (var,))
    engine.wait_for_var(var)
    assert out == [1, 2]
    with tempfile.TemporaryDirectory() as folder:
        nd.save(os.path.join(folder, "b.params"), [b])
        assert (nd.load(os.path.join(folder, "b.params"))[0].asnumpy() == b.asnumpy()).all()

assert child(work) == 0
assert (pending.asnumpy() == a.asnumpy() * 5).all()
""")


def test_a_child_ends_with_its_exit_code() -> None:
    """Four successive children of one process, each of which ends in a different way."""
    run("""
x = nd.ones((300, 300))
(x * 2).wait_to_read()
y = x + 1

def fail():
    raise ValueError("mine")

ways = [(lambda: None, 0), (lambda: sys.exit(3), 3), (lambda: os._exit(4), 4), (fail, 1)]
for number, (leave, code) in enumerate(ways):
    def work():
        assert (x * 3).asnumpy().sum() == 270000
        engine.push(lambda: None)
        leave()

    ended = child(work)
    assert ended == code, (number, ended)
""")


def test_forks_in_the_middle_of_heavy_use() -> None:
    run(
        """
x = nd.ones((64, 64))
(nd.dot(x, x) * 0.5).wait_to_read()
y = x * 2
y.wait_to_read()
stop = threading.Event()
failed = []

def load(number):
    mine, var = nd.ones((64, 64)) * number, engine.Var()
    try:
        while not stop.is_set():
            mine = nd.dot(mine, x) * (1 / 64)
            if number % 2:
                mine.wait_to_read()
            engine.push(lambda: time.sleep(0.001), (), (var,))
            engine.wait_for_var(var)
    except BaseException as error:
        failed.append(error)

threads = [threading.Thread(target=load, args=(i,)) for i in range(1, 5)]
for each in threads:
    each.start()

def work():
    assert y.asnumpy().sum() == 2 * 64 * 64
    assert (y * 7).asnumpy().sum() == 14 * 64 * 64
    done = []
    var = engine.Var()
    engine.push(lambda: done.append(1), (), (var,))
    engine.wait_for_var(var)
    assert done
    if number % 5:
        os._exit(0)  # in most rounds, since ending the interpreter takes long

codes = []
for number in range(50):
    codes.append(child(work))
stop.set()
for each in threads:
    each.join()
assert codes == [0] * 50, codes
assert not failed, failed
mx.nd.waitall()
""",
        seconds=500,
    )


def test_processes_of_multiprocessing_compute() -> None:
    run("""
import multiprocessing
x = nd.ones((300, 300))
y = x * 2
y.wait_to_read()

def work(queue):
    assert (y + 1).asnumpy().sum() == 270000
    queue.put(float(y.asnumpy().sum()))

context = multiprocessing.get_context("fork")
for _ in range(3):
    queue = context.Queue()
    process = context.Process(target=work, args=(queue,))
    process.start()
    assert queue.get(timeout=60) == 180000
    process.join(60)
    assert process.exitcode == 0
with context.Pool(2) as pool:
    assert pool.map(len, [[1], [1, 2]]) == [1, 2]
""")


def test_a_child_of_a_process_that_has_not_computed_computes() -> None:
    run("""
def work():
    x = nd.ones((300, 300))
    assert (nd.dot(x, x) + 1).asnumpy()[0, 0] == 301

assert child(work) == 0
assert (nd.ones((3,)) * 2).asnumpy().sum() == 6
assert child(lambda: (nd.ones((3,)) * 2).asnumpy()) == 0
""")


def test_workers_of_a_loader_compute_on_the_host() -> None:
    run("""
(nd.ones((300, 300)) * 2).wait_to_read()
data = mx.gluon.data.ArrayDataset(np.arange(12, dtype="float32")).transform_first(
    lambda each: nd.array([each]) * 2 + nd.ones((1,))
)
loader = mx.gluon.data.DataLoader(data, 4, num_workers=2)
values = np.concatenate([batch.asnumpy().ravel() for batch in loader])
assert (values == np.arange(12) * 2 + 1).all()
""")


def test_a_fork_waits_for_a_thread_that_makes_xlas_clients() -> None:
    run("""
from mixnet.private_jax.ending import locks_of_clients
held, locks = threading.Event(), locks_of_clients()
assert len(locks) == 2

def make_clients():
    with locks[0], locks[1]:
        held.set()
        time.sleep(0.2)

def compute():
    assert (nd.ones(3) * 2).asnumpy().tolist() == [2, 2, 2]

thread = threading.Thread(target=make_clients)
thread.start()
held.wait(30)
assert child(compute, 20) == 0
thread.join()
compute()
""")


def test_a_signal_is_sent_to_the_thread_that_has_forked() -> None:
    run("""
from mixnet.process.handlers import BetweenOperations
calls = []

def handle():
    handler = BetweenOperations(lambda number, frame: calls.append(number))
    signal.signal(signal.SIGUSR1, handler)
    handler._deferred_since = time.monotonic()  # it has come within an operation
    threading.Thread(target=handler._retry, args=(signal.SIGUSR1,)).start()
    end = time.monotonic() + 10
    while not calls and time.monotonic() < end:
        time.sleep(0.01)
    os._exit(0 if calls == [signal.SIGUSR1] else 1)

codes = []
thread = threading.Thread(target=lambda: codes.append(child(handle, 20)))
thread.start()
thread.join()
assert codes == [0], codes
""")


def test_the_profile_can_be_written_though_another_thread_was_writing_it() -> None:
    run("""
import tempfile
from mixnet.profiler import control
held = threading.Event()

def write():
    with control._writer._lock:
        held.set()
        time.sleep(1)

mx.profiler.set_config(filename=os.path.join(tempfile.mkdtemp(), "profile.json"), continuous_dump=False)
mx.profiler.set_state("run")
thread = threading.Thread(target=write)
thread.start()
held.wait(30)
assert child(mx.profiler.dump, 20) == 0
thread.join()
""")


def test_results_of_what_failed_in_the_parent_are_its_error_in_the_child() -> None:
    run("""
class Fails(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        raise ValueError("no result")

@mx.operator.register("fails")
class FailsProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Fails()

x = nd.ones((37,))
y = nd.Custom(x, op_type="fails")
try:
    nd.waitall()
except mx.MXNetError:
    pass

def work():
    z = x + 1
    try:
        (y * 3 + z).asnumpy()
    except mx.MXNetError as error:
        assert "no result" in str(error), error
    else:
        raise AssertionError("computed")
    assert (z.asnumpy() == 2).all()

assert child(work, 30) == 0
""")
