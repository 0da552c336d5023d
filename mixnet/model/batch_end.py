"""The argument of callbacks after a batch."""

from collections import namedtuple

BatchEndParams = namedtuple("BatchEndParams", ["epoch", "nbatch", "eval_metric", "locals"])
BatchEndParams.__doc__ = (
    """Number of the epoch, number of the batch, the metric, and the local variables of ``fit``."""
)
BatchEndParam = BatchEndParams
