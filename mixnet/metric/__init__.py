"""Metrics: sums over batches, read as means."""

from mixnet.metric.classification import Accuracy as Accuracy
from mixnet.metric.evaluation import EvalMetric as EvalMetric
from mixnet.metric.evaluation import create as create
