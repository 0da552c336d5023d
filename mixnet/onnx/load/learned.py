"""Readers of the domain ``ai.onnx.ml``, in which sklearn's models are written: all but trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import NotDefinedError
from mixnet.onnx.load.table import LEARNED, Call, reads

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading

STRINGS = (
    "it has strings; number the classes or categories before training (sklearn's LabelEncoder)"
)


def floats(call: Call, name: str) -> np.ndarray | None:
    """An attribute with numbers as an array of float32; None if it is absent."""
    listed = call.get(name)
    return None if listed is None or len(listed) == 0 else np.asarray(listed, np.float32)


def as_float(g: Reading, x: object) -> Any:
    """A matrix of samples in float32 or float64."""
    x = x if g.dtype(x).kind == "f" else g.op("Cast", x, dtype="float32")
    shape = g.shape(x)
    return (
        x if len(shape) == 2 else g.op("Reshape", x, shape=(1, -1) if len(shape) == 1 else (0, -1))
    )


def array_like(g: Reading, x: object, array: np.ndarray) -> np.ndarray:
    """An array with the dtype of a value."""
    converted = array.astype(g.dtype(x))
    return g.arrays.stored(converted) if g.arrays.is_stored(array) else converted


def labels_of(call: Call) -> np.ndarray:
    """The numbers of a classifier's classes.

    Raises:
        NotDefinedError: they are strings.
    """
    if call.get("classlabels_strings"):
        raise NotDefinedError(STRINGS)
    for name in ("classlabels_ints", "classlabels_int64s"):
        if call.get(name):
            return np.asarray(call.get(name), np.int64)
    raise NotDefinedError("it has no labels")


def label(g: Reading, scores: object, labels: np.ndarray) -> Any:
    """The label with the highest score of each row."""
    place = g.op("Cast", g.op("argmax", scores, axis=1), dtype="int64")
    return g.op("take", labels, place)


def transformed(g: Reading, scores: object, kind: str) -> Any:
    """Scores after ``post_transform``."""
    if kind == "NONE":
        return scores
    if kind == "LOGISTIC":
        return g.op("sigmoid", scores)
    if kind == "SOFTMAX":
        return g.op("softmax", scores, axis=1)
    if kind == "SOFTMAX_ZERO":  # what is 0 stays 0
        is_nonzero = g.op(
            "Cast", g.op("_npi_not_equal_scalar", scores, scalar=0.0), dtype=g.dtype(scores).name
        )
        most = g.op("max", scores, axis=1, keepdims=True)
        powers = g.op("_npi_multiply", g.op("exp", g.op("_npi_subtract", scores, most)), is_nonzero)
        return g.op("_npi_true_divide", powers, g.op("sum", powers, axis=1, keepdims=True))
    if kind == "PROBIT":
        two = g.op("_npi_add_scalar", g.op("_npi_multiply_scalar", scores, scalar=2.0), scalar=-1.0)
        return g.op("_npi_multiply_scalar", g.op("erfinv", two), scalar=2**0.5)
    raise NotDefinedError(f"post_transform {kind!r} is not one of ONNX's")


def both_classes(g: Reading, score: object, kind: str) -> Any:
    """The scores of two classes from one number that speaks for the second, after ``post_transform``."""
    return transformed(g, g.op("Concat", g.op("negative", score), score, dim=1), kind)


def _product(g: Reading, x: object, weights: np.ndarray) -> Any:
    return g.op("dot", x, array_like(g, x, weights))


def _row(g: Reading, x: object, numbers: np.ndarray) -> np.ndarray:
    row = array_like(g, x, numbers).reshape(1, -1)
    return g.arrays.stored(row) if g.arrays.is_stored(numbers) else row


def _linear(g: Reading, call: Call, x: object, weights: np.ndarray) -> Any:
    out = _product(g, x, g.arrays.stored(np.ascontiguousarray(weights.T)))
    shift = floats(call, "intercepts")
    return out if shift is None else g.op("_npi_add", out, _row(g, x, g.arrays.stored(shift)))


@reads("LinearRegressor", domain=LEARNED)
def _(g: Reading, call: Call) -> Any:
    x = as_float(g, call.x)
    targets = call.get("targets", 1)
    weights = np.asarray(call.get("coefficients"), np.float32).reshape(targets, -1)
    return transformed(g, _linear(g, call, x, weights), call.get("post_transform", "NONE"))


@reads("LinearClassifier", domain=LEARNED)
def _(g: Reading, call: Call) -> Any:
    x, labels = as_float(g, call.x), labels_of(call)
    kind = call.get("post_transform", "NONE")
    weights = np.asarray(call.get("coefficients"), np.float32)
    weights = weights.reshape(-1, g.shape(x)[1])
    scores = _linear(g, call, x, weights)
    if len(weights) == 1 and len(labels) == 2:
        both = both_classes(g, scores, "NONE")
        return [label(g, both, labels), transformed(g, both, kind)]
    return [label(g, scores, labels), transformed(g, scores, kind)]


@reads("Scaler", domain=LEARNED)
def _(g: Reading, call: Call) -> Any:
    x = as_float(g, call.x)
    offset, scale = floats(call, "offset"), floats(call, "scale")
    x = x if offset is None else g.op("_npi_subtract", x, _row(g, x, offset))
    return x if scale is None else g.op("_npi_multiply", x, _row(g, x, scale))


@reads("Normalizer", domain=LEARNED)
def _(g: Reading, call: Call) -> Any:
    x, kind = as_float(g, call.x), call.get("norm", "MAX")
    if kind == "L2":
        size = g.op("sqrt", g.op("sum", g.op("square", x), axis=1, keepdims=True))
    elif kind == "L1":
        size = g.op("sum", g.op("abs", x), axis=1, keepdims=True)
    elif kind == "MAX":
        size = g.op("max", x, axis=1, keepdims=True)
    else:
        raise NotDefinedError(f"norm {kind!r} is not one of ONNX's")
    zero = g.op("Cast", g.op("_npi_equal_scalar", size, scalar=0.0), dtype=g.dtype(x).name)
    return g.op("_npi_true_divide", x, g.op("_npi_add", size, zero))  # rows of 0 stay so


@reads("Binarizer", domain=LEARNED)
def _(g: Reading, call: Call) -> Any:
    above = g.op("_npi_greater_scalar", call.x, scalar=call.get("threshold", 0.0))
    return g.op("Cast", above, dtype=g.dtype(call.x).name)


@reads("Imputer", domain=LEARNED)
def _(g: Reading, call: Call) -> Any:
    kind = "floats" if call.get("imputed_value_floats") else "int64s"
    values = np.asarray(call.get(f"imputed_value_{kind}"), g.dtype(call.x)).reshape(1, -1)
    replaced = call.get(f"replaced_value_{kind[:-1]}", 0)
    if np.isnan(replaced):
        missing = g.op("_npi_isnan", call.x)
    else:
        missing = g.op("_npi_equal_scalar", call.x, scalar=replaced)
    return g.op("_npi_where", missing, values, call.x)


@reads("ArrayFeatureExtractor", domain=LEARNED)
def _(g: Reading, call: Call) -> Any:
    x, places = call.inputs
    places = (
        places.reshape(-1)
        if isinstance(places, np.ndarray)
        else g.op("Reshape", places, shape=(-1,))
    )
    gathered = g.op("take", x, places, axis=-1)
    return g.op("Reshape", gathered, shape=(1, -1)) if len(g.shape(x)) == 1 else gathered


@reads("FeatureVectorizer", domain=LEARNED)
def _(g: Reading, call: Call) -> Any:
    return g.op("Concat", *[as_float(g, each) for each in call.inputs], dim=1)


@reads("ZipMap", domain=LEARNED)
def _(g: Reading, call: Call) -> Any:
    """A map from labels to probabilities: here the probabilities in the order of the labels."""
    return g.op("_copy", call.x)


def _numbers(call: Call, names: list[str]) -> np.ndarray:
    for name in names:
        if call.get(name):
            return np.asarray(call.get(name), np.float32 if "float" in name else np.int64)
    raise NotDefinedError(STRINGS)


@reads("OneHotEncoder", domain=LEARNED)
def _(g: Reading, call: Call) -> Any:
    categories = _numbers(call, ["cats_int64s"])
    x = g.op("Cast", g.op("expand_dims", call.x, axis=-1), dtype="int64")
    return g.op("Cast", g.op("_npi_equal", x, categories), dtype="float32")


@reads("LabelEncoder", domain=LEARNED)
def _(g: Reading, call: Call) -> Any:
    keys = _numbers(call, ["keys_int64s", "keys_floats"])
    values = _numbers(call, ["values_int64s", "values_floats"])
    are_integers = values.dtype == np.int64
    other = call.get("default_int64", -1) if are_integers else call.get("default_float", 0.0)
    x = g.op("expand_dims", g.op("Cast", call.x, dtype=keys.dtype.name), axis=-1)
    same = g.op("Cast", g.op("_npi_equal", x, keys), dtype="int32")
    place = g.op("Cast", g.op("argmax", same, axis=-1), dtype="int64")
    known = g.op("max", same, axis=-1)
    gathered = g.op("take", values, place)
    return g.op(
        "_npi_where",
        g.op("_npi_not_equal_scalar", known, scalar=0),
        gathered,
        np.asarray([other], values.dtype),
    )


def _kernel(g: Reading, call: Call, x: object, vectors: np.ndarray) -> Any:
    """The kernel of each sample with each vector, one row per sample."""
    gamma, shift, degree = map(float, call.get("kernel_params") or (0.0, 0.0, 3.0))
    kind = call.get("kernel_type", "LINEAR")
    if kind == "RBF":  # by differences: float32 loses too much in squares of large features
        difference = g.op(
            "_npi_subtract", g.op("expand_dims", x, axis=1), array_like(g, x, vectors[None])
        )
        distance = g.op("sum", g.op("square", difference), axis=2)
        return g.op("exp", g.op("_npi_multiply_scalar", distance, scalar=-gamma))
    product = _product(g, x, np.ascontiguousarray(vectors.T))
    if kind == "LINEAR":
        return product
    scaled = g.op(
        "_npi_add_scalar", g.op("_npi_multiply_scalar", product, scalar=gamma), scalar=shift
    )
    if kind == "POLY":
        return g.op("_npi_power_scalar", scaled, scalar=degree)
    if kind == "SIGMOID":
        return g.op("tanh", scaled)
    raise NotDefinedError(f"kernel {kind!r} is not one of ONNX's")


@reads("SVMRegressor", domain=LEARNED)
def _(g: Reading, call: Call) -> Any:
    x, width = as_float(g, call.x), g.shape(as_float(g, call.x))[1]
    weights = np.asarray(call.get("coefficients"), np.float32)
    shift = np.asarray(call.get("rho"), np.float32)[:1]
    vectors = floats(call, "support_vectors")
    features = x if vectors is None else _kernel(g, call, x, vectors.reshape(-1, width))
    weights = g.arrays.stored(weights.reshape(-1, 1))
    out = g.op("_npi_add", _product(g, features, weights), _row(g, x, g.arrays.stored(shift)))
    if call.get("one_class", 0):
        out = g.op(
            "_npi_where",
            g.op("_npi_greater_scalar", out, scalar=0.0),
            np.ones((1, 1), np.float32),
            -np.ones((1, 1), np.float32),
        )
    return transformed(g, out, call.get("post_transform", "NONE"))


@reads("SVMClassifier", domain=LEARNED)
def _(g: Reading, call: Call) -> Any:
    """One decision for each pair of classes; the class that wins most of them."""
    x, labels = as_float(g, call.x), labels_of(call)
    if call.get("prob_a"):
        raise NotDefinedError("it has probabilities of pairs; train SVC(probability=False)")
    counts = call.get("vectors_per_class")
    vectors = floats(call, "support_vectors")
    if not counts or vectors is None:
        raise NotDefinedError(
            "it has no support vectors; LinearSVC is written as a LinearClassifier"
        )
    vectors = vectors.reshape(sum(counts), -1)
    coefficients = np.asarray(call.get("coefficients"), np.float32).reshape(-1, sum(counts))
    ends = np.cumsum([0, *counts])
    pairs = [(i, j) for i in range(len(counts)) for j in range(i + 1, len(counts))]
    weights = np.zeros((sum(counts), len(pairs)), np.float32)
    wins, losses = (np.zeros((len(pairs), len(counts)), np.float32) for _ in range(2))
    for at, (i, j) in enumerate(pairs):
        weights[ends[i] : ends[i + 1], at] = coefficients[j - 1, ends[i] : ends[i + 1]]
        weights[ends[j] : ends[j + 1], at] = coefficients[i, ends[j] : ends[j + 1]]
        wins[at, i], losses[at, j] = 1, 1
    scores = _product(g, _kernel(g, call, x, vectors), g.arrays.stored(weights))
    shift = g.arrays.stored(np.asarray(call.get("rho"), np.float32))
    scores = g.op("_npi_add", scores, _row(g, x, shift))
    won = g.op("Cast", g.op("_npi_greater_scalar", scores, scalar=0.0), dtype=g.dtype(x).name)
    lost = g.op("_npi_add_scalar", g.op("negative", won), scalar=1.0)
    votes = g.op("_npi_add", _product(g, won, wins), _product(g, lost, losses))
    kind = call.get("post_transform", "NONE")
    if len(pairs) == 1:
        return [label(g, votes, labels), both_classes(g, scores, kind)]
    return [label(g, votes, labels), transformed(g, scores, kind)]
