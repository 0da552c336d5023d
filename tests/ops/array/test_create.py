"""Ranges and other arrays without inputs have MXNet's numbers, to the last bit."""

import numpy as np
import pytest

import mixnet as mx


@pytest.mark.parametrize("module", [mx.nd, mx.np])
def test_ranges_have_the_bits_of_mxnet(module) -> None:
    """``start + i * step`` in the array's own arithmetic; numbers are MXNet 1.9.1's."""
    assert module.arange(0, 1, 0.3).asnumpy().tolist() == [
        0.0,
        0.30000001192092896,
        0.6000000238418579,
        0.9000000357627869,
    ]
    end = module.arange(5, 0, -0.3).asnumpy()[-3:]
    assert [str(each) for each in end] == ["0.7999997", "0.5", "0.19999981"]
    places = np.arange(100, dtype=np.float32)
    expected = np.float32(-5) + places * np.float32(0.1)
    np.testing.assert_array_equal(module.arange(-5, 5, 0.1).asnumpy(), expected)
    double = module.arange(-5, 5, 0.1, dtype="float64").asnumpy()
    np.testing.assert_array_equal(double, -5 + np.arange(100) * 0.1)
    assert module.arange(0, 5, 0.5, dtype="int32").asnumpy().tolist() == [0] * 10
    assert module.arange(-2.7, 2, dtype="int32").asnumpy().tolist() == [-2, -1, 0, 1, 2]


def test_ranges_in_compiled_blocks_have_the_same_bits() -> None:
    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.arange(0, 10, 0.1) * x + 1, F.contrib.arange_like(x, start=0.1, step=0.1)

    block = Block()
    block.hybridize()
    places = np.arange(100, dtype=np.float32)
    for _ in range(4):  # interpreted, then compiled
        product, like = block(mx.nd.ones((100,)))
        np.testing.assert_array_equal(product.asnumpy(), places * np.float32(0.1) + np.float32(1))
        np.testing.assert_array_equal(like.asnumpy(), np.float32(0.1) + places * np.float32(0.1))


def test_evenly_spaced_numbers_are_rounded_once() -> None:
    for args in ((0, 1, 50), (-3, 7, 11), (0.1, 0.9, 13)):
        start, stop, num = args
        double = start + np.arange(num) * ((stop - start) / (num - 1))
        np.testing.assert_array_equal(mx.nd.linspace(*args).asnumpy(), double.astype("float32"))
        np.testing.assert_array_equal(mx.np.linspace(*args, dtype="float64").asnumpy(), double)


def test_edges_of_a_histogram_are_computed_in_float64() -> None:
    with pytest.warns(UserWarning, match="NumPy"):
        _, edges = mx.nd.histogram(mx.nd.array([1, 2, 1, 3]), 3)
    assert [str(each) for each in edges.asnumpy()] == ["1.0", "1.6666666", "2.3333333", "3.0"]


def test_windows_are_float32_arithmetic() -> None:
    """Numbers are MXNet 1.9.1's."""
    last = [window(9).asnumpy()[-2:] for window in (mx.np.hanning, mx.np.hamming, mx.np.blackman)]
    assert [[str(each) for each in pair] for pair in last] == [
        ["0.1464465", "0.0"],
        ["0.2147308", "0.08000001"],
        ["0.066446535", "-1.4901161e-08"],
    ]
    assert mx.np.hanning(1).asnumpy().tolist() == [1]
    assert mx.np.hanning(0).shape == (0,)
