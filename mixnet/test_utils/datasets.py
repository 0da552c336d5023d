"""Downloads shared by examples and tests: MNIST, CIFAR-10, pretrained models."""

from __future__ import annotations

import bz2
import gzip
import logging
import os
import struct
import zipfile
from functools import partial
from typing import Any

import numpy as np

from mixnet.files.whole_file import write_whole
from mixnet.gluon.utils import download as fetch
from mixnet.io import MNISTIter

MNIST = "http://data.mxnet.io/data/mnist/"
DATA = "http://data.mxnet.io/mxnet/data/"

_PIECE_BYTES = 1 << 20


def download(
    url: str,
    fname: str | None = None,
    dirname: str | None = None,
    overwrite: bool = False,
    retries: int = 5,
) -> str:
    """Download a file.

    Args:
        url: the address.
        fname: its name here; by default the last part of the URL.
        dirname: folder, made if it does not exist; by default the current one.
        overwrite: whether a file that exists is downloaded again.
        retries: attempts.

    Returns:
        Path of the file.

    Raises:
        AssertionError: ``retries`` is not positive.
        OSError: it cannot be downloaded.
    """
    assert retries > 0, f"retries={retries} is not positive."
    path = fname or url.split("/")[-1]
    if dirname is not None:
        os.makedirs(dirname, exist_ok=True)
        # A path with a folder of its own stays as it is, as scripts that give both expect.
        path = path if fname and os.path.dirname(fname) else os.path.join(dirname, path)
    if not overwrite and os.path.exists(path):
        logging.info("%s exists, skipping download", path)
        return path
    fetch(url, path=path, overwrite=overwrite, retries=retries)
    logging.info("downloaded %s into %s successfully", url, path)
    return path


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Download a zip file and unpack it.

    Args:
        data_dir: folder of both.
        url: the address.
        data_origin_name: name of the zip file here.
    """
    path = os.path.join(data_dir, data_origin_name)
    if not os.path.exists(path):
        download(url, fname=data_origin_name, dirname=data_dir)
        with zipfile.ZipFile(path) as file:
            file.extractall(data_dir)


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Download a bz2 file, unpack it and remove the packed one.

    Args:
        data_dir: folder of both.
        data_name: name of the unpacked file; nothing is done where it exists.
        url: the address.
        data_origin_name: name of the packed file here.
    """
    name, packed = os.path.join(data_dir, data_name), os.path.join(data_dir, data_origin_name)
    if os.path.exists(name):
        return
    download(url, fname=data_origin_name, dirname=data_dir)
    with bz2.BZ2File(packed, "rb") as source:
        write_whole(name, iter(partial(source.read, _PIECE_BYTES), b""))
    os.remove(packed)


def _read_mnist(label_url: str, image_url: str) -> tuple[np.ndarray, np.ndarray]:
    with gzip.open(download(label_url)) as file:
        struct.unpack(">II", file.read(8))
        labels = np.frombuffer(file.read(), dtype=np.int8)
    with gzip.open(download(image_url)) as file:
        _, count, rows, columns = struct.unpack(">IIII", file.read(16))
        pixels = np.frombuffer(file.read(), dtype=np.uint8).reshape(count, 1, rows, columns)
    return labels, pixels.astype(np.float32) / 255


def get_mnist() -> dict[str, np.ndarray]:
    """MNIST, from the current folder or downloaded to it.

    Returns:
        ``train_data`` (60000, 1, 28, 28) and ``test_data`` (10000, 1, 28, 28), float32 from 0 to 1;
        ``train_label`` and ``test_label``, int8.
    """
    path = MNIST
    labels, data = _read_mnist(
        f"{path}train-labels-idx1-ubyte.gz", f"{path}train-images-idx3-ubyte.gz"
    )
    test_labels, test_data = _read_mnist(
        f"{path}t10k-labels-idx1-ubyte.gz", f"{path}t10k-images-idx3-ubyte.gz"
    )
    return {
        "train_data": data,
        "train_label": labels,
        "test_data": test_data,
        "test_label": test_labels,
    }


def get_mnist_pkl() -> None:
    """Download MNIST as a pickle to ``data/mnist.pkl.gz``."""
    os.makedirs("data", exist_ok=True)
    if not os.path.exists("data/mnist.pkl.gz"):
        download("http://deeplearning.net/data/mnist/mnist.pkl.gz", dirname="data")


def _unpacked(folder: str, files: tuple[str, ...], url: str) -> None:
    os.makedirs(folder, exist_ok=True)
    if not all(os.path.exists(os.path.join(folder, each)) for each in files):
        with zipfile.ZipFile(download(url, dirname=folder)) as file:
            file.extractall(folder)


def get_mnist_ubyte() -> None:
    """Download the four files of MNIST to ``data/``."""
    files = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte",
             "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")  # fmt: skip
    _unpacked("data", files, f"{DATA}mnist.zip")


def get_cifar10() -> None:
    """Download CIFAR-10 as records to ``data/cifar/``."""
    files = ("cifar/train.rec", "cifar/test.rec", "cifar/train.lst", "cifar/test.lst")
    _unpacked("data", files, f"{DATA}cifar10.zip")


def get_mnist_iterator(
    batch_size: int, input_shape: tuple[int, ...], num_parts: int = 1, part_index: int = 0
) -> tuple[Any, Any]:
    """Iterators of MNIST's training and test images, downloaded to ``data/``.

    Args:
        batch_size: images in a batch.
        input_shape: shape of an image; with one axis it is flat.
        num_parts: parts that the training images are cut into, for several workers.
        part_index: the part that is read.
    """
    get_mnist_ubyte()
    flat = len(input_shape) != 3

    def iterator_of(kind: str, shuffle: bool, **more: object) -> Any:
        return MNISTIter(
            image=f"data/{kind}-images-idx3-ubyte",
            label=f"data/{kind}-labels-idx1-ubyte",
            input_shape=input_shape,
            batch_size=batch_size,
            shuffle=shuffle,
            flat=flat,
            **more,
        )

    train = iterator_of("train", True, num_parts=num_parts, part_index=part_index)
    return train, iterator_of("t10k", False, num_parts=num_parts, part_index=part_index)


_MODELS = "http://data.mxnet.io/models/"
_MODEL_FILES = {
    "imagenet1k-inception-bn": "imagenet/inception-bn/Inception-BN",
    "imagenet1k-resnet-18": "imagenet/resnet/18-layers/resnet-18",
    "imagenet1k-resnet-34": "imagenet/resnet/34-layers/resnet-34",
    "imagenet1k-resnet-50": "imagenet/resnet/50-layers/resnet-50",
    "imagenet1k-resnet-101": "imagenet/resnet/101-layers/resnet-101",
    "imagenet1k-resnet-152": "imagenet/resnet/152-layers/resnet-152",
    "imagenet1k-resnext-50": "imagenet/resnext/50-layers/resnext-50",
    "imagenet1k-resnext-101": "imagenet/resnext/101-layers/resnext-101",
    "imagenet1k-resnext-101-64x4d": "imagenet/resnext/101-layers/resnext-101-64x4d",
    "imagenet11k-resnet-152": "imagenet-11k/resnet-152/resnet-152",
    "imagenet11k-place365ch-resnet-152": "imagenet-11k-place365-ch/resnet-152",
    "imagenet11k-place365ch-resnet-50": "imagenet-11k-place365-ch/resnet-50",
}


def download_model(
    model_name: str, dst_dir: str = "./", meta_info: dict[str, dict[str, str]] | None = None
) -> tuple[str | None, int]:
    """Download a pretrained model: its symbol and parameters.

    Args:
        model_name: such as ``'imagenet1k-resnet-50'``.
        dst_dir: folder.
        meta_info: by model name ``{'symbol': url, 'params': url}``; by default MXNet's own models.

    Returns:
        Prefix of the files and the epoch, for ``mx.model.load_checkpoint``; (None, 0) for a name that
        is not known.
    """
    known = meta_info
    if known is None:
        known = {
            name: {
                "symbol": f"{_MODELS}{path}-symbol.json",
                "params": f"{_MODELS}{path}-0000.params",
            }
            for name, path in _MODEL_FILES.items()
        }
    if model_name not in known:
        return None, 0
    os.makedirs(dst_dir, exist_ok=True)
    urls, prefix = known[model_name], os.path.join(dst_dir, model_name)
    assert "symbol" in urls, f"meta_info[{model_name!r}] has no 'symbol'."
    assert "params" in urls, f"meta_info[{model_name!r}] has no 'params'."
    download(urls["symbol"], f"{prefix}-symbol.json")
    download(urls["params"], f"{prefix}-0000.params")
    return prefix, 0


def get_im2rec_path(home_env: str = "MXNET_HOME") -> str:
    """Path of the ``im2rec`` program.

    Args:
        home_env: environment variable with a folder whose ``tools/im2rec.py`` is looked for first.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [os.environ[home_env]] if home_env in os.environ else []
    places = [
        *[os.path.join(each, "tools", "im2rec.py") for each in folders],
        os.path.join(package, "tools", "im2rec.py"),
        os.path.join(package, "im2rec.py"),
    ]
    return next((each for each in places if os.path.isfile(each)), places[-2])
