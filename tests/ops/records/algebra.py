"""Records of linear algebra, recurrent networks and attention."""

from __future__ import annotations

import numpy as np

from tests.ops.record import Record

RECORDS = [
    Record(
        "RNN",
        [(3, 2, 3), (56,), (1, 2, 2), (1, 2, 2)],
        {"state_size": 2, "num_layers": 1, "mode": "lstm", "state_outputs": True},
        stored=True,
    ),
    Record(
        "_rnn_param_concat",
        [(3,), (2,)],
        {"dim": 0},
        lambda a, b: np.concatenate([a, b]),
    ),
]
