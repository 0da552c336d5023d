"""Batches for every metric, and the calls between them; this also runs under MXNet."""

import numpy as np

rng = np.random.RandomState(7)


def _probabilities(samples, classes):
    result = rng.rand(samples, classes).astype("float32") + 0.01
    return result / result.sum(1, keepdims=True)


def _classes(classes, *shape):
    return rng.randint(0, classes, shape).astype("float32")


def _classified(classes, column=False):
    sizes = (6, 6, 4)
    labels = [_classes(classes, n, *((1,) if column else ())) for n in sizes]
    return [([each], [_probabilities(len(each), classes)]) for each in labels]


def _numbers(*shape):
    return rng.randn(*shape).astype("float32")


def _regressed(*shapes):
    return [([_numbers(*a)], [_numbers(*b)]) for a, b in shapes]


_VECTORS = _regressed(((5,), (5,)), ((4,), (4, 1)), ((3, 1), (3,)), ((2, 3, 2), (2, 3, 2)))
_SAME = _regressed(((5,), (5,)), ((4, 3), (4, 3)), ((7, 1), (7, 1)))
_TWO, _FOUR = _classified(2), _classified(4)
_LISTS = [
    ([a[0][0], b[0][0]], [a[1][0], b[1][0]]) for a, b in zip(_TWO, reversed(_TWO), strict=True)
]
_IMAGE = [([_classes(3, 2, 5)], [_numbers(2, 3, 5)]) for _ in range(3)]
_HOLES = [([np.array([np.nan, 1], "float32")], [np.ones(2, "float32")]), _VECTORS[0]]
# name: metric, arguments, batches of labels and predictions
CASES = {
    "accuracy": ("acc", {}, _FOUR),
    "accuracy of columns": ("acc", {}, _classified(3, column=True)),
    "accuracy of lists": ("acc", {}, _LISTS),
    "accuracy of pixels": ("acc", {}, _IMAGE),
    "accuracy of classes": (
        "acc",
        {},
        [([a[0][0]], [b[0][0]]) for a, b in zip(_TWO, _TWO[1::-1], strict=False)],
    ),
    "top 2": ("top_k_accuracy", {"top_k": 2}, _FOUR),
    "top 3 of lists": ("top_k_acc", {"top_k": 3}, [(p * 2, q * 2) for p, q in _FOUR]),
    "f1": ("f1", {}, _TWO),
    "f1 of samples": ("f1", {"average": "micro"}, _TWO),
    "f1 of lists": ("f1", {}, _LISTS),
    "f1 of columns": ("f1", {}, _classified(2, column=True)),
    "mcc": ("mcc", {}, _TWO),
    "mcc of samples": ("mcc", {"average": "micro"}, _LISTS),
    "pcc": ("pcc", {}, _FOUR),
    "pcc of lists": ("pcc", {}, _LISTS),
    "mae": ("mae", {}, _VECTORS),
    "mse": ("mse", {}, _VECTORS),
    "rmse": ("rmse", {}, _VECTORS),
    "mse of what is not a number": ("mse", {}, _HOLES),
    "cross entropy": ("ce", {}, _FOUR),
    "cross entropy, eps": ("ce", {"eps": 0.1}, _classified(4, column=True)),
    "likelihood": ("nll_loss", {}, _FOUR),
    "perplexity": ("perplexity", {"ignore_label": None}, _FOUR),
    "perplexity of lists": ("perplexity", {"ignore_label": 0}, _LISTS),
    "perplexity, ignoring all": (
        "perplexity",
        {"ignore_label": 1},
        [([np.ones(2, "float32")], [_FOUR[0][1][0][:2]])] * 2,
    ),
    "pearson": ("pearsonr", {}, _SAME),
    "pearson of samples": ("pearsonr", {"average": "micro"}, _SAME),
    "pearson of constants": ("pearsonr", {}, [([np.ones(3, "float32")], [_numbers(3)])]),
    "loss": ("loss", {}, [(None, q) for _, q in _FOUR]),
    "torch": ("torch", {}, [(None, q * 2) for _, q in _FOUR]),
    "several": (["acc", "ce"], {}, _FOUR),
}


def _results(metric):
    def plain(result):
        names, values = result
        if isinstance(names, list):
            return [names, [float(each) for each in values]]
        return [names, float(values)]

    facts = [plain(metric.get()), plain(metric.get_global())]
    if not isinstance(facts[0][0], list):
        facts.append([float(metric.num_inst), float(metric.sum_metric)])
        facts.append([float(metric.global_num_inst), float(metric.global_sum_metric)])
    return facts


def run(mx, name):
    """The values of a metric after each batch; it is reset locally after the second."""
    kind, arguments, batches = CASES[name]
    metric = mx.metric.create(kind, **arguments)
    results = []
    for number, (labels, preds) in enumerate(batches):
        arrays = None if labels is None else [mx.nd.array(each) for each in labels]
        metric.update(arrays, [mx.nd.array(each) for each in preds])
        results.append(_results(metric))
        if number == 1:
            metric.reset_local()
            results.append(_results(metric))
    metric.reset()
    return [*results, _results(metric)]
