"""Counting tokens."""

from mixnet.gluon.contrib.data.vocabulary import count_tokens_from_str as count_tokens_from_str
