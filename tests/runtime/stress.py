"""Random programs on several threads that share arrays, against the same programs one after the other.

``python -m tests.runtime.stress --seconds 60`` runs more of them. With ``MIXNET_WATCHDOG`` set,
locks are checked and a thread that waits too long is reported with who holds what.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import sys
import threading
import time
from collections.abc import Callable

import numpy as np

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.runtime.programs import first_sight
from mixnet.runtime.record.record import flush
from tests.threads import frequent_switches

THREADS = 4
STEPS = 14
SHARED = 3
SIZE = 4


@mx.operator.register("stress_add_one")
class AddOne(mx.operator.CustomOpProp):
    """Adds 1 in place to its own copy, as operators in Python do."""

    def create_operator(self, ctx, shapes, dtypes):
        class Operator(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                copy = in_data[0].copy()
                copy += 1
                self.assign(out_data[0], req[0], copy)

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                self.assign(in_grad[0], req[0], out_grad[0])

        return Operator()


class Program:
    """What one thread does; its own arrays end as they would without the other threads.

    Its own arrays depend only on each other. It adds integers to shared arrays, whose sums do not depend
    on the order, and checks only that the values it reads from them are possible.
    """

    def __init__(
        self, seed: int, shared: list[nd.NDArray], latest: list[nd.NDArray], sums: gluon.HybridBlock
    ):
        self.draw = np.random.default_rng(seed)
        self.shared, self.latest, self.sums = shared, latest, sums
        self.number = seed % THREADS
        self.context = mx.cpu(int(self.draw.integers(0, 2)))
        self.own = [nd.array(self.draw.integers(0, 5, SIZE), ctx=self.context) for _ in range(3)]
        self.added = [np.zeros(SIZE) for _ in shared]

    def run(self) -> None:
        """All steps."""
        steps = [
            self.combine, self.in_place, self.view, self.add_shared, self.read_shared, self.custom,
            self.gradient, self.in_bulk, self.wait, self.exchange, self.across, self.network,
            self.custom_gradient, self.look,
        ]  # fmt: skip
        for _ in range(STEPS):
            step: Callable[[], None] = steps[self.draw.integers(len(steps))]
            step()

    def two(self) -> tuple[nd.NDArray, nd.NDArray]:
        return tuple(self.own[i] for i in self.draw.integers(0, 3, 2))  # type: ignore[return-value]

    def combine(self) -> None:
        a, b = self.two()
        self.own[self.draw.integers(3)] = (a * 2 + b) % 97

    def in_place(self) -> None:
        a, b = self.two()
        a += b
        a %= 97

    def view(self) -> None:
        a, b = self.two()
        a[1:3] = b[0:2]
        a[0:2] += 1

    def add_shared(self) -> None:
        which, amount = self.draw.integers(SHARED), int(self.draw.integers(1, 4))
        self.added[which] += amount
        self.shared[which] += amount
        if amount == 2:
            self.added[which][1:3] += 1
            self.shared[which][1:3].__iadd__(1)

    def read_shared(self) -> None:
        now = self.shared[self.draw.integers(SHARED)].asnumpy()
        assert (now >= 0).all(), now

    def custom(self) -> None:
        a, b = self.two()
        result = nd.Custom(a, op_type="stress_add_one")
        b += result
        b %= 97

    def gradient(self) -> None:
        a, b = self.two()
        x = a.copy()
        x.attach_grad("add")
        with autograd.record():
            y = (x * x * b).sum()
        y.backward()
        self.own[0] = x.grad % 97

    def in_bulk(self) -> None:
        a, b = self.two()
        with mx.engine.bulk(int(self.draw.integers(1, 5))):
            for _ in range(3):
                a += b
                a %= 97

    def wait(self) -> None:
        kind = self.draw.integers(3)
        if kind == 0:
            nd.waitall()
        elif kind == 1:
            self.own[1].wait_to_read()
        else:
            flush("stress")

    def exchange(self) -> None:
        other = (self.number + 1) % THREADS
        mine = self.latest[self.number] * 0.5
        self.latest[self.number] = mine + self.latest[other].as_in_context(mx.cpu(0)) * 0.5

    def across(self) -> None:
        a = self.own[0]
        self.own[2] = a.as_in_context(mx.cpu(1)).as_in_context(self.context) + 1

    def network(self) -> None:
        a, b = self.two()
        row = a.as_in_context(mx.cpu(0)).reshape((1, SIZE))
        b += self.sums(row)[0].as_in_context(self.context)
        b %= 97

    def custom_gradient(self) -> None:
        x = self.own[1].copy()
        x.attach_grad()
        with autograd.record():
            y = nd.Custom(x, op_type="stress_add_one")
        y.backward(self.own[2])
        self.own[0] = x.grad % 97

    def look(self) -> None:
        kind = self.draw.integers(4)
        if kind == 0:
            mx.runtime.counters()
        elif kind == 1:
            mx.runtime.live_bytes()
        elif kind == 2:
            gc.collect()
        else:
            with mx.runtime.memory() as log:
                self.own[1].wait_to_read()
            log.to_dict()

    def result(self) -> list[list[float]]:
        return [(each % 97).asnumpy().tolist() for each in self.own]


def network_of_sums() -> gluon.HybridBlock:
    """A hybridized network whose outputs are the sums of each row; its shape is not known yet."""
    sums = gluon.nn.Dense(SIZE, use_bias=False, weight_initializer=mx.init.One())
    sums.initialize(ctx=mx.cpu(0))
    sums.hybridize()
    return sums


def check_round(seed: int) -> None:
    """Run one set of programs serially, then in threads, and compare."""
    latest = [nd.ones((SIZE,)) for _ in range(THREADS)]
    alone = []
    for thread in range(THREADS):
        arrays = [nd.zeros((SIZE,)) for _ in range(SHARED)]
        program = Program(seed * THREADS + thread, arrays, latest, network_of_sums())
        program.run()
        alone.append(program.result())
    shared = [nd.zeros((SIZE,)) for _ in range(SHARED)]
    sums = network_of_sums()  # which several threads may call first
    programs = [Program(seed * THREADS + thread, shared, latest, sums) for thread in range(THREADS)]
    problems: list[BaseException] = []

    def work(program: Program) -> None:
        try:
            program.run()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(program,), daemon=True) for program in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        if thread.is_alive():
            from mixnet.process import locks

            print(f"round {seed} hangs\n{locks.report()}", file=sys.stderr, flush=True)
            faulthandler.dump_traceback()
            raise SystemExit(1)
    if problems:
        raise problems[0]
    for number, (program, expected) in enumerate(zip(programs, alone, strict=True)):
        assert program.result() == expected, (seed, number)
    for which, array in enumerate(shared):
        total = sum(program.added[which] for program in programs)
        np.testing.assert_array_equal(array.asnumpy(), total, f"round {seed}")
    for array in latest:
        np.testing.assert_array_equal(array.asnumpy(), np.ones(SIZE))


def main() -> None:
    """Run rounds for the requested time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compile", action="store_true", help="compile every segment")
    options = parser.parse_args()
    mx.context.set_cpu_devices(2)
    # Every random program is new: run its operations one by one.
    if not options.compile:
        first_sight.runs_by_operator = lambda key, program: True
    end, rounds = time.monotonic() + options.seconds, 0
    with frequent_switches():
        while time.monotonic() < end and rounds < options.rounds:
            check_round(options.seed + rounds)
            rounds += 1
    print(f"{rounds} rounds of {THREADS} programs: same results as serially")


if __name__ == "__main__":
    main()
