"""``mx.gluon.model_zoo``: well-known networks, and where their pretrained values come from."""

from mixnet.gluon.model_zoo import model_store as model_store
from mixnet.gluon.model_zoo import vision as vision
