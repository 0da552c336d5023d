"""python -m tests.benchmarks.loading [--repeats N] [--workers 0,2] [--json FILE]

Samples per second of a DataLoader: small arrays in memory, small images with a transform, and JPEG
files that are decoded, cut out, mirrored and normalized. Contenders take turns, each in a process
of its own. The real MXNet takes part where the environment variable MIXNET_ORACLE is the path of a
launcher of a Python that has it, PyTorch where it is installed; it is given OpenCV too, as
torchvision's own decoding is.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

CASES = {"arrays": 20000, "digits": 6000, "jpeg": 192}  # samples of an epoch
BATCH = {"arrays": 64, "digits": 64, "jpeg": 32}
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def write_images(folder: str) -> None:
    """JPEG files of 256 x 256 pixels, as smooth as photographs are."""
    import cv2

    draw = np.random.RandomState(0)
    os.makedirs(os.path.join(folder, "kind"))
    for i in range(CASES["jpeg"]):
        small = draw.randint(0, 256, (32, 32, 3)).astype("uint8")
        pixels = cv2.resize(small, (256, 256), interpolation=cv2.INTER_CUBIC)
        cv2.imwrite(os.path.join(folder, "kind", f"{i:04d}.jpg"), pixels)


# ---- loaders ------------------------------------------------------------------------------------


def gluon_loader(mx: Any, case: str, folder: str, workers: int, threads: bool) -> Any:
    """The loader of mixnet, or of MXNet."""
    data, transforms = mx.gluon.data, mx.gluon.data.vision.transforms
    draw = np.random.RandomState(0)
    size = CASES[case]
    if case == "arrays":
        dataset = data.ArrayDataset(draw.rand(size, 64).astype("float32"), np.arange(size))
    elif case == "digits":
        pixels = mx.nd.array(draw.randint(0, 256, (size, 28, 28, 1)), dtype="uint8")
        dataset = data.ArrayDataset(pixels, np.arange(size)).transform_first(
            transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.13, 0.31)])
        )
    else:
        change = transforms.Compose(
            [
                transforms.RandomResizedCrop(224),
                transforms.RandomFlipLeftRight(),
                transforms.ToTensor(),
                transforms.Normalize(MEAN, STD),
            ]
        )
        dataset = data.vision.ImageFolderDataset(folder).transform_first(change)
    return data.DataLoader(
        dataset, BATCH[case], shuffle=True, num_workers=workers, thread_pool=threads
    )


def torch_loader(case: str, folder: str, workers: int) -> Any:
    """PyTorch's loader of the same samples."""
    import torch

    draw = np.random.RandomState(0)
    size = CASES[case]
    if case == "arrays":
        rows = torch.from_numpy(draw.rand(size, 64).astype("float32"))
        dataset: Any = torch.utils.data.TensorDataset(rows, torch.arange(size))
    elif case == "digits":
        dataset = Digits(torch.from_numpy(draw.randint(0, 256, (size, 28, 28, 1)).astype("uint8")))
    else:
        dataset = Photographs(folder)
    return torch.utils.data.DataLoader(
        dataset,
        BATCH[case],
        shuffle=True,
        num_workers=workers,
        persistent_workers=workers > 0,
        multiprocessing_context="fork" if workers else None,
    )


class Digits:
    """What torchvision's ToTensor and Normalize do."""

    def __init__(self, pixels: Any):
        self._pixels = pixels

    def __len__(self) -> int:
        return len(self._pixels)

    def __getitem__(self, i: int) -> Any:
        return (self._pixels[i].permute(2, 0, 1).float().div(255) - 0.13) / 0.31, i


class Photographs:
    """JPEG files, decoded, cut out, mirrored and normalized by OpenCV and PyTorch."""

    def __init__(self, folder: str):
        import cv2
        import torch

        cv2.setNumThreads(0)
        self._folder = os.path.join(folder, "kind")
        self._names = sorted(os.listdir(self._folder))
        self._mean = torch.tensor(MEAN).view(3, 1, 1)
        self._std = torch.tensor(STD).view(3, 1, 1)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, i: int) -> Any:
        import cv2
        import torch

        path = os.path.join(self._folder, self._names[i])
        pixels = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
        height, width = pixels.shape[:2]
        area = height * width * np.random.uniform(0.08, 1)
        ratio = np.exp(np.random.uniform(np.log(3 / 4), np.log(4 / 3)))
        w = min(int(np.sqrt(area * ratio)), width)
        h = min(int(np.sqrt(area / ratio)), height)
        x, y = np.random.randint(width - w + 1), np.random.randint(height - h + 1)
        pixels = cv2.resize(pixels[y : y + h, x : x + w], (224, 224))
        if np.random.rand() < 0.5:
            pixels = pixels[:, ::-1]
        tensor = torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))
        return (tensor.float().div(255) - self._mean) / self._std, 0


# ---- one contender, in a process of its own -----------------------------------------------------


def run(framework: str, case: str, folder: str, workers: int, threads: bool, epochs: int) -> None:
    """Print seconds of epochs after a first one; a batch is used before the next is asked for."""
    if framework == "torch":
        importlib.import_module("torch").set_num_threads(1)
        loader, use = (
            torch_loader(case, folder, workers),
            lambda batch: float(batch[0].flatten()[0]),
        )
    else:
        mx = importlib.import_module(framework)
        loader = gluon_loader(mx, case, folder, workers, threads)

        def use(batch: Any) -> float:
            batch[0].wait_to_read()
            return float(batch[0].shape[0])

    results = []
    for _ in range(epochs + 1):
        start = time.perf_counter()
        for batch in loader:
            use(batch)
        results.append(time.perf_counter() - start)
    print(json.dumps(results[1:]))


def measure(framework: str, case: str, folder: str, workers: int, threads: bool) -> float:
    """Samples per second of one contender, started for it."""
    launcher = os.environ["MIXNET_ORACLE"] if framework == "mxnet" else sys.executable
    command = [launcher, "-m", "tests.benchmarks.loading", "--framework", framework, "--case", case]
    command += ["--folder", folder, "--workers", str(workers), *(["--threads"] if threads else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return CASES[case] / min(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--workers", default="0,2")
    parser.add_argument("--json")
    parser.add_argument("--case", default=",".join(CASES))
    parser.add_argument("--framework", default="mixnet,mxnet,torch")
    parser.add_argument("--folder")
    parser.add_argument("--threads", action="store_true")
    options = parser.parse_args()
    if options.folder:
        run(
            options.framework,
            options.case,
            options.folder,
            int(options.workers),
            options.threads,
            2,
        )
        return
    frameworks = options.framework.split(",")
    if "mxnet" in frameworks and not os.environ.get("MIXNET_ORACLE"):
        print("MIXNET_ORACLE is not set: without the real MXNet.")
        frameworks.remove("mxnet")
    if "torch" in frameworks and not importlib.util.find_spec("torch"):
        print("PyTorch is not installed: without it.")
        frameworks.remove("torch")
    speeds: dict[tuple[str, str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as root:
        folder = os.path.join(root, "images")
        write_images(folder)
        for _ in range(options.repeats):
            for case in options.case.split(","):
                for workers in map(int, options.workers.split(",")):
                    for framework in frameworks:
                        for threads in (
                            (False, True) if workers and framework != "torch" else (False,)
                        ):
                            kind = "threads" if threads else "processes" if workers else "none"
                            way = f"{workers} {kind}" if workers else "none"
                            try:
                                result = measure(framework, case, folder, workers, threads)
                            except subprocess.SubprocessError as error:
                                print(f"{framework} {case} {way} is left out: {error}")
                                continue
                            speeds.setdefault((case, way, framework), []).append(result)
    rows = {key: statistics.median(values) for key, values in speeds.items()}
    for case, way in dict.fromkeys((case, way) for case, way, _ in rows):
        messages = [f"{name} {rows[case, way, name]:10.0f}" for name in frameworks
                if (case, way, name) in rows]  # fmt: skip
        print(f"{case:8} workers: {way:12} samples/s: {'   '.join(messages)}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump([{"case": c, "workers": h, "framework": f, "samples_per_second": v}
                       for (c, h, f), v in rows.items()], file)  # fmt: skip


if __name__ == "__main__":
    main()
