"""Sentences as indices, and batches of sentences of similar lengths."""

from __future__ import annotations

import bisect
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from mixnet import ndarray as nd
from mixnet.base import AttributeValueError, CheckError
from mixnet.io import DataBatch, DataDesc, DataIter


def encode_sentences(
    sentences: Sequence[Sequence[Any]],
    vocab: dict[Any, int] | None = None,
    invalid_label: int = -1,
    invalid_key: str = "\n",
    start_label: int = 0,
    unknown_token: str | None = None,
) -> tuple[list[list[int]], dict[Any, int]]:
    """Sentences of tokens as lists of numbers, and the vocabulary.

    Args:
        sentences: lists of tokens.
        vocab: numbers of tokens; None makes one.
        invalid_label: the number of ``invalid_key``, which no other token gets.
        invalid_key: the token that fills up batches.
        start_label: the first number of a new token.
        unknown_token: replaces tokens that are not in ``vocab``; it gets the next number.

    Raises:
        AssertionError: a token is not in ``vocab``, and there is no ``unknown_token``.
    """
    number = start_label
    new = vocab is None
    known: dict[Any, int] = {invalid_key: invalid_label} if vocab is None else vocab
    coded = []
    for sentence in sentences:
        row = []
        for token in sentence:
            if token not in known:
                if not new and not unknown_token:
                    raise CheckError(
                        f"Unknown token {token}: it is not in the vocabulary. Give unknown_token, "
                        f"or vocab=None to make a vocabulary."
                    )
                if number == invalid_label:
                    number += 1
                token = unknown_token or token
                known[token] = number
                number += 1
            row.append(known[token])
        coded.append(row)
    return coded, known


def _padded_rows(
    sentences: Sequence[Sequence[int]], buckets: Sequence[int], padding: int, dtype: Any
) -> tuple[list[list[np.ndarray]], int]:
    """The sentences of each bucket, padded to its length; the number of those that are too long."""
    rows: list[list[np.ndarray]] = [[] for _ in buckets]
    left_out = 0
    for sentence in sentences:
        place = bisect.bisect_left(buckets, len(sentence))
        if place == len(buckets):
            left_out += 1
            continue
        row = np.full((buckets[place],), padding, dtype=dtype)
        row[: len(sentence)] = sentence
        rows[place].append(row)
    return rows, left_out


class BucketSentenceIter(DataIter):
    """Batches of sentences whose lengths share a bucket; labels are the sentences shifted by one step.

    Sentences are filled up to their bucket's length; those longer than all buckets are left out.

    Args:
        sentences: lists of numbers, as ``encode_sentences`` makes them.
        batch_size: sentences of a batch.
        buckets: lengths; by default those that at least ``batch_size`` sentences have.
        invalid_label: the number that fills up.
        data_name: name of the data.
        label_name: name of the labels.
        dtype: dtype of both.
        layout: ``NT`` (batch, time) or ``TN``.

    Raises:
        ValueError: there is no such layout.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[int]],
        batch_size: int,
        buckets: list[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: Any = "float32",
        layout: str = "NT",
    ):
        super().__init__()
        if not buckets:
            counts = np.bincount([len(sentence) for sentence in sentences])
            buckets = [length for length, count in enumerate(counts) if count >= batch_size]
        if not buckets:
            raise AttributeValueError(
                f"BucketSentenceIter: no sentence length occurs batch_size={batch_size} times, so "
                f"there are no buckets. Give buckets=[...], or a smaller batch_size."
            )
        buckets.sort()
        rows, left_out = _padded_rows(sentences, buckets, invalid_label, dtype)
        # A bucket without sentences is left out, and never the key of the largest.
        buckets = [length for length, each in zip(buckets, rows, strict=True) if each]
        self.data = [np.asarray(each, dtype=dtype) for each in rows if each]
        if not buckets:
            raise AttributeValueError(
                "BucketSentenceIter: all sentences are longer than the largest bucket. Give larger "
                "buckets."
            )
        print(f"WARNING: discarded {left_out} sentences longer than the largest bucket.")
        self.batch_size, self.buckets = batch_size, buckets
        self.data_name, self.label_name = data_name, label_name
        self.dtype, self.invalid_label = dtype, invalid_label
        self.nddata: list[Any] = []
        self.ndlabel: list[Any] = []
        self.major_axis = layout.find("N")
        self.layout = layout
        self.default_bucket_key = max(buckets)
        if self.major_axis not in (0, 1):
            raise AttributeValueError(f"Invalid layout {layout!r}: it must be 'NT' or 'TN'.")
        self.provide_data = self._described(data_name, self.default_bucket_key)
        self.provide_label = self._described(label_name, self.default_bucket_key)
        self.idx = [
            (place, start)
            for place, each in enumerate(self.data)
            for start in range(0, len(each) - batch_size + 1, batch_size)
        ]
        self.curr_idx = 0
        self.reset()

    def _described(self, name: str, length: int) -> list[DataDesc]:
        shape = (self.batch_size, length)
        shape = shape if self.major_axis == 0 else shape[::-1]
        return [DataDesc(name=name, shape=shape, layout=self.layout)]

    def reset(self) -> None:
        """Shuffle batches, and sentences within their buckets, and begin again."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        for each in self.data:
            np.random.shuffle(each)
        self.nddata, self.ndlabel = [], []
        for each in self.data:
            label = np.empty_like(each)
            label[:, :-1] = each[:, 1:]
            label[:, -1] = self.invalid_label
            self.nddata.append(nd.array(each, dtype=self.dtype))
            self.ndlabel.append(nd.array(label, dtype=self.dtype))

    def next(self) -> DataBatch:
        """The next batch; its ``bucket_key`` is the length.

        Raises:
            StopIteration: there is none.
        """
        if self.curr_idx == len(self.idx):
            raise StopIteration
        place, start = self.idx[self.curr_idx]
        self.curr_idx += 1
        data, label = [
            each[place][start : start + self.batch_size] for each in (self.nddata, self.ndlabel)
        ]
        if self.major_axis == 1:
            data, label = data.T, label.T
        length = self.buckets[place]
        return DataBatch(
            [data],
            [label],
            pad=0,
            bucket_key=length,
            provide_data=self._described(self.data_name, length),
            provide_label=self._described(self.label_name, length),
        )
