"""Records of the operators behind ``mx.np``; the reference is NumPy's function of that name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from mixnet.ops.math.unary import NUMPY_TWINS
from tests.ops.record import Record
from tests.ops.records import core

_TWO = [(2, 1), (1, 3)]


def _scalar(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: function(x, 1.7)


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: function(1.7, x)


def _arithmetic() -> list[Record]:
    smooth = {
        "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "mod": np.mod,
        "power": np.power, "true_divide": np.true_divide, "hypot": np.hypot,
        "arctan2": np.arctan2, "copysign": np.copysign, "ldexp": lambda x, y: x * 2.0**y,
    }  # fmt: skip
    reflected = ["subtract", "mod", "power", "true_divide", "arctan2", "copysign", "ldexp"]
    records = []
    options: dict[str, Any] = {"low": 0.3, "high": 1.9}
    for name, function in smooth.items():
        records.append(Record(f"_npi_{name}", _TWO, {}, function, **options))
        attrs = {"scalar": 1.7}
        if name != "hypot":
            records.append(
                Record(f"_npi_{name}_scalar", [(2, 3)], attrs, _scalar(function), **options)
            )
        if name in reflected:
            records.append(
                Record(f"_npi_r{name}_scalar", [(2, 3)], attrs, _reflected(function), **options)
            )
    for name in ["equal", "not_equal", "greater", "greater_equal", "less", "less_equal"]:
        function = getattr(np, name)
        records.append(Record(f"_npi_{name}", _TWO, {}, function, gradient=False))
        records.append(
            Record(f"_npi_{name}_scalar", [(2, 3)], {"scalar": 1.7}, _scalar(function),
                   gradient=False)
        )  # fmt: skip
    for name in ["isnan", "isinf", "isposinf", "isneginf", "isfinite", "logical_not"]:
        records.append(Record(f"_npi_{name}", [(2, 3)], {}, getattr(np, name), gradient=False))
    return records


# Whole numbers: tests/numpy/test_dtypes.py compares these with MXNet's own results.
RANDOM = {
    f"_npi_{name}{tail}"
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "lcm")
    for tail in ("", "_scalar")
} | {
    "_npi_bitwise_not",
    # Results whose shape depends on values, and subgraphs: tests/ops/array/test_dynamic.py and
    # test_control_flow.py.
    "_npx_nonzero", "_npi_unique", "_npi_bincount", "_contrib_boolean_mask",
    "_foreach", "_while_loop", "_cond",
}  # fmt: skip


def _plain(op: str, function: Any, of: tuple[int, ...] = (2, 3), **attrs: Any) -> Record:
    return Record(op, [of], attrs, function)


def _without_inputs(op: str, function: Any, **attrs: Any) -> Record:
    return Record(op, [], attrs, lambda: function, gradient=False)


def _twins() -> list[Record]:
    """The functions of one array that mx.np has in operators of its own."""
    return [
        dataclasses.replace(record, op=NUMPY_TWINS[record.op][0])
        for record in core.RECORDS
        if record.op in NUMPY_TWINS
    ]


RECORDS = [
    *_twins(),
    *_arithmetic(),
    Record("_npi_around", [(2, 3)], {"decimals": 1}, lambda x: np.around(x, 1), gradient=False),
    _plain("_npi_nan_to_num", np.nan_to_num),
    _plain("_np_sum", lambda x: x.sum(1), axis=(1,)),
    _plain("_np_prod", lambda x: x.prod()),
    _plain("_np_max", lambda x: x.max(0, keepdims=True), axis=(0,), keepdims=True),
    _plain("_np_min", lambda x: x.min()),
    Record("_np_all", [(2, 3)], {}, lambda x: np.all(x), gradient=False),
    Record("_np_any", [(2, 3)], {"axis": (1,)}, lambda x: np.any(x, 1), gradient=False),
    _plain("_npi_mean", lambda x: x.mean(1), axis=(1,)),
    _plain("_npi_var", lambda x: x.var(1, ddof=1), axis=(1,), ddof=1),
    _plain("_npi_std", lambda x: x.std()),
    Record("_npi_argmax", [(2, 3)], {"axis": 1}, lambda x: x.argmax(1), gradient=False),
    Record("_npi_argmin", [(2, 3)], {}, lambda x: x.argmin(), gradient=False),
    Record("_npi_average", [(2, 3), (2, 3)], {}, lambda a, w: np.average(a, weights=w), 0.2),
    Record("_npi_percentile", [(2, 3), (2,)], {"axis": (1,)}, high=50, low=1, gradient=False,
           reference=lambda a, q: np.percentile(a, q, 1)),
    _plain("_npi_diff", lambda x: np.diff(x, 2), n=2),
    _plain("_npi_ediff1d", lambda x: np.ediff1d(x, 2.0), to_end_scalar=2.0),
    _without_inputs("_npi_zeros", np.zeros(()), shape=()),
    _without_inputs("_npi_ones", np.ones((2, 0)), shape=(2, 0)),
    _without_inputs("_npi_identity", np.eye(3), shape=(3, 3)),
    _without_inputs("_npi_eye", np.eye(2, 4, 1), N=2, M=4, k=1),
    Record("_npi_full_like", [(2, 3)], {"fill_value": 2.5}, lambda x: np.full_like(x, 2.5),
           gradient=False),
    _without_inputs("_npi_arange", np.arange(1, 6, 1.5), start=1, stop=6, step=1.5),
    _without_inputs("_npi_logspace", np.logspace(0, 1, 4, base=2), start=0, stop=1, num=4, base=2.0),
    _without_inputs("_npi_indices", np.indices((2, 3)), dimensions=(2, 3)),
    _without_inputs("_npi_hanning", np.hanning(5), M=5),
    _without_inputs("_npi_hamming", np.hamming(5), M=5),
    _without_inputs("_npi_blackman", np.blackman(5), M=5),
    _plain("_np_reshape", lambda x: x.reshape(3, 2), newshape=(3, -1)),
    _plain("_npx_reshape", lambda x: x.reshape(1, 2, 3), newshape=(-6, 1, 2, -4)),
    _plain("_np_transpose", lambda x: x.transpose(2, 0, 1), (2, 3, 4), axes=(2, 0, 1)),
    _plain("_np_squeeze", lambda x: x.squeeze(1), (2, 1, 3), axis=(1,)),
    _plain("_np_moveaxis", lambda x: np.moveaxis(x, 0, -1), (2, 3, 4), source=(0,),
           destination=(-1,)),
    _plain("_npi_broadcast_to", lambda x: np.broadcast_to(x, (4, 2, 3)), (2, 1), shape=(4, 2, 3)),
    Record("_npi_concatenate", [(2, 3), (1, 3)], {"axis": 0}, lambda *a: np.concatenate(a)),
    Record("_npi_stack", [(2, 3)] * 2, {"axis": 1}, lambda *a: np.stack(a, 1)),
    Record("_npi_vstack", [(3,), (3,)], {}, lambda *a: np.vstack(a)),
    Record("_npi_hstack", [(2, 3), (2, 1)], {}, lambda *a: np.hstack(a)),
    Record("_npi_dstack", [(2, 3)] * 2, {}, lambda *a: np.dstack(a)),
    Record("_npi_column_stack", [(3,), (3, 2)], {}, lambda *a: np.column_stack(a)),
    _plain("_npi_hsplit", lambda x: tuple(np.hsplit(x, 3)), indices=(), sections=3),
    _plain("_npi_dsplit", lambda x: tuple(np.dsplit(x, 2)), (2, 3, 4), indices=(), sections=2),
    _plain("_npi_flip", lambda x: np.flip(x, 1), axis=(1,)),
    _plain("_npi_rot90", np.rot90),
    _plain("_np_roll", lambda x: np.roll(x, 2), shift=(2,)),
    _plain("_npi_tril", lambda x: np.tril(x, -1), k=-1),
    _plain("_np_trace", lambda x: np.trace(x), (3, 3)),
    _plain("_np_diagonal", lambda x: np.diagonal(x, 1), offset=1),
    _plain("_np_diag", lambda x: np.diag(x, 1), (3,), k=1),
    _plain("_np_diagflat", lambda x: np.diagflat(x)),
    Record("_npi_diag_indices_from", [(3, 3)], {}, gradient=False,
           reference=lambda x: np.stack(np.diag_indices_from(x))),
    Record("_np_atleast_1d", [()], {}, np.atleast_1d),
    Record("_np_atleast_2d", [(3,)], {}, np.atleast_2d),
    Record("_np_atleast_3d", [(2, 3)], {}, np.atleast_3d),
    _plain("_np_copy", np.copy),
    Record("_np_dot", [(2, 3), (4, 3, 2)], {}, np.dot),
    _plain("_npi_pad", lambda x: np.pad(x, ((1, 0), (0, 2)), "reflect"),
           pad_width=((1, 0), (0, 2)), mode="reflect"),
    Record("_npi_where", [(2, 1), (2, 3), (3,)], {}, np.where, integers={0: 2}),
    Record("_npi_where_lscalar", [(2, 1), (2, 3)], {"scalar": 2.5}, integers={0: 2},
           reference=lambda c, x: np.where(c, 2.5, x)),
    Record("_npi_where_rscalar", [(2, 1), (2, 3)], {"scalar": 2.5}, integers={0: 2},
           reference=lambda c, y: np.where(c, y, 2.5)),
    Record("_npi_where_scalar2", [(2, 3)], {"x": 2.5, "y": -1}, gradient=False, integers={0: 2},
           reference=lambda c: np.where(c, 2.5, -1)),
    _plain("_npi_delete", lambda x: np.delete(x, 1, 1), int_ind=1, axis=1),
    _plain("_npi_insert_scalar", lambda x: np.insert(x, 1, 2.5, 1), int_ind=1, axis=1, val=2.5),
    Record("_npi_insert_slice", [(2, 4), (2, 2)], {"start": 0, "stop": 4, "step": 2, "axis": 1},
           lambda x, v: np.insert(x, slice(0, 4, 2), v, 1)),
    Record("_npi_insert_tensor", [(5,), (2,), (2,)], {}, integers={2: 5},
           reference=lambda x, v, at: np.insert(x, at.astype(int), v)),
    Record("_npi_share_memory", [(2,), (2,)], {}, lambda a, b: np.array(False), gradient=False),
    Record("_npx_constraint_check", [(0,)], {}, lambda x: np.all(x), gradient=False,
           integers={0: 2}, dtypes={0: "bool"}),
    Record("_npi_boolean_mask_assign_scalar", [(2, 3), (2, 3)], {"value": 2.5}, integers={1: 2},
           reference=lambda x, m: np.where(m, 2.5, x)),
    Record("_npi_boolean_mask_assign_tensor", [(4, 3), (4,), (1,)], {}, integers={1: 2},
           reference=lambda x, m, v: np.where(m[:, None], v, x)),
    Record("_contrib_getnnz", [(2, 3)], {}, lambda x: np.array([np.count_nonzero(x)]), gradient=False,
           integers={0: 2}),
]  # fmt: skip
