"""MXNet's server class; in mixnet, ``import mixnet`` starts the server."""

from __future__ import annotations

import logging
from typing import Any

from mixnet.base import MXNetError
from mixnet.kvstore.base import KVStoreBase
from mixnet.kvstore.base import create as create


class KVStoreServer:
    """A process that holds the values of a ``dist_*`` store.

    Args:
        kvstore: the store that it serves.
    """

    def __init__(self, kvstore: KVStoreBase):
        self.kvstore = kvstore
        self.handle = kvstore.handle
        self.init_logginig = False  # the spelling is MXNet's
        self.logger = logging.getLogger("mixnet.kvstore.server")

    def _controller(self) -> Any:
        """The function that receives commands from workers."""
        raise MXNetError(
            "Only servers of a store of kind 'dist_async' receive commands: processes with DMLC_ROLE=server "
            "that import mixnet."
        )

    def run(self) -> None:
        """Serve until the workers exit.

        Raises:
            MXNetError: the store is local to one process.
        """
        raise MXNetError(
            f"KVStoreServer: a store of type {self.kvstore.type!r} has no server to run in this process. "
            f"Start a process with DMLC_ROLE=server that imports mixnet: it serves."
        )
