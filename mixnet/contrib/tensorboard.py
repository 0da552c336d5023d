"""``mx.contrib.tensorboard``: a callback that writes metrics for TensorBoard."""

from __future__ import annotations

import importlib
import logging
from typing import Any

_WRITERS = ("mxboard", "tensorboardX", "torch.utils.tensorboard")


class LogMetricsCallback:
    """A batch or epoch callback of ``fit`` that writes metrics as scalars.

    A package that writes such files must be installed: mxboard, tensorboardX or PyTorch's.

    Args:
        logging_dir: folder of the files.
        prefix: text before the names of the metrics.
    """

    def __init__(self, logging_dir: str, prefix: str | None = None):
        self.prefix = prefix
        self.summary_writer: Any = None
        for module in _WRITERS:
            try:
                self.summary_writer = importlib.import_module(module).SummaryWriter(logging_dir)
                return
            except ImportError:
                continue
        logging.error("Metrics are not written: `pip install tensorboardX` (or mxboard) first.")

    def __call__(self, param: Any) -> None:
        if param.eval_metric is None or self.summary_writer is None:
            return
        for name, value in param.eval_metric.get_name_value():
            label = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(label, value, global_step=param.epoch)
