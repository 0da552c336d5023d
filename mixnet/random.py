"""``mx.random``: the seed, and the functions of ``mx.nd.random``."""

from __future__ import annotations

from mixnet.context import Context
from mixnet.ndarray.random import exponential as exponential
from mixnet.ndarray.random import gamma as gamma
from mixnet.ndarray.random import multinomial as multinomial
from mixnet.ndarray.random import normal as normal
from mixnet.ndarray.random import poisson as poisson
from mixnet.ndarray.random import randint as randint
from mixnet.ndarray.random import randn as randn
from mixnet.ndarray.random import shuffle as shuffle
from mixnet.ndarray.random import uniform as uniform
from mixnet.runtime import keys


def seed(seed_state: int, ctx: Context | str = "all") -> None:
    """Start the random numbers anew, of one context or of all: the same seed, the same numbers."""
    keys.seed(int(seed_state), None if isinstance(ctx, str) else ctx)
