"""Embeddings of tokens: vectors read from files, GloVe and fastText among them."""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from mixnet import base as base
from mixnet import ndarray as nd  # noqa: F401
from mixnet import registry
from mixnet.array_like import shape_of
from mixnet.base import (
    AttributeValueError,
    CheckError,
    FileFormatError,
    MXNetError,
    UnknownNameError,
    data_dir,
)
from mixnet.contrib.text import _constants as C  # noqa: F401
from mixnet.contrib.text import vocab
from mixnet.files.reading import lines_of, opened
from mixnet.gluon import utils
from mixnet.gluon.data.download import extract, fetch
from mixnet.ndarray import zeros
from mixnet.ndarray.create import array
from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.creation import array as np_array
from mixnet.util import is_np_array, with_defaults

Kind = TypeVar("Kind", bound=type)
Init = Callable[..., Any]
_PRETRAINED: dict[str, dict[str, dict[str, str]]] = json.loads(
    Path(__file__).with_name("pretrained.json").read_text(encoding="utf-8")
)
_ROOT = os.path.join(data_dir(), "embeddings")


def register(embedding_cls: Kind) -> Kind:
    """Decorator: make a class of embeddings known to :func:`create` by its name in lower case.

    Args:
        embedding_cls: the class.
    """
    return registry.get_register_func(_TokenEmbedding, "token embedding")(embedding_cls)


def create(embedding_name: str, **kwargs: object) -> Any:
    """An embedding by the name of its class, such as ``glove``.

    Args:
        embedding_name: the name.
        kwargs: arguments of the class.
    """
    return registry.get_create_func(_TokenEmbedding, "token embedding")(embedding_name, **kwargs)


def get_pretrained_file_names(embedding_name: str | None = None) -> Any:
    """Names of the files with vectors that can be downloaded: a list, or all lists by embedding.

    Args:
        embedding_name: ``'glove'`` or ``'fasttext'``; all by default.

    Raises:
        KeyError: there is no such embedding.
    """
    known: dict[str, Any] = registry.get_registry(_TokenEmbedding)
    if embedding_name is None:
        return {
            name: list(cls.pretrained_file_name_sha1)
            for name, cls in known.items()
            if cls.pretrained_file_name_sha1
        }
    if embedding_name not in known:
        raise UnknownNameError(
            f"There is no embedding {embedding_name!r}; use one of {', '.join(sorted(known))}."
        )
    return list(known[embedding_name].pretrained_file_name_sha1)


class VectorLineError(FileFormatError, AssertionError, mxnet_name="AssertionError"):
    """A line of a vector file is not a token followed by numbers."""


def _parsed(line: str, delimiter: str, place: str) -> tuple[str, np.ndarray]:
    """A token and its vector.

    Args:
        line: the token and the numbers.
        delimiter: what separates them.
        place: the line, for an error.

    Raises:
        FileFormatError: the line is something else.
    """
    token, *texts = line.rstrip().split(delimiter)
    if not texts:
        raise VectorLineError(f"{place} has no numbers; is {delimiter!r} the delimiter?")
    try:
        return token, np.array([float(each) for each in texts], np.float32)
    except ValueError as error:
        raise VectorLineError(
            f"{place}: expected numbers separated by {delimiter!r} after {token!r:.40}; {error}."
        ) from None


class _TokenEmbedding(vocab.Vocabulary):
    """A vocabulary with a vector for each token.

    Args:
        kwargs: those of :class:`mixnet.contrib.text.vocab.Vocabulary`.
    """

    pretrained_archive_name_sha1: ClassVar[dict[str, str]] = {}
    pretrained_file_name_sha1: ClassVar[dict[str, str]] = {}

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self._vec_len = 0
        self._idx_to_vec: Any = None

    # ---- files --------------------------------------------------------------------------------

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        return pretrained_file_name

    @classmethod
    def _get_pretrained_file_url(cls, pretrained_file_name: str) -> str:
        name = cls._get_download_file_name(pretrained_file_name)
        return utils._get_repo_file_url(f"gluon/embeddings/{cls.__name__.lower()}", name)

    @classmethod
    def _get_pretrained_file(cls, embedding_root: str, pretrained_file_name: str) -> str:
        """Path of a file with vectors, downloaded and unpacked if it is not there."""
        root = os.path.join(os.path.expanduser(embedding_root), cls.__name__.lower())
        os.makedirs(root, exist_ok=True)
        path = os.path.join(root, pretrained_file_name)
        sha1 = cls.pretrained_file_name_sha1[pretrained_file_name]
        if os.path.exists(path) and utils.check_sha1(path, sha1):
            return path
        name = cls._get_download_file_name(pretrained_file_name)
        url = cls._get_pretrained_file_url(pretrained_file_name)
        archive = fetch(root, name, cls.pretrained_archive_name_sha1.get(name, sha1), url)
        if name != pretrained_file_name:
            extract(archive, root, [pretrained_file_name])
        return path

    @classmethod
    def _check_pretrained_file_names(cls, pretrained_file_name: str) -> None:
        if pretrained_file_name not in cls.pretrained_file_name_sha1:
            names = ", ".join(cls.pretrained_file_name_sha1)
            raise UnknownNameError(
                f"{cls.__name__} has no file {pretrained_file_name!r}. There are: {names}."
            )

    def _load_embedding(
        self, path: str, elem_delim: str, init_unknown_vec: Init, encoding: str = "utf8"
    ) -> None:
        """Read a file: each line is a token and the numbers of its vector.

        Raises:
            ValueError: there is no such file.
            FileFormatError: a line is none of a token and numbers, or not as long as others.
        """
        path = os.path.expanduser(path)
        if not os.path.isfile(path):
            raise AttributeValueError(f"There is no file {path} with vectors of tokens.")
        logging.info("Loading pre-trained token embedding vectors from %s", path)
        vectors: list[np.ndarray] = []
        unknown: np.ndarray | None = None
        loaded: set[str] = set()
        length = None
        first = len(self)
        for number, line in lines_of(opened(path), path, encoding):
            token, vector = _parsed(line, elem_delim, f"Line {number} of {path}")
            is_unknown = token == self.unknown_token
            if (is_unknown and unknown is not None) or token in loaded:
                warnings.warn(
                    f"Line {number} of {path}: {token} already has a vector; this one is ignored.",
                    stacklevel=4,
                )
            elif len(vector) == 1:
                warnings.warn(
                    f"Line {number} of {path}: {token} with the single number {vector[0]} looks "
                    f"like a header and is skipped.",
                    stacklevel=4,
                )
            else:
                if length is not None and len(vector) != length:
                    raise VectorLineError(
                        f"Line {number} of {path}: the vector of {token} has {len(vector)} "
                        f"numbers, but earlier ones have {length}."
                    )
                length = len(vector)
                if is_unknown:
                    unknown = vector
                elif token not in self._token_to_idx:
                    vectors.append(vector)
                    self._add(token)
                    loaded.add(token)
                else:
                    loaded.add(token)  # a reserved token keeps the vector of unknown ones
        if length is None:
            raise FileFormatError(f"{path} has no vectors.")
        self._vec_len = length
        if unknown is None:
            unknown = _host(init_unknown_vec(shape=length))
        table = np.concatenate([np.tile(unknown, (first, 1)), *[v[None] for v in vectors]])
        self._idx_to_vec = _array(table)

    # ---- from other embeddings ----------------------------------------------------------------

    def _index_tokens_from_vocabulary(self, vocabulary: vocab.Vocabulary) -> None:
        self._token_to_idx = dict(vocabulary.token_to_idx)
        self._idx_to_token = list(vocabulary.idx_to_token)
        self._unknown_token = vocabulary.unknown_token
        reserved = vocabulary.reserved_tokens
        self._reserved_tokens = None if reserved is None else list(reserved)

    def _set_idx_to_vec_by_embeddings(self, embeddings: list[Any], tokens: list[Any]) -> None:
        """Join the vectors that several embeddings have for these tokens."""
        # Token 0 stands for unknown ones, whatever its name in the embeddings is.
        parts = []
        for each in embeddings:
            numbers = [0, *each.to_indices(list(tokens[1:]))]
            parts.append(_host(each.idx_to_vec)[numbers])
        table = np.concatenate(parts, axis=1)
        self._vec_len = table.shape[1]
        self._idx_to_vec = _array(table)

    def _load_pretrained(
        self, name: str, root: str, init_unknown_vec: Init, vocabulary: vocab.Vocabulary | None
    ) -> None:
        """Load the vectors of a published file, for the tokens of a vocabulary."""
        path = self._get_pretrained_file(root, name)
        self._load_embedding(path, " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)

    def _build_embedding_for_vocabulary(self, vocabulary: vocab.Vocabulary | None) -> None:
        if vocabulary is None:
            return
        if not isinstance(vocabulary, vocab.Vocabulary):
            raise CheckError(f"vocabulary must be a Vocabulary, not {type(vocabulary).__name__}.")
        loaded = _Loaded(self)
        self._index_tokens_from_vocabulary(vocabulary)
        self._set_idx_to_vec_by_embeddings([loaded], self.idx_to_token)

    # ---- what is public -----------------------------------------------------------------------

    @property
    def vec_len(self) -> int:
        """How many numbers a vector has."""
        return self._vec_len

    @property
    def idx_to_vec(self) -> Any:
        """The vectors by number of the token, ``(tokens, vec_len)``."""
        return self._idx_to_vec

    def get_vecs_by_tokens(self, tokens: Any, lower_case_backup: bool = False) -> Any:
        """The vector of a token, or the vectors of a list of tokens.

        Args:
            tokens: a token or a list of tokens.
            lower_case_backup: look for a token in lower case if it is unknown as it is.

        Returns:
            ``(vec_len,)`` for a token, ``(number of tokens, vec_len)`` for a list.

        Raises:
            MXNetError: the list is empty.
        """
        is_single = not isinstance(tokens, list)
        token_list = [tokens] if is_single else tokens
        if not token_list:
            raise MXNetError("get_vecs_by_tokens: the list of tokens is empty.")
        numbers = []
        for token in token_list:
            number = self._token_to_idx.get(token)
            if number is None and lower_case_backup:
                number = self._token_to_idx.get(token.lower())
            numbers.append(number or 0)
        vectors = _host(self._idx_to_vec)[numbers]
        return _array(vectors[0] if is_single else vectors)

    def update_token_vectors(self, tokens: object, new_vectors: NDArray) -> None:
        """Give tokens other vectors.

        Args:
            tokens: a token or a list of tokens.
            new_vectors: ``(vec_len,)`` or ``(1, vec_len)`` for one token, else ``(number of
                tokens, vec_len)``.

        Raises:
            AssertionError: the vectors are not an array of this shape.
            ValueError: a token is unknown; the vector of unknown tokens is that of
                ``unknown_token``.
        """
        if self._idx_to_vec is None:
            raise CheckError("update_token_vectors: there are no vectors yet.")
        is_single = not isinstance(tokens, list) or len(tokens) == 1
        token_list = tokens if isinstance(tokens, list) else [tokens]
        shape = (len(token_list), self.vec_len)
        good = isinstance(new_vectors, NDArray) and (
            new_vectors.shape == shape or (is_single and new_vectors.shape == shape[1:])
        )
        if not good:
            raise CheckError(
                f"update_token_vectors: new_vectors must be an array of shape {shape}, not "
                f"{shape_of(new_vectors) or type(new_vectors).__name__}."
            )
        numbers = []
        for token in token_list:
            if token not in self._token_to_idx:
                raise AttributeValueError(
                    f"The token {token!r} is unknown. To change the vector of all unknown tokens, "
                    f"name {self.unknown_token!r}."
                )
            numbers.append(self._token_to_idx[token])
        table = _host(self._idx_to_vec)
        table[numbers] = _host(new_vectors).reshape(shape)
        self._idx_to_vec[:] = _array(table)


class _Loaded:
    """The tokens and vectors of a file, kept while a vocabulary takes their place."""

    def __init__(self, embedding: _TokenEmbedding):
        self._token_to_idx = embedding._token_to_idx
        self.idx_to_vec = embedding._idx_to_vec

    def to_indices(self, tokens: list[Any]) -> list[int]:
        """Their numbers, 0 for unknown ones."""
        return [self._token_to_idx.get(token, 0) for token in tokens]


def _host(vectors: object) -> np.ndarray:
    return vectors.asnumpy() if isinstance(vectors, NDArray) else np.asarray(vectors, np.float32)


def _array(table: np.ndarray) -> Any:
    return (np_array if is_np_array() else array)(table, dtype=table.dtype)


class _Pretrained(_TokenEmbedding):
    """The base of vectors that are downloaded."""

    def __init__(
        self,
        pretrained_file_name: str,
        embedding_root: str = _ROOT,
        init_unknown_vec: Init = zeros,
        vocabulary: vocab.Vocabulary | None = None,
        **kwargs: Any,
    ):
        self._check_pretrained_file_names(pretrained_file_name)
        super().__init__(**kwargs)
        self._load_pretrained(pretrained_file_name, embedding_root, init_unknown_vec, vocabulary)


@register
class GloVe(_Pretrained):
    """Vectors of GloVe, downloaded.

    Args:
        pretrained_file_name: see ``get_pretrained_file_names("glove")``.
        embedding_root: folder of the files.
        init_unknown_vec: makes the vector of unknown tokens, if the file has none.
        vocabulary: tokens to keep; all of the file for None.
        kwargs: those of ``Vocabulary``.

    Raises:
        KeyError: there is no such file.

    Source: Pennington, Socher and Manning, "GloVe: Global vectors for word representation" (2014).
    """

    pretrained_archive_name_sha1 = _PRETRAINED["glove"]["archives"]
    pretrained_file_name_sha1 = _PRETRAINED["glove"]["files"]

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        # glove.6B.50d.txt is one of several in glove.6B.zip.
        names = {
            archive.removesuffix(".zip"): archive for archive in cls.pretrained_archive_name_sha1
        }
        stem = pretrained_file_name.removesuffix(".txt")
        return names.get(stem) or names[stem.rpartition(".")[0]]

    __init__ = with_defaults(_Pretrained.__init__, pretrained_file_name="glove.840B.300d.txt")


@register
class FastText(_Pretrained):
    """Vectors of fastText, downloaded.

    Args:
        pretrained_file_name: see ``get_pretrained_file_names("fasttext")``.
        embedding_root: folder of the files.
        init_unknown_vec: makes the vector of unknown tokens, if the file has none.
        vocabulary: tokens to keep; all of the file for None.
        kwargs: those of ``Vocabulary``.

    Raises:
        KeyError: there is no such file.

    Source: Bojanowski, Grave, Joulin and Mikolov, "Enriching word vectors with subword
    information" (2017).
    """

    pretrained_archive_name_sha1 = _PRETRAINED["fasttext"]["archives"]
    pretrained_file_name_sha1 = _PRETRAINED["fasttext"]["files"]

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        return f"{os.path.splitext(pretrained_file_name)[0]}.zip"

    __init__ = with_defaults(_Pretrained.__init__, pretrained_file_name="wiki.simple.vec")


class CustomEmbedding(_TokenEmbedding):
    """Vectors of a file of your own: in each line a token and the numbers of its vector.

    Args:
        pretrained_file_path: the file.
        elem_delim: separator of the token and the numbers.
        encoding: encoding of the file.
        init_unknown_vec: makes the vector of unknown tokens, if the file has none.
        vocabulary: tokens to keep; all of the file for None.
        kwargs: those of ``Vocabulary``.
    """

    def __init__(
        self,
        pretrained_file_path: str,
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: Init = zeros,
        vocabulary: vocab.Vocabulary | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._build_embedding_for_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """The vectors of several embeddings, joined, for the tokens of a vocabulary.

    Args:
        vocabulary: the tokens.
        token_embeddings: an embedding or a list of embeddings.

    Raises:
        AssertionError: they have the wrong types.
    """

    def __init__(self, vocabulary: vocab.Vocabulary, token_embeddings: Any):
        if not isinstance(vocabulary, vocab.Vocabulary):
            raise CheckError(f"vocabulary must be a Vocabulary, not {type(vocabulary).__name__}.")
        embeddings = token_embeddings if isinstance(token_embeddings, list) else [token_embeddings]
        for each in embeddings:
            if not isinstance(each, _TokenEmbedding):
                raise CheckError(
                    f"token_embeddings must be an embedding or a list of embeddings, not {each!r}."
                )
        super().__init__()
        self._index_tokens_from_vocabulary(vocabulary)
        self._set_idx_to_vec_by_embeddings(embeddings, self.idx_to_token)
