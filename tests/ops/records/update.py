"""Records of the update rules of optimizers; stored results of MXNet are most rules' reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.record import Record


def _rule(name: str, arrays: int, reference: Any = None, **attrs: Any) -> Record:
    return Record(name, [(2, 3)] * arrays, attrs, reference, low=0.1, gradient=False,
                  stored=reference is None)  # fmt: skip


def _adagrad(w: Any, g: Any, h: Any) -> Any:
    return w - 0.1 * g / np.sqrt(h + g * g + 1e-7)


def _group_adagrad(w: Any, g: Any, h: Any) -> Any:
    return w - 0.1 * g / np.sqrt(h + (g * g).mean(1, keepdims=True) + 1e-5)


_LISTS = {"lrs": (0.1, 0.2), "wds": (0.01, 0.0), "num_weights": 2}
_LAMB = {"learning_rates": (0.1,), "wds": (0.1,), "step_count": (2,)}

RECORDS = [
    _rule("nag_mom_update", 3, lr=0.1, momentum=0.9),
    _rule("signsgd_update", 2, lambda w, g: w - 0.1 * np.sign(g), lr=0.1),
    _rule("signum_update", 3, lr=0.1),
    _rule("rmsprop_update", 3, lr=0.1),
    Record("rmspropalex_update", [(3,)] * 5, {"lr": 0.1, "epsilon": 1.0}, stored=True, low=0.1,
           gradient=False),
    _rule("ftrl_update", 4, lr=0.1),
    _rule("ftml_update", 5, lr=0.1, t=2),
    _rule("_adamw_update", 5, lr=0.1, eta=1.0),
    _rule("_mp_adamw_update", 6, lr=0.1, eta=1.0),
    _rule("_sparse_adagrad_update", 3, _adagrad, lr=0.1),
    Record("_contrib_group_adagrad_update", [(3, 2), (3, 2), (3, 1)], {"lr": 0.1}, _group_adagrad,
           low=0.1, gradient=False),
    _rule("lamb_update_phase1", 4, t=2, wd=0.1),
    _rule("mp_lamb_update_phase1", 5, t=2, wd=0.1),
    Record("lamb_update_phase2", [(3,), (3,), (1,), (1,)], {"lr": 0.1}, low=0.1, gradient=False,
           reference=lambda w, g, a, b: w - 0.1 * a / b * g),
    Record("mp_lamb_update_phase2", [(3,), (3,), (1,), (1,), (3,)], {"lr": 0.1}, low=0.1,
           gradient=False, reference=lambda w, g, a, b, w32: w32 - 0.1 * a / b * g),
    _rule("mp_sgd_update", 3, lambda w, g, w32: w32 - 0.1 * g, lr=0.1),
    _rule("mp_sgd_mom_update", 4, lr=0.1, momentum=0.9),
    _rule("mp_nag_mom_update", 4, lr=0.1, momentum=0.9),
    _rule("multi_sgd_update", 4, lambda v, g, w, h: (v - 0.1 * (g + 0.01 * v), w - 0.2 * h),
          **_LISTS),
    _rule("multi_sgd_mom_update", 6, **_LISTS),
    _rule("multi_mp_sgd_update", 6, **_LISTS),
    _rule("multi_mp_sgd_mom_update", 8, **_LISTS),
    *(Record(f"preloaded_multi_{mp}sgd_{mom}update",
             [(2, 3)] * (2 + bool(mp) + bool(mom)) + [(1,)] * 2, {}, stored=True, gradient=False)
      for mp in ("", "mp_") for mom in ("", "mom_")),
    *(Record(f"_multi_{mp}adamw_update", [(2, 3)] * (4 + bool(mp)) + [(1,)],
             {"lrs": (0.1,), "wds": (0.1,), "etas": (1.0,)}, stored=True, low=0.1, gradient=False)
      for mp in ("", "mp_")),
    *(_rule(f"_multi_{mp}lamb_update", 4 + bool(mp), **_LAMB) for mp in ("", "mp_")),
    Record("multi_sum_sq", [(2, 3), (4,)], {"num_arrays": 2}, gradient=False,
           reference=lambda x, y: np.array([(x * x).sum(), (y * y).sum()])),
    _rule("multi_lars", 4, eta=0.5, eps=0.01),
    Record("all_finite", [(2, 3)], {}, lambda x: np.ones(1), gradient=False),
    Record("multi_all_finite", [(2, 3), (4,)], {"num_arrays": 2}, lambda x, y: np.ones(1),
           gradient=False),
    Record("reset_arrays", [(2, 3), (4,)], {"num_arrays": 2}, lambda x, y: (), gradient=False),
]  # fmt: skip
