"""Random data, tests of distributions, settings, and other functions of the module."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest

import mixnet as mx
from mixnet import test_utils as utils


def test_a_star_import_hands_out_the_modules() -> None:
    names: dict = {}
    exec("from mixnet.test_utils import *", names)
    assert names["np"] is np
    assert names["mx"] is mx
    assert names["rnd"] is np.random
    assert names["os"] is os
    assert names["ss"].__name__ == "scipy.stats"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of scipy.stats
        assert names["ss"].norm.cdf(0) == 0.5
    for each in ("assert_almost_equal", "npt", "default_context", "use_np", "array", "Context",
                 "Symbol", "retry", "environment", "OrderedDict", "getenv"):  # fmt: skip
        assert each in names


def test_a_star_import_does_not_import_the_slow_modules() -> None:
    program = "import sys; from mixnet.test_utils import *; print('scipy.stats' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["False"], done.stderr


def test_draws_are_those_of_mxnet_for_numpys_seed() -> None:
    np.random.seed(0)
    first = utils.random_arrays((2, 3))
    np.testing.assert_allclose(first[0], [1.7640524, 0.4001572, 0.978738], rtol=1e-6)
    assert first.dtype == np.float32
    pair = utils.random_arrays((2,), ())
    assert [each.shape for each in pair] == [(2,), ()]
    np.random.seed(0)
    shapes = [utils.rand_shape_2d() for _ in range(3)]
    assert shapes == [(6, 1), (4, 4), (8, 10)]
    assert [utils.rand_shape_3d() for _ in range(3)] == [(4, 6, 3), (5, 8, 7), (9, 9, 2)]
    assert utils.rand_shape_nd(4) == (7, 8, 8, 9)
    np.random.seed(0)
    assert utils.random_sample([1, 2, 3, 4], 2) == [3, 4]
    np.random.seed(0)
    (uniform,) = utils.random_uniform_arrays((2,), low=3, high=4, dtype="float64")
    np.testing.assert_allclose(uniform, [3.5488135, 3.71518937])


def test_random_sparse_arrays_are_mxnets() -> None:
    np.random.seed(3)
    rows, (values, index) = utils.rand_sparse_ndarray((4, 3), "row_sparse")
    assert rows.stype == "row_sparse"
    np.testing.assert_array_equal(index, [1, 2])
    np.testing.assert_allclose(values[0], [0.8962931, 0.12558532, 0.20724288], rtol=1e-6)
    np.testing.assert_array_equal(rows.indices.asnumpy(), index)
    np.random.seed(3)
    csr = utils.rand_ndarray((4, 3), "csr", density=0.5)
    np.testing.assert_array_equal(csr.indices.asnumpy(), [1, 0, 1, 0, 1, 2])
    np.testing.assert_array_equal(csr.indptr.asnumpy(), [0, 1, 3, 5, 6])
    np.testing.assert_allclose(csr.data.asnumpy()[:2], [0.0514672, 0.44080985], rtol=1e-6)
    power = utils.rand_ndarray((20, 20), "csr", density=0.1, distribution="powerlaw")
    np.testing.assert_array_equal(power.indptr.asnumpy()[:3], [0, 2, 6])
    assert power.indptr.asnumpy()[-1] == 40
    for stype in ("row_sparse", "csr"):
        empty = utils.rand_ndarray((4, 3), stype, density=0)
        np.testing.assert_array_equal(empty.asnumpy(), 0)
        same = utils.rand_ndarray((4, 3), stype, modifier_func=lambda x: 7.0, density=1)
        np.testing.assert_array_equal(same.asnumpy(), 7)
    array = utils.create_sparse_array((4, 3), "row_sparse", data_init=3.0, rsp_indices=[0, 2])
    np.testing.assert_array_equal(array.asnumpy().sum(1), [9, 0, 9, 0])
    assert utils.create_sparse_array_zd((4, 3), "row_sparse", 0.5).indices.shape == (0,)
    assert utils.rand_ndarray((2, 3), dtype="float64").dtype == np.float64


@pytest.mark.parametrize(
    ("shape", "stype", "more", "error"),
    [((2, 2), "other", {}, AssertionError), ((2, 2, 2), "csr", {}, AssertionError),
     ((2, 2), "csr", {"distribution": "other"}, AssertionError),
     ((2, 2), "row_sparse", {"distribution": "powerlaw"}, AssertionError),
     ((2, 2), "csr", {"density": 2.0}, ValueError),
     ((4, 3), "csr", {"density": 0.5, "distribution": "powerlaw"}, ValueError)],
)  # fmt: skip
def test_impossible_sparse_arrays_are_errors(shape, stype, more, error) -> None:
    with pytest.raises(error):
        utils.rand_sparse_ndarray(shape, stype, **more)


def test_random_matrices_have_their_properties() -> None:
    q = utils.new_orthonormal_matrix_2d(4)
    np.testing.assert_allclose(q @ q.T, np.eye(4), atol=1e-12)
    real = utils.new_matrix_with_real_eigvals_nd((2, 3, 3))
    assert np.abs(np.linalg.eigvals(real).imag).max() < 1e-6
    symmetric = utils.new_sym_matrix_with_real_eigvals_nd((2, 3, 3))
    np.testing.assert_array_equal(symmetric, symmetric.transpose(0, 2, 1))
    assert utils.create_vector(3).asnumpy().tolist() == [0, 1, 2]
    assert utils.create_2d_tensor(3, 2).asnumpy().tolist() == [[0, 0], [1, 1], [2, 2]]
    np.testing.assert_array_equal(utils.get_identity_mat_batch(3)[1].asnumpy(), np.eye(3))


def test_generators() -> None:
    import scipy.stats

    random = np.random.RandomState(0)

    def normal(count: int) -> np.ndarray:
        return random.normal(0, 1, count)

    def wide(count: int) -> mx.nd.NDArray:
        return mx.nd.array(random.normal(0, 2, count))

    buckets, probs = utils.gen_buckets_probs_with_ppf(scipy.stats.norm(0, 1).ppf, 5)
    assert buckets[0][0] == -np.inf and buckets[-1][1] == np.inf
    assert probs == [0.2] * 5
    assert len(utils.verify_generator(normal, buckets, probs, 1000)) == 5
    with pytest.raises(AssertionError, match="Generator test fails"):
        utils.verify_generator(wide, buckets, probs, 1000)
    assert utils.mean_check(normal, 0, 1, 1000) and not utils.mean_check(normal, 1, 1, 1000)
    assert utils.var_check(normal, 1, 1000) and not utils.var_check(wide, 1, 1000)

    def dice(count: int) -> np.ndarray:
        return random.randint(0, 3, count)

    chance, actual, expected = utils.chi_square_check(dice, [0, 1, 2], [1 / 3] * 3, 1000)
    with pytest.raises(AssertionError, match="2 probabilities for 3 buckets"):
        utils.chi_square_check(dice, [0, 1, 2], [0.5, 0.5], 1000)
    assert chance > 1e-3 and actual.sum() == 1000
    assert expected.tolist() == [333] * 3


def test_environment_and_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIXNET_TEST_A", "0")
    with utils.environment("MIXNET_TEST_A", "1"):
        with utils.environment({"MIXNET_TEST_A": None, "MIXNET_TEST_B": "2"}):
            assert "MIXNET_TEST_A" not in os.environ and os.environ["MIXNET_TEST_B"] == "2"
        assert os.environ["MIXNET_TEST_A"] == "1" and "MIXNET_TEST_B" not in os.environ
    assert os.environ["MIXNET_TEST_A"] == "0"
    with pytest.raises(AssertionError), utils.environment("MIXNET_TEST_A"):
        pass
    before = utils.default_context()
    try:
        utils.set_default_context(mx.cpu(1))
        assert mx.current_context() == mx.cpu(1) == mx.nd.ones((1,)).context
        with mx.cpu(0):
            assert mx.current_context() == mx.cpu(0)
    finally:
        utils.set_default_context(before)
    monkeypatch.setenv("CD_JOB", "1")
    assert utils.is_cd_run()
    assert not utils.has_tvm_ops()


def test_nothing_reaches_standard_error(capfd: pytest.CaptureFixture) -> None:
    with utils.discard_stderr():
        os.write(2, b"hidden")
    os.write(2, b"shown")
    assert capfd.readouterr().err == "shown"


def test_retry_and_assert_exception() -> None:
    calls = []

    def flaky() -> None:
        calls.append(1)
        assert len(calls) == 3

    utils.retry(3)(flaky)()
    assert len(calls) == 3
    with pytest.raises(AssertionError):
        utils.retry(2)(flaky)()
    with pytest.raises(AssertionError, match="positive"):
        utils.retry(0)
    utils.assert_exception(int, ValueError, "x")
    with pytest.raises(AssertionError, match="did not raise"):
        utils.assert_exception(int, ValueError, "1")


def test_files_that_are_there_are_not_downloaded(tmp_path, monkeypatch, caplog) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.txt").write_text("x")
    with caplog.at_level(logging.INFO):
        assert utils.download("http://localhost/there.txt") == "there.txt"
    assert "there.txt exists, skipping download" in caplog.text
    with zipfile.ZipFile(tmp_path / "pack.zip", "w") as file:
        file.writestr("inside.txt", "y")
    utils.get_zip_data(str(tmp_path), "http://localhost/pack.zip", "pack.zip")
    assert utils.download_model("unknown") == (None, 0)
    with pytest.raises(AssertionError, match="retries=0"):
        utils.download("http://localhost/x", retries=0)


def test_an_iterator_without_work() -> None:
    real = mx.io.NDArrayIter(np.arange(8.0).reshape(4, 2), np.arange(4.0), batch_size=2)
    fast = utils.DummyIter(real)
    assert fast.batch_size == 2 and fast.provide_data == real.provide_data
    assert fast.provide_label == real.provide_label
    batch = fast.next()
    assert batch.data[0].asnumpy().tolist() == [[0, 1], [2, 3]]
    assert next(iter(fast)) is batch
