"""A process that reads data with one library and executes commands, one per line.

``python -m tests.benchmarks.data.worker LIBRARY THREADS``. It runs under Python 3.10 as well.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator
from typing import Any

from tests.benchmarks.data import case as cases
from tests.benchmarks.serving import serve


def in_mxnet(mx: Any, case: str, folder: str, threads: int) -> Iterator[int]:
    """Samples of one batch after another, epochs without end, of mixnet's or MXNet's iterator."""
    if case.startswith("arrays"):
        data, label = cases.arrays()
        shuffle = case == "arrays shuffled"
        iterator = mx.io.NDArrayIter(data, label, cases.ROW_BATCH, shuffle)
    else:
        iterator = mx.io.ImageRecordIter(**cases.record_parameters(case, folder, threads))
    while True:
        for batch in iterator:
            batch.data[0].wait_to_read()
            batch.label[0].wait_to_read()
            yield len(batch.data[0]) - batch.pad
        iterator.reset()


def in_torch(variant: str, case: str, folder: str, threads: int) -> Iterator[int]:
    """The same of a DataLoader, whose images are decoded by Pillow or by OpenCV."""
    import torch
    from torch.utils.data import DataLoader, Dataset, TensorDataset

    torch.set_num_threads(threads)
    if case.startswith("arrays"):
        data, label = cases.arrays()
        rows = TensorDataset(torch.from_numpy(data), torch.from_numpy(label))
        loader = DataLoader(rows, cases.ROW_BATCH, shuffle=case == "arrays shuffled")
    else:
        from tests.benchmarks.data.in_torch import Images

        images: Dataset = Images(folder, variant, case == "jpeg resized")
        loader = DataLoader(
            images, cases.IMAGE_BATCH, shuffle=True, num_workers=threads, persistent_workers=True
        )
    while True:
        for _, label in loader:
            yield len(label)


class Worker:
    """Sources of samples by ``(variant, case)``."""

    def __init__(self, library: str, threads: int):
        self._library, self._threads = library, threads
        self._loaders: dict[tuple[str, str], Any] = {}

    def time(self, variant: str, case: str, folder: str, batches: int) -> list[float]:
        """Seconds of some batches, and how many samples they have."""
        key = variant, case
        if key not in self._loaders:
            if self._library == "torch":
                self._loaders[key] = in_torch(variant, case, folder, self._threads)
            else:
                module = importlib.import_module(self._library)
                self._loaders[key] = in_mxnet(module, case, folder, self._threads)
        for _ in range(cases.AHEAD):  # batches that were made ahead
            next(self._loaders[key])
        start = time.perf_counter()
        count = sum(next(self._loaders[key]) for _ in range(batches))
        return [time.perf_counter() - start, count]


if __name__ == "__main__":
    serve(Worker)
