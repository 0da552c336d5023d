"""Vocabularies: numbers for tokens."""

from mixnet.gluon.contrib.data.vocabulary import Vocabulary as Vocabulary
