"""A model of the time of a data-parallel step on n devices or machines, with few parameters.

A step on n devices with a batch of b samples each takes

    T(n, b) = b · t_compute · (1 + serial · (n - 1)) + jitter · (H(n) - 1) + exposed(exchange)

``serial`` is the share of a device's computation that the devices do one after another: 0 on
devices of their own, towards 1 where they share the cores of a host. ``jitter`` is for the
slowest: where times of workers spread exponentially by ``jitter`` seconds, the slowest of n is
behind the mean by jitter · (H(n) - 1), with H(n) = 1 + 1/2 + ... + 1/n. The gradients of S bytes
are summed by a ring: 2 (n - 1) messages of S / n bytes,

    all-reduce = 2 (n - 1) · alpha + 2 (n - 1) / n · S · beta

with ``alpha`` the seconds of a message, ``beta`` the seconds of a byte (the inverse of the
bandwidth). Half precision halves S, PowerSGD divides it by more. Words of one or two bits cannot
be added on the way: every device gathers those of all others, (n - 1) · alpha + (n - 1) · S / 16
· beta (or / 32), which for 32 (64) devices is no less. With ``servers``, a step pushes
gradients, compressed or not, and pulls parameters, never compressed; the way of a worker or that
of a server is the limit, whichever has more to carry, and nobody waits for the slowest:

    exchange = 2 · alpha + (1 / compression + 1) · max(1, n / servers) · S · beta

Of the exchange ``overlap`` times the computation is hidden behind it.

Sources: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009, for the ring;
Hockney, 1994, for alpha and beta; any textbook for the largest of n exponential times.
"""

from __future__ import annotations

from typing import Any

COMPRESSIONS = {1: "none", 2: "float16", 16: "2bit", 32: "1bit", 100: "PowerSGD"}
"""Factors by which gradients may be smaller; that of PowerSGD depends on rank and shapes."""

_GATHERED = (16, 32)  # words that cannot be added on the way
_SUMMED_ONLY = 100  # what PowerSGD sends means something when it is summed over all

DEFAULTS = {
    "serial": 0.0,
    "alpha": 0.0,
    "beta": 0.0,
    "bytes": 0.0,
    "overlap": 0.0,
    "jitter": 0.0,
    "servers": 0,
}
"""Defaults of a model; ``servers`` 0 is an all-reduce."""


def behind(n: int) -> float:
    """How far the slowest of n exponential times is behind their mean, in units of it: H(n) - 1."""
    return sum(1 / k for k in range(2, int(n) + 1))


def exchange_parts(model: dict[str, Any], n: int, compression: int = 1) -> tuple[float, float]:
    """Seconds of latency and of transfer of an exchange, none of it hidden.

    Args:
        model: with all of :data:`DEFAULTS`.
        n: devices.
        compression: one of :data:`COMPRESSIONS`.
    """
    alpha, sent = model["alpha"], model["bytes"] * model["beta"]
    if model["servers"]:
        pushed = 1 if compression == _SUMMED_ONLY else 1 / compression
        return 2 * alpha, (pushed + 1) * max(1, n / model["servers"]) * sent
    if compression in _GATHERED:
        return (n - 1) * alpha, (n - 1) * sent / compression
    return 2 * (n - 1) * alpha, 2 * (n - 1) / n * sent / compression


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
        ``compute``, ``serial``, ``waiting`` (for the slowest), ``latency``, ``transfer`` (of the
        exchange, what is not hidden), ``hidden``, and ``step``, the sum of all but what is
        hidden.
    """
    m = {**DEFAULTS, **model}
    compute = m["t_compute"] * (m["batch"] if batch is None else batch)
    latency, transfer = exchange_parts(m, n, compression)
    exchange = latency + transfer
    hidden = min(exchange, m["overlap"] * compute)
    shown = 0.0 if exchange == 0 else 1 - hidden / exchange
    parts = {
        "compute": compute,
        "serial": compute * m["serial"] * (n - 1),
        "waiting": 0.0 if m["servers"] else m["jitter"] * behind(n),
        "latency": latency * shown,
        "transfer": transfer * shown,
    }
    return {**parts, "hidden": hidden, "step": sum(parts.values())}


def throughput(model: dict[str, Any], n: int, batch: float | None = None) -> float:
    """Samples a second on ``n`` devices."""
    samples = n * (model["batch"] if batch is None else batch)
    return samples / step_parts(model, n, batch)["step"]
