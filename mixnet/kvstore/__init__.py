"""mx.kv: key-value stores that devices push to and pull from."""

from mixnet.kvstore import base as base
from mixnet.kvstore import horovod as horovod
from mixnet.kvstore import kvstore as kvstore
from mixnet.kvstore import kvstore_server as kvstore_server
from mixnet.kvstore.base import KVStoreBase as KVStoreBase
from mixnet.kvstore.base import create as create
from mixnet.kvstore.kvstore import KVStore as KVStore
from mixnet.kvstore.kvstore_server import KVStoreServer as KVStoreServer
from mixnet.process.lazy import star_names as _star_names

__all__ = _star_names(globals(), ("base", "kvstore", "kvstore_server"))
