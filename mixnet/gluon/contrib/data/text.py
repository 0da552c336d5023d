"""Text datasets for language modelling."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, ClassVar

import numpy as np

from mixnet import base as base
from mixnet import ndarray as nd  # noqa: F401
from mixnet.base import MXNetError, UnknownNameError, data_dir
from mixnet.files.reading import text_of
from mixnet.gluon import utils
from mixnet.gluon.contrib.data import _constants as C
from mixnet.gluon.contrib.data.vocabulary import Vocabulary, count_tokens_from_str
from mixnet.gluon.data import dataset
from mixnet.gluon.data.download import extract, fetch
from mixnet.gluon.utils import check_sha1 as check_sha1
from mixnet.gluon.utils import download as download
from mixnet.ndarray.create import array
from mixnet.numpy.creation import array as np_array
from mixnet.util import is_np_array

__all__ = ["WikiText2", "WikiText103"]


class _LanguageModelDataset(dataset._DownloadedDataset):
    """Base of text datasets: a vocabulary, and token frequencies.

    Args:
        root: folder of the files.
        namespace: source of the download.
        vocabulary: vocabulary; None: created from the text.
    """

    def __init__(self, root: str, namespace: str, vocabulary: Any):
        self._vocab = vocabulary
        self._counter: Counter[str] | None = None
        self._namespace = namespace
        super().__init__(root, None)

    @property
    def vocabulary(self) -> Any:
        """The vocabulary."""
        return self._vocab

    @property
    def frequencies(self) -> Counter[str] | None:
        """Token frequencies; None if the vocabulary was given."""
        return self._counter


class _WikiText(_LanguageModelDataset):
    _archive: ClassVar[tuple[str, str]]
    _files: ClassVar[dict[str, tuple[str, str]]]

    def __init__(self, root: str, namespace: str, segment: str, vocab: Any, seq_len: int):
        if segment not in self._files:
            raise UnknownNameError(f"segment={segment!r} is not one of {', '.join(self._files)}.")
        self._segment, self._seq_len = segment, seq_len
        super().__init__(root, namespace, vocab)

    def __getitem__(self, idx: object) -> Any:
        return self._data[idx], self._label[idx]

    def __len__(self) -> int:
        return len(self._label)

    def _path(self) -> str:
        name, sha1 = self._files[self._segment]
        path = os.path.join(self._root, name)
        if not os.path.exists(path) or not utils.check_sha1(path, sha1):
            archive, archive_sha1 = self._archive
            url = utils._get_repo_file_url(f"gluon/dataset/{self._namespace}", archive)
            fetched = fetch(self._root, archive, archive_sha1, url)
            extract(fetched, self._root, [name for name, _ in self._files.values()])
        return path

    def _get_data(self) -> None:
        content = text_of(self._path())
        if self._vocab is None:
            self._counter = count_tokens_from_str(content)
            self._vocab = Vocabulary(self._counter, reserved_tokens=[C.EOS_TOKEN])
        lines = [line.split() for line in content.splitlines()]
        tokens = [token for line in lines if line for token in (*line, C.EOS_TOKEN)]
        numbers = np.array(self._vocab.to_indices(tokens), np.int32)
        rows = (len(numbers) - 1) // self._seq_len
        if rows < 1:
            raise MXNetError(f"{self._path()} has fewer than {self._seq_len + 1} tokens.")
        count = rows * self._seq_len
        make = np_array if is_np_array() else array
        self._data, self._label = (
            make(each.reshape(rows, self._seq_len), dtype="int32")
            for each in (numbers[:count], numbers[1 : count + 1])
        )


class WikiText2(_WikiText):
    """Articles of Wikipedia, two million words: rows of token indices, and the same shifted by one.

    Args:
        root: folder of the files; missing files are downloaded to it.
        segment: ``train``, ``validation`` or ``test``.
        vocab: vocabulary; None: created from the text.
        seq_len: length of a row.

    Raises:
        KeyError: there is no such segment.

    Source: Merity, Xiong, Bradbury and Socher, "Pointer sentinel mixture models" (2016).
    """

    _archive = ("wikitext-2-v1.zip", "3c914d17d80b1459be871a5039ac23e752a53cbe")
    _files: ClassVar[dict[str, tuple[str, str]]] = {
        "train": ("wiki.train.tokens", "863f29c46ef9d167fff4940ec821195882fe29d1"),
        "validation": ("wiki.valid.tokens", "0418625c8b4da6e4b5c7a0b9e78d4ae8f7ee5422"),
        "test": ("wiki.test.tokens", "c7b8ce0aa086fb34dab808c5c49224211eb2b172"),
    }

    def __init__(
        self,
        root: str = os.path.join(data_dir(), "datasets", "wikitext-2"),
        segment: str = "train",
        vocab: Any = None,
        seq_len: int = 35,
    ):
        super().__init__(root, "wikitext-2", segment, vocab, seq_len)


class WikiText103(_WikiText):
    """The same as :class:`WikiText2` with 103 million words.

    Args:
        root: folder of the files; missing files are downloaded to it.
        segment: ``train``, ``validation`` or ``test``.
        vocab: vocabulary; None: created from the text.
        seq_len: length of a row.

    Raises:
        KeyError: there is no such segment.
    """

    _archive = ("wikitext-103-v1.zip", "0aec09a7537b58d4bb65362fee27650eeaba625a")
    _files: ClassVar[dict[str, tuple[str, str]]] = {
        "train": ("wiki.train.tokens", "b7497e2dfe77e72cfef5e3dbc61b7b53712ac211"),
        "validation": ("wiki.valid.tokens", "c326ac59dc587676d58c422eb8a03e119582f92b"),
        "test": ("wiki.test.tokens", "8a5befc548865cec54ed4273cf87dbbad60d1e47"),
    }

    def __init__(
        self,
        root: str = os.path.join(data_dir(), "datasets", "wikitext-103"),
        segment: str = "train",
        vocab: Any = None,
        seq_len: int = 35,
    ):
        super().__init__(root, "wikitext-103", segment, vocab, seq_len)
