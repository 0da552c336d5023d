"""Counting tokens."""

from __future__ import annotations

import re
from collections import Counter


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter[str] | None = None,
) -> Counter[str]:
    """How often each token occurs in a text.

    Args:
        source_str: the text.
        token_delim: regular expression of what stands between two tokens.
        seq_delim: regular expression of what stands between two sequences.
        to_lower: count in lower case.
        counter_to_update: add to this one; a new one by default.

    Returns:
        The counter.
    """
    tokens = re.split(f"{token_delim}|{seq_delim}", source_str)
    counter: Counter[str] = Counter() if counter_to_update is None else counter_to_update
    counter.update(token.lower() if to_lower else token for token in tokens if token)
    return counter
