"""``mx.model``: checkpoints, updates of parameters, and FeedForward."""

from mixnet.checkpoint import load_checkpoint as load_checkpoint
from mixnet.checkpoint import load_params as load_params
from mixnet.checkpoint import save_checkpoint as save_checkpoint
from mixnet.model.batch_end import BatchEndParam as BatchEndParam
from mixnet.model.batch_end import BatchEndParams as BatchEndParams
from mixnet.model.update import _create_kvstore as _create_kvstore
from mixnet.model.update import _initialize_kvstore as _initialize_kvstore
from mixnet.model.update import _update_params as _update_params
from mixnet.model.update import _update_params_on_kvstore as _update_params_on_kvstore
