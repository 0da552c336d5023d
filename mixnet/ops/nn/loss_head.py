"""Loss heads: operators whose gradient is that of a loss, whatever the head gradient is."""

from __future__ import annotations

import math
from typing import Any, Literal

import jax
import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.array.plain import shaped
from mixnet.ops.nn.softmax import softmax_along
from mixnet.ops.registry import op
from mixnet.ops.schema import storage_rules
from mixnet.ops.schema.attributes import Share
from mixnet.ops.schema.rewrites import COPY, Rewrites
from mixnet.ops.schema.shape_constraints import same_as_first

Normalization = Literal["batch", "null", "valid"]


@op(
    "SoftmaxOutput",
    floats=True,
    is_loss=True,
    aliases=["Softmax"],
    labels=["label"],
    flops=4,
    recomputed="asked",
    precision="full",
    shape_constraint=same_as_first,
)
def softmax_output(
    data,
    label,
    *,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Normalization = "null",
    out_grad: bool = False,
    smooth_alpha: Share = 0.0,
):
    """Softmax; its gradient is that of the cross entropy with ``label``.

    Args:
        data: ``(batch, classes)``, or ``(batch, classes, ...)`` with ``multi_output``.
        label: class numbers, ``(batch,)`` or ``(batch, ...)``; or probabilities, as ``data``.
        normalization: what the gradient is divided by: nothing ("null"), the number of labels ("batch"), or
            that of labels other than ``ignore_label`` ("valid"). With ``multi_output`` it is divided by the
            labels of a sample ("null"), by all ("batch"), or as above ("valid").
        smooth_alpha: probability that is spread over the other classes; not with ``multi_output``.

    Raises:
        ShapeError: there are fewer labels than softmaxes.

    Source: MXNet operator ``SoftmaxOutput``.
    """
    needed = _softmax_label(data.shape, label.shape, multi_output)
    if label.shape != needed:
        raise ShapeError(
            f"SoftmaxOutput: label {label.shape} has {label.size} class numbers, data {data.shape} needs "
            f"{math.prod(needed)}, of shape {needed}; or give probabilities of the shape of data."
        )
    if multi_output:
        return softmax_along(data, 1)
    if preserve_shape:
        return softmax_along(data, -1)
    rows = shaped(data, (data.shape[0], math.prod(data.shape[1:])))
    return shaped(softmax_along(rows, -1), data.shape)


@softmax_output.infer_inputs
def _(data, label, *, multi_output):
    return {"label": _softmax_label(data, label, multi_output)}


def _softmax_label(data: Any, label: Any, multi_output: bool) -> Any:
    """The shape of the label: as given, if it may be."""
    if not multi_output:
        return label if label == data else data[:-1]
    # MXNet makes a flat label where nothing is known, and takes any of these.
    accepted = data, (data[0], *data[2:]), (data[0], 1, *data[2:])
    return label if label in accepted else (data[0], math.prod(data[2:]))


@softmax_output.set_gradient
def _(
    head,
    out,
    data,
    label,
    *,
    grad_scale,
    ignore_label,
    multi_output,
    use_ignore,
    preserve_shape,
    normalization,
    out_grad,
    smooth_alpha,
):
    # A loss head by contract: the incoming gradient is ignored unless out_grad asks for it.
    if label.shape == out.shape:
        return (out - label) * grad_scale * (head if out_grad else 1), None
    shape = out.shape
    axis = 1 if multi_output else -1
    if not (multi_output or preserve_shape):
        out = out.reshape(shape[0], -1)
    spread = jnp.moveaxis(out, axis, -1)
    classes = spread.shape[-1]
    # One class number for each softmax; MXNet takes the first ones where there are more.
    count = spread.size // classes
    numbers = label.reshape(-1)[:count].reshape(spread.shape[:-1])
    hot = jax.nn.one_hot(numbers.astype(jnp.int32), classes, dtype=out.dtype)
    if smooth_alpha and not multi_output:
        hot = hot * (1 - smooth_alpha) + (1 - hot) * smooth_alpha / (classes - 1)
    gradient = spread - hot
    counted = (numbers != ignore_label).astype(out.dtype)
    if use_ignore:
        gradient = gradient * counted[..., None]
    gradient = jnp.moveaxis(gradient, -1, axis).reshape(shape)
    if out_grad:
        gradient = gradient * head
    divisor: jax.Array | float = 1.0
    if normalization == "batch":
        divisor = float(shape[0] if multi_output else label.size)
    elif normalization == "valid":
        considered = numbers if multi_output else label
        divisor = jnp.maximum((considered != ignore_label).astype(out.dtype).sum(), 1)
    if multi_output and normalization != "valid":
        divisor = divisor * (numbers.size // shape[0])
    return gradient * (grad_scale / divisor), None


def _regression_label(data: Any, label: Any) -> Any:
    """The shape of the label: as given, if it may be."""
    if label and label[0] == data[0] and math.prod(label) == math.prod(data):
        return label
    return data[:1] if len(data) == 2 and data[1] == 1 else data


def _regression(name: str, text: str, forward: Any, slope: Any) -> None:
    def regression(data, label, *, grad_scale: float = 1.0):
        if not data.ndim:
            raise ShapeError(f"{name}: data must have an axis of samples, not the shape ().")
        needed = _regression_label(data.shape, label.shape)
        if label.shape != needed:
            raise ShapeError(
                f"{name}: label {label.shape} must be {needed}, as data is {data.shape}."
            )
        return forward(data)

    regression.__doc__ = (
        f"{text}\n\nArgs:\n    data: ``(batch, ...)``.\n    label: of the same batch, with as many elements."
        f"\n\nSource: MXNet operator ``{name}``."
    )
    operator = op(
        name,
        floats=True,
        one_dtype=True,
        is_loss=True,
        aliases=[f"_sparse_{name}"],
        labels=["label"],
        precision="full",
        shape_constraint=same_as_first,
    )(regression)

    @operator.infer_inputs
    def _(data, label):
        return {"label": _regression_label(data, label)}

    @operator.set_gradient
    def _(head, out, data, label, *, grad_scale):
        # Averaged over the elements of a sample, summed over the batch.
        per_sample = max(1, label.size // label.shape[0])
        return slope(out, label.reshape(out.shape)) * (grad_scale / per_sample), None


_regression(
    "LinearRegressionOutput",
    "The data; its gradient is that of half the squared error to ``label``.",
    lambda data: data,
    lambda out, label: out - label,
)
_regression(
    "LogisticRegressionOutput",
    "The sigmoid; its gradient is that of the cross entropy with ``label``.",
    jax.nn.sigmoid,
    lambda out, label: out - label,
)
_regression(
    "MAERegressionOutput",
    "The data; its gradient is that of the absolute error to ``label``.",
    lambda data: data,
    lambda out, label: jnp.where(out > label, 1, -1),  # -1 where they are equal, too
)


_ONLY_GRADIENT = Rewrites(only_gradient=True, keeps_dtype=True)


@op("MakeLoss", floats=True, is_loss=True, rewrites=_ONLY_GRADIENT, precision="full")
def make_loss_output(
    data,
    *,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Normalization = "null",
):
    """The data as a loss: its gradient is ``grad_scale`` everywhere, whatever gradient arrives from above.

    Args:
        data: values of a loss.
        normalization: what the gradient is divided by: nothing ("null"), the product of all extents but the
            last ("batch"; 1 for a vector), or the number of elements above ``valid_thresh`` ("valid").

    Source: MXNet operator ``MakeLoss``.
    """
    return data


@make_loss_output.set_gradient
def _(head, out, data, *, grad_scale, valid_thresh, normalization):
    divisor: jax.Array | float = 1.0
    if normalization == "batch":
        divisor = math.prod(data.shape[:-1])  # rows, as MXNet counts them
    elif normalization == "valid":
        divisor = jnp.maximum((data > valid_thresh).sum(), 1)
    return (jnp.full(data.shape, grad_scale, data.dtype) / divisor,)


@op(
    "make_loss",
    output_names=("loss",),
    is_loss=True,
    rewrites=_ONLY_GRADIENT,
    precision="full",
    aliases=["_sparse_make_loss"],
    storage=storage_rules.ZERO_STAYS,
)
def make_loss(data):
    """The data as a loss: its gradient is 1 everywhere, whatever arrives from above.

    Source: MXNet operator ``make_loss``.
    """
    return data


@make_loss.set_gradient
def _(head, out, data):
    return (jnp.ones(data.shape, data.dtype),)


@op(
    "BlockGrad",
    aliases=["stop_gradient", "_sparse_stop_gradient"],
    differentiable=False,
    flops=0,
    rewrites=Rewrites(only_gradient=True, keeps_dtype=True, constant=COPY.constant),
    shape_constraint=same_as_first,
    storage=storage_rules.ZERO_STAYS_WITHOUT_GRADIENT,
)
def block_grad(data):
    """The data as it is; no gradient passes.

    Source: MXNet operator ``BlockGrad``.
    """
    return jax.lax.stop_gradient(data)


@op("SVMOutput", floats=True, is_loss=True, labels=["label"], precision="full")
def svm_output(
    data,
    label,
    *,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
):
    """The data as they are; their gradient is that of one-against-all hinge losses, squared by default.

    Args:
        data: ``(..., classes)`` scores.
        label: ``(...)`` class numbers.
        margin: a score counts as right beyond it, and as wrong above its negative.
        regularization_coefficient: factor of the gradient.

    Raises:
        ShapeError: data and label have other shapes.

    Source: MXNet operator ``SVMOutput``.
    """
    if data.ndim < 2 or label.shape != data.shape[:-1]:
        raise ShapeError(
            f"SVMOutput: data {data.shape} and label {label.shape} must be (..., classes) and (...)."
        )
    return data


@svm_output.infer_inputs
def _(data):
    return {"label": data[:-1]}


@svm_output.set_gradient
def _(head, out, data, label, *, margin, regularization_coefficient, use_linear):
    hot = jax.nn.one_hot(label.astype(jnp.int32), data.shape[-1], dtype=data.dtype)
    side = 1 - 2 * hot  # -1 for the class itself, 1 for the others
    violation = margin + side * data
    slope = (violation > 0).astype(data.dtype) if use_linear else 2 * jax.nn.relu(violation)
    return regularization_coefficient * side * slope, None


def _is_training(training: bool) -> bool:
    return training


@op(
    "IdentityAttachKLSparseReg",
    states=["moving_avg"],
    moves=_is_training,
    fraction_kept="momentum",
    initializers={"moving_avg": '["zero", {}]'},
    precision="full",
)
def identity_attach_kl_sparse_reg(
    data,
    moving_avg,
    *,
    sparseness_target: Share = 0.1,
    penalty: float = 1e-3,
    momentum: Share = 0.9,
    training,
):
    """The data as they are; their gradient gets a penalty that keeps the mean activation near a target.

    Args:
        data: ``(batch, units)``, activations between 0 and 1.
        moving_avg: state, ``(units,)``: the mean activation of each unit, which follows the batch's
            when backward passes the call.

    Source: MXNet operator ``IdentityAttachKLSparseReg``.
    """
    others = tuple(i for i in range(data.ndim) if i != 1)
    mean = jnp.mean(data, others)
    return data, moving_avg * momentum + mean * (1 - momentum) if training else moving_avg


@identity_attach_kl_sparse_reg.infer_inputs
def _(data):
    return {"moving_avg": (data[1],)}


@identity_attach_kl_sparse_reg.set_gradient
def _(heads, outputs, data, moving_avg, *, sparseness_target, penalty, momentum, training):
    mean = outputs[1].reshape(1, -1, *(1,) * (data.ndim - 2))
    # Derivative of the divergence between coins of the target's and of the mean's chance.
    slope = (1 - sparseness_target) / (1 - mean) - sparseness_target / mean
    return heads[0] + penalty * slope, None
