"""Operators derived from update rules: in mixed precision, for several weights, with rates in an array."""

from __future__ import annotations

from mixnet.ops.op import Op
from mixnet.ops.update.adaptive import adamw_update
from mixnet.ops.update.gradient_descent import nag_mom_update, sgd_mom_update, sgd_update
from mixnet.ops.update.layerwise import lamb_step, lamb_update_phase1, lamb_update_phase2
from mixnet.ops.update.variants import mixed_precision, preloaded, several

mp_sgd_update = mixed_precision("mp_sgd_update", sgd_update)
mp_sgd_mom_update = mixed_precision("mp_sgd_mom_update", sgd_mom_update)
mp_nag_mom_update = mixed_precision("mp_nag_mom_update", nag_mom_update)
mp_adamw_update = mixed_precision("_mp_adamw_update", adamw_update)
mp_lamb_update_phase1 = mixed_precision("mp_lamb_update_phase1", lamb_update_phase1, False)
mp_lamb_update_phase2 = mixed_precision("mp_lamb_update_phase2", lamb_update_phase2)

for _rule in (sgd_update, sgd_mom_update, mp_sgd_update, mp_sgd_mom_update):
    several(f"multi_{_rule.name}", _rule, order=("lrs", "wds"))
    preloaded(f"preloaded_multi_{_rule.name}", _rule)

_LISTS = {"lr": "lrs", "wd": "wds", "eta": "etas"}
several("_multi_adamw_update", adamw_update, plural=_LISTS, in_amp_lists=False)
several("_multi_mp_adamw_update", mp_adamw_update, plural=_LISTS, in_amp_lists=False)

# MXNet has no operator for a whole step of LAMB on one weight.
_lamb_update = Op("lamb_update", lamb_step, states=["mean", "var"])
_LISTS = {"learning_rate": "learning_rates", "wd": "wds", "step_count": "step_count"}
several("_multi_lamb_update", _lamb_update, plural=_LISTS, count="num_tensors", in_amp_lists=False)
several(
    "_multi_mp_lamb_update",
    mixed_precision("mp_lamb_update", _lamb_update, listed=False),
    plural=_LISTS,
    count="num_tensors",
    in_amp_lists=False,
)
