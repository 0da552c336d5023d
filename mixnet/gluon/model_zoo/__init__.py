"""``mx.gluon.model_zoo``: well-known networks and the source of their pretrained parameters."""

from mixnet.gluon.model_zoo import model_store as model_store
from mixnet.gluon.model_zoo import vision as vision
