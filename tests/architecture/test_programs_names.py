"""Classes that programs derive from leave names to them: a program's own ``_cache`` replaces none of ours."""

from __future__ import annotations

import pytest

import mixnet as mx
from mixnet import gluon

PREFIX = "_mx_"

_BLOCK = (
    "_active _alias _cached_graph _check_container_with_block _children _collect_params_with_prefix "
    "_empty_prefix _forward_hooks _forward_pre_hooks _name _params _prefix _reg_params _scope"
)
_HYBRID_BLOCK = (
    f"{_BLOCK} _backend _build_cache _cached_op _call_cached_op _clear_cached_op "
    f"_deferred_infer_shape _flags _get_graph"
)
_LSTM = (
    "_dir _dropout _dtype _gates _hidden_size _input_size _layout _mode _num_layers "
    "_projection_size _unfuse _use_sequence_length"
)
_LOADER = (
    "_batch_sampler _batchify_fn _dataset _iter _num_workers _pin_device_id _pin_memory _prefetch "
    "_thread_pool _timeout _worker_pool"
)
_MODULE = (
    "_arg_params _aux_names _aux_params _compression_params _context _data_names _data_shapes "
    "_exec_group _fixed_param_names _grad_req _group2ctxs _kvstore _label_names _label_shapes "
    "_optimizer _output_names _param_names _params_dirty _preload_opt_states _reset_bind "
    "_state_names _symbol _sync_params_from_devices _total_exec_bytes _update_on_kvstore _updater "
    "_work_load_list"
)
_CELL = "_counter _get_activation _init_counter _modified"
_OPTIMIZER = (
    "_all_index_update_counts _get_lr _get_lrs _get_wd _get_wds _index_update_count "
    "_set_current_context _update_count"
)
_INITIALIZER = (
    "_init_beta _init_bias _init_bilinear _init_default _init_gamma _init_loc_bias _init_one "
    "_init_quantized_bias _init_quantized_weight _init_weight _init_zero _kwargs _legacy_init "
    "_print_func _verbose"
)

NAMES = [
    (gluon.Block(), _BLOCK),
    (gluon.HybridBlock(), _HYBRID_BLOCK),
    (gluon.rnn.RecurrentCell(), f"{_BLOCK} {_CELL}"),
    (gluon.rnn.HybridRecurrentCell(), f"{_HYBRID_BLOCK} {_CELL}"),
    (gluon.loss.Loss(None, 0), f"{_HYBRID_BLOCK} _batch_axis _weight"),
    (gluon.nn.Dense(1), f"{_HYBRID_BLOCK} _flatten _in_units _units"),
    (gluon.nn.Conv2D(1, 1), f"{_HYBRID_BLOCK} _channels _in_channels _kwargs _op_name"),
    (gluon.rnn.LSTM(1), f"{_HYBRID_BLOCK} {_LSTM}"),
    (gluon.data.DataLoader([1], 1), _LOADER),
    (mx.metric.Accuracy(), "_has_global_stats _kwargs"),
    (mx.metric.EvalMetric("metric"), "_has_global_stats _kwargs"),
    (mx.optimizer.Optimizer(), _OPTIMIZER),
    (mx.optimizer.SGD(), f"{_OPTIMIZER} _update_impl"),
    (mx.init.Initializer(), _INITIALIZER),
    (mx.mod.BaseModule(), "_symbol _total_exec_bytes"),
    (mx.mod.Module(mx.sym.var("data"), label_names=None), _MODULE),
    (mx.io.NDArrayIter(mx.nd.ones((1,))), "_batchify _getdata"),
    (mx.rnn.BaseRNNCell(), f"{_CELL} _cells _gate_names _own_params _params _prefix"),
    (mx.image.Augmenter(), "_kwargs"),
    (mx.autograd.Function(), "_used"),
    (mx.lr_scheduler.LRScheduler(), ""),
    (mx.operator.CustomOp(), ""),
    (mx.operator.CustomOpProp(), ""),
    (mx.io.DataIter(), ""),
]
"""Objects of the classes, and the private names that they have in MXNet 1.9.1, too."""


@pytest.mark.parametrize(
    ("target", "names"), NAMES, ids=[type(target).__name__ for target, _ in NAMES]
)
def test_private_names_have_the_prefix(target: object, names: str) -> None:
    own = {each for each in dir(target) if each.startswith("_") and not each.startswith("__")}
    assert {each for each in own - set(names.split()) if not each.startswith(PREFIX)} == set()
