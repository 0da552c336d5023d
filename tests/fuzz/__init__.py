"""Damaged files of every format: corpora, mutations, and the driver that loads them."""
