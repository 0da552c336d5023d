"""The name ``horovod``, so that asking for it says what to do instead."""

from __future__ import annotations

from typing import Any

from mixnet.base import MXNetError
from mixnet.kvstore.base import KVStoreBase


@KVStoreBase.register
class Horovod(KVStoreBase):
    """Not part of mixnet: Horovod's MXNet binding loads MXNet's own library.

    Raises:
        MXNetError: always; says what to take.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Horovod:
        """Refuse to make one."""
        raise MXNetError(
            "KVStore 'horovod' needs the package horovod built for MXNet's own library, which "
            "mixnet does not have. Take 'device' for the devices of this process; stores over "
            "several machines come later, as dist_sync."
        )
