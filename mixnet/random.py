"""``mx.random``: the seed, and the functions of ``mx.nd.random``."""

from __future__ import annotations

if __name__ == "random":  # Python looks for its own module in this folder
    raise ImportError(
        "Python runs in the folder mixnet/, whose files hide modules of the standard library (random). "
        "Start it in another folder, or as python -P."
    )

import numbers

from mixnet.base import AttributeValueError, ContextError
from mixnet.context import Context
from mixnet.ndarray.random import exponential as exponential
from mixnet.ndarray.random import gamma as gamma
from mixnet.ndarray.random import generalized_negative_binomial as generalized_negative_binomial
from mixnet.ndarray.random import multinomial as multinomial
from mixnet.ndarray.random import negative_binomial as negative_binomial
from mixnet.ndarray.random import normal as normal
from mixnet.ndarray.random import poisson as poisson
from mixnet.ndarray.random import randint as randint
from mixnet.ndarray.random import randn as randn
from mixnet.ndarray.random import shuffle as shuffle
from mixnet.ndarray.random import uniform as uniform
from mixnet.runtime.record import keys


def seed(seed_state: int, ctx: Context | str = "all") -> None:
    """Restart the random numbers: the same seed, the same numbers.

    Args:
        seed_state: any whole number.
        ctx: the context to start anew; the numbers are then those of every context of its kind
            with that seed. By default all of them, each with numbers of its own.

    Raises:
        AttributeValueError: ``seed_state`` is not a whole number.
    """
    if not isinstance(seed_state, numbers.Integral):
        raise AttributeValueError(f"seed: seed_state={seed_state!r} is not a whole number.")
    if isinstance(ctx, str):
        if ctx != "all":
            raise ContextError(
                f"seed: ctx={ctx!r} is neither 'all' nor a context such as mx.cpu(0)."
            )
        keys.seed(int(seed_state))
    else:
        keys.seed(int(seed_state), Context(ctx))
