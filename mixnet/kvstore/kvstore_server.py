"""The role of a server, which stores that go in step have no work for."""

from __future__ import annotations

import logging
from typing import Any

from mixnet.base import MXNetError
from mixnet.kvstore.base import KVStoreBase
from mixnet.kvstore.base import create as create


class KVStoreServer:
    """A process that keeps the values of a ``dist_*`` store.

    Args:
        kvstore: the store that it serves.
    """

    def __init__(self, kvstore: KVStoreBase):
        self.kvstore = kvstore
        self.handle = getattr(kvstore, "handle", None)
        self.init_logginig = False  # the spelling is MXNet's
        self.logger = logging.getLogger("mixnet.kvstore.server")

    def _controller(self) -> Any:
        """What takes commands of workers."""
        raise MXNetError("These stores have no servers, and no commands reach one.")

    def run(self) -> None:
        """Serve until the workers end.

        Raises:
            MXNetError: the store is that of one process.
        """
        raise MXNetError(
            f"KVStoreServer: a store of type {self.kvstore.type!r} has no servers: every worker keeps the "
            f"values. A process with DMLC_ROLE=server serves when it imports mixnet."
        )
