"""A forked process reads arrays and runs Python; a program is an error there, and it always ends."""

from __future__ import annotations

import sys

import pytest

from tests import processes

if not hasattr(__import__("os"), "fork"):
    pytest.skip("this system does not fork", allow_module_level=True)

BEGIN = """
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import mixnet as mx
from mixnet import nd, engine

def child(work, seconds=60):
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        signal.alarm(seconds)  # what hangs is killed
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


def test_a_forked_child_supports_some_operations_only() -> None:
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
    refused(lambda: a * 2 + 1)  # its program is compiled
    refused(lambda: nd.dot(big, big).asnumpy())
    refused(lambda: (made + 1).wait_to_read())
    refused(lambda: pending.asnumpy())
    refused(lambda: big[1:2].asnumpy())
    assert b[1].asnumpy().tolist() == [9, 11, 13, 15]  # small, so it is copied
    refused(lambda: mx.gluon.nn.Dense(2, in_units=4).initialize())
    refused(lambda: b.copyto(mx.cpu(1)))
    var, out = engine.Var("x"), []
    engine.push(lambda: out.append(1), (), (var,))
    engine.push(lambda: out.append(2), (), (var,))
    engine.wait_for_var(var)
    assert out == [1, 2]
    nd.save(os.devnull, [b])

assert child(work) == 0
assert (pending.asnumpy() == a.asnumpy() * 5).all()
""")


def test_a_child_ends() -> None:
    """Four children of one process, one after the other, each in another way."""
    run("""
x = nd.ones((300, 300))
(x * 2).wait_to_read()
y = x + 1

def fail():
    raise ValueError("mine")

ways = [(lambda: None, 0), (lambda: sys.exit(3), 3), (lambda: os._exit(4), 4), (fail, 1)]
for number, (leave, code) in enumerate(ways):
    def work():
        try:
            (x * 3).asnumpy()
        except mx.MXNetError:
            pass
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
    refused(lambda: (y * 7).asnumpy())
    done = []
    var = engine.Var()
    engine.push(lambda: done.append(1), (), (var,))
    engine.wait_for_var(var)
    assert done
    if number % 5:
        os._exit(0)  # most: taking the interpreter down takes long

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


def test_processes_of_multiprocessing() -> None:
    run("""
import multiprocessing
x = nd.ones((300, 300))
y = x * 2
y.wait_to_read()

def work(queue):
    refused(lambda: (y + 1).asnumpy())
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
assert child(lambda: refused(lambda: (nd.ones((3,)) * 2).asnumpy())) == 0
""")


def test_workers_of_a_loader_compute_on_the_host() -> None:
    run("""
(nd.ones((300, 300)) * 2).wait_to_read()
data = mx.gluon.data.ArrayDataset(np.arange(12, dtype="float32")).transform_first(
    lambda each: nd.array([each]) * 2 + nd.ones((1,))
)
loader = mx.gluon.data.DataLoader(data, 4, num_workers=2)
found = np.concatenate([batch.asnumpy().ravel() for batch in loader])
assert (found == np.arange(12) * 2 + 1).all()
""")
