"""Arrays that MXNet 1.9.1 refuses, by the errors that it raises, and some that it accepts."""

from collections.abc import Callable

import numpy as np
import pytest

import mixnet as mx

OBJECTS = np.array(["a", None], dtype=object)


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (ValueError, lambda: mx.nd.from_numpy(OBJECTS)),
        (ValueError, lambda: mx.nd.from_numpy(np.array(["a"]))),
        (KeyError, lambda: mx.nd.array([1], dtype=object)),
        (KeyError, lambda: mx.nd.ones((2,)).astype(object)),
    ],
)
def test_objects_are_refused_with_mxnets_errors(
    kind: type[Exception], call: Callable[[], object]
) -> None:
    with pytest.raises(mx.MXNetError, match=r"object|<U1") as raised:
        call()
    assert isinstance(raised.value, kind)
    assert not str(raised.value).startswith('"')


def test_a_multinomial_distribution_may_draw_nothing() -> None:
    probabilities = mx.nd.array([0.2, 0.8])
    assert mx.nd.random.multinomial(probabilities, shape=0).shape == (0,)
    assert mx.nd.random.multinomial(probabilities).shape == (1,)


@pytest.mark.parametrize("dtypes", [("float32", "float16"), ("float16", "float32")])
def test_updates_of_several_weights_refuse_gradients_of_another_dtype(
    dtypes: tuple[str, str],
) -> None:
    weight, grad = (mx.nd.ones((3,), dtype=each) for each in dtypes)
    copy, momentum = mx.nd.ones((3,)), mx.nd.zeros((3,))
    rate, decay = mx.nd.array([0.1]), mx.nd.array([0.0])
    one = {"lrs": (0.1,), "wds": (0.0,), "num_weights": 1}
    for update in (
        lambda: mx.nd.multi_mp_sgd_update(weight, grad, copy, **one),
        lambda: mx.nd.multi_mp_sgd_mom_update(weight, grad, momentum, copy, momentum=0.9, **one),
        lambda: mx.nd.preloaded_multi_mp_sgd_update(weight, grad, copy, rate, decay, num_weights=1),
    ):
        with pytest.raises(mx.MXNetError, match="Cast the gradient with astype"):
            update()


@pytest.mark.parametrize("sides", [(True, False), (False, True), (True, True)])
def test_vectors_are_not_transposed(sides: tuple[bool, bool]) -> None:
    vector = mx.nd.ones(3)
    assert mx.nd.dot(vector, vector).asscalar() == 3
    with pytest.raises(mx.MXNetError, match=r"vectors \(3,\) and \(3,\) cannot be transposed"):
        mx.nd.dot(vector, vector, transpose_a=sides[0], transpose_b=sides[1])


@pytest.mark.parametrize("dtype", [">f4", "<f4", np.dtype(">f8"), np.dtype(">i4")])
def test_a_dtype_in_another_byte_order_is_that_of_the_machine(dtype: str | np.dtype) -> None:
    own = np.dtype(dtype).newbyteorder("=")
    source = np.array([1, 258], dtype=dtype)
    arrays = [
        mx.nd.array(source, dtype=source.dtype),
        mx.nd.array([1, 258]).astype(dtype),
        mx.np.array(source, dtype=dtype),
    ]
    assert [np.dtype(each.dtype) for each in arrays] == [own] * 3
    assert [each.asnumpy().tolist() for each in arrays] == [[1, 258]] * 3


@pytest.mark.parametrize(
    ("shape", "parts", "extents"),
    [((3,), 2, [2, 1]), ((2, 5, 2), 3, [2, 2, 1]), ((3, 2), 3, [1, 1, 0])],
)
def test_hsplit_makes_parts_of_unequal_extents(
    shape: tuple[int, ...], parts: int, extents: list[int]
) -> None:
    pieces = mx.np.hsplit(mx.np.ones(shape), parts)
    assert [each.shape[len(shape) > 1] for each in pieces] == extents
    with pytest.raises(mx.MXNetError, match="at least one"):
        mx.np.hsplit(mx.np.ones(shape), 0)
