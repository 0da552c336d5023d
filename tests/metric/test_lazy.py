"""A metric's update does not wait or compile; checks that need values run later."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from mixnet import metric, nd
from tests.each_record import each_record

OPTIONS = {
    "acc": {}, "top_k_accuracy": {"top_k": 2}, "f1": {}, "mcc": {"average": "micro"}, "pcc": {},
    "ce": {}, "perplexity": {"ignore_label": 0}, "loss": {}, "mse": {}, "pearsonr": {},
}  # fmt: skip


@each_record("name", sorted(OPTIONS))
def test_updates_do_not_wait(name: str) -> None:
    measure = metric.create(name, **OPTIONS[name])
    weight = nd.ones((3, 2))
    x = nd.array(onp.linspace(0, 1, 12).reshape(4, 3))
    label = nd.array([0, 1, 1, 0])
    if name in ("mse", "pearsonr"):
        label = nd.array(onp.linspace(0, 2, 8).reshape(4, 2))

    def batch() -> None:
        pred = nd.softmax(nd.dot(x, weight) * nd.array([1.0, 0.5]))
        measure.update([label], [pred])
        weight[:] = weight * 0.9

    for _ in range(3):
        batch()
    before = measure.get()
    for _ in range(3):
        batch()
    nd.waitall()
    mx.runtime.reset_counters()
    for _ in range(4):
        batch()
    actual = mx.runtime.counters()
    assert actual["programs_compiled"] == 0
    assert set(actual["flushes"]) <= {"metric update"}
    assert measure.get()[0] == before[0]
    assert measure.num_inst in (10, 20, 40, 80)
    assert "metric read" not in actual["flushes"]


def test_several_metrics_are_one_program() -> None:
    measure = metric.create(["acc", "ce", "f1"])
    label, pred = nd.array([0, 1]), nd.array([[0.3, 0.7], [0.4, 0.6]])
    nd.waitall()
    mx.runtime.reset_counters()
    measure.update([label], [pred])
    assert mx.runtime.counters()["flushes"] == {"metric update": 1}
    onp.testing.assert_allclose(measure.get()[1], [0.5, 0.857399, 2 / 3], rtol=1e-5)


def test_in_training_the_step_runs_the_metric() -> None:
    measure = metric.Accuracy()
    weight = nd.ones((3, 2))
    weight.attach_grad()
    nd.waitall()
    mx.runtime.reset_counters()
    with mx.autograd.record():
        pred = nd.dot(nd.ones((4, 3)), weight)
    measure.update([nd.zeros(4)], [pred])
    pred.backward()
    assert mx.runtime.counters()["flushes"] == {}
    assert measure.get() == ("accuracy", 1.0)


@each_record(
    ("measure", "right", "right_of_equal"),
    [(metric.Accuracy(), 2, 1), (metric.TopKAccuracy(2), 3, 2)],  # MXNet's numbers
)
def test_what_the_host_has_is_counted_at_once(
    measure: Any, right: int, right_of_equal: int
) -> None:
    label = nd.array([0, 1, 2, 1])
    scores = [[3.0, 2, 1], [1, 2, 3], [2, 3, 1], [1, 2, 0]]
    pred = nd.array(scores)
    equal_scores = nd.array([[0.0, 0, 0], [0, 1, 1]])
    nd.waitall()
    mx.runtime.reset_counters()
    measure.update([label], [pred])
    assert measure.get()[1] == right / 4
    assert mx.runtime.counters()["flushes"] == {}
    measure.reset_local()
    measure.update([label], [_pending(scores)])
    measure.update([nd.array([1, 1])], [equal_scores])
    assert measure.num_inst == 6
    assert measure.get()[1] == (right + right_of_equal) / 6
    assert measure.get_global()[1] == (2 * right + right_of_equal) / 10


def _pending(data: Any) -> nd.NDArray:
    """An array that has not been computed."""
    return nd.array(data) + 0


def test_impossible_labels_are_errors() -> None:
    probabilities = nd.array([[0.3, 0.7], [0.4, 0.6], [0.5, 0.5]])
    cases: list[tuple[Any, Any, Any]] = [
        (metric.F1, ValueError, "only supports binary classification"),
        (metric.MCC, ValueError, "only supports binary classification"),
        (metric.CrossEntropy, IndexError, "out of bounds"),
        (metric.PCC, ValueError, "beyond the 2 columns"),
    ]
    for make, error, says in cases:
        measure, label = make(), nd.array([0, 1, 2])
        label.wait_to_read()
        if make is not metric.PCC:  # it makes room for a class that it sees
            with pytest.raises(error, match=says):
                measure.update([label], [probabilities])
            assert onp.isnan(measure.get()[1])
        measure.update([_pending([0, 1, 2])], [probabilities])
        with pytest.raises(error, match=says):
            measure.get()
    measure = metric.PCC()
    measure.update([label], [probabilities])
    assert measure.k == 3
    assert measure.lcm.sum() == 3


def test_a_label_that_is_not_a_number_is_never_right() -> None:
    label, pred = [onp.nan, 1.0], nd.array([[0.9, 0.1], [0.2, 0.8]])
    for measure in (metric.Accuracy(), metric.TopKAccuracy(2)):
        measure.update([nd.array(label)], [pred])
        measure.update([_pending(label)], [pred])
        assert measure.get()[1] == 0.5
    with pytest.raises(IndexError, match="out of bounds"):
        metric.CrossEntropy().update([nd.array(label)], [pred])
    lost = metric.CrossEntropy()
    lost.update([_pending(label)], [pred])
    with pytest.raises(IndexError, match="out of bounds"):
        lost.get()


def test_shapes_that_do_not_match_are_errors() -> None:
    one, two = nd.array([0, 1]), nd.array([[0.3, 0.7], [0.2, 0.8]])
    for measure in (
        metric.Accuracy(),
        metric.F1(),
        metric.CrossEntropy(),
        metric.MSE(),
        metric.PCC(),
    ):
        with pytest.raises(
            ValueError, match="Shape of labels 1 does not match shape of predictions 2"
        ):
            measure.update([one], [two, two])
    with pytest.raises(ValueError, match="Shape of labels 3 does not match shape of predictions 2"):
        metric.Accuracy().update([nd.array([0, 1, 1])], [two])
    with pytest.raises(ValueError, match=r"\(2,\) does not match shape of predictions \(2, 2\)"):
        metric.check_label_shapes(one, two, shape=True)
    with pytest.raises(ValueError, match="do not fit"):
        metric.MSE().update([nd.ones(4)], [nd.ones(5)])
    with pytest.raises(AssertionError, match="no more than 2 dims"):
        metric.TopKAccuracy(2).update([one], [two.reshape((1, 2, 2))])
    with pytest.raises(ValueError, match="out of bounds for 2 classes"):
        metric.TopKAccuracy(3).update([one], [two])
    with pytest.raises(AssertionError, match="Please use Accuracy"):
        metric.TopKAccuracy()
    with pytest.raises(AssertionError, match="shape mismatch"):
        metric.Perplexity(None).update([nd.ones(3)], [two])
    with pytest.raises(AssertionError):
        metric.NegativeLogLikelihood().update([nd.ones(3)], [two])
    labels, preds = metric.check_label_shapes(one, one, wrap=True)
    assert labels == [one]
    assert preds == [one]


def test_metrics_accept_arrays_of_every_kind_and_device() -> None:
    label, pred = onp.array([0, 1, 1]), onp.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    for face in (nd.array, mx.np.array, onp.array):
        for wrap in (lambda each: [each], lambda each: each):
            measure = metric.Accuracy()
            measure.update(wrap(face(label)), wrap(face(pred)))
            assert measure.get() == ("accuracy", 2 / 3)
    for dtype in ("uint8", "int32", "float16", "float64"):
        for measure in (metric.Accuracy(), metric.CrossEntropy(), metric.F1(), metric.PCC()):
            measure.update([nd.array(label, dtype=dtype)], [nd.array(pred)])
            expected = {"accuracy": 2 / 3, "cross-entropy": 0.510826, "f1": 2 / 3, "pcc": 0.5}
            assert measure.get()[1] == pytest.approx(expected[measure.name], rel=1e-5)
    half = metric.MAE()
    half.update([nd.array([1, 2], dtype="int32")], [nd.array([1, 3], dtype="float16")])
    assert half.get() == ("mae", 0.5)


def test_metrics_are_created_by_name_and_configuration() -> None:
    assert metric.create("acc", axis=2).axis == 2  # type: ignore[attr-defined]
    measure = metric.TopKAccuracy(top_k=3)
    assert measure.get_config() == {
        "top_k": 3, "metric": "TopKAccuracy", "name": "top_k_accuracy_3", "output_names": None,
        "label_names": None,
    }  # fmt: skip
    again = metric.create(json.dumps(metric.Accuracy(axis=2).get_config()))
    assert (type(again), again.axis) == (metric.Accuracy, 2)  # type: ignore[attr-defined]
    assert metric.create('["top_k_accuracy", {"top_k": 3}]').name == "top_k_accuracy_3"
    several = metric.create(["acc", metric.MSE(), lambda a, b: 1.0])
    assert str(several) == "EvalMetric: {'accuracy': nan, 'mse': nan, 'custom(<lambda>)': nan}"
    for wrong, says in (("zzz", "zzz is not registered"), (3, "metric must be a name")):
        with pytest.raises(AssertionError, match=says):
            metric.create(wrong)
    with pytest.raises(TypeError, match="ignore_label"):
        metric.create("perplexity")
    with pytest.raises(NotImplementedError, match="cannot be serialized"):
        several.get_config()
    with pytest.raises(ValueError, match="Metric index 9 is out of range 0 and 3"):
        several.get_metric(9)  # type: ignore[attr-defined]


def test_a_custom_metric_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    from mixnet import registry

    for name in ("own", "my_own"):  # it is forgotten after the test
        monkeypatch.setitem(registry._registries[metric.EvalMetric], name, None)

    @metric.register
    @metric.alias("my_own")
    class Own(metric.EvalMetric):
        def __init__(self, name: str = "own", scale: float = 2, **kwargs: Any):
            super().__init__(name, scale=scale, **kwargs)
            self.scale = scale

        def reset(self) -> None:
            self.num_inst = 0
            self.sum_metric = 0.0

        def update(self, labels: Any, preds: Any) -> None:
            for _ in preds:
                self.sum_metric += onp.float32(0.1) * self.scale
                self.num_inst += 1

    own = metric.create("my_own")
    assert onp.isnan(own.get()[1])
    for _ in range(1000):
        own.update(None, [0, 0])
    assert own.get_global() == own.get()
    # The sum is float64 whatever is added to it.
    assert own.get()[1] == pytest.approx(float(onp.float32(0.1)) * 2, rel=1e-7)
    assert type(own.get()[1]) is float
    assert own.get_config()["scale"] == 2
    with pytest.warns(UserWarning, match="New metric .* registered with name own is overriding"):
        metric.register(type("Own", (Own,), {}))
    with pytest.raises(AssertionError, match="Only subclasses of EvalMetric"):
        metric.register(int)
    with pytest.raises(NotImplementedError):
        metric.EvalMetric("bare").update(None, None)


def test_setting_a_sum_replaces_pending_batches() -> None:
    measure = metric.Accuracy()
    measure.update([nd.array([0, 1])], [nd.array([0, 0])])
    measure.sum_metric, measure.num_inst = 7.0, 10
    assert measure.get() == ("accuracy", 0.7)
    measure.update([nd.array([0, 1])], [nd.array([0, 0])])
    assert measure.get() == ("accuracy", 8 / 12)
    assert measure.get_global() == ("accuracy", 0.5)
    assert str((measure.sum_metric, measure.num_inst)) == "(8.0, 12)"


def test_metrics_are_copied_with_what_they_added() -> None:
    measure = metric.Accuracy()
    measure.update([nd.array([0, 1])], [nd.array([0, 0])])
    other = copy.deepcopy(measure)
    measure.update([nd.array([0, 1])], [nd.array([0, 1])])
    assert measure.get() == ("accuracy", 0.75)
    assert other.get() == ("accuracy", 0.5)


def test_metrics_select_outputs_and_labels_by_name() -> None:
    labels = {"a": nd.array([0, 1]), "b": nd.array([1, 1])}
    preds = {"x": nd.array([0, 1]), "y": nd.array([0, 0])}
    one = metric.Accuracy(label_names=["a"], output_names=["x"])
    one.update_dict(labels, preds)
    assert one.get() == ("accuracy", 1.0)
    every = metric.Accuracy()
    every.update_dict(labels, preds)
    assert every.get() == ("accuracy", 0.5)
    with pytest.raises(KeyError):
        one.update_dict(labels, {"y": preds["y"]})
    several = metric.CompositeEvalMetric(["acc"], label_names=["a"], output_names=["x"])
    several.update_dict(labels, preds)
    assert several.get() == (["accuracy"], [1.0])


def test_a_perplexity_may_be_infinite() -> None:
    measure = metric.Perplexity(None)
    measure.sum_metric, measure.num_inst = 1e6, 1
    with pytest.raises(OverflowError):
        measure.get()


def test_perplexity_takes_an_array_for_the_list_of_its_rows() -> None:
    """Numbers of MXNet 1.9.1."""
    label = nd.array([0, 1, 1])
    rows = nd.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    for measure, pred, expected in (
        (metric.Perplexity(None), rows, 1.514),
        (metric.Perplexity(None, axis=0), rows, 1.514),
        (metric.Perplexity(1), rows, 1.111),
        (metric.Perplexity(None), nd.array([0.9, 0.1, 0.4]), 3.029),
    ):
        measure.update(label, pred)
        assert measure.get()[1] == pytest.approx(expected, rel=1e-3)


def test_errors_of_integers_are_means_of_floats() -> None:
    """Numbers of MXNet 1.9.1: a difference wraps around, its square does not."""
    label, pred = [[0, 1, 1]], [[1, 1, 0]]
    for measure, dtype, expected in (
        (metric.MAE(), "int32", 2 / 3),
        (metric.MSE(), "int32", 2 / 3),
        (metric.RMSE(), "int32", 0.81650),
        (metric.RMSE(), "uint8", 147.2254),
    ):
        measure.update([nd.array(label, dtype=dtype)], [nd.array(pred, dtype=dtype)])
        assert measure.get()[1] == pytest.approx(expected, rel=1e-5)


def test_classes_beyond_int32_count_as_errors() -> None:
    for make in (nd.array, _pending):
        measure = metric.Accuracy()
        measure.update([make([3e9, 1e38, 5.0])], [make([2.0**31, -1e38, 5.0])])
        assert measure.get()[1] == 1.0


def test_f1_offers_precision_recall_and_counts() -> None:
    measure = metric.F1(average="micro")
    label, pred = nd.array([0, 1, 1, 1, 0]), nd.array([1, 1, 1, 0, 0])
    measure.update([label], [nd.stack(1 - pred, pred, axis=1)])
    actual = measure.metrics
    assert (actual.true_positives, actual.false_positives) == (2, 1)
    assert (actual.true_negatives, actual.false_negatives) == (1, 1)
    assert actual.precision == actual.recall == actual.fscore == pytest.approx(2 / 3)
    assert actual.matthewscc() == pytest.approx((2 * 1 - 1 * 1) / onp.sqrt(3 * 3 * 2 * 2))
    measure.reset_local()
    actual = measure.metrics
    assert (actual.total_examples, actual.global_total_examples) == (0, 5)
    assert (actual.precision, actual.global_precision) == (0.0, pytest.approx(2 / 3))
    assert actual.matthewscc() == 0.0
    of_batches = metric.F1()
    of_batches.update([label], [nd.stack(1 - pred, pred, axis=1)])
    assert of_batches.metrics.total_examples == 0


@pytest.mark.parametrize("measure", [metric.F1, metric.MCC])
def test_a_batch_of_nothing_counts_as_a_batch_of_score_0(measure: Any) -> None:
    """Numbers of MXNet 1.9.1; over samples it counts nothing."""
    over_batches, over_samples = measure(), measure(average="micro")
    for each in (over_batches, over_samples):
        each.update([], [])
    assert over_batches.get()[1] == 0 and over_batches.num_inst == 1
    assert onp.isnan(over_samples.get()[1]) and over_samples.num_inst == 0
    f1 = metric.F1()
    f1.update([nd.array([0, 1])], [nd.array([[0.3, 0.7], [0.2, 0.8]])])
    f1.update([], [])
    assert f1.get()[1] == pytest.approx(1 / 3) and f1.num_inst == 2


def test_a_metric_may_give_its_names_and_values_as_an_iterator() -> None:
    class OfTasks(mx.metric.EvalMetric):
        def get(self):
            return zip(("a", 0.5), ("b", 0.25), strict=True)

    whole = mx.metric.CompositeEvalMetric([OfTasks("tasks"), mx.metric.Loss()])
    names, values = whole.get()
    assert names == ["a", "b", "loss"]
    assert values[:2] == [0.5, 0.25]
