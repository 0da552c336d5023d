"""``mx.error``: errors by name, and the error for internal faults of the library."""

from mixnet.base import MXNetError as MXNetError
from mixnet.legacy.base_names import register_error as register
from mixnet.legacy.base_names import register_error as register_error

__all__ = ["MXNetError", "register"]


@register_error
class InternalError(MXNetError):
    """A fault of the library itself.

    Args:
        msg: what happened.
    """

    def __init__(self, msg: str):
        if "MXNet hint:" not in msg:
            msg += "\nMXNet hint: this is a fault inside mixnet; please report it."
        super().__init__(msg)
