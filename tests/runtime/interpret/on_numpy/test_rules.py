"""Each rule for NumPy against XLA on the CPU: shapes, dtypes, NaN, infinities, empty arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from mixnet.runtime.interpret import on_numpy
from tests.each_record import each_record

CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {}
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = ("float32", "float16", BF16, "float64")
INTEGERS = ("int8", "uint8", "int32", "uint32", "int64")


def case(name: str, function: Callable[..., Any], *arrays: Any) -> None:
    assert name not in CASES
    CASES[name] = function, tuple(np.asarray(each) for each in arrays)


def normal(*shape: int, dtype: Any = "float32") -> np.ndarray:
    seed = sum((i + 1) * n for i, n in enumerate(shape)) + 7
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def whole(*shape: int, low: int = -9, high: int = 9, dtype: Any = "int32") -> np.ndarray:
    indices = np.random.default_rng(len(shape) + 3).integers(low, high, shape)
    return indices.astype(dtype)


ODD = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 7.25, -130.75, 300.5, 0.49999997]
ODDER = [*ODD, np.inf, -np.inf, np.nan]

# ---- elementwise ----------------------------------------------------------------------------------

for _dtype in FLOATS:
    _odd, _odder = np.array(ODD, _dtype), np.array(ODDER, _dtype)
    for _f in (
        jnp.exp, jnp.log, jnp.log1p, jnp.expm1, jnp.sqrt, lax.rsqrt, jnp.cbrt, jnp.tanh, jnp.sinh,
        jnp.cosh, jnp.arctan, jnp.arcsinh, jnp.floor, jnp.ceil, jnp.rint, lax.round, jnp.abs,
        jnp.sign, lax.logistic, jnp.isfinite, jnp.isnan, jnp.square, lax.erf, lax.erfc, jnp.negative,
    ):  # fmt: skip
        case(f"{_f.__name__} of {_dtype}", _f, _odder)
    for _f in (jnp.sin, jnp.cos, jnp.tan, lax.lgamma, lax.digamma):
        case(f"{_f.__name__} of {_dtype}", _f, np.abs(_odd) + np.array(0.1, _dtype))
    for _f in (jnp.maximum, jnp.minimum, jnp.add, jnp.multiply, jnp.divide, jnp.power, jnp.arctan2,
               lax.rem, jnp.less, jnp.equal, jnp.greater_equal):  # fmt: skip
        case(f"{_f.__name__} of pairs of {_dtype}", _f, _odder[:, None], _odder[None])
    for _y in (-3, 0, 1, 7):
        case(f"power {_y} of {_dtype}", functools.partial(lax.integer_pow, y=_y), _odder)
    for _to in (*INTEGERS, *FLOATS, "bool"):
        case(
            f"{_dtype} to {_to}", functools.partial(lax.convert_element_type, new_dtype=_to), _odder
        )
    case(f"clamp {_dtype}", lambda x: lax.clamp(x[3], x, x[2]), _odder)
    case(f"cumulative sum of {_dtype}", lambda x: jnp.cumsum(x, 1), normal(2, 5, dtype=_dtype))
    case(f"cumulative maximum of {_dtype}", lambda x: lax.cummax(x, 0, reverse=True), _odder)
for _f in (jnp.arcsin, jnp.arccos, jnp.arctanh, lax.erf_inv):
    case(f"{_f.__name__}", _f, np.array([-1, -0.9, 0, 0.3, 1, 2, np.nan], "float32"))
for _f in (lax.bessel_i0e, lax.bessel_i1e):
    case(f"{_f.__name__}", _f, np.abs(normal(9)) * 5)
for _f in (lax.igamma, lax.igammac, lax.zeta):
    case(_f.__name__, _f, np.abs(normal(9)) + 1.2, np.abs(normal(9)) + 0.5)
case("arccosh", jnp.arccosh, np.array([1, 1.5, 70, np.inf, 0.5], "float32"))
case("large to int", lambda x: x.astype(jnp.int32), np.array([3e9, -3e9, 2.2e9, 2147483520], "f"))
case("large to int64", lambda x: x.astype(jnp.int64), np.array([1e19, -1e19, 9.3e18], "d"))
case("large to uint32", lambda x: x.astype(jnp.uint32), np.array([5e9, -1, 4.2e9], "d"))
for _e, _m in ((5, 10), (8, 7)):
    case(f"precision {_e} {_m}", lambda x, e=_e, m=_m: lax.reduce_precision(x, e, m),
         np.array([*ODDER, 1e-6, 1e5, 70000, 3e38, 1 / 3], "float32"))  # fmt: skip

for _dtype in INTEGERS:
    _limits = np.iinfo(_dtype)
    _all = np.array([0, 1, 2, 5, 100, _limits.max, _limits.min, _limits.max - 1], _dtype)
    for _f in (lax.div, lax.rem, jnp.add, jnp.multiply, jnp.subtract, jnp.maximum, jnp.bitwise_and,
               jnp.bitwise_xor, jnp.floor_divide, jnp.remainder, jnp.less):  # fmt: skip
        case(f"{_f.__name__} of pairs of {_dtype}", _f, _all[:, None], _all[None])
    for _f in (lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic):
        _by = np.array([0, 1, 7, 8, 31, 32, 63, 64, 100], "int8").astype(_dtype)
        case(f"{_f.__name__} of {_dtype}", _f, _all[:, None], _by[None])
    for _f in (lax.population_count, lax.clz, jnp.invert, jnp.abs, jnp.sign, jnp.square):
        case(f"{_f.__name__} of {_dtype}", _f, _all)
    case(f"power of {_dtype}", lambda x: x**3, _all)
    case(f"sort all of {_dtype}", jnp.sort, _all)
    case(
        f"wrapping sum of {_dtype}",
        lambda x: lax.reduce_sum_p.bind(x, axes=(0,), out_sharding=None),
        _all,
    )
    for _to in ("int8", "uint8", "int32", "float32", BF16, "bool"):
        case(f"{_dtype} to {_to}", functools.partial(lax.convert_element_type, new_dtype=_to), _all)
case("bits apart", lambda x: lax.bitcast_convert_type(x, jnp.uint8), normal(2, 3))
case(
    "bits together", lambda x: lax.bitcast_convert_type(x, jnp.float32), whole(3, 4, dtype="uint8")
)
case("bits", lambda x: lax.bitcast_convert_type(x.T, jnp.int32), normal(2, 3))
case("complex", lambda x: jnp.real(lax.complex(x, 2 * x) * jnp.conj(lax.complex(x, x))), normal(5))
case("choose of three", lambda i: lax.select_n(i, i, -i, i * i), whole(5, low=0, high=3))
case("where", lambda x, y: jnp.where(x > 0, x, y), normal(3, 4), normal(4))

# ---- forms ----------------------------------------------------------------------------------------

X = normal(3, 4, 5)
case("broadcast", lambda x: lax.broadcast_in_dim(x, (2, 4, 6, 5), (1, 3)), X[0])
case("broadcast of columns", lambda x: lax.broadcast_in_dim(x.T, (5, 3, 4), (0, 2)), X[0])
case("broadcast of rows", lambda x: lax.broadcast_in_dim(x[:, :1], (2, 4, 3), (1, 2)), X[0])
case("broadcast of nothing", lambda x: lax.broadcast_in_dim(x[:0], (2, 0, 5), (1, 2)), X[0])
case("broadcast of one", lambda x: jnp.broadcast_to(x, (2, 3)), np.float32(4))
case("broadcast of bfloat16", lambda x: jnp.broadcast_to(x, (2, 3)), np.array(4, BF16))
case("rev", lambda x: lax.rev(x, (0, 2)), X)
case("pad", lambda x: lax.pad(x, np.float32(7), [(2, -1, 1), (-2, 3, 0), (-1, -1, 2)]), X)
case("pad away", lambda x: lax.pad(x, np.float32(7), [(-5, 4, 1), (9, -9, 0), (0, 0, 0)]), X)
case("pad nothing", lambda x: jnp.pad(x, ((1, 1), (0, 0))), normal(0, 3))
case("dynamic slice", lambda x, i: lax.dynamic_slice(x, (i, -i, i), (2, 3, 1)), X, np.int32(9))
case("dynamic update", lambda x, i: lax.dynamic_update_slice(x, x[:2, :1] * 0, (i, i, i)),
     X, np.int32(2))  # fmt: skip
case("splits", lambda x: jnp.split(x, [1, 3], 1), X)
case("stack", lambda x: jnp.stack(list(x), 1), X)
case("tile", lambda x: jnp.tile(x, (2, 1, 3)), X)
case("iota", lambda x: x + lax.broadcasted_iota(jnp.float32, x.shape, 1), X)
case("reshape by axes", lambda x: lax.reshape(x, (5, 12), (2, 0, 1)), X)

# ---- reductions -----------------------------------------------------------------------------------

for _dtype in (*FLOATS, "int32"):
    for _f in (jnp.sum, jnp.max, jnp.min, jnp.prod):
        case(f"{_f.__name__} of {_dtype}", lambda x, f=_f: [f(x), f(x, 1), f(x, (0, 2))],
             normal(3, 4, 5, dtype=_dtype))  # fmt: skip
    case(f"sort of {_dtype}", lambda x: [jnp.sort(x), jnp.argsort(x), jnp.argsort(-x)],
         np.tile(np.array([2, -1, 0, 5, 2, 7, 0, -3]), 2).astype(_dtype))  # fmt: skip
    case(f"top of {_dtype}", lambda x: lax.top_k(x, 3), normal(3, 6, dtype=_dtype))
NANS = np.array([[1, np.nan, 3, -np.inf], [np.nan, 2, np.nan, np.inf], [5, 5, 1, 1]], "float32")
for _f in (jnp.max, jnp.min, jnp.sum, jnp.argmax, jnp.argmin, jnp.sort, jnp.argsort, jnp.median):
    case(f"{_f.__name__} with NaN", lambda x, f=_f: [f(x, axis=0), f(x, axis=1)], NANS)
case("top with NaN", lambda x: lax.top_k(x, 2), NANS)
case("sort by two", lambda x, y: lax.sort((x, y, x + y), num_keys=2), whole(9) % 3, whole(9))
case("max of nothing", lambda x: [x.max(1, initial=-np.inf), x.sum(1), x.prod(1)], normal(2, 0))
case(
    "min of no numbers",
    lambda x: lax.reduce_min_p.bind(x, axes=(1,), out_sharding=None),
    whole(2, 0),
)
case("all and any", lambda x: [(x > 0).all(1), (x > 0).any(), (x > 9).all()], X)
case("cumulative", lambda x: [lax.cumlogsumexp(x, 1), lax.cumprod(x, 1, reverse=True)], X)
case("reduce by function", lambda x: lax.reduce(x, np.float32(2), lax.add, (0, 2)), X)

# ---- products -------------------------------------------------------------------------------------

for _dtype in (*FLOATS, "int8", "int32"):
    _x, _y = normal(2, 3, 4, 5, dtype=_dtype), normal(2, 5, 3, 6, dtype=_dtype)
    case(f"dot of {_dtype}", lambda x, y: jnp.einsum("bijk,bkil->bijl", x, y), _x, _y)
    case(f"dot over two of {_dtype}", lambda x, y: jnp.einsum("bijk,bkil->jl", x, y), _x, _y)
    for _i, _spec in enumerate(("ij,jk", "ij,kj", "ji,jk", "ji,kj->ki", "ij,j", "i,j", "i,i")):
        _shapes = [[{"i": 3, "j": 3, "k": 2}[a] for a in each] for each in
                   _spec.split("->")[0].split(",")]  # fmt: skip
        case(f"{_spec} of {_dtype}", functools.partial(jnp.einsum, _spec),
             *[normal(*each, dtype=_dtype) for each in _shapes])  # fmt: skip
case("dot of nothing", jnp.dot, normal(2, 0), normal(0, 3))
case("dot of large numbers", jnp.dot, whole(3, 4, low=-(2**31), high=2**31),
     whole(4, 3, low=-(2**31), high=2**31))  # fmt: skip
case("dot of bytes", lambda x, y: jnp.dot(x, y, preferred_element_type=jnp.int32),
     whole(3, 4, low=-128, high=128, dtype="int8"), whole(4, 3, dtype="int8"))  # fmt: skip

# ---- indices --------------------------------------------------------------------------------------

PLACES = np.array([2, -1, 0, 9, 1, 1, -7], "int32")
for _mode in ("clip", "fill", "promise_in_bounds"):
    _i = PLACES if _mode != "promise_in_bounds" else PLACES % 3
    case(f"take {_mode}", lambda x, i, m=_mode: [
        x.at[i].get(mode=m), x.at[:, i].get(mode=m), x.at[..., i].get(mode=m)], X, _i)  # fmt: skip
    case(f"two indices {_mode}", lambda x, i, m=_mode: x.at[i, :, i[::-1]].get(mode=m), X, _i)
    case(f"put {_mode}", lambda x, i, m=_mode: x.at[i[:3]].set(9.0, mode=m), X, _i)
    case(f"add {_mode}", lambda x, i, m=_mode: x.at[:, i].add(x[:, :1] + 1, mode=m), X, _i)
    case(f"add two {_mode}", lambda x, i, m=_mode: x.at[i, 1, i % 2].add(2.0, mode=m), X, _i)
case("take one", lambda x, i: [x[i], x[:, i], x.at[i].get(mode="fill")], X, np.int32(1))
case("take with unsigned", lambda x, i: x[i], X, np.array([0, 2, 200], "uint8"))
case("take whole numbers", lambda x, i: x.at[i].get(mode="fill"), whole(4), PLACES)
case("along", lambda x: jnp.take_along_axis(x, jnp.argsort(x, 1), 1), X)
case("batches", jax.vmap(lambda x, i: x[i, 1:3]), X, whole(3, 2, low=0, high=4))
case(
    "windows", jax.vmap(lambda x, i: lax.dynamic_slice(x, (i, i), (2, 3)), (None, 0)), X[0], PLACES
)
case("put windows", jax.vmap(lambda x, i: lax.dynamic_update_slice(x, x[:2, :3] * 0, (i, i))),
     X, whole(3, low=-1, high=4))  # fmt: skip
case("add to windows", lambda x, i: jax.vjp(lambda v: jax.vmap(
    lambda j: lax.dynamic_slice(v, (j, j), (2, 3)))(i), x)[1](jnp.ones((7, 2, 3), x.dtype)),
    X[0], PLACES)  # fmt: skip
for _f in ("add", "multiply", "max", "min"):
    case(f"{_f} at", lambda x, i, f=_f: getattr(x.at[i], f)(x[:1] * 2), X, PLACES)
    case(f"{_f} at numbers", lambda x, i, f=_f: getattr(x.at[i], f)(3), whole(4), PLACES)
case("put nothing", lambda x, i: x.at[i].add(1.0), X, PLACES[:0])
case("take nothing", lambda x, i: x[i], X, PLACES[:0])
case("gradient of along", jax.grad(lambda x: jnp.sort(x, 1).cumsum(1).sum()), X)

# ---- windows --------------------------------------------------------------------------------------

IMAGE = np.round(normal(2, 3, 8, 7), 1)  # with equal elements
IMAGE[0, 0, 3, 3] = np.nan


def pooled(x: Any, kind: str, k: int, s: int, p: tuple[int, int], d: int = 1) -> Any:
    start, join = {"max": (-np.inf, lax.max), "min": (np.inf, lax.min), "add": (0, lax.add)}[kind]
    return lax.reduce_window(
        x, np.array(start, x.dtype), join, (1, 1, k, k), (1, 1, s, s), ((0, 0), (0, 0), p, p),
        window_dilation=(1, 1, d, d),
    )  # fmt: skip


for _k, _s, _p in ((2, 2, (0, 0)), (3, 1, (1, 1)), (3, 2, (0, 1)), (2, 3, (1, 0)), (7, 1, (0, 0))):
    for _kind in ("max", "min", "add"):
        _f = functools.partial(pooled, kind=_kind, k=_k, s=_s, p=_p)
        case(f"pooling {_kind} {_k} {_s} {_p}", _f, IMAGE)
        case(f"gradient of pooling {_kind} {_k} {_s} {_p}",
             lambda x, f=_f: jax.grad(lambda x: (f(x) * jnp.arange(7.0, 7 + f(x).shape[3])).sum())(x),
             np.nan_to_num(IMAGE))  # fmt: skip
case("dilated pooling", lambda x: pooled(x, "max", 2, 1, (1, 0), 2), IMAGE)
case("pooling of whole numbers", lambda x: pooled(x, "add", 2, 1, (1, 0)), whole(1, 1, 4, 4))
case("pooling of half", lambda x: pooled(x, "add", 3, 1, (1, 1)), normal(1, 1, 4, 4, dtype=BF16))
case("product of windows", lambda x: lax.reduce_window(
    x, np.float32(2), lax.mul, (1, 2), (1, 1), "SAME"), X[0])  # fmt: skip
case("derivative of pooling", lambda x: jax.jvp(
    lambda v: pooled(v, "max", 3, 2, (1, 1)), (x,), (x * 2,))[1], np.nan_to_num(IMAGE))  # fmt: skip

# ---- linear algebra -------------------------------------------------------------------------------

M = normal(2, 4, 4) + 4 * np.eye(4, dtype="float32")
SPD = M @ M.swapaxes(1, 2)
case("cholesky", jnp.linalg.cholesky, SPD)
case("cholesky of none", jnp.linalg.cholesky, np.stack([SPD[0], -SPD[0]]))
case("inverse", jnp.linalg.inv, M)
case("solve", jnp.linalg.solve, M, normal(2, 4, 3))
case("slogdet", jnp.linalg.slogdet, M)
case("gradient of inverse", jax.grad(lambda m: jnp.linalg.inv(m)[:, 0].sum()), M)
case("eigh", lambda m: jnp.linalg.eigh(m)[0], SPD)
case("singular values", lambda m: jnp.linalg.svd(m[:, :3], compute_uv=False), M)
case("pinv", jnp.linalg.pinv, M[:, :3])
case("qr", lambda m: jnp.linalg.qr(m[:, :3].swapaxes(1, 2)), M)
case("eigenvalues", lambda m: jnp.abs(jnp.linalg.eigvals(m)), M)
for _lower in (True, False):
    for _left in (True, False):
        case(f"triangular {_lower} {_left}", functools.partial(
            lax.linalg.triangular_solve, left_side=_left, lower=_lower, transpose_a=_left),
            M, normal(2, 4, 4))  # fmt: skip
case("fft", lambda x: jnp.abs(jnp.fft.fft(x)), X)
case("rfft", lambda x: [jnp.real(jnp.fft.rfft2(x)), jnp.fft.irfft(jnp.fft.rfft(x), 5)], X)

# ---- random numbers, loops and functions ----------------------------------------------------------

KEY = np.array([7, 9], "uint32")
case("bits of a key", lambda k: jax.random.bits(jax.random.wrap_key_data(k), (5,), "uint8"), KEY)
case("64 bits", lambda k: jax.random.bits(jax.random.wrap_key_data(k), (2, 5), "uint64"), KEY)
case("keys", lambda k: jax.vmap(lambda key, i: jax.random.bits(jax.random.fold_in(key, i), (6,)))(
    jax.random.split(jax.random.wrap_key_data(k), 3), jnp.arange(3)), KEY)  # fmt: skip
case("seed", lambda s: jax.random.key_data(jax.random.key(s)), np.int64(2**40 + 3))
case("permutation", lambda k: jax.random.permutation(jax.random.wrap_key_data(k), 9), KEY)
case("scan", lambda x: lax.scan(lambda c, r: (c + r, (c, r.sum())), x[0], x, reverse=True), X)
case("while", lambda n: lax.while_loop(lambda v: v[0] < 9, lambda v: (v[0] + 1, v[1] * 2), (n, n)),
     np.int32(3))  # fmt: skip
case("relu", lambda x: [jax.nn.relu(x), jax.grad(lambda v: jax.nn.gelu(v).sum())(x)], X)
case("unread", lambda x: (jax.random.gamma(jax.random.key(1), x), x + 1)[1], X)
case("checkpoint", jax.grad(lambda x: jax.checkpoint(lambda v: jnp.sin(v) * v)(x).sum()), X)
case("platform", lambda x: lax.platform_dependent(x, cpu=lambda v: v + 1, default=lambda v: v), X)


def flat(name: str) -> Callable[..., list[Any]]:
    return lambda *arrays: jax.tree.leaves(CASES[name][0](*arrays))


@functools.cache
def expected() -> dict[str, list[np.ndarray]]:
    """XLA's results of all cases, from one program, which compiles fastest."""

    def everything(inputs: dict[str, Any]) -> dict[str, Any]:
        return {name: flat(name)(*arrays) for name, arrays in inputs.items()}

    options: Any = {"xla_backend_optimization_level": 0, "xla_allow_excess_precision": False}
    with jax.enable_x64(True):
        inputs = {name: arrays for name, (_, arrays) in CASES.items()}
        actual = jax.jit(everything, compiler_options=options)(inputs)
    return {name: [np.asarray(each) for each in value] for name, value in actual.items()}


def close(actual: np.ndarray, reference: np.ndarray, name: str = "") -> None:
    assert (actual.shape, actual.dtype) == (reference.shape, reference.dtype), name
    if reference.dtype.kind in "iub":
        np.testing.assert_array_equal(actual, reference, name)
        return
    rtol = {8: 1e-9, 4: 2e-5, 2: 4e-3}[reference.dtype.itemsize]
    rtol = 2e-2 if reference.dtype == BF16 else rtol
    largest = np.abs(reference[np.isfinite(reference)].astype("float64")).max(initial=0)
    np.testing.assert_allclose(
        actual.astype("float64"),
        reference.astype("float64"),
        rtol,
        rtol * min(1, largest),
        err_msg=name,
    )


@each_record("name", CASES)
def test_each_rule_agrees_with_xla(name: str) -> None:
    arrays = CASES[name][1]
    for each in arrays:
        each.flags.writeable = False
    actual = on_numpy.compiled(flat(name), *arrays)(*arrays)
    for one, reference in zip(actual, expected()[name], strict=True):
        assert type(one) is np.ndarray
        close(one, reference, name)
