"""Models of sklearn, read from ONNX: predictions as sklearn makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import MXNetError
from tests.each_record import each_record
from tests.onnx.runtime import onnx, ort

FILES = Path(__file__).parent / "sklearn_models"
PREDICTIONS = np.load(FILES / "predictions.npz")
SAMPLES = PREDICTIONS["samples"]
NAMES = sorted(path.stem for path in FILES.glob("*.onnx"))
LEARNED = "ai.onnx.ml"


def outputs(path: Path, x: np.ndarray, **options: Any) -> list[np.ndarray]:
    block = mx.contrib.onnx.import_to_gluon(str(path), mx.cpu(), **options)
    result = block(mx.nd.array(x, dtype=x.dtype))
    return [each.asnumpy() for each in (result if isinstance(result, (list, tuple)) else [result])]


def saved(folder: Path, kind: str, outs: int = 1, **attributes: Any) -> Path:
    helper = onnx.helper
    names = [f"y{i}" for i in range(outs)]
    node = helper.make_node(kind, ["x"], names, "learned", domain=LEARNED, **attributes)
    graph = helper.make_graph(
        [node],
        "test",
        [helper.make_tensor_value_info("x", 1, [None, 2])],
        [helper.make_tensor_value_info(n, 1 if n == names[-1] else 7, None) for n in names],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(LEARNED, 3)]
    path = folder / "learned.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    )
    return path


@each_record("name", NAMES)
def test_predictions_are_those_of_sklearn(name: str) -> None:
    path = FILES / f"{name}.onnx"
    (inputs,) = onnx.load(str(path)).graph.input
    results = outputs(path, SAMPLES, input_shapes={inputs.name: SAMPLES.shape})
    expected = [PREDICTIONS[key] for key in sorted(PREDICTIONS) if key.split(".")[0] == name]
    assert len(expected) in (1, 2)
    for ours, theirs in zip(results, expected, strict=True):
        if (
            ours.shape != theirs.shape
            and ours.ndim == 2
            and theirs.ndim == 1
            and ours.shape[1] == 2
        ):
            ours = ours[:, 0]  # a decision between two classes, which ONNX has from both sides
        np.testing.assert_allclose(ours.reshape(theirs.shape), theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["forest", "logistic", "pipeline", "svc"])
def test_any_number_of_samples(name: str) -> None:
    labels, _ = outputs(FILES / f"{name}.onnx", SAMPLES)
    np.testing.assert_array_equal(labels, PREDICTIONS[f"{name}.0"])


def test_each_model_has_a_file() -> None:
    assert {key.split(".")[0] for key in PREDICTIONS} - {"samples"} == {*NAMES}
    assert sum(path.stat().st_size for path in FILES.iterdir() if path.is_file()) < 100_000


def test_a_linear_model_trains_on() -> None:
    block = mx.contrib.onnx.import_to_gluon(str(FILES / "logistic.onnx"), mx.cpu())
    with mx.autograd.record():
        probabilities = block(mx.nd.array(SAMPLES))[1]
        loss = -mx.nd.log(probabilities[:, 0]).mean()
    loss.backward()
    gradients = [
        each.grad().asnumpy() for each in block.collect_params().values() if each.grad_req != "null"
    ]
    assert any(each.any() for each in gradients)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_trees_with_all_questions_and_missing_values(aggregate: str, tmp_path: Path) -> None:
    modes = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
    trees = len(modes)
    path = saved(
        tmp_path,
        "TreeEnsembleRegressor",
        nodes_treeids=np.repeat(np.arange(trees), 3).tolist(),
        nodes_nodeids=[0, 1, 2] * trees,
        nodes_featureids=[0, 0, 0, 1, 0, 0] * (trees // 2),
        nodes_modes=[each for mode in modes for each in (mode, "LEAF", "LEAF")],
        nodes_values=[0.5, 0.0, 0.0] * trees,
        nodes_truenodeids=[1, 0, 0] * trees,
        nodes_falsenodeids=[2, 0, 0] * trees,
        nodes_missing_value_tracks_true=[1, 0, 0, 0, 0, 0] * (trees // 2),
        target_treeids=np.repeat(np.arange(trees), 2).tolist(),
        target_nodeids=[1, 2] * trees,
        target_ids=[0] * (2 * trees),
        target_weights=[float(2**i) for i in range(2 * trees)],
        n_targets=1,
        aggregate_function=aggregate,
        base_values=[0.25],
    )
    x = np.array([[0.5, 0.5], [0, 1], [1, 0], [np.nan, 0.5], [0.5, np.nan]], np.float32)
    (theirs,) = ort.InferenceSession(str(path)).run(None, {"x": x})
    np.testing.assert_allclose(outputs(path, x)[0], theirs, rtol=1e-6)


@pytest.mark.parametrize("kind", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
def test_linear_classifiers_are_imported(kind: str, tmp_path: Path) -> None:
    path = saved(
        tmp_path,
        "LinearClassifier",
        outs=2,
        coefficients=[1.0, -2.0, 0.5, 0.0],
        intercepts=[0.25, -0.5],
        classlabels_ints=[3, 7],
        post_transform=kind,
    )
    x = np.array([[1.0, 0.5], [-1.0, 2.0], [0.0, 0.0], [4.0, 1.0]], np.float32)
    theirs = ort.InferenceSession(str(path)).run(None, {"x": x})
    labels, scores = outputs(path, x)
    np.testing.assert_array_equal(labels, theirs[0])
    np.testing.assert_allclose(scores, theirs[1].reshape(scores.shape), rtol=1e-5, atol=1e-6)


def test_numbers_of_labels(tmp_path: Path) -> None:
    options = {"keys_floats": [1.0, 2.5], "values_int64s": [10, 20], "default_int64": -7}
    path = saved(tmp_path, "LabelEncoder", **options)
    x = np.array([[1, 2], [2.5, 1]], np.float32)
    np.testing.assert_array_equal(outputs(path, x)[0], [[10, -7], [20, 10]])


@pytest.mark.parametrize(
    ("kind", "attributes", "words"),
    [
        ("LinearClassifier", {"coefficients": [1.0, 1.0], "classlabels_strings": ["a", "b"]},
         ["ai.onnx.ml.LinearClassifier", "'learned'", "strings", "LabelEncoder"]),
        ("LabelEncoder", {"keys_strings": ["a"], "values_int64s": [1]}, ["strings"]),
        ("SVMClassifier", {"classlabels_ints": [0, 1], "prob_a": [1.0]}, ["probability=False"]),
        ("DictVectorizer", {}, ["ai.onnx.ml.DictVectorizer", "cannot be read yet", "block of Gluon"]),
        ("TreeEnsembleRegressor", {"nodes_treeids": [0], "nodes_nodeids": [0], "nodes_modes": ["BRANCH_LEQ"],
          "nodes_truenodeids": [0], "nodes_falsenodeids": [0]}, ["TreeEnsembleRegressor"]),
    ],
)  # fmt: skip
def test_unreadable_models_are_errors(
    kind: str, attributes: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    with pytest.raises(MXNetError) as error:
        outputs(saved(tmp_path, kind, **attributes), np.zeros((1, 2), np.float32))
    for word in words:
        assert word in str(error.value)
