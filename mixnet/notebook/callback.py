"""``mx.notebook.callback``: metrics of ``Module.fit`` as pandas tables."""

from __future__ import annotations

import datetime
import time
from collections import defaultdict as defaultdict
from typing import Any

from mixnet.base import MXNetError


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise MXNetError("PandasLogger needs pandas: `pip install pandas`.") from None
    return pandas


class PandasLogger:
    """Callbacks that keep metrics of training, evaluation and epochs as data frames.

    ``model.fit(..., **logger.callback_args())`` sets all of them.

    Args:
        batch_size: samples in a batch.
        frequent: batches between two rows.
    """

    def __init__(self, batch_size: int, frequent: int = 50):
        self.batch_size = batch_size
        self.frequent = frequent
        pandas = _pandas()
        self._dataframes = {name: pandas.DataFrame() for name in ("train", "eval", "epoch")}
        self.start_time = self.last_epoch_time = datetime.datetime.now()
        self.last_time = time.time()

    @property
    def train_df(self) -> Any:
        """Rows of training batches."""
        return self._dataframes["train"]

    @property
    def eval_df(self) -> Any:
        """Rows of evaluations."""
        return self._dataframes["eval"]

    @property
    def epoch_df(self) -> Any:
        """Rows of epochs."""
        return self._dataframes["epoch"]

    @property
    def all_dataframes(self) -> dict[str, Any]:
        """All frames by name."""
        return self._dataframes

    def elapsed(self) -> datetime.timedelta:
        """Time since the logger was made."""
        return datetime.datetime.now() - self.start_time

    def append_metrics(self, metrics: dict[str, Any], df_name: str) -> None:
        """Add a row to the frame ``df_name``."""
        pandas = _pandas()
        row = pandas.DataFrame([metrics])
        before = self._dataframes[df_name]
        self._dataframes[df_name] = (
            pandas.concat([before, row], ignore_index=True) if len(before) else row
        )

    def train_cb(self, param: Any) -> None:
        """After a training batch."""
        if param.nbatch % self.frequent == 0:
            self._process_batch(param, "train")

    def eval_cb(self, param: object) -> None:
        """After an evaluation."""
        self._process_batch(param, "eval")

    def _process_batch(self, param: Any, df_name: str) -> None:
        now = time.time()
        metrics = {} if param.eval_metric is None else dict(param.eval_metric.get_name_value())
        seconds = now - self.last_time
        metrics["batches_per_sec"] = self.frequent / seconds if seconds else None
        metrics["records_per_sec"] = self.batch_size * self.frequent / seconds if seconds else None
        metrics["elapsed"] = self.elapsed()
        metrics["minibatch_count"] = param.nbatch
        metrics["epoch"] = param.epoch
        self.append_metrics(metrics, df_name)
        self.last_time = now

    def epoch_cb(self) -> None:
        """After an epoch."""
        now = datetime.datetime.now()
        self.append_metrics(
            {"elapsed": self.elapsed(), "epoch_time": now - self.last_epoch_time}, "epoch"
        )
        self.last_epoch_time = now

    def callback_args(self) -> dict[str, Any]:
        """Arguments of ``fit`` that set the callbacks."""
        return {
            "batch_end_callback": self.train_cb,
            "eval_end_callback": self.eval_cb,
            "epoch_end_callback": lambda *_: self.epoch_cb(),
        }


class LiveBokehChart:
    """A chart that moves while a model trains, drawn by bokeh: left out.

    Args:
        pandas_logger: where its numbers come from.
        metric_name: what it shows.
        display_freq: seconds between two pictures.
        batch_size: samples in a batch.
        frequent: batches between two points.

    Raises:
        MXNetError: always.
    """

    def __init__(
        self,
        pandas_logger: Any,
        metric_name: str,
        display_freq: int = 10,
        batch_size: int | None = None,
        frequent: int = 50,
    ):
        self._refuse()

    def _refuse(self) -> None:
        raise MXNetError(
            f"{type(self).__name__} needs bokeh's interface of 2016, which no longer exists. Record "
            f"the numbers with PandasLogger, and plot logger.train_df."
        )

    def batch_cb(self, param: object) -> None:
        """After a training batch."""

    def callback_args(self) -> dict[str, Any]:
        """Arguments of ``fit`` that set the callbacks."""
        return {}

    def eval_cb(self, param: object) -> None:
        """After an evaluation."""

    def interval_elapsed(self) -> bool:
        """Whether it is time for the next picture."""
        return False

    def setup_chart(self) -> None:
        """Make the picture."""

    def update_chart_data(self) -> None:
        """Put new numbers into the picture."""


class LiveTimeSeries(LiveBokehChart):
    """A value over time: left out, as ``LiveBokehChart``.

    Raises:
        MXNetError: always.
    """

    def __init__(self, **fig_params: Any):
        self._refuse()

    def elapsed(self) -> Any:
        """Time since the chart was made."""

    def update_chart_data(self, value: object = None) -> None:
        """Put a new value into the picture."""


class LiveLearningCurve(LiveBokehChart):
    """Training and validation over epochs: left out, as ``LiveBokehChart``.

    Args:
        metric_name: what it shows.
        display_freq: seconds between two pictures.
        frequent: batches between two points.

    Raises:
        MXNetError: always.
    """

    def __init__(self, metric_name: str, display_freq: int = 10, frequent: int = 50):
        self._refuse()


def args_wrapper(*args: Any) -> dict[str, Any]:
    """The callbacks of several loggers as arguments of ``fit``."""
    out: defaultdict[str, list[Any]] = defaultdict(list)
    for callback in args:
        for name, value in callback.callback_args().items():
            out[name].append(value)
    return dict(out)
