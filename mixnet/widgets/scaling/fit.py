"""Fitting the scaling model to measurements: by least squares, or from the parts of two of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mixnet.units import how_many, signed_share
from mixnet.widgets.scaling.model import DEFAULTS, behind, step_parts

_WORDS = {
    "t_compute": "computing",
    "serial": "serial share",
    "alpha": "latency",
    "beta": "bandwidth",
}


def fit(runs: Sequence[dict[str, Any]]) -> tuple[dict[str, Any] | None, str]:
    """The model of the runs of the first label and origin.

    Where the parts of a step were measured, it is calibrated on two points and checked on the
    others (``calibrate``); else it is what fits best, by least squares of relative errors.

    There are fewer parameters than different points, so that the fit can be wrong and be seen to
    be: which parameters that leaves room for is said. No parameter is negative.

    Args:
        runs: as of ``measure_scaling``; those of several batches under one label tell more.

    Returns:
        The model with ``r2`` (of the seconds of a step; None if they do not vary) and ``error``
        (the largest relative one), or None; and a note.
    """
    measured = [run for run in runs if run["origin"] not in ("model", "published")]
    if not measured:
        return None, "no fit: there are no measured points"
    first = measured[0]
    if has_parts(first):
        return calibrate(first)
    runs = [r for r in measured if (r["label"], r["origin"]) == (first["label"], first["origin"])]
    rows = [
        (p["n"], r["batch"], r.get("bytes") or 0.0, p["thr"]) for r in runs for p in r["points"]
    ]
    n, batch, size, speed = (np.array(column, float) for column in zip(*rows, strict=True))
    seconds = n * batch / speed
    settings = len({row[:2] for row in rows})
    if settings < 3 or len(set(n)) < 2:
        return None, (
            f"no fit: {settings} different points are too few; measure at least three device counts"
        )
    columns = {
        "t_compute": batch,
        "serial": batch * (n - 1),
        "beta": 2 * (n - 1) / n * size,
        "alpha": 2 * (n - 1),
    }
    names = _identifiable(columns, seconds, _order(first["origin"]), settings)
    values = _least_squares({name: columns[name] for name in names}, seconds)
    fitted: dict[str, Any] = {
        **DEFAULTS,
        **values,
        "bytes": float(size[0]),
        "batch": float(batch[0]),
    }
    if fitted["t_compute"] <= 0:
        return None, (
            "no fit: the points do not follow the model, which would need a negative computing time"
        )
    fitted["serial"] = fitted["serial"] / fitted["t_compute"]
    predicted = np.array(
        [step_parts(fitted, int(k), b)["step"] for k, b in zip(n, batch, strict=True)]
    )
    fitted["r2"] = _explained(seconds, predicted)
    fitted["error"] = float(np.abs(predicted / seconds - 1).max())
    fitted["label"], fitted["origin"] = first["label"], first["origin"]
    return fitted, _note(first, settings, names)


def _order(origin: str) -> Sequence[str]:
    """The parameters, those first that most likely explain a loss.

    Simulated devices share the cores of their host; real ones share the network.
    """
    if origin == "simulated host devices":
        return "t_compute", "serial", "beta", "alpha"
    return "t_compute", "beta", "alpha", "serial"


def _explained(seconds: np.ndarray, predicted: np.ndarray) -> float | None:
    """R², or None if the seconds do not vary."""
    spread = float(((seconds - seconds.mean()) ** 2).sum())
    varies = spread > 1e-6 * float((seconds**2).sum())
    return 1 - float(((seconds - predicted) ** 2).sum()) / spread if varies else None


def _note(run: dict[str, Any], settings: int, names: Sequence[str]) -> str:
    missing = [name for name in ("serial", "alpha", "beta") if name not in names]
    note = (
        f"fitted to {how_many(settings, 'point')} of {run['label']} ({run['origin']}): "
        f"{', '.join(_WORDS[name] for name in names)}"
    )
    if not missing:
        return note
    separate = ", ".join(_WORDS[name] for name in missing)
    return f"{note}; set to 0, because these points cannot separate them: {separate}"


def _identifiable(
    columns: dict[str, np.ndarray], seconds: np.ndarray, order: Sequence[str], settings: int
) -> list[str]:
    """The parameters that the points determine, at most as many as there are settings, in order."""
    names: list[str] = []
    for name in order:
        columns_with = np.stack([columns[each] / seconds for each in [*names, name]], axis=1)
        scale = np.linalg.norm(columns_with, axis=0)
        is_independent = (
            scale.all() and np.linalg.matrix_rank(columns_with / scale, tol=1e-3) == len(names) + 1
        )
        if len(names) + 1 < settings and is_independent:
            names.append(name)
    return names


def has_parts(run: dict[str, Any]) -> bool:
    """Whether it was measured what the seconds of a step go to, for two counts of devices or more."""
    return len(run["points"]) > 1 and all("compute" in point for point in run["points"])


def calibrate(run: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The model that two points of a run give, those with the fewest devices; the others say how wrong it is.

    Nothing is fitted to the other points. ``t_compute`` and ``serial`` follow from computing in
    the two, ``jitter`` from waiting, ``alpha`` from an exchange of a few bytes, ``beta`` from
    the exchange of the gradients, ``overlap`` from what the whole step takes less than its
    parts; what it takes more counts as exchange.

    Args:
        run: of ``mx.distributed.measure``.

    Returns:
        The model, with ``calibrated`` (the two counts), ``checked`` (``n``, ``measured`` and
        ``predicted`` seconds of a step, ``error`` of the predicted speed, relative, of the others)
        and ``error``, the largest of these or None; and a note.
    """
    first, second, *others = run["points"]
    batch, size = run["batch"], run.get("bytes") or 0.0
    n = second["n"]
    model: dict[str, Any] = {**DEFAULTS, "batch": float(batch), "bytes": float(size)}
    one, two = _computing(first, batch), second["compute"]
    if first["n"] == 1:  # the whole step is computing, as programs do it
        two *= one / first["compute"]
    slope = max(0.0, (two - one) / (n - first["n"]))
    compute = max(one - slope * (first["n"] - 1), 1e-3 * one)
    model["t_compute"], model["serial"] = compute / batch, slope / compute
    model["jitter"] = max(0.0, second["waiting"]) / behind(n)
    rest = _seconds(second, batch) - two - max(0.0, second["waiting"])
    exchange = max(second["exchange"], rest)  # what nothing else explains is the exchange's, too
    message = min(second["message"], exchange)
    model["alpha"] = message / (2 * (n - 1))
    if size:
        model["beta"] = (exchange - message) / (2 * (n - 1) / n * size)
    hidden = min(exchange - rest, exchange)
    model["overlap"] = hidden / compute
    checked = []
    for point in others:
        measured, predicted = _seconds(point, batch), step_parts(model, point["n"])["step"]
        checked.append(
            {"n": point["n"], "measured": measured, "predicted": predicted, "error": measured / predicted - 1}
        )  # fmt: skip
    model["calibrated"], model["checked"] = [first["n"], n], checked
    model["error"] = max((abs(each["error"]) for each in checked), default=None)
    model["r2"], model["label"], model["origin"] = None, run["label"], run["origin"]
    note = f"calibrated on {first['n']} and {n} devices of {run['label']} ({run['origin']}), "
    if not checked:
        return model, f"{note}not checked: measure a third device count"
    errors = ", ".join(f"{each['n']}: {signed_share(each['error'])}" for each in checked)
    return model, f"{note}checked on the other points: {errors}"


def _seconds(point: dict[str, Any], batch: float) -> float:
    return float(point["n"] * batch / point["thr"])


def _computing(point: dict[str, Any], batch: float) -> float:
    """Seconds of computing of the first point: alone nothing else is in its step."""
    return _seconds(point, batch) if point["n"] == 1 else float(point["compute"])


def _least_squares(columns: dict[str, np.ndarray], seconds: np.ndarray) -> dict[str, float]:
    """Least squares of relative errors; columns with negative results are dropped, and the rest solved
    again.
    """
    names = list(columns)
    while names:
        matrix = np.stack([columns[name] / seconds for name in names], axis=1)
        scale = np.linalg.norm(matrix, axis=0)
        solved = np.linalg.lstsq(matrix / scale, np.ones(len(seconds)), rcond=None)[0] / scale
        if (solved >= 0).all():
            return dict(zip(names, map(float, solved), strict=True))
        names.pop(int(np.argmin(solved * scale)))
    return {"t_compute": 0.0}
