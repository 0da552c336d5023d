"""``mx.contrib.text``: vocabularies and embeddings of tokens."""

from mixnet.contrib.text import embedding as embedding
from mixnet.contrib.text import utils as utils
from mixnet.contrib.text import vocab as vocab
