"""How long a data-parallel step takes on n devices: a model with few parameters, and its fit to measured points.

A step on n devices with a batch of b samples each takes

    T(n, b) = b · t_compute · (1 + serial · (n - 1)) + exposed(all-reduce)

``serial`` is the share of a device's computation that the devices do one after another: 0 on devices of their own, towards 1
where they share the cores of a host. The gradients of S bytes are summed by a ring: 2 (n - 1) messages of S / n bytes,

    all-reduce = 2 (n - 1) · alpha + 2 (n - 1) / n · S · beta

with ``alpha`` the seconds of a message, ``beta`` the seconds of a byte (the inverse of the bandwidth). Half precision halves S. Words of
one or two bits cannot be added on the way: every device gathers those of all others, (n - 1) · alpha + (n - 1) · S / 16 · beta (or / 32), which for
32 (64) devices is no less. Of the all-reduce ``overlap`` times the computation is hidden behind it.

Source of the ring's cost: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009; of the model's form: Hockney, 1994.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

COMPRESSIONS = {1: "none", 2: "float16", 16: "2bit", 32: "1bit"}
"""Factors by which gradients may be smaller."""

DEFAULTS = {"serial": 0.0, "alpha": 0.0, "beta": 0.0, "bytes": 0.0, "overlap": 0.0}


_WORDS = {"t_compute": "computing", "serial": "share one after another", "alpha": "latency", "beta": "bandwidth"}  # fmt: skip


def step_parts(
    model: dict[str, Any], n: int, batch: float | None = None, compression: int = 1
) -> dict[str, float]:
    """Seconds of a step by what they go to.

    Args:
        model: ``t_compute`` (seconds of a sample), ``batch``, and of :data:`DEFAULTS` what is not as there.
        n: devices.
        batch: samples of a device; by default the model's.
        compression: one of :data:`COMPRESSIONS`.

    Returns:
        ``compute``, ``serial``, ``latency``, ``transfer`` (of the all-reduce, what is not hidden), ``hidden``, and ``step``, the
        sum of all but what is hidden.
    """
    m = {**DEFAULTS, **model}
    compute = m["t_compute"] * (m["batch"] if batch is None else batch)
    if compression > 2:
        latency, sent = (n - 1) * m["alpha"], (n - 1) * m["bytes"] / compression
    else:
        latency, sent = 2 * (n - 1) * m["alpha"], 2 * (n - 1) / n * m["bytes"] / compression
    transfer = sent * m["beta"]
    whole = latency + transfer
    hidden = min(whole, m["overlap"] * compute)
    shown = 0.0 if whole == 0 else 1 - hidden / whole
    parts = {
        "compute": compute,
        "serial": compute * m["serial"] * (n - 1),
        "latency": latency * shown,
        "transfer": transfer * shown,
    }
    return {**parts, "hidden": hidden, "step": sum(parts.values())}


def throughput(model: dict[str, Any], n: int, batch: float | None = None) -> float:
    """Samples a second on ``n`` devices."""
    samples = n * (model["batch"] if batch is None else batch)
    return samples / step_parts(model, n, batch)["step"]


def fit(runs: Sequence[dict[str, Any]]) -> tuple[dict[str, Any] | None, str]:
    """The model that fits the runs of the first label and origin best, by least squares of relative errors.

    There are fewer parameters than different points, so that the fit can be wrong and be seen to be: which parameters
    that leaves room for is said. No parameter is negative.

    Args:
        runs: as of ``measure_scaling``; those of several batches under one label tell more.

    Returns:
        The model with ``r2`` (of the seconds of a step; None if they do not vary) and ``error`` (the largest relative one), or None; and a note.
    """
    measured = [run for run in runs if run["origin"] != "model"]
    if not measured:
        return None, "no fit: there are no measured points"
    first = measured[0]
    runs = [r for r in measured if (r["label"], r["origin"]) == (first["label"], first["origin"])]
    rows = [
        (p["n"], r["batch"], r.get("bytes") or 0.0, p["thr"]) for r in runs for p in r["points"]
    ]
    n, batch, size, speed = (np.array(column, float) for column in zip(*rows, strict=True))
    seconds = n * batch / speed
    settings = len({row[:2] for row in rows})
    if settings < 3 or len(set(n)) < 2:
        return None, (
            f"no fit: {settings} different points are too few; measure at least three counts of devices"
        )
    columns = {
        "t_compute": batch,
        "serial": batch * (n - 1),
        "beta": 2 * (n - 1) / n * size,
        "alpha": 2 * (n - 1),
    }
    # On a host the devices share its cores, on devices of their own the network is what is shared.
    shared = first["origin"] == "simulated host devices"
    order = (
        ("t_compute", "serial", "beta", "alpha")
        if shared
        else ("t_compute", "beta", "alpha", "serial")
    )
    names: list[str] = []
    for name in order:
        tried = np.stack([columns[each] / seconds for each in [*names, name]], axis=1)
        scale = np.linalg.norm(tried, axis=0)
        told_apart = (
            scale.all() and np.linalg.matrix_rank(tried / scale, tol=1e-3) == len(names) + 1
        )
        if len(names) + 1 < settings and told_apart:
            names.append(name)
    values = _least_squares({name: columns[name] for name in names}, seconds)
    found: dict[str, Any] = {
        **DEFAULTS,
        **values,
        "bytes": float(size[0]),
        "batch": float(batch[0]),
    }
    if found["t_compute"] <= 0:
        return None, "no fit: the points leave no time for computing; they do not follow the model"
    found["serial"] = found["serial"] / found["t_compute"]
    predicted = np.array(
        [step_parts(found, int(k), b)["step"] for k, b in zip(n, batch, strict=True)]
    )
    spread = float(((seconds - seconds.mean()) ** 2).sum())
    varies = spread > 1e-6 * float((seconds**2).sum())
    found["r2"] = 1 - float(((seconds - predicted) ** 2).sum()) / spread if varies else None
    found["error"] = float(np.abs(predicted / seconds - 1).max())
    found["label"], found["origin"] = first["label"], first["origin"]
    missing = [name for name in ("serial", "alpha", "beta") if name not in names]
    note = f"fitted to {settings} points of {first['label']} ({first['origin']}): {', '.join(_WORDS[name] for name in names)}"
    return (
        found,
        f"{note}; taken as 0, not told apart: {', '.join(_WORDS[name] for name in missing)}"
        if missing
        else note,
    )


def _least_squares(columns: dict[str, np.ndarray], seconds: np.ndarray) -> dict[str, float]:
    """Least squares of relative errors; what comes out negative is left out and the rest solved again."""
    names = list(columns)
    while names:
        matrix = np.stack([columns[name] / seconds for name in names], axis=1)
        scale = np.linalg.norm(matrix, axis=0)
        solved = np.linalg.lstsq(matrix / scale, np.ones(len(seconds)), rcond=None)[0] / scale
        if (solved >= 0).all():
            return dict(zip(names, map(float, solved), strict=True))
        names.pop(int(np.argmin(solved * scale)))
    return {"t_compute": 0.0}
