"""Metrics of classification."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixnet.base import ShapeError
from mixnet.metric.evaluation import EvalMetric, as_pairs, register


@register("acc")
class Accuracy(EvalMetric):
    """Share of samples whose predicted class is the label.

    Args:
        axis: axis of the classes in predictions of probabilities.
        name: shown beside the value.
    """

    def __init__(
        self,
        axis: int = 1,
        name: str = "accuracy",
        output_names: Any = None,
        label_names: Any = None,
    ):
        super().__init__(name, output_names, label_names)
        self.axis = axis

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch of class numbers and of probabilities or class numbers.

        Raises:
            ShapeError: there are more labels than predictions, or fewer.
        """
        for label, pred in as_pairs(labels, preds):
            known = np.asarray(label).astype(np.int64).ravel()
            found = np.asarray(pred)
            if found.shape != np.shape(label):
                found = found.argmax(self.axis)
            found = found.astype(np.int64).ravel()
            if found.size != known.size:
                raise ShapeError(
                    f"Accuracy: {known.size} labels for {found.size} predictions "
                    f"(shapes {np.shape(label)} and {np.shape(pred)})."
                )
            self.sum_metric += int((known == found).sum())
            self.num_inst += known.size
