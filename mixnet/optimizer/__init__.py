"""Optimizers: one update rule per file; the shared code is in ``base``."""

from mixnet.optimizer import contrib as contrib
from mixnet.optimizer import optimizer as optimizer
from mixnet.optimizer.optimizer import *  # noqa: F403

__all__ = ["contrib", *(name for name in vars(optimizer) if not name.startswith("_"))]
