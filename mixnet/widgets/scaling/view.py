"""ScalingView: how throughput grows with devices: measured, fitted and predicted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mixnet.base import AttributeTypeError, AttributeValueError
from mixnet.distributed.measuring import Measured
from mixnet.distributed.transfers import Topology
from mixnet.distributed.transfers import topology as make_topology
from mixnet.units import how_many, share_text, signed_share
from mixnet.widgets.scaling import topology as transfers
from mixnet.widgets.scaling.fit import fit
from mixnet.widgets.scaling.model import COMPRESSIONS, DEFAULTS, throughput
from mixnet.widgets.scaling.picture import (
    LEGEND_LINE,
    ROW,
    bar_rows,
    bars,
    digits_text,
    legend,
    legend_places,
    model_text,
    panel,
)
from mixnet.widgets.sight import sight
from mixnet.widgets.svg import Svg
from mixnet.widgets.view import View
from mixnet.widgets.why.question import Payload

ORIGINS = (
    "real devices",
    "simulated host devices",
    "processes of one machine",
    "published",
    "model",
)
"""How points were obtained; they are drawn differently."""


_OF_POINTS = ("n", "thr", "lo", "hi", "repeat")
_PARTS = ("compute", "exchange", "waiting", "message", "sent")
_DEAREST = 1000  # for a device and an hour

MODEL_SIGHT = (
    "Nothing was measured here: compare the model's line with the line named ideal; the distance "
    "between them is lost [efficiency]."
)


class ScalingView(View):
    """Scaling over devices: measured points with their spread, a fitted model, and sliders for
    what-if questions.

    Throughput is in samples per second, over all devices; efficiency is the throughput of a device
    as a share of that in the smallest measured run. Discs are real devices,
    squares are CPU devices or processes of one machine, crosses are published figures or points
    from another model. Points of ``mx.distributed.measure`` have bars that show where a step's
    seconds go; the model is then calibrated on two of them, and its error on the others is
    shown. The sliders ask the model: workers, batch, bandwidth, latency, compression, servers; with
    one batch per device (weak scaling) or one batch for all (strong scaling); how long an
    epoch takes and what it costs. The model is that of ``mixnet.widgets.scaling.model``; it runs in the
    page. Below, arrows show who sends how many bytes to whom in a step, around a ring, along a
    tree or through parameter servers, for up to 16 devices.

    Args:
        runs: as ``measure_scaling`` or ``mx.distributed.measure`` return them; ``[]`` with a
            model shows the model alone.
        model: parameters in place of fitted ones: ``t_compute`` (seconds of a sample), ``batch``
            (samples of a device), ``bytes`` of gradients, ``alpha`` (seconds of a message),
            ``beta`` (seconds of a byte), ``serial``, ``overlap``, ``jitter`` (seconds by which
            times of workers spread), ``servers`` (0: all-reduce).
        samples: of an epoch, where the slider begins.
        price: of a device for an hour, in any currency, where the slider begins.
        topology: of ``mx.distributed.topology``, with the buckets of a network; by default one
            array of as many bytes as the gradients have.

    Raises:
        AttributeTypeError, AttributeValueError: runs, model or a number have another form.
    """

    schema = "mixnet.scaling/1"
    bundle = "scaling"
    sight = (
        "Compare the measured points with the line named ideal: the distance between them is lost "
        "[efficiency]."
    )

    def __init__(
        self,
        runs: Any,
        model: Mapping[str, Any] | None = None,
        *,
        samples: float = 1e6,
        price: float = 1.0,
        topology: Topology | None = None,
    ):
        checked = [_checked(run) for run in _listed(runs)]
        if not (1 <= samples < 1e12 and 0 <= price <= _DEAREST):
            raise AttributeValueError(
                "samples and price: expected 1 to 1e12 samples per epoch and 0 to "
                f"{_DEAREST} per hour, got "
                f"{samples} and {price}."
            )
        if model is None:
            fitted, note = fit(checked)
        else:
            fitted, note = _checked_model(model), "the model was given, not fitted"
        if not checked and fitted is None:
            raise AttributeValueError("runs: nothing was measured; give runs, or a model, or both.")
        topology_payload = _checked_topology(topology, checked, fitted)
        payload = {
            "runs": checked,
            "model": fitted,
            "note": note,
            "ideal": True,
            "topology": None if topology_payload is None else topology_payload.to_dict(),
            "sliders": [*_sliders(checked, fitted), *_of_epoch(samples, price)],
        }
        first = {} if checked else {"sight": sight(MODEL_SIGHT)}
        super().__init__({**first, **payload}, {"y": "throughput"})

    @property
    def model(self) -> dict[str, Any] | None:
        """The fitted or given model; None if there are too few points."""
        model: dict[str, Any] | None = self.payload["model"]
        return model

    def predict(self, n: int, batch: float | None = None) -> float:
        """Samples per second that the model predicts for ``n`` devices.

        Args:
            batch: samples on each device; that of the model by default.

        Raises:
            AttributeValueError: there is no model.
        """
        if self.model is None:
            raise AttributeValueError(f"predict: {self.payload['note']}.")
        return throughput(self.model, n, batch)

    @classmethod
    def ten_machines(cls) -> ScalingView:
        """The figure of MXNet's paper: a pass over ImageNet took 14,000 s on one machine of four
        GPUs, 1,400 s on ten.

        The model has the paper's numbers: 1,281,167 images, 36 for each GPU, about 50 MB of
        gradients, 10 Gbit/s. It is a weak check: a batch takes 1.57 s to compute, the sum of its
        gradients 0.07 s, so any model with cheap communication agrees.

        Source: Chen et al., "MXNet: a flexible and efficient machine learning library for
            heterogeneous distributed systems", 2015, section 4.
        """
        images, batch = 1_281_167, 4 * 36
        model = {"t_compute": 14_000 / images, "batch": batch, "bytes": 5e7, "beta": 8 / 10e9}
        points = [{"n": 1, "thr": images / 14_000}, {"n": 10, "thr": images / 1_400}]
        run = {"label": "MXNet 2015", "origin": "published", "batch": batch, "points": points}
        view = cls([run], {**model, "label": "MXNet 2015", "origin": "published"}, samples=images)
        view.payload["note"] = (
            "the paper's numbers; computing dominates here, so this is a weak check"
        )
        return view

    def _subjects(self) -> list[tuple[Payload, dict[str, str]]]:
        points = {
            f"{r}/{i}": f"{run['label']}, {how_many(each['n'], 'device')}"
            for r, run in enumerate(self.payload["runs"])
            for i, each in enumerate(run["points"])
        }
        return [(self.payload, points)]

    def summary(self) -> str:
        parts = []
        for run in self.payload["runs"]:
            first, last = run["points"][0], run["points"][-1]
            share = last["thr"] / last["n"] / (first["thr"] / first["n"])
            parts.append(
                f"{run['label']} ({run['origin']}): {digits_text(last['thr'])} samples/s on "
                f"{how_many(last['n'], 'device')}, "
                f"{share_text(round(share, 2))} of ideal"
            )
        model = self.model
        if model is not None and model.get("error") is not None:
            name = "model" if "calibrated" in model else "fit"
            parts.append(f"the {name} is off by at most {share_text(model['error'])}")
        if model is not None and not parts:
            share = throughput(model, 16) / 16 / throughput(model, 1)
            parts.append(
                f"{model_text(model)}; on 16 devices {share_text(round(share, 2))} of ideal"
            )
        return "; ".join(parts).replace("\n", " ")

    def table(self) -> tuple[list[str], list[list[Any]]]:
        rows = [self._row(run, point) for run in self.payload["runs"] for point in run["points"]]
        if not rows and self.model is not None:
            rows = [_row_of_model(self.model, n) for n in (1, 2, 4, 8, 16, 32, 64)]
        return _HEADER, rows

    def _row(self, run: dict[str, Any], point: dict[str, Any]) -> list[Any]:
        """A measured point, beside the model where that is of this program."""
        n, measured, first = point["n"], point["thr"], run["points"][0]
        estimates = ["", "", ""]
        if self.model is not None and _is_of(self.model, run):
            value = throughput(self.model, n, run["batch"])
            estimates = [
                digits_text(value),
                signed_share(value / measured - 1),
                _use(self.model, n),
            ]
        return [
            run["label"],
            run["origin"],
            n,
            digits_text(run["batch"]),
            digits_text(measured),
            f"{digits_text(point['lo'])} … {digits_text(point['hi'])}",
            point["repeat"],
            share_text(measured / n / (first["thr"] / first["n"])),
            *estimates,
        ]

    def svg(self) -> str:
        rows = bar_rows(self.payload)
        lower = LEGEND_LINE * legend_places(self.payload, 920)[-1][2]  # more lines than one
        floor = lower + 405 + (30 + ROW * len(rows) if rows else 0)
        stored = self.payload.get("topology")  # what an older version stored has none
        is_drawn = transfers.is_drawn(stored)
        svg = Svg(980, floor + (transfers.HEIGHT if is_drawn else 0), self.summary())
        svg.text(10, 20, "Scaling", bold=True)
        svg.text(70, 20, self.payload["note"], "f-dim", 11)
        for i, way in enumerate(("throughput", "efficiency")):
            panel(svg, self.payload, way, 60 + i * 490, 46, 410, 270)
        legend(svg, self.payload, 60, 372)
        bars(svg, rows, 60, lower + 420)
        if stored is not None and is_drawn:
            transfers.draw(svg, stored, 60, floor + 20)
        return str(svg)


def _listed(runs: Any) -> list[Any]:
    """Runs as dicts; what was measured by processes is an object with one."""
    if isinstance(runs, (Measured, Mapping)):
        runs = [runs]
    return [each.to_dict() if isinstance(each, Measured) else each for each in runs]


def _checked(run: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(run, Mapping):
        raise AttributeTypeError(
            "runs: expected a list of dicts, as returned by measure_scaling, got a list of "
            f"{type(run).__name__}."
        )
    missing = {"label", "origin", "batch", "points"} - set(run)
    if missing or not run["points"]:
        raise AttributeValueError(f"runs: a run has no {', '.join(sorted(missing)) or 'points'}.")
    if run["origin"] not in ORIGINS:
        raise AttributeValueError(
            f"origin: expected one of {', '.join(ORIGINS)}, got {run['origin']!r}."
        )
    points = []
    for point in sorted(run["points"], key=lambda p: p["n"]):
        if not point["n"] >= 1 or not point["thr"] > 0 or not math.isfinite(point["thr"]):
            raise AttributeValueError(
                f"points: expected n from 1 and thr (samples/s) above 0, got n={point['n']}, "
                f"thr={point['thr']}."
            )
        complete = {"lo": point["thr"], "hi": point["thr"], "repeat": 1, **point}
        points.append({key: complete[key] for key in (*_OF_POINTS, *_PARTS) if key in complete})
    checked = {key: run[key] for key in ("label", "origin", "batch")}
    return {**checked, "bytes": run.get("bytes"), "points": points}


def _use(model: Mapping[str, Any], n: int) -> str:
    """The role of a point in a model that was calibrated on two of them."""
    if "calibrated" not in model:
        return ""
    return "calibrates" if n in model["calibrated"] else "checks"


def _checked_topology(
    topology: Topology | None, runs: list[dict[str, Any]], model: dict[str, Any] | None
) -> Topology | None:
    if topology is not None:
        if not isinstance(topology, Topology):
            raise AttributeTypeError(
                f"topology: expected what mx.distributed.topology returns, not {type(topology).__name__}."
            )
        return topology
    sizes = [(model or {}).get("bytes"), *(run["bytes"] for run in runs)]
    size = next((each for each in sizes if each), None)
    if size is None or not 0 < size < 1e15:
        return None
    most = max((int(p["n"]) for run in runs for p in run["points"]), default=4)
    servers = int((model or {}).get("servers") or 0)
    workers = max(2, min(most, transfers.MOST_WORKERS))
    return make_topology(size, workers, "server" if servers else "ring", servers or 2, in_one=True)


def _is_of(model: dict[str, Any], run: dict[str, Any]) -> bool:
    """Whether a model is about a run: one that was fitted is about what it was fitted to."""
    return model["label"] in (None, run["label"]) and model["origin"] in ("model", run["origin"])


def _checked_model(model: Mapping[str, Any]) -> dict[str, Any]:
    known = {
        *DEFAULTS,
        "t_compute",
        "batch",
        "r2",
        "error",
        "label",
        "origin",
        "calibrated",
        "checked",
    }
    unknown, missing = set(model) - known, {"t_compute", "batch"} - set(model)
    if unknown or missing:
        raise AttributeValueError(
            f"model: {'unknown' if unknown else 'missing'} {', '.join(sorted(unknown or missing))}; it has "
            f"{', '.join(sorted(known))}, of which t_compute and batch are needed."
        )
    if not model["t_compute"] > 0 or not model["batch"] > 0:
        raise AttributeValueError("model: t_compute and batch must be positive.")
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
    jitter = (model or {}).get("jitter") or 0.0

    def log(value: float) -> float:
        return round(math.log10(value), 3)

    def slider(
        name: str, low: float, high: float, step: float, value: float, **more: object
    ) -> Any:
        return {"id": name, "min": low, "max": high, "step": step, "value": value, **more}

    def powers(name: str, low: float, high: float, value: float, **more: object) -> Any:
        return slider(name, low, high, 0.05, value, log=True, **more)

    servers = (model or {}).get("servers") or 0
    return [
        slider("devices", 2, max(64, 4 * most), 1, max(2 * most, 2)),
        powers("batch", log(batch) - 2, log(batch) + 2, log(batch), exact=batch),
        powers("bytes", 3, 11, log(size), exact=size),
        powers("bandwidth", 6, 13, log(1 / beta) if beta else 13, off="no limit"),
        powers("latency", -7, 0, log(alpha) if alpha else -7, off="none"),
        slider("overlap", 0, 1, 0.05, min(overlap, 1)),
        slider("servers", 0, 64, 1, servers, off="all-reduce"),
        powers("jitter", -6, 1, log(jitter) if jitter else -6, off="none"),
        {
            "id": "compression",
            "options": [[factor, name] for factor, name in COMPRESSIONS.items()],
            "value": 1,
        },
    ]


def _of_epoch(samples: float, price: float) -> list[dict[str, Any]]:
    """The time and the price of an epoch: sliders that leave the model as it is."""
    value = round(math.log10(samples), 3)
    return [
        {"id": "samples", "min": 2, "max": 10, "step": 0.05, "value": value, "log": True, "exact": samples},
        {"id": "price", "min": 0, "max": max(20, price), "step": 0.05, "value": price},
    ]  # fmt: skip


_HEADER = ["program", "how", "devices", "batch per device", "samples/s", "spread", "repeats", "efficiency",
           "model", "model's error", "use"]  # fmt: skip


def _row_of_model(model: dict[str, Any], n: int) -> list[Any]:
    value = throughput(model, n)
    speed, batch = digits_text(value), digits_text(model["batch"])
    share = share_text(value / n / throughput(model, 1))
    return ["model", "model", n, batch, speed, "", "", share, speed, "", ""]
