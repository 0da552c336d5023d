"""Vocabularies: indices for the tokens of a text, and token counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from typing import Any

from mixnet.base import AttributeValueError, CheckError


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter[str] | None = None,
) -> Counter[str]:
    """Count the tokens of a text.

    Args:
        source_str: the text.
        token_delim: regular expression that separates tokens.
        seq_delim: regular expression that separates sequences.
        to_lower: count in lower case.
        counter_to_update: add to this one; a new one by default.

    Returns:
        The counter.
    """
    tokens = re.split(f"{token_delim}|{seq_delim}", source_str)
    counter: Counter[str] = Counter() if counter_to_update is None else counter_to_update
    counter.update(token.lower() if to_lower else token for token in tokens if token)
    return counter


class Vocabulary:
    """Indices for the tokens of a text: the unknown token, reserved ones, the others by frequency.

    Args:
        counter: token frequencies.
        most_freq_count: maximum number of tokens, the most frequent ones; None for all.
        min_freq: minimum frequency of a token.
        unknown_token: represents every token without an index; its own index is 0.
        reserved_tokens: tokens that always have an index, such as padding.

    Raises:
        AssertionError: an argument is invalid.
    """

    def __init__(
        self,
        counter: Counter[Any] | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: Hashable = "<unk>",
        reserved_tokens: list[Any] | None = None,
    ):
        if min_freq <= 0:
            raise CheckError(f"Vocabulary: min_freq={min_freq} must be 1 or more.")
        if reserved_tokens is not None:
            if unknown_token in reserved_tokens:
                raise CheckError(f"Vocabulary: {unknown_token!r} is both unknown and reserved.")
            if len(set(reserved_tokens)) != len(reserved_tokens):
                raise CheckError("Vocabulary: a token is reserved twice.")
        self._unknown_token = unknown_token
        self._reserved_tokens = None if reserved_tokens is None else list(reserved_tokens)
        self._idx_to_token: list[Any] = [unknown_token, *(reserved_tokens or ())]
        self._token_to_idx = {token: i for i, token in enumerate(self._idx_to_token)}
        if counter is not None:
            self._number(counter, most_freq_count, min_freq)

    def _number(self, counter: Counter[Any], most: int | None, least: int) -> None:
        if not isinstance(counter, Counter):
            raise CheckError(
                f"Vocabulary: counter must be a collections.Counter, not {type(counter).__name__}."
            )
        special = set(self._idx_to_token)
        by_frequency = sorted(sorted(counter.items()), key=lambda each: each[1], reverse=True)
        # The requested number includes special tokens that occur in the text.
        left = len(counter) if most is None or most < 0 else most
        for token, frequency in by_frequency:
            if frequency < least or not left:
                break
            if token not in special:
                self._add(token)
                left -= 1

    def _add(self, token: object) -> None:
        self._token_to_idx[token] = len(self._idx_to_token)
        self._idx_to_token.append(token)

    def __len__(self) -> int:
        return len(self._idx_to_token)

    @property
    def token_to_idx(self) -> dict[Any, int]:
        """Indices by token."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[Any]:
        """Tokens by index."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> Hashable:
        """The token that represents unknown tokens."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[Any] | None:
        """Tokens that always have an index; None if there are none."""
        return self._reserved_tokens

    def to_indices(self, tokens: object) -> Any:
        """The index of a token, or the indices of a list of tokens; 0 for unknown ones."""
        if not isinstance(tokens, list):
            return self._token_to_idx.get(tokens, 0)
        return [self._token_to_idx.get(token, 0) for token in tokens]

    def to_tokens(self, indices: object) -> Any:
        """The token of an index, or the tokens of a list of indices.

        Raises:
            ValueError: there is no such index.
        """
        if isinstance(indices, list):
            return [self._token(index) for index in indices]
        return self._token(indices)

    def _token(self, index: object) -> Any:
        if not isinstance(index, int) or index >= len(self._idx_to_token):
            raise AttributeValueError(
                f"{index!r} is not the index of a token; there are {len(self._idx_to_token)}."
            )
        return self._idx_to_token[index]
