"""Check that two optimizers take the same steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.ndarray.create import array
from mixnet.test_utils.compare import assert_almost_equal, compare_ndarray_tuple
from mixnet.test_utils.random_data import rand_ndarray, random_arrays

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike


def _random(shape: Any, dtype: DTypeLike, stype: str, density: float) -> Any:
    if stype == "default":
        return array(random_arrays(shape), dtype=dtype)
    return rand_ndarray(shape, stype, density=density, dtype=dtype)


def compare_optimizer(
    opt1: Any,
    opt2: Any,
    shape: Any,
    dtype: DTypeLike,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Raise unless one step of two optimizers gives the same weights and states.

    The first is the reference: it gets dense copies, one tensor at a time.

    Args:
        opt1: an optimizer.
        opt2: another.
        shape: of the weight; a list of ``ntensors`` shapes with several.
        dtype: of the weight.
        w_stype: storage type of the weight.
        g_stype: storage type of the gradient.
        rtol: relative tolerance.
        atol: absolute tolerance.
        compare_states: whether states are compared too.
        ntensors: how many weights are updated in one call.

    Raises:
        AssertionError: they differ.
    """
    is_list = isinstance(shape, list)
    shapes = shape if is_list else [shape] * ntensors
    assert len(shapes) == ntensors, f"{len(shapes)} shapes were given for {ntensors} weights."
    # A sparse weight has all its rows: a row that is not stored cannot be updated.
    weights = [_random(each, dtype, w_stype, 1.0) for each in shapes]
    gradients = [_random(each, dtype, g_stype, 0.5) for each in shapes]
    results = []
    for optimizer, dense in ((opt1, True), (opt2, False)):
        copies = [each.tostype("default") if dense else each.copy() for each in weights]
        copies = [each.copy() for each in copies]
        states = [optimizer.create_state_multi_precision(i, each) for i, each in enumerate(copies)]
        gradient_copies = [each.tostype("default") if dense else each.copy() for each in gradients]
        if dense:
            for i, each in enumerate(zip(copies, gradient_copies, states, strict=True)):
                optimizer.update_multi_precision(i, *each)
        elif is_list or ntensors > 1:
            optimizer.update_multi_precision(list(range(ntensors)), copies, gradient_copies, states)
        else:
            optimizer.update_multi_precision(0, copies[0], gradient_copies[0], states[0])
        results.append((copies, states))
    (own1, states1), (own2, states2) = results
    if compare_states:
        compare_ndarray_tuple(tuple(states1), tuple(states2), rtol=rtol, atol=atol)
    for one, other in zip(own1, own2, strict=True):
        assert_almost_equal(one, other, rtol=rtol, atol=atol)
