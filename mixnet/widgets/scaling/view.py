"""ScalingView: how throughput grows with devices, measured, fitted, and what if."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mixnet.base import AttributeTypeError, AttributeValueError
from mixnet.units import size_text, ticks, time_text
from mixnet.widgets.scaling.model import COMPRESSIONS, DEFAULTS, fit, step_parts, throughput
from mixnet.widgets.svg import Svg
from mixnet.widgets.view import View

ORIGINS = ("real devices", "simulated host devices", "model")
"""How points were obtained; they are drawn differently."""


class ScalingView(View):
    """Measured points with their spread, a model fitted to them, and the ideal line; sliders ask what would be if.

    Throughput is in samples a second of all devices; efficiency is the throughput of a device, as a share of that of a device in the smallest
    measured count. Discs are real devices, squares are CPU devices of one host, crosses are points that somebody's model gave.
    The sliders' model is that of ``mixnet.widgets.scaling.model``; it runs in the page.

    Args:
        runs: as ``measure_scaling`` returns them; ``[]`` with a model shows the model alone.
        model: parameters in place of fitted ones: ``t_compute`` (seconds of a sample), ``batch`` (samples of a device),
            ``bytes`` of gradients, ``alpha`` (seconds of a message), ``beta`` (seconds of a byte), ``serial``, ``overlap``.

    Raises:
        AttributeTypeError, AttributeValueError: runs or model are not like that.
    """

    schema = "mixnet.scaling/1"
    bundle = "scaling"
    sight = "Compare the measured line with the dashed ideal: the distance between them is lost [efficiency]."  # fmt: skip

    def __init__(self, runs: Sequence[Mapping[str, Any]], model: Mapping[str, Any] | None = None):
        checked = [_checked(run) for run in runs]
        if model is None:
            found, note = fit(checked)
        else:
            found, note = _checked_model(model), "the model was given, not fitted"
        if not checked and found is None:
            raise AttributeValueError("runs: nothing was measured; give runs, or a model, or both.")
        payload = {
            "runs": checked,
            "model": found,
            "note": note,
            "ideal": True,
            "sliders": _sliders(checked, found),
        }
        super().__init__(payload, {"y": "throughput"})

    @property
    def model(self) -> dict[str, Any] | None:
        """The fitted or given model; None where there were too few points."""
        return self.payload["model"]

    def predict(self, n: int, batch: float | None = None) -> float:
        """Samples a second that the model expects of ``n`` devices.

        Raises:
            AttributeValueError: there is no model.
        """
        if self.model is None:
            raise AttributeValueError(f"predict: {self.payload['note']}.")
        return throughput(self.model, n, batch)

    def summary(self) -> str:
        told = []
        for run in self.payload["runs"]:
            first, last = run["points"][0], run["points"][-1]
            share = last["thr"] / last["n"] / (first["thr"] / first["n"])
            told.append(
                f"{run['label']} ({run['origin']}): {_digits(last['thr'])} samples/s on {last['n']} devices, "
                f"{share:.0%} of ideal"
            )
        model = self.model
        if model is not None and model.get("error") is not None:
            told.append(f"the fit is off by at most {model['error']:.1%}")
        if model is not None and not told:
            share = throughput(model, 16) / 16 / throughput(model, 1)
            told.append(f"{model_text(model)}; on 16 devices {share:.0%} of ideal")
        return "; ".join(told).replace("\n", " ")

    def table(self) -> tuple[list[str], list[list[Any]]]:
        rows: list[list[Any]] = []
        for run in self.payload["runs"]:
            first = run["points"][0]
            for p in run["points"]:
                share = p["thr"] / p["n"] / (first["thr"] / first["n"])
                expected, error = "", ""
                if self.model is not None and _is_of(self.model, run):
                    value = throughput(self.model, p["n"], run["batch"])
                    expected, error = _digits(value), f"{value / p['thr'] - 1:+.1%}"
                spread = f"{_digits(p['lo'])} … {_digits(p['hi'])}"
                rows.append([run["label"], run["origin"], p["n"], _digits(run["batch"]), _digits(p["thr"]),
                             spread, p["repeat"], f"{share:.1%}", expected, error])  # fmt: skip
        if not rows and self.model is not None:
            for n in (1, 2, 4, 8, 16, 32, 64):
                value = throughput(self.model, n)
                share = value / n / throughput(self.model, 1)
                rows.append(["model", "model", n, _digits(self.model["batch"]), _digits(value), "", "", f"{share:.1%}", _digits(value), ""])  # fmt: skip
        header = ["program", "how", "devices", "batch of a device", "samples/s", "spread", "repeats", "efficiency",
                  "model", "model's error"]  # fmt: skip
        return header, rows

    def svg(self) -> str:
        svg = Svg(980, 405, self.summary())
        svg.text(10, 20, "Scaling", bold=True)
        svg.text(70, 20, self.payload["note"][:140], "f-dim", 11)
        for i, way in enumerate(("throughput", "efficiency")):
            _panel(svg, self.payload, way, 60 + i * 490, 46, 410, 270)
        _legend(svg, self.payload, 60, 372)
        return str(svg)


def _checked(run: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(run, Mapping):
        raise AttributeTypeError(
            f"runs: expected a list of dicts, as measure_scaling returns it, got one of {type(run).__name__}."
        )
    missing = {"label", "origin", "batch", "points"} - set(run)
    if missing or not run["points"]:
        raise AttributeValueError(f"runs: a run has no {', '.join(sorted(missing)) or 'points'}.")
    if run["origin"] not in ORIGINS:
        raise AttributeValueError(f"origin: expected one of {', '.join(ORIGINS)}, got {run['origin']!r}.")  # fmt: skip
    points = []
    for point in sorted(run["points"], key=lambda p: p["n"]):
        if not point["n"] >= 1 or not point["thr"] > 0 or not math.isfinite(point["thr"]):
            raise AttributeValueError(
                f"points: expected n from 1 and thr (samples/s) above 0, got n={point['n']}, thr={point['thr']}."
            )
        whole = {"lo": point["thr"], "hi": point["thr"], "repeat": 1, **point}
        points.append({key: whole[key] for key in ("n", "thr", "lo", "hi", "repeat")})
    kept = {key: run[key] for key in ("label", "origin", "batch")}
    return {**kept, "bytes": run.get("bytes"), "points": points}


def _is_of(model: dict[str, Any], run: dict[str, Any]) -> bool:
    """Whether a model is about a run: one that was fitted is about what it was fitted to."""
    return model["label"] in (None, run["label"]) and model["origin"] in ("model", run["origin"])


def _checked_model(model: Mapping[str, Any]) -> dict[str, Any]:
    known = {*DEFAULTS, "t_compute", "batch", "r2", "error", "label", "origin"}
    unknown, missing = set(model) - known, {"t_compute", "batch"} - set(model)
    if unknown or missing:
        raise AttributeValueError(
            f"model: {'unknown' if unknown else 'missing'} {', '.join(sorted(unknown or missing))}; it has "
            f"{', '.join(sorted(known))}, of which t_compute and batch are needed."
        )
    if not model["t_compute"] > 0 or not model["batch"] > 0:
        raise AttributeValueError("model: t_compute and batch are above 0.")
    return {**DEFAULTS, "r2": None, "error": None, "label": None, "origin": "model", **model}


def _sliders(runs: list[dict[str, Any]], model: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Ranges of the sliders; those with ``log`` are powers of ten."""
    most = max([p["n"] for run in runs for p in run["points"]], default=8)
    batch = model["batch"] if model else runs[0]["batch"]
    size = (
        (model or {}).get("bytes")
        or next((r["bytes"] for r in runs if r.get("bytes")), None)
        or 1e8
    )
    beta = (model or {}).get("beta") or 0.0
    alpha = (model or {}).get("alpha") or 0.0
    overlap = (model or {}).get("overlap") or 0.0

    def log(value: float) -> float:
        return round(math.log10(value), 3)

    return [
        {"id": "devices", "min": 2, "max": max(64, 4 * most), "step": 1, "value": max(2 * most, 2)},
        {"id": "batch", "min": log(batch) - 2, "max": log(batch) + 2, "step": 0.05, "value": log(batch), "log": True, "exact": batch},
        {"id": "bytes", "min": 3, "max": 11, "step": 0.05, "value": log(size), "log": True, "exact": size},
        {"id": "bandwidth", "min": 6, "max": 13, "step": 0.05, "value": log(1 / beta) if beta else 13, "log": True, "off": "no limit"},
        {"id": "latency", "min": -7, "max": 0, "step": 0.05, "value": log(alpha) if alpha else -7, "log": True, "off": "none"},
        {"id": "overlap", "min": 0, "max": 1, "step": 0.05, "value": overlap},
        {"id": "compression", "options": [[factor, name] for factor, name in COMPRESSIONS.items()], "value": 1},
    ]  # fmt: skip


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def base_of(payload: dict[str, Any]) -> float:
    """Samples a second of one device, which the ideal line goes through."""
    for run in payload["runs"]:
        return run["points"][0]["thr"] / run["points"][0]["n"]
    return throughput(payload["model"], 1)


def _panel(
    svg: Svg, payload: dict[str, Any], way: str, x: float, y: float, width: float, height: float
) -> None:
    """Points, fit and ideal line over devices."""
    model, base = payload["model"], base_of(payload)
    most = max([p["n"] for run in payload["runs"] for p in run["points"]], default=16)
    counts = range(1, most + 1)
    efficiency = way == "efficiency"

    def value(thr: float, n: float, of: float) -> float:
        return thr / n / of if efficiency else thr

    tops = [value(p["hi"], p["n"], r["points"][0]["thr"] / r["points"][0]["n"]) for r in payload["runs"] for p in r["points"]]  # fmt: skip
    per = throughput(model, 1) if model is not None else base
    if model is not None:
        tops += [value(throughput(model, n), n, per) for n in counts]
    # Where scaling is poor the ideal line leaves the picture, or one would see nothing else.
    top = max(1.0, *tops) if efficiency else max(*tops, min(base * most, 2.5 * max(tops)))
    top *= 1.06
    floor = y + height

    def place(n: float, level: float) -> tuple[float, float]:
        return x + (n - 1) / max(most - 1, 1) * (width - 16) + 8, floor - level / top * height

    svg.text(x, y - 8, "samples a second" if not efficiency else "efficiency", "f-dim", 11)
    svg.rect(x, y, width, height, "f-bg s-line")
    for level in ticks(0, top, 6):
        text = f"{level:.0%}" if efficiency else _digits(level)
        svg.text(x - 5, place(1, level)[1] + 4, text, "f-dim", 10, "end")
    every = max(1, math.ceil(most / 8))
    for n in counts:
        if n == 1 or n % every == 0:
            svg.text(place(n, 0)[0], floor + 15, str(n), "f-dim", 10, "middle")
    svg.text(x + width, floor + 30, "devices", "f-dim", 11, "end")
    last = most if efficiency else min(most, top / base)
    ideal = place(last, value(base * last, last, base))
    svg.line(*place(1, value(base, 1, base)), *ideal, "s-line", dashed=True)
    if model is not None:
        line = [place(n, value(throughput(model, n), n, per)) for n in counts]
        svg.polyline(line, "s-fg")
    for i, run in enumerate(payload["runs"]):
        of = run["points"][0]["thr"] / run["points"][0]["n"]
        for p in run["points"]:
            at, level = place(p["n"], value(p["thr"], p["n"], of))
            low, high = (place(p["n"], value(p[key], p["n"], of))[1] for key in ("lo", "hi"))
            title = (
                f"{run['label']}, {p['n']} devices: {_digits(p['thr'])} samples/s "
                f"({_digits(p['lo'])} … {_digits(p['hi'])}), {run['origin']}"
            )
            svg.line(at, low, at, high, f"k{i % 8}")
            _mark(svg, run["origin"], at, level, i, title)


def _mark(svg: Svg, origin: str, x: float, y: float, colour: int, title: str | None = None) -> None:
    if origin == "real devices":
        svg.circle(x, y, 4.5, f"m{colour % 8}", title)
    elif origin == "model":
        svg.path(f"M{x - 4},{y - 4}L{x + 4},{y + 4}M{x - 4},{y + 4}L{x + 4},{y - 4}", f"k{colour % 8}", title)  # fmt: skip
    else:
        svg.rect(x - 4, y - 4, 8, 8, f"f-bg k{colour % 8}", title)


def _legend(svg: Svg, payload: dict[str, Any], x: float, y: float) -> None:
    for i, run in enumerate(payload["runs"]):
        _mark(svg, run["origin"], x + 5, y - 4, i)
        text = f"{run['label']}, batch {_digits(run['batch'])}: {run['origin']}"
        svg.text(x + 16, y, text, "f-fg", 11)
        x += 40 + 6.3 * len(text)
    svg.line(x, y - 4, x + 22, y - 4, "s-line", dashed=True)
    svg.text(x + 28, y, "ideal", "f-fg", 11)
    model = payload["model"]
    if model is None:
        return
    svg.polyline([(60, y + 15), (82, y + 15)], "s-fg")
    svg.text(88, y + 19, model_text(model), "f-fg", 11)


def model_text(model: dict[str, Any]) -> str:
    """The model's parameters and how well it fits, in a line."""
    parts = [f"{time_text(step_parts(model, 1)['compute'])} computing"]
    if model["serial"]:
        parts.append(f"{model['serial']:.0%} of it one after another")
    if model["alpha"]:
        parts.append(f"{time_text(model['alpha'])} a message")
    if model["beta"]:
        parts.append(
            f"{size_text(1 / model['beta'])}/s for {size_text(model['bytes'])} of gradients"
        )
    if model["overlap"]:
        parts.append(f"{model['overlap']:.0%} overlap")
    if model["error"] is not None:
        parts.append(f"off by at most {model['error']:.1%}")
    if model["r2"] is not None:
        parts.append(f"r² {model['r2']:.3f}")
    return f"model: {', '.join(parts)}"
