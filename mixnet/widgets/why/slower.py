"""Why slower than the model? Answered by comparing the parts of a measured step with the model's."""

from __future__ import annotations

from collections.abc import Iterator

from mixnet.units import how_many, time_text
from mixnet.widgets.scaling.model import step_parts
from mixnet.widgets.why.question import Payload, question

LEAST = 0.02
"""Smaller differences, as a share of a step, are noise and are not explained."""


@question("mixnet.scaling/1", "slower", "Why slower than the model?")
def slower(payload: Payload) -> Iterator[tuple[str, list[str]]]:
    """For points slower than the model of their run, by run number and point number: ``0/2``."""
    model = payload["model"]
    if model is None:
        return
    for r, run in enumerate(payload["runs"]):
        if model["label"] not in (None, run["label"]) or model["origin"] not in (
            "model",
            run["origin"],
        ):
            continue
        for i, point in enumerate(run["points"]):
            n = point["n"]
            measured, parts = n * run["batch"] / point["thr"], step_parts(model, n, run["batch"])
            late = measured - parts["step"]
            if late < LEAST * measured:
                continue
            text = (
                f"A step on {how_many(n, 'device')} took {time_text(measured)}, the model predicts "
                f"{time_text(parts['step'])}: {time_text(late)} more."
            )
            if "compute" not in point:
                yield (
                    f"{r}/{i}",
                    [
                        text,
                        "Only the whole step was measured; mx.distributed.measure records its parts "
                        "too.",
                    ],
                )
                continue
            expected = {
                "computing": parts["compute"] + parts["serial"],
                "waiting for the slowest worker": parts["waiting"],
                "the exchange of gradients": parts["latency"] + parts["transfer"] + parts["hidden"],
            }
            took = dict(
                zip(expected, (point["compute"], point["waiting"], point["exchange"]), strict=True)
            )
            more = sorted(took, key=lambda name: expected[name] - took[name])
            sentences = [
                (
                    f"{name}: {time_text(max(took[name], 0))} measured, {time_text(expected[name])} "
                    "predicted by the model"
                )
                for name in more
            ]
            if took[more[0]] > expected[more[0]]:
                text += f" Most of it is {more[0]}."
            yield f"{r}/{i}", [text, *(f"{each}." for each in sentences)]
