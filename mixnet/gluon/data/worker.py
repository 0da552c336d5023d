"""Worker processes that prepare the batches of a DataLoader.

They are forked: a dataset is not copied and need not be picklable. A forked process has none of JAX's
threads, so nothing in it may use a device: operations of ``mx.nd`` run on NumPy arrays there
(``mixnet.runtime.record.host``). Batches are returned through shared memory.
"""

from __future__ import annotations

import functools
import io
import multiprocessing
import os
import pickle
import random
import signal
import sys
import threading
import time
import traceback
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import MXNetError
from mixnet.context import Context
from mixnet.gluon.data.shared_memory import Lease, Slot, is_supported
from mixnet.ndarray.ndarray import NDArray
from mixnet.process.interrupt import Deferred
from mixnet.random import seed as seed_mx
from mixnet.runtime.forked import interpret_all_programs
from mixnet.runtime.record.host import on_device, on_host
from mixnet.runtime.record.record import wait_for_all
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Spec, Value, aligned_empty
from mixnet.util import is_np_array, is_np_shape, set_np

if TYPE_CHECKING:
    from multiprocessing.context import ForkContext, SpawnContext

    from mixnet.dtype import DTypeLike

Make = Callable[[Sequence[int]], Any]
_SHARED = Context("cpu_shared", 0)
_ORPHANED = 5.0  # seconds after which a worker checks whether its parent still exists


class RemoteTraceback(Exception):
    """The traceback of a worker process, as the cause of an error that is raised here."""

    def __init__(self, text: str):
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


# ---- the worker's side --------------------------------------------------------------------------


class _Here:
    """The state of a worker process; ``slot`` is the memory of the current batch."""

    slot: Slot | None = None


worker_state = _Here()


def empty_shared(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """An uninitialized array, in shared memory if this is a worker process with a slot."""
    array = None if worker_state.slot is None else worker_state.slot.empty(shape, dtype)
    return aligned_empty(shape, dtype) if array is None else array


class _Pickler(pickle.Pickler):
    """Pickles a batch without its arrays, which are listed in ``arrays``."""

    def __init__(self, file: Any):
        super().__init__(file, protocol=5)
        self.arrays: list[np.ndarray] = []

    def reducer_override(self, obj: object) -> Any:
        """Replace arrays by their index."""
        if isinstance(obj, NDArray) and not obj._is_sparse:
            array = state.trace.array(obj._read())
            return _take_array, (self._number(array), type(obj))
        if type(obj) is np.ndarray and obj.dtype.kind in "fiub":
            return _take_numpy, (self._number(obj),)
        return NotImplemented

    def _number(self, array: np.ndarray) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1


def _serve(
    make: Make,
    connection: Connection,
    others: Sequence[Connection],
    slots: Sequence[Slot],
    numpy: tuple[bool, bool],
    parent: int,
) -> None:
    """The worker loop: make batches until the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the main process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for each in others:
        each.close()
    set_np(*numpy)
    _quiet_libraries()
    interpret_all_programs()
    with on_host(alone=True):
        while True:
            try:
                while not connection.poll(_ORPHANED):
                    if os.getppid() != parent:
                        return
                job, indices, place, seed = connection.recv()
            except (EOFError, OSError):
                return
            random.seed(seed)
            np.random.seed(seed)
            seed_mx(seed)
            answer = _answer(make, job, indices, None if place is None else slots[place])
            try:
                connection.send_bytes(answer)
            except OSError:
                return


def _quiet_libraries() -> None:
    """Disable the thread pools of libraries: there is a process for each core."""
    # OpenCV reads this when it is imported, which most workers never do.
    os.environ["OPENCV_FOR_THREADS_NUM"] = "1"
    if "cv2" in sys.modules:
        sys.modules["cv2"].setNumThreads(0)


def _answer(make: Make, job: int, indices: Sequence[int], slot: Slot | None) -> bytes:
    worker_state.slot = slot
    try:
        if slot is not None:
            slot.clear()
        file = io.BytesIO()
        pickler = _Pickler(file)
        pickler.dump(make(indices))
        arrays = pickler.arrays
        facts = [(each.shape, each.dtype.str) for each in arrays]
        if slot is None:
            content: Sequence[object] = [np.ascontiguousarray(each) for each in arrays]
        else:
            places = slot.store(arrays)
            content = [(place, *fact) for place, fact in zip(places, facts, strict=True)]
        size = 0 if slot is None else slot.capacity
        return pickle.dumps((job, file.getvalue(), content, size, None), protocol=5)
    except Exception as error:
        text = traceback.format_exc()
        try:
            pickled = pickle.dumps(error)
            pickle.loads(pickled)  # some objects can be pickled but not unpickled
        except Exception:
            pickled = pickle.dumps(MXNetError(f"{type(error).__name__}: {error}"))
        return pickle.dumps((job, pickled, None, 0, text), protocol=5)
    finally:
        worker_state.slot = None


# ---- the main process' side ---------------------------------------------------------------------


class _Taking(threading.local):
    """The arrays of the batch that this thread is reading."""

    arrays: Sequence[np.ndarray] = ()
    stays = False


_taking = _Taking()


def _take_numpy(number: int) -> np.ndarray:
    # A copy, which the program may write to and keep.
    return np.array(_taking.arrays[number])


def _take_array(number: int, cls: type[NDArray]) -> NDArray:
    array = _taking.arrays[number]
    if not _taking.stays:
        array = np.array(array)
    spec = Spec.of(array.shape, array.dtype, _SHARED)
    return cls._wrap(on_device(Value(spec, array)))


class Workers:
    """Processes that make batches from sample indices.

    Args:
        make: makes a batch from sample indices; called in the workers.
        count: number of processes.
        slots: pieces of shared memory for batches; when all are in use, a batch
            is sent through a pipe.
        spare: number of slots that batches held by the program may occupy; others are copied.
    """

    def __init__(self, make: Make, count: int, slots: int, spare: int):
        self._slots = [Slot() for _ in range(slots)] if is_supported() else []
        self._free = list(range(len(self._slots)))
        self._spare = spare
        self._jobs = 0
        self._places: dict[int, int | None] = {}  # of running jobs
        self._answers: dict[int, tuple[Any, ...]] = {}
        self._unwanted: set[int] = set()
        self._processes: list[Any] = []
        self._connections: list[Connection] = []
        self._queues: list[deque[int]] = [deque() for _ in range(count)]
        self._under_way = False
        self._finalizer = weakref.finalize(
            self, _end, os.getpid(), self._processes, self._connections
        )
        try:
            self._start(make, count)
        except BaseException:
            self.stop()
            raise

    @property
    def is_broken(self) -> bool:
        """Whether an interrupt has truncated a message to or from a worker."""
        return self._under_way

    def _start(self, make: Make, count: int) -> None:
        # Other threads, which children will not have, must not be in the middle of an update.
        wait_for_all()
        kind: ForkContext | SpawnContext = multiprocessing.get_context("spawn")
        if is_supported():
            kind = multiprocessing.get_context("fork")
        numpy = is_np_shape(), is_np_array()
        for i in range(count):
            mine, its = kind.Pipe()
            self._connections.append(mine)
            others = list(self._connections) if is_supported() else []
            process = kind.Process(
                target=_serve,
                args=(make, its, others, self._slots, numpy, os.getpid()),
                name=f"DataLoader worker {i}",
                daemon=True,
            )
            with Deferred(), warnings.catch_warnings():
                # A forked process may hang if it uses threads of its parent, so workers use no device.
                warnings.simplefilter("ignore")
                process.start()
                self._processes.append(process)
            its.close()

    def submit(self, indices: Sequence[int], seed: int) -> int:
        """Request a batch; returns the id of the job."""
        self._check_running()
        with Deferred():
            self._drop_unwanted()
            job = self._jobs = self._jobs + 1
            place = self._free.pop() if self._free else None
            worker = min(range(len(self._queues)), key=lambda i: len(self._queues[i]))
            self._queues[worker].append(job)
            self._places[job] = place
            self._under_way = True
        try:
            self._connections[worker].send((job, indices, place, seed))
        except OSError:
            self._died(worker)
        self._under_way = False
        return job

    def result(self, job: int, timeout: float) -> Any:
        """The batch of a job.

        Raises:
            multiprocessing.TimeoutError: it is not ready after ``timeout`` seconds.
            MXNetError: a worker process has died.
            Exception: raised in the worker; its cause is the worker's traceback.
        """
        end = time.monotonic() + timeout
        self._check_running()
        while job not in self._answers:
            left = end - time.monotonic()
            if left <= 0 or not self._receive(left):
                raise multiprocessing.TimeoutError(
                    f"A DataLoader worker took more than {timeout} seconds for a batch. If its "
                    f"samples really take that long, give the DataLoader a larger timeout or more "
                    f"workers."
                )
        return self._open(job)

    def forget(self, jobs: Sequence[int]) -> None:
        """Cancel these jobs."""
        # Without waiting: iterators end in finalizers, too, while another thread receives batches.
        self._unwanted.update(jobs)

    def _drop_unwanted(self) -> None:
        for job in list(self._unwanted):
            if job in self._answers:
                self._drop(job)
            elif job in self._places:
                continue  # a worker is making it
            self._unwanted.discard(job)

    def _check_running(self) -> None:
        if not self._connections:
            raise MXNetError(
                "The workers of this DataLoader were stopped, because a batch of another iteration failed or "
                "was interrupted. Begin a new epoch."
            )

    def stop(self) -> None:
        """Stop all processes, even if interrupted."""
        with Deferred():
            self._finalizer()

    def _receive(self, timeout: float) -> bool:
        """Receive results; returns whether any arrived within ``timeout`` seconds."""
        sentinels = {each.sentinel: i for i, each in enumerate(self._processes)}
        ready = wait([*self._connections, *sentinels], timeout)
        dead = None
        for each in ready:
            if each in sentinels:
                dead = sentinels[each]
                continue
            worker = self._connections.index(each)  # type: ignore[arg-type]
            self._under_way = True
            try:
                message = each.recv_bytes()  # type: ignore[union-attr]
            except (EOFError, OSError):
                self._died(worker)
            with Deferred():
                answer = pickle.loads(message)
                job = answer[0]
                self._queues[worker].remove(job)
                self._answers[job] = answer
                if job in self._unwanted:
                    self._unwanted.discard(job)
                    self._drop(job)
                self._under_way = False
        if dead is not None and len(ready) == 1:
            self._died(dead)
        return bool(ready)

    def _died(self, worker: int) -> None:
        process = self._processes[worker]
        process.join(1)
        code = process.exitcode
        cause = f"exit status {code}"
        if code is not None and code < 0:
            cause = f"signal {signal.Signals(-code).name}"
            if -code == signal.SIGKILL:
                cause += ", which the system sends when memory runs out"
        raise MXNetError(
            f"{process.name} (process {process.pid}) died of {cause}. The batch that it was "
            f"preparing is lost. Use num_workers=0 to prepare samples in this process and see "
            f"the reason."
        )

    def _drop(self, job: int) -> None:
        del self._answers[job]
        place = self._places.pop(job)
        if place is not None:
            self._free.append(place)

    def _open(self, job: int) -> Any:
        with Deferred():
            return self._unpickled(job)

    def _unpickled(self, job: int) -> Any:
        _, pickled, content, size, text = self._answers.pop(job)
        place = self._places.pop(job)
        if text is not None:
            if place is not None:
                self._free.append(place)
            error = pickle.loads(pickled)
            raise error from RemoteTraceback(text)
        if place is None:
            _taking.arrays, _taking.stays = content, False
            return pickle.loads(pickled)
        slot = self._slots[place]
        slot.see(size)
        stays = len(self._slots) - len(self._free) - len(self._places) <= self._spare
        lease = Lease(slot, functools.partial(self._free.append, place))
        try:
            _taking.arrays = [lease.array(*each) for each in content]
            _taking.stays = stays
            return pickle.loads(pickled)
        finally:
            _taking.arrays = ()
            lease.drop()


def _end(owner: int, processes: list[Any], connections: list[Connection]) -> None:
    with Deferred():
        for connection in connections:
            connection.close()
        connections.clear()
        # A forked process has a copy of this object, but not the worker processes.
        if os.getpid() != owner:
            return
        for process in processes:
            process.terminate()
        while processes:
            process = processes[-1]
            process.join(1)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()
            processes.pop()
