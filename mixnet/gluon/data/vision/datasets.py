"""Image datasets: MNIST, Fashion-MNIST, CIFAR, and image files of your own."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from mixnet import base as base
from mixnet import image, recordio
from mixnet import ndarray as nd  # noqa: F401
from mixnet.base import AttributeValueError, FileFormatError, PathNotFoundError, data_dir
from mixnet.gluon import utils
from mixnet.gluon.data import dataset
from mixnet.gluon.data.download import extract, fetch
from mixnet.gluon.utils import check_sha1 as check_sha1
from mixnet.gluon.utils import download as download
from mixnet.image.iterator import image_lines
from mixnet.io.files import read_idx
from mixnet.ndarray.create import array
from mixnet.numpy.creation import array as np_array
from mixnet.util import is_np_array

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "FashionMNIST",
    "ImageFolderDataset",
    "ImageListDataset",
    "ImageRecordDataset",
]

Transform = Callable[[Any, Any], Any]


def _root(name: str) -> str:
    return os.path.join(data_dir(), "datasets", name)


def _images(pixels: np.ndarray) -> Any:
    return (np_array if is_np_array() else array)(pixels, dtype=pixels.dtype)


class MNIST(dataset._DownloadedDataset):
    """Handwritten digits: 60000 for training and 10000 for testing, ``(28, 28, 1)`` in uint8.

    A sample is an image and its label, int32. The files may be unpacked.

    Args:
        root: folder of the files; missing files are downloaded to it.
        train: the training images; otherwise the test images.
        transform: maps an image and a label to the sample.

    Source: LeCun, Bottou, Bengio and Haffner, "Gradient-based learning applied to document
    recognition" (1998).
    """

    _namespace: ClassVar[str] = "mnist"
    _files: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte.gz": "6c95f4b05d2bf285e1bfb0e7960c31bd3b3f8a7d",
        "train-labels-idx1-ubyte.gz": "2a80914081dc54586dbdf242f9805a6b8d2a15fc",
        "t10k-images-idx3-ubyte.gz": "c3a25af1f52dad7f726cce8cacb138654b760d48",
        "t10k-labels-idx1-ubyte.gz": "763e7fa3757d93b0cdec073cef058b2004252c17",
    }

    def __init__(
        self,
        root: str = _root("mnist"),
        train: bool = True,
        transform: Transform | None = None,
    ):
        self._train = train
        super().__init__(root, transform)

    def _path(self, name: str) -> str:
        unpacked = os.path.join(self._root, name.removesuffix(".gz"))
        if os.path.exists(unpacked):
            return unpacked
        url = utils._get_repo_file_url(f"gluon/dataset/{self._namespace}", name)
        return fetch(self._root, name, self._files[name], url)

    def _get_data(self) -> None:
        images, labels = list(self._files)[slice(0, 2) if self._train else slice(2, 4)]
        self._label = read_idx(self._path(labels), 1).astype(np.int32)
        pixels = read_idx(self._path(images), 3)
        if len(pixels) != len(self._label):
            raise FileFormatError(
                f"{self._path(images)} has {len(pixels)} images, but {self._path(labels)} has "
                f"{len(self._label)} labels."
            )
        self._data = _images(pixels[..., None])


class FashionMNIST(MNIST):
    """Pictures of clothes in the format of :class:`MNIST`, ten classes.

    Args:
        root: folder of the files, which are downloaded there.
        train: the training images, else the test images.
        transform: function of image and label.

    Source: Xiao, Rasul and Vollgraf, "Fashion-MNIST" (2017).
    """

    _namespace = "fashion-mnist"
    _files: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte.gz": "0cf37b0d40ed5169c6b3aba31069a9770ac9043d",
        "train-labels-idx1-ubyte.gz": "236021d52f1e40852b06a4c3008d8de8aef1e40b",
        "t10k-images-idx3-ubyte.gz": "626ed6a7c06dd17c0eec72fa3be1740f146a2863",
        "t10k-labels-idx1-ubyte.gz": "17f9ab60e7257a1620f4ad76bbbaf857c3920701",
    }

    def __init__(
        self,
        root: str = _root("fashion-mnist"),
        train: bool = True,
        transform: Transform | None = None,
    ):
        super().__init__(root, train, transform)


class CIFAR10(dataset._DownloadedDataset):
    """Photographs of ten classes: 50000 for training and 10000 for testing, ``(32, 32, 3)`` in uint8.

    A sample is an image and its label, int32.

    Args:
        root: folder of the files; missing files are downloaded to it.
        train: the training images; otherwise the test images.
        transform: maps an image and a label to the sample.

    Source: Krizhevsky, "Learning multiple layers of features from tiny images" (2009).
    """

    _namespace: ClassVar[str] = "cifar10"
    _archive: ClassVar[tuple[str, str]] = (
        "cifar-10-binary.tar.gz",
        "fab780a1e191a7eda0f345501ccd62d20f7ed891",
    )
    _train_files: ClassVar[tuple[str, ...]] = tuple(f"data_batch_{i}.bin" for i in range(1, 6))
    _test_files: ClassVar[tuple[str, ...]] = ("test_batch.bin",)
    _labels: ClassVar[int] = 1  # bytes before the image

    def __init__(
        self,
        root: str = _root("cifar10"),
        train: bool = True,
        transform: Transform | None = None,
    ):
        self._train = train
        super().__init__(root, transform)

    def _read_batch(self, path: str) -> tuple[np.ndarray, np.ndarray]:
        content = np.fromfile(path, np.uint8)
        size = self._labels + 3 * 32 * 32
        if not len(content) or len(content) % size:
            raise FileFormatError(f"{path} has {len(content)} bytes, not a multiple of {size}.")
        rows = content.reshape(-1, size)
        pixels = rows[:, self._labels :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return pixels, rows[:, self._label_column()].astype(np.int32)

    def _label_column(self) -> int:
        return 0

    def _get_data(self) -> None:
        names = self._train_files if self._train else self._test_files
        paths = [os.path.join(self._root, name) for name in names]
        if not all(os.path.exists(path) for path in paths):
            archive, sha1 = self._archive
            url = utils._get_repo_file_url(f"gluon/dataset/{self._namespace}", archive)
            extract(fetch(self._root, archive, sha1, url), self._root,
                    [*self._train_files, *self._test_files])  # fmt: skip
        pixels, labels = zip(*[self._read_batch(path) for path in paths], strict=True)
        self._data = _images(np.concatenate(pixels))
        self._label = np.concatenate(labels)


class CIFAR100(CIFAR10):
    """Photographs of 100 classes in 20 groups, in the format of :class:`CIFAR10`.

    Args:
        root: folder of the files.
        fine_label: the label is one of the 100 classes; otherwise one of the 20 groups.
        train: the training images; otherwise the test images.
        transform: maps an image and a label to the sample.
    """

    _namespace = "cifar100"
    _archive = ("cifar-100-binary.tar.gz", "a0bb982c76b83111308126cc779a992fa506b90b")
    _train_files = ("train.bin",)
    _test_files = ("test.bin",)
    _labels = 2

    def __init__(
        self,
        root: str = _root("cifar100"),
        fine_label: bool = False,
        train: bool = True,
        transform: Transform | None = None,
    ):
        self._fine_label = fine_label
        super().__init__(root, train, transform)

    def _label_column(self) -> int:
        return int(self._fine_label)


class ImageRecordDataset(dataset.RecordFileDataset):
    """Images and labels of a RecordIO file, as packed by ``im2rec``.

    Args:
        filename: path of the ``.rec`` file; its index, ``.idx``, is next to it.
        flag: 0 for gray images, 1 for colours.
        transform: maps an image and a label to the sample.
    """

    def __init__(self, filename: str, flag: int = 1, transform: Transform | None = None):
        super().__init__(filename)
        self._flag, self._transform = flag, transform

    def __getitem__(self, idx: int) -> Any:
        header, content = recordio.unpack(super().__getitem__(idx))
        sample = image.imdecode(content, self._flag), header.label
        return sample if self._transform is None else self._transform(*sample)


_EXTENSIONS = (".jpg", ".jpeg", ".png")


class ImageFolderDataset(dataset.Dataset):
    """Images in folders, one folder for each category: ``root/car/0001.jpg``.

    ``synsets`` lists the categories, sorted; a label is an index into it. ``items`` lists paths and
    labels.

    Args:
        root: parent folder.
        flag: 0 for gray images, 1 for colours.
        transform: maps an image and a label to the sample.
    """

    def __init__(self, root: str, flag: int = 1, transform: Transform | None = None):
        self._root, self._flag, self._transform = os.path.expanduser(root), flag, transform
        self._exts = list(_EXTENSIONS)
        self._list_images(self._root)

    def _list_images(self, root: str) -> None:
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        if not os.path.isdir(root):
            raise PathNotFoundError(root, "there is no such folder")
        for folder in sorted(os.listdir(root)):
            path = os.path.join(root, folder)
            if not os.path.isdir(path):
                warnings.warn(f"{path} is skipped: it is not a folder.", stacklevel=3)
                continue
            label = len(self.synsets)
            self.synsets.append(folder)
            for name in sorted(os.listdir(path)):
                file = os.path.join(path, name)
                extension = os.path.splitext(name)[1]
                if extension.lower() not in self._exts:
                    warnings.warn(
                        f"{file} is skipped: {extension or 'a file without extension'} is not "
                        f"one of "
                        f"{', '.join(self._exts)}.",
                        stacklevel=3,
                    )
                    continue
                self.items.append((file, label))

    def __getitem__(self, idx: int) -> Any:
        path, label = self.items[idx]
        pixels = image.imread(path, self._flag)
        return (pixels, label) if self._transform is None else self._transform(pixels, label)

    def __len__(self) -> int:
        return len(self.items)


class ImageListDataset(dataset.Dataset):
    """Images whose paths and labels are in a list.

    Args:
        root: folder that the paths are relative to.
        imglist: path of a ``.lst`` file (number, labels, path, with tabs between), or a list of
            ``[label, path]`` or ``[[labels], path]``.
        flag: 0 for gray images, 1 for colours.
    """

    def __init__(self, root: str = ".", imglist: str | Sequence[Any] | None = None, flag: int = 1):
        self._root, self._flag = os.path.expanduser(root), flag
        self.items: list[tuple[str, Any]] = []
        if isinstance(imglist, str):
            for _, label, path in image_lines(os.path.join(self._root, imglist)):
                self._add(path, label)
        elif isinstance(imglist, (list, tuple)):
            for label, path in imglist:
                is_list = isinstance(label, (list, tuple, np.ndarray))
                self._add(path, np.asarray(label if is_list else [label], np.float32))
        else:
            raise AttributeValueError(
                "ImageListDataset: imglist is a list or the path of a .lst file."
            )

    def _add(self, path: str, label: np.ndarray) -> None:
        # A single number is a scalar label, as for ImageFolderDataset.
        self.items.append((os.path.join(self._root, path), label if label.size > 1 else label[0]))

    def __getitem__(self, idx: int) -> Any:
        path, label = self.items[idx]
        return image.imread(path, self._flag), label

    def __len__(self) -> int:
        return len(self.items)
