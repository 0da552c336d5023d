"""Vocabularies: indices of tokens."""

from mixnet.contrib.text import _constants as C  # noqa: F401
from mixnet.gluon.contrib.data.vocabulary import Vocabulary as Vocabulary
