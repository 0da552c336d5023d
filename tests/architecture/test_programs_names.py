"""Classes that programs derive from leave names to them: a program's ``self._cache`` replaces none of ours."""

from __future__ import annotations

import pytest

import mixnet as mx
from mixnet import gluon

PREFIX = "_mx_"

_BLOCK = frozenset(
    "_active _alias _cached_graph _check_container_with_block _children _collect_params_with_prefix "
    "_empty_prefix _forward_hooks _forward_pre_hooks _name _params _prefix _reg_params _scope".split()
)
_HYBRID_BLOCK = _BLOCK | set(
    "_backend _call_cached_op _clear_cached_op _deferred_infer_shape _flags _get_graph".split()
)
_CELL = frozenset("_counter _get_activation _init_counter _modified".split())

NAMES = [
    (gluon.Block(), _BLOCK),
    (gluon.HybridBlock(), _HYBRID_BLOCK),
    (gluon.rnn.RecurrentCell(), _BLOCK | _CELL),
    (gluon.rnn.HybridRecurrentCell(), _HYBRID_BLOCK | _CELL),
    (gluon.loss.Loss(None, 0), _HYBRID_BLOCK | {"_batch_axis", "_weight"}),
    (mx.metric.EvalMetric("metric"), {"_has_global_stats", "_kwargs"}),
    (
        mx.optimizer.Optimizer(),
        set(
            "_all_index_update_counts _get_lr _get_lrs _get_wd _get_wds _index_update_count "
            "_set_current_context _update_count".split()
        ),
    ),
    (
        mx.init.Initializer(),
        set(
            "_init_beta _init_bias _init_bilinear _init_default _init_gamma _init_loc_bias _init_one "
            "_init_quantized_bias _init_quantized_weight _init_weight _init_zero _kwargs "
            "_legacy_init _print_func _verbose".split()
        ),
    ),
    (mx.mod.BaseModule(), {"_symbol", "_total_exec_bytes"}),
    (mx.rnn.BaseRNNCell(), _CELL | {"_cells", "_gate_names", "_own_params", "_params", "_prefix"}),
    (mx.image.Augmenter(), {"_kwargs"}),
    (mx.autograd.Function(), {"_used"}),
    (mx.lr_scheduler.LRScheduler(), set()),
    (mx.operator.CustomOp(), set()),
    (mx.operator.CustomOpProp(), set()),
    (mx.io.DataIter(), set()),
]
"""Objects of the classes, and the private names that they have in MXNet 1.9.1, too."""


@pytest.mark.parametrize(
    ("target", "names"), NAMES, ids=[type(target).__name__ for target, _ in NAMES]
)
def test_private_names_have_the_prefix(target: object, names: set[str]) -> None:
    own = {each for each in dir(target) if each.startswith("_") and not each.startswith("__")}
    assert {each for each in own - names if not each.startswith(PREFIX)} == set()
