"""Every function of ``mx.np``, ``np.linalg``, ``np.random`` and ``npx``, as expressions to evaluate.

``CASES`` maps the name of a function to expressions. In them ``np`` and ``npx`` are the library
under test, ``onp`` is NumPy, and the arrays are those of ``ARRAYS``, by name: the first letter says
what is in them, the rest the shape or the dtype. The same expressions are evaluated with NumPy as
``np``; where MXNet 1.9.1 gave something else, ``tests/parity/record_numpy.py`` stored what.
"""

from __future__ import annotations

import numpy as onp


def _arrays():
    rng = onp.random.RandomState(3)
    shapes = {"0": (), "1": (3,), "2": (2, 3), "3": (2, 3, 4), "z": (0, 3)}
    ranges = {"a": (-2.0, 2.0), "p": (0.1, 0.9), "g": (1.1, 3.0)}
    arrays = {}
    for letter, (low, high) in ranges.items():
        for name, shape in shapes.items():
            arrays[letter + name] = onp.asarray(rng.uniform(low, high, shape), "float32")
        arrays[letter + "h"] = onp.linspace(low, high, 3).astype("float16")
        arrays[letter + "d"] = onp.linspace(low, high, 3)
    arrays["ai"] = onp.array([-2, 0, 3], "int32")
    arrays["pi"] = onp.array([1, 1, 0], "int32")
    arrays["gi"] = onp.array([1, 2, 3], "int32")
    arrays["al"] = onp.array([[3, -1, 2], [0, 7, 2]], "int64")
    arrays["au"] = onp.array([3, 0, 200], "uint8")
    arrays["a8"] = onp.array([3, 0, -100], "int8")
    arrays["b1"] = onp.array([True, False, True])
    arrays["b2"] = onp.array([[True, False, True], [False, False, True]])
    arrays["x1"] = onp.array([onp.nan, onp.inf, -onp.inf, 1.5, -0.0], "float32")
    arrays["n1"] = onp.array([3.0, onp.nan, 1.0, 2.0], "float32")
    arrays["r1"] = onp.array([1, 2, 2, 5, 7, 7], "float32")
    arrays["q1"] = onp.array([2, 1, 2, 5, 0, 1], "int64")
    arrays["s2"] = onp.array([[4, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 2]], "float32")
    arrays["s3"] = onp.stack([arrays["s2"], 2 * arrays["s2"]])
    arrays["m2"] = onp.asarray(rng.uniform(-1, 1, (4, 3)), "float32")
    arrays["c2"] = onp.asarray(rng.uniform(-1, 1, (3, 2)), "float32")
    arrays["e1"] = onp.zeros((0,), "float32")
    arrays["k2"] = onp.array([[0, 2, 1], [2, 0, 1]], "int64")
    arrays["t6"] = onp.asarray(rng.uniform(-1, 1, (2, 3, 6)), "float32")
    arrays["img"] = rng.randint(0, 256, (4, 5, 3)).astype("uint8")
    arrays["nchw"] = onp.asarray(rng.uniform(-1, 1, (1, 2, 5, 5)), "float32")
    arrays["kern"] = onp.asarray(rng.uniform(-1, 1, (3, 2, 3, 3)), "float32")
    return arrays


ARRAYS = _arrays()
CASES: dict[str, list[str]] = {}


def case(names: str, *forms: str) -> None:
    """Expressions for each of several names; ``%`` stands for the name with its module."""
    for name in names.split():
        full = name if name.startswith("npx.") else f"np.{name}"
        CASES.setdefault(name, []).extend(form.replace("%", full) for form in forms)


# ---- element by element ----------------------------------------------------------------------

_UNARY = {
    "a": "abs absolute fabs sign square cbrt negative exp expm1 sin cos tan arctan sinh cosh tanh "
    "arcsinh degrees rad2deg radians deg2rad rint ceil floor trunc fix logical_not isnan isinf "
    "isposinf isneginf isfinite",
    "p": "arcsin arccos arctanh",
    "g": "sqrt reciprocal log log2 log10 log1p arccosh",
}
for _letter, _names in _UNARY.items():
    _forms = [f"%({_letter}{kind})" for kind in "0123zhdi"]
    case(_names, *_forms, "%(2.0)", "%(b1)", "%(x1)", f"%({_letter}1, where=True)")
for _letter, _names in _UNARY.items():
    for _name in _names.split():
        _dtype = "bool" if _name.startswith(("is", "logical")) else "float32"
        case(_name, f"%({_letter}2, out=np.ones((2, 3), dtype='{_dtype}'))")
        case(_name, f"%({_letter}2, np.ones((2, 3), dtype='{_dtype}'))")
case("bitwise_not invert", "%(ai)", "%(al)", "%(au)", "%(a8)", "%(b1)", "%(5)", "%(a1)",
     "%(ai, out=np.zeros(3, dtype='int32'))")  # fmt: skip
case("around round round_", "%(a2)", "%(a2, 1)", "%(a2, decimals=2)", "%(a0)", "%(az)", "%(ai)",
     "%(ad, 1)", "%(ah, 1)", "%(2.567, 2)", "%(a2, 1, out=np.zeros((2, 3), dtype='float32'))",
     "%(np.array([0.5, 1.5, 2.5, -0.5], dtype='float32'))", "%(a2 * 100, decimals=-1)")  # fmt: skip
case("nan_to_num", "%(x1)", "%(x1, nan=7.0)", "%(x1, posinf=1.0, neginf=-1.0)", "%(x1, copy=False)",
     "%(ai)", "%(2.0)", "%(a0)", "%(az)", "%(n1.astype('float16'))", "%(n1.astype('float64'))")  # fmt: skip
case("clip", "%(a2, -1, 1)", "%(a2, None, 0.5)", "%(a2, 0.5, None)", "%(ai, -1, 2)", "%(al, 0, 5)",
     "%(a0, 0, 1)", "%(az, 0, 1)", "%(a2, a_min=-1, a_max=1)", "%(ad, 0.0, 0.5)",
     "%(a2, 0, 1, out=np.ones((2, 3), dtype='float32'))", "%(a2, onp.float64(-1), onp.int64(1))",
     "%(a2, None, None)", "%(au, 1, 100)", "%(a2, -onp.inf, 0)")  # fmt: skip
case("add subtract multiply divide true_divide mod remainder maximum minimum hypot arctan2 copysign",
     "%(a2, g1)", "%(a2, 2)", "%(2, g2)", "%(a0, g1)", "%(a1, g0)", "%(a0, g0)", "%(az, g1)",
     "%(a3, g3[:, :1])", "%(a2, g2, out=np.zeros((2, 3), dtype='float32'))", "%(ad, gd)",
     "%(ah, gh)", "%(ai, gi)", "%(a2, onp.float64(1.5))", "%(a2, onp.float32(1.5))", "%(3.0, 2.0)",
     "%(a2, 2.5, out=np.zeros((2, 3), dtype='float32'))", "%(a2, a3)", "%(ai, 2)", "%(au, 7)",
     "%(a1, gd)", "%(a1, gi)", "%(b1, gi)", "%(b1, 2)", "%(gi, al[0])", "%(b1, b1)", "%(a1, [1, 2, 3])")  # fmt: skip
case("power", "%(g2, a1)", "%(a2, 2)", "%(2, a2)", "%(g0, a1)", "%(gz, a1)", "%(gi, 2)", "%(gi, gi)",
     "%(g2, 0.5)", "%(a2, 0)", "%(a2, 3)", "%(g2, a2, out=np.zeros((2, 3), dtype='float32'))",
     "%(2.0, 3.0)", "%(a2, onp.int64(2))", "%(2, gi)", "%(g1, gi)", "%(gd, a1)", "%(a2, a3)")  # fmt: skip
case("ldexp", "%(a2, a1)", "%(a2, 2)", "%(2, a2)", "%(a0, a1)", "%(az, a1)", "%(a1, gi)",
     "%(a2, a2, out=np.zeros((2, 3), dtype='float32'))")  # fmt: skip
case("lcm", "%(gi, gi + 1)", "%(gi, 4)", "%(6, gi)", "%(al, al[0])", "%(4, 6)", "%(a1, a1)",
     "%(gi, 4, out=np.zeros(3, dtype='int32'))")  # fmt: skip
case("bitwise_and bitwise_or bitwise_xor", "%(gi, ai)", "%(gi, 2)", "%(2, gi)", "%(al, al[0])",
     "%(b1, b1)", "%(b2, b1)", "%(5, 3)", "%(a1, a1)", "%(gi, 1, out=np.zeros(3, dtype='int32'))",
     "%(au, au[::-1])", "%(b1, True)")  # fmt: skip
case("equal not_equal greater greater_equal less less_equal", "%(a2, a1)", "%(a2, 0.5)", "%(0.5, a2)",
     "%(a0, a1)", "%(az, a1)", "%(ai, gi)", "%(ai, 0)", "%(b1, b1)", "%(ad, gd)", "%(1, 2)",
     "%(a2, a2, out=np.zeros((2, 3), dtype='bool'))", "%(a2, a3)", "%(a1, gd)", "%(a2, onp.float64(0))")  # fmt: skip

# ---- reductions --------------------------------------------------------------------------------

_AXES = ["", ", axis=0", ", axis=1", ", axis=-1", ", axis=None", ", keepdims=True",
         ", axis=-2, keepdims=True", ", axis=onp.int64(1)", ", 2"]  # fmt: skip
_TUPLES = [", axis=(0, 2)", ", axis=(-1, 0), keepdims=True", ", axis=(1,)", ", axis=()",
           ", axis=(0, 0)", ", axis=[0, 1]", ", axis=3", ", axis=-4", ", axis=(0, 3)"]  # fmt: skip
_REDUCED = "sum prod product max min amax amin mean std var all any sometrue"
case(_REDUCED, *[f"%(a3{form})" for form in _AXES + _TUPLES], "%(a0)", "%(a0, axis=())", "%(ai)",
     "%(al, axis=0)", "%(au)", "%(b1)", "%(b2, axis=0)", "%(ah)", "%(ad)", "%(x1)", "%(a0, axis=0)")  # fmt: skip
case("sum prod product mean std var all any sometrue", "%(az)", "%(az, axis=1)", "%(az, axis=0)")
case("max min amax amin", "%(az)", "%(az, axis=1)", "%(az, axis=0)")
case("sum", "%(a2, initial=2.0)", "%(a2, 1, 'float64')")
case("sum prod product mean std var", "%(a2, dtype='float64')", "%(ai, dtype='float32')",
     "%(a2, axis=1, dtype=onp.float16)", "%(ai, dtype='int64')", "%(a1, dtype=int)")  # fmt: skip
case(_REDUCED.replace("all any sometrue", ""),
     "%(a2, axis=0, out=np.zeros(3, dtype='float32'))",
     "%(a2, out=np.zeros((), dtype='float32'))",
     "%(a2, axis=0, out=np.zeros(2, dtype='float32'))")  # fmt: skip
case("all any sometrue", "%(b2, axis=0, out=np.zeros(3, dtype='bool'))", "%(b2, 1, keepdims=True)")
case("std var", "%(a2, ddof=1)", "%(a2, axis=0, ddof=1, keepdims=True)")
case("alltrue", "%(b2)", "%(b2, axis=0)", "%(a2, axis=1, keepdims=True)")
case("ptp", "%(a2)", "%(a2, axis=0)", "%(a2, axis=1, keepdims=True)")
case("count_nonzero", "%(al)", "%(al, axis=0)", "%(b2)", "%(b2, axis=1, keepdims=True)")
case("argmax argmin", *[f"%(a3{form})" for form in ("", ", axis=0", ", axis=-1", ", 1", ", axis=3",
     ", axis=onp.int64(1)")], "%(a0)", "%(ai)", "%(al, axis=1)", "%(b1)", "%(az)", "%(az, axis=1)",
     "%(ah)", "%(ad)", "%(a2, axis=0, out=np.zeros(3, dtype='int64'))", "%(r1 * 0)")  # fmt: skip
case("average", "%(a2)", "%(a2, axis=0)", "%(a2, axis=-1, weights=g1)", "%(a2, weights=g2)",
     "%(a2, axis=1, weights=g1, returned=True)", "%(a2, returned=True)", "%(a3, axis=(0, 1))",
     "%(a2, axis=0, weights=g1)", "%(gi)", "%(ad)", "%(a2, axis=2)")  # fmt: skip
case("cumsum", "%(a2)", "%(a2, axis=0)", "%(a2, axis=-1)", "%(ai)", "%(b1)", "%(a0)", "%(az)",
     "%(a2, axis=0, dtype='float64')", "%(a2, 1, out=np.zeros((2, 3), dtype='float32'))", "%(ah)",
     "%(a2, axis=2)", "%(a2, axis=onp.int32(1))", "%(au)", "%(az, axis=1)")  # fmt: skip
case("diff", "%(a2)", "%(a2, axis=0)", "%(r1, n=2)", "%(r1, 0)", "%(ai)", "%(a1, n=5)", "%(a3, 1, -2)",
     "%(a1, prepend=0)", "%(a1, n=-1)", "%(a2, axis=2)", "%(al, axis=-1)", "%(b1)")  # fmt: skip
case("ediff1d", "%(a1)", "%(a2)", "%(a1, to_end=9.0)", "%(a1, to_begin=-1.0, to_end=1.0)",
     "%(a1, to_end=g1)", "%(a1, to_begin=g1)", "%(a1, g1, g2)", "%(ai)", "%(e1)", "%(g1[:1])",
     "%(al, 5, 6)")  # fmt: skip
case("percentile", "%(a2, 50)", "%(a2, 30.0, axis=0)", "%(a2, p1 * 100, axis=1)", "%(r1, 40, interpolation='lower')",
     "%(r1, 45, interpolation='higher')", "%(r1, 45, interpolation='midpoint')", "%(ai, 50)",
     "%(r1, 45, interpolation='nearest')", "%(a2, 50, axis=(0, 1), keepdims=True)", "%(a2, 101)",
     "%(a2, np.array([[0, 100], [25, 75]], dtype='float32'))", "%(ad, 50)", "%(ah, 50)", "%(a0, 50)",
     "%(a2, 50, axis=0, out=np.zeros(3, dtype='float32'))", "%(a2, onp.float64(50))", "%(a2, [10, 90])")  # fmt: skip
case("quantile", "%(a2, 0.5)", "%(a2, 0.3, axis=0)", "%(a2, p1, axis=1)", "%(r1, 0.4, interpolation='lower')",
     "%(a2, 0.5, axis=(0, 1), keepdims=True)", "%(a2, 1.5)", "%(a2, 0.5, axis=0, out=np.zeros(3, dtype='float32'))")  # fmt: skip
case("histogram", "%(a2, 4, (-2, 2))", "%(a2, bins=3, range=(-1.0, 1.0))", "%(r1, np.array([0, 2, 6, 8], dtype='float32'))",
     "%(r1, bins=4)", "%(gi, 3, (0, 4))", "%(r1, 4, (0, 8), density=True)", "%(ad, 2, (-2, 2))")  # fmt: skip
case("bincount", "%(q1)", "%(q1, minlength=9)", "%(q1, r1)", "%(q1, weights=r1, minlength=8)", "%(gi)",
     "%(a1)", "%(al)", "%(ai)", "%(q1, None, 2)", "%(q1[:0])")  # fmt: skip
case("trace", "%(s2)", "%(a2)", "%(a2, 1)", "%(a3, offset=-1)", "%(a3, 0, 1, 2)", "%(al)", "%(a1)",
     "%(a3, axis1=-1, axis2=0)", "%(s2, out=np.zeros((), dtype='float32'))", "%(s2, 5)")  # fmt: skip
case("nanargmax nanargmin nanmax nanmin nanmedian nanprod nancumprod nancumsum", "%(n1)", "%(a2, axis=0)",
     "%(a2, axis=-1)", "%(n1[:3].reshape((3, 1)), axis=0)")  # fmt: skip
case(
    "nanpercentile nanquantile",
    "%(n1, 0.5)",
    "%(a2, 0.25, axis=0)",
    "%(a2, 0.25, axis=1, keepdims=True)",
)

# ---- shapes --------------------------------------------------------------------------------------

case("reshape", "%(a3, (4, 6))", "%(a3, -1)", "%(a3, (2, -1))", "%(a3, newshape=(-1, 4))", "%(a3, [3, 8])",
     "%(a0, (1, 1))", "%(a1[:1], ())", "%(az, (3, 0))", "%(az, (0, 7))", "%(a3, (5, 5))", "%(a3, (-1, -1))",
     "%(a3, (onp.int64(4), onp.int32(6)))", "%(a3, onp.int64(24))", "%(a2, (3, 2), order='C')",
     "%(a2, (3, 2), order='F')", "%(a2, 6)", "%(a2, (3, 2), out=np.zeros((3, 2), dtype='float32'))",
     "%(az, -1)", "%(az, (-1, 3))")  # fmt: skip
case("ravel", "%(a3)", "%(a0)", "%(az)", "%(ai)", "%(a2, order='C')")
case("transpose", "%(a3)", "%(a3, (2, 0, 1))", "%(a3, axes=[1, 0, 2])", "%(a1)", "%(a0)", "%(az)", "%(a2, (-1, 0))",
     "%(a3, (0, 0, 1))", "%(a3, (0, 1))", "%(a3, None)", "%(al)", "%(a2, (onp.int64(1), onp.int64(0)))")  # fmt: skip
case("swapaxes", "%(a3, 0, 2)", "%(a3, -1, 1)", "%(a2, axis1=0, axis2=1)", "%(a1, 0, 0)", "%(a3, 0, 3)", "%(az, 0, 1)",
     "%(a3, onp.int64(0), onp.int64(-1))")  # fmt: skip
case("moveaxis", "%(a3, 0, -1)", "%(a3, (0, 1), (-1, -2))", "%(a3, source=2, destination=0)", "%(a3, [0], [2])",
     "%(a3, 3, 0)", "%(a3, (0, 1), 0)", "%(az, 0, 1)")  # fmt: skip
case("rollaxis", "%(a3, 2)", "%(a3, 1, 3)", "%(a3, -1)", "%(a3, 0, 2)", "%(a3, 0, -1)", "%(a3, 3)")
case("expand_dims", "%(a2, 0)", "%(a2, 1)", "%(a2, -1)", "%(a0, 0)", "%(az, axis=2)", "%(a2, 4)", "%(a2, -4)", "%(a2, onp.int64(1))",
     "%(a2, axis=-3)")  # fmt: skip
case("squeeze", "%(a3[:1])", "%(a3[:1, :, :1], axis=0)", "%(a3[:1, :, :1], axis=-1)", "%(a3[:1, :, :1], (0, 2))", "%(a2)", "%(a0)",
     "%(a2, 0)", "%(a2[:1, :1])", "%(az[:, :1], axis=1)", "%(a2[:1], axis=3)", "%(a2[:1], axis=onp.int64(0))",
     "%(a2[:1], out=np.zeros(3, dtype='float32'))")  # fmt: skip
case("broadcast_to", "%(a1, (2, 3))", "%(a0, (2, 2))", "%(a0, ())", "%(a1, 3)", "%(a2, (4, 2, 3))", "%(a2, (3, 3))", "%(az, (2, 0, 3))",
     "%(2.0, (3,))", "%(a1[:1], (0,))", "%(a1, (onp.int64(2), onp.int64(3)))", "%(a1, [2, 3])")  # fmt: skip
case("broadcast_arrays", "%(a1, a2)", "%(a0, a2)", "%(a1)", "%(az, a1)", "%(a2, a3)")
case("concatenate", "%((a2, g2))", "%([a2, g2], axis=1)", "%((a2, g2), axis=-1)", "%((a2, g2), axis=None)", "%([a1])", "%((a2, a1))",
     "%((az, a2))", "%((a1, ad))", "%((ai, gi))", "%((a1, ai))", "%((b1, b1))", "%((a2, g2), 2)", "%([a1, e1])", "%((a1, ah))",
     "%((a2, g2), axis=onp.int64(1))", "%((a1, g1), out=np.zeros(6, dtype='float32'))", "%((a0, g0))", "%([])", "%((ai, al[0]))", "%((b1, ai))")  # fmt: skip
case(
    "append",
    "%(a2, g2)",
    "%(a2, g2, axis=0)",
    "%(a2, g2, axis=-1)",
    "%(a1, g1)",
    "%(a1, ai)",
    "%(a2, g1, 0)",
)
case("stack", "%((a2, g2))", "%([a2, g2], axis=1)", "%((a2, g2), axis=-1)", "%([a0, g0])", "%([az, az])", "%([a1, a2])", "%((a1, g1), 2)",
     "%((a1, ai))", "%((a1, g1), axis=-2)", "%((a1, g1), out=np.zeros((2, 3), dtype='float32'))", "%((a1, g1), axis=onp.int64(1))")  # fmt: skip
case(
    "vstack row_stack",
    "%((a2, g2))",
    "%([a1, g1])",
    "%([a0, g0])",
    "%([a1, a2])",
    "%([az, a2])",
    "%([a2, a3])",
)
case("vstack", "%((a1, g1), out=np.zeros((2, 3), dtype='float32'))")
case(
    "hstack",
    "%((a2, g2))",
    "%([a1, g1])",
    "%([a0, g0])",
    "%([a1, e1])",
    "%([a1, a2])",
    "%((a3, g3))",
)
case("dstack", "%((a2, g2))", "%([a1, g1])", "%([a0, g0])", "%((a3, g3))", "%([a1, a2])")
case(
    "column_stack",
    "%((a1, g1))",
    "%([a1, a2.reshape((3, 2))])",
    "%((a2, g2))",
    "%([a0, g0])",
    "%([a1, a2])",
)
case("split", "%(a2, 3, axis=1)", "%(a2, 2)", "%(a2, [1, 2], axis=1)", "%(a2, 2, axis=1)", "%(a3, (1, 3), axis=-1)", "%(a2, [2, 5], axis=1)",
     "%(a2, [], axis=1)", "%(a2, [1, 1], axis=1)", "%(az, 3, axis=1)", "%(a2, 0)", "%(a2, onp.int64(2))", "%(a2, 2, axis=2)", "%(r1, [2, 1])",
     "%(r1, [-1])", "%(a1, 1)")  # fmt: skip
case(
    "array_split",
    "%(r1, 4)",
    "%(a2, 2, axis=1)",
    "%(a2, [1], axis=-1)",
    "%(a1, 5)",
    "%(a1, 0)",
    "%(a3, 3)",
)
case("hsplit", "%(a2, 3)", "%(a1, [1])", "%(a3, [1, 2])", "%(a0, 1)", "%(a2, 2)")
case("vsplit", "%(a2, 2)", "%(a3, [1])", "%(a1, 1)", "%(a2, 3)")
case("dsplit", "%(a3, 2)", "%(a3, [1, 3])", "%(a2, 1)", "%(a3, 3)")
case("repeat", "%(a2, 2)", "%(a2, 2, axis=0)", "%(a2, 3, axis=-1)", "%(a1, [1, 0, 2])", "%(a2, [2, 1], axis=0)", "%(a0, 3)", "%(a1, 0)",
     "%(az, 2, axis=1)", "%(ai, onp.int64(2))", "%(a2, 2, axis=2)", "%(b1, 2)", "%(a1, -1)")  # fmt: skip
case("tile", "%(a2, 2)", "%(a2, (2, 1))", "%(a1, (2, 2, 2))", "%(a0, 3)", "%(a0, (2, 2))", "%(a2, (0, 1))", "%(a2, ())", "%(az, 2)",
     "%(a2, [2, 3])", "%(2.0, (2,))", "%(ai, onp.int64(2))", "%(a3, (2,))", "%(a0, ())")  # fmt: skip
case("flip", "%(a2)", "%(a2, 0)", "%(a2, -1)", "%(a3, (0, 2))", "%(a0)", "%(az, 0)", "%(a2, 2)", "%(a2, axis=())",
     "%(a2, 0, out=np.zeros((2, 3), dtype='float32'))", "%(b1)", "%(a2, onp.int64(1))")  # fmt: skip
case("flipud", "%(a2)", "%(a1)", "%(a0)", "%(az)")
case("fliplr", "%(a2)", "%(a3)", "%(a1)", "%(az)")
case("roll", "%(a2, 1)", "%(a2, 1, axis=0)", "%(a2, -1, axis=-1)", "%(a2, (1, 2), axis=(0, 1))", "%(a1, 7)", "%(az, 1)", "%(a2, 2, axis=(0, 1))",
     "%(a0, 1)", "%(a2, 1, axis=2)", "%(a2, (1, 1))", "%(a2, onp.int64(1), axis=onp.int64(1))", "%(ai, 1)", "%(a2, (1, 2), axis=0)")  # fmt: skip
case("rot90", "%(a2)", "%(a2, 2)", "%(a2, 3)", "%(a2, -1)", "%(a3, 1, (1, 2))", "%(a3, k=1, axes=(2, 0))", "%(a2, 4)", "%(a1)", "%(a2, 1, (0, 0))",
     "%(az)", "%(a2, 1, [1, 0])")  # fmt: skip
case(
    "tril",
    "%(a2)",
    "%(s2, 1)",
    "%(a3, k=-1)",
    "%(a1)",
    "%(az)",
    "%(al)",
    "%(b2)",
    "%(a0)",
    "%(s2, onp.int64(-1))",
)
case(
    "diag",
    "%(a1)",
    "%(s2)",
    "%(a1, 1)",
    "%(a2, k=-1)",
    "%(a3)",
    "%(a0)",
    "%(ai, -2)",
    "%(a2, 5)",
    "%(az)",
    "%(e1)",
    "%(b1)",
)
case("diagflat", "%(a1)", "%(a2)", "%(a2, 1)", "%(a0)", "%(ai, -1)", "%(e1)")
case(
    "diagonal",
    "%(a2)",
    "%(a3)",
    "%(a3, 1, 1, 2)",
    "%(a3, offset=-1, axis1=-1, axis2=0)",
    "%(a1)",
    "%(a2, 5)",
    "%(s3, 0, 1, 2)",
    "%(a3, 0, 1, 1)",
)
case("diag_indices_from", "%(s2)", "%(np.ones((2, 2, 2)))", "%(a2)", "%(a1)")
case(
    "atleast_1d atleast_2d atleast_3d",
    "%(a0)",
    "%(a1)",
    "%(a2)",
    "%(a3)",
    "%(a0, a2)",
    "%(az)",
    "%(2.0)",
    "%([1.0, 2.0])",
    "%(np.array(5, dtype='int32'))",
)
case("pad", "%(a2, ((1, 1), (0, 2)))", "%(a2, 1)", "%(a1, (2, 1))", "%(a2, ((1, 2),), mode='edge')", "%(a3, ((0, 0), (1, 1), (2, 2)), mode='reflect')",
     "%(a2, ((1, 1), (1, 1)), mode='symmetric')", "%(a2, ((1, 1), (1, 1)), mode='maximum')", "%(a2, ((1, 1), (1, 1)), mode='minimum')",
     "%(a2, ((1, 1), (1, 1)), mode='constant', constant_values=3)", "%(ai, ((1, 1),), constant_values=2)", "%(a2, ((1, 1), (1, 1)), mode='mean')",
     "%(a2, ((1, 1), (1, 1)), mode='foo')", "%(az, ((1, 0), (0, 0)))", "%(a2, 1.5)", "%(a1, ((3, 4),), mode='reflect')", "%(a2, onp.array([[1, 0], [0, 1]]))")  # fmt: skip
case(
    "resize",
    "%(a2, (3, 4))",
    "%(a2, 4)",
    "%(a1, (2, 2, 2))",
    "%(a0, (2, 2))",
    "%(az, (2, 2))",
    "%(a2, (0,))",
    "%(a2, [2, 2])",
)
case(
    "unravel_index",
    "%(q1, (2, 3))",
    "%(np.array(4, dtype='int64'), (2, 3))",
    "%(q1, 7)",
    "%(4, (2, 3))",
    "%(al[:1], (4, 4))",
    "%([1, 2], (2, 3))",
    "%(q1.reshape((2, 3)), shape=(3, 2))",
)
case("shape", "%(a3)", "%(a0)", "%(az)", "%([1, 2])")
case("size", "%(a3)", "%(a0)", "%(az)", "%(a3, 1)")
case("ndim", "%(a3)", "%(a0)", "%(2)")
case(
    "may_share_memory shares_memory", "%(a2, a2)", "%(a2, a2[:1])", "%(a2, g2)", "%(a2[:1], a2[1:])"
)

# ---- making --------------------------------------------------------------------------------------

case("array", "%([1, 2])", "%([[1.0, 2.0], [3.0, 4.0]])", "%(3)", "%(2.5)", "%([])", "%([[]])", "%(True)", "%([True, False])", "%(a2)", "%(ai)",
     "%(a2, dtype='float16')", "%([1, 2], dtype='int64')", "%([1.7, 2.2], dtype=int)", "%((1, 2, 3))", "%(onp.array([1, 2]))", "%(onp.array([1.5]))",
     "%(onp.float64(2.5))", "%([1, 0], dtype=bool)", "%([a1, g1])", "%([[1], [2, 3]])", "%('text')", "%(onp.array([True]))", "%(onp.zeros((0, 2)))",
     "%([onp.float32(1), 2])", "%(onp.arange(3, dtype='int32'), dtype='float32')", "%(range(3))", "%(a0)", "%([a0, g0])")  # fmt: skip
case("zeros ones empty", "%((2, 3)).shape", "%(3).shape", "%(()).shape", "%((0, 2)).shape", "%((2,), dtype='int32').dtype", "%([2, 1]).shape", "%(onp.int64(2)).shape",
     "%((onp.int64(2), onp.int32(1))).shape", "%(2, dtype=onp.float64).dtype", "%((2, 3)).dtype", "%(shape=(1,), dtype=bool).dtype", "%((2, 3), order='F').shape")  # fmt: skip
case(
    "zeros ones",
    "%((2, 3))",
    "%(3)",
    "%(())",
    "%((0, 2))",
    "%((2,), dtype='int8')",
    "%(2, dtype=bool)",
    "%((2, -1))",
    "%((2,), ctx=npx.cpu())",
)
case("full", "%((2, 3), 1.5)", "%(3, 2)", "%((), 7)", "%((2,), True)", "%((2,), 3, dtype='int32')", "%((0, 2), 1)", "%((2, 3), a1)", "%((2,), onp.float32(1.5))", "%((2,), onp.inf)",
     "%((2,), 1, out=np.zeros(2, dtype='float32'))", "%((2, 2), a0)")  # fmt: skip
case(
    "full_like",
    "%(a2, 3)",
    "%(a2, 1.5, dtype='int32')",
    "%(ai, 2.7)",
    "%(a0, 1)",
    "%(az, 1)",
    "%(a2, True)",
    "%(a2, 2, out=np.zeros((2, 3), dtype='float32'))",
    "%(b1, 1)",
)
case(
    "zeros_like ones_like",
    "%(a2)",
    "%(ai)",
    "%(a2, dtype='int64')",
    "%(a0)",
    "%(az)",
    "%(b1)",
    "%(ah)",
    "%(ad)",
)
case(
    "empty_like",
    "%(a2).shape",
    "%(a2, dtype='int64').dtype",
    "%(ai).dtype",
    "%(a0).shape",
    "%(az).shape",
)
case("arange", "%(5)", "%(2, 5)", "%(2, 10, 3)", "%(5, 0, -2)", "%(0.5, 2.0, 0.5)", "%(0)", "%(3, dtype='int32')", "%(1.0, 4, dtype='float64')", "%(5, 2)", "%(0, 1, 0)", "%(start=1, stop=4)",
     "%(onp.int64(4))", "%(0, 10, step=2)", "%(5, dtype=onp.int8)")  # fmt: skip
case("linspace", "%(0, 1)[:3]", "%(0, 1, 5)", "%(2, 8, num=4, endpoint=False)", "%(0, 1, 5, retstep=True)", "%(0, 10, 3, dtype='int32')", "%(1, 1, 3)", "%(0, 1, 0)", "%(0, 1, 1)", "%(5, 0, 6)",
     "%(0, 1, 3, axis=1)", "%(onp.float64(0), onp.int64(4), onp.int64(3))", "%(0, 1, 1, endpoint=False)", "%(0, 5, 4, retstep=True, endpoint=False)", "%(0, 1, -1)")  # fmt: skip
case(
    "logspace",
    "%(0, 2, 3)",
    "%(0, 3, 4, base=2.0)",
    "%(0, 1, 4, endpoint=False)",
    "%(1, 2, 2, dtype='int32')",
    "%(0, 1, 0)",
    "%(0, 1)[:2]",
)
case(
    "eye",
    "%(3)",
    "%(2, 3)",
    "%(3, k=1)",
    "%(3, 4, -1)",
    "%(2, dtype='int32')",
    "%(0)",
    "%(2, 0)",
    "%(3, k=7)",
    "%(onp.int64(2))",
    "%(-1)",
)
case("identity", "%(3)", "%(2, dtype='int64')", "%(0)", "%(onp.int64(2))", "%(1)")
case(
    "indices",
    "%((2, 3))",
    "%((2,))",
    "%((2, 2), dtype='int64')",
    "%((0, 2))",
    "%((1, 2, 2))",
    "%([2, 2])",
)
case(
    "hanning hamming blackman",
    "%(5)",
    "%(1)",
    "%(0)",
    "%(6, dtype='float64')",
    "%(-2)",
    "%(onp.int64(4))",
)
case(
    "meshgrid",
    "%(a1, g2[0, :2])",
    "%(a1, r1, indexing='ij')",
    "%(a1, a1, sparse=True)",
    "%(a1)",
    "%(a1, r1[:2], g1)",
    "%(a0, a1)",
    "%(a1, a1, indexing='zz')",
    "%(a1, a1, foo=1)",
)
case("copy", "%(a2)", "%(a0)", "%(az)", "%(ai)", "%(a2, out=np.zeros((2, 3), dtype='float32'))")
case(
    "genfromtxt",
    "%(['1 2', '3 4'])",
    "%(['1,2,3'], delimiter=',')",
    "%(['1 2', '3 4'], dtype='int32')",
)
case("set_printoptions", "[%(precision=3), %(precision=8)]")
case("vander", "%(a1)", "%(a1, 2)", "%(a1, increasing=True)")
case("tril_indices_from triu_indices_from", "%(s2)", "%(s2, 1)", "%(s2, k=-1)")
case("ix_", "%(np.array([0, 1], dtype='int64'), np.array([0, 2], dtype='int64'))")

# ---- choosing, ordering, sets -----------------------------------------------------------------------

case("where", "%(b1, a1, g1)", "%(b2, a1, g2)", "%(b1, 1.0, g1)", "%(b1, a1, 0)", "%(b1, 1, 2)", "%(b2)", "%(a2 > 0, a2, a0)", "%(ai, a1, g1)", "%(b1, a1)", "%(al)", "%(b1, ai, gi)", "%(az > 0, az, az)",
     "%(True, a1, g1)", "%(b1, a1, ai)", "%(b1, a1, ad)", "%(a0 > 5, a0, g0)", "%(b1, 1.5, gi)", "%(b2, a3, g3)", "%(np.zeros(3, dtype=bool))", "%(b1, a2, 0)", "%(b1, True, False)",
     "%(b1, onp.float64(1), onp.float64(0))")  # fmt: skip
case("nonzero", "%(al)", "%(b2)", "%(a1)", "%(az)", "%(ai)", "%(np.zeros((2, 2)))", "%(a0)")
case("argwhere", "%(al)", "%(b2)", "%(az)", "%(ai)")
case("flatnonzero", "%(al)", "%(b2)", "%(ai)")
case("extract", "%(b1, a1)", "%(b2, a2)", "%(a2 > 0, a2)")
case("unique", "%(q1)", "%(r1)", "%(al)", "%(q1, return_index=True)", "%(q1, return_inverse=True)", "%(q1, return_counts=True)", "%(q1, True, True, True)", "%(al, axis=0)", "%(np.array([[1, 2], [1, 2], [0, 1]], dtype='int64'), axis=0)",
     "%(e1)", "%(b1)", "%(a0)", "%(al, axis=1, return_counts=True)", "%(np.array([[1, 1], [2, 2]], dtype='int64'), axis=-1)")  # fmt: skip
case("take", "%(a1, q1[:2])", "%(a2, np.array([0, 1], dtype='int32'), axis=1)", "%(a2, np.array([[0, 1]], dtype='int64'), axis=0)", "%(a2, np.array([5, -7], dtype='int64'), axis=1, mode='clip')", "%(a2, np.array([5, -7], dtype='int64'), axis=1, mode='wrap')",
     "%(a2, np.array(2, dtype='int64'))", "%(a2, np.array([4, 0], dtype='int64'))", "%(a2, np.array([1], dtype='int64'), axis=-1)", "%(a1, 1)", "%(a1, [0, 2])", "%(a2, np.array([9], dtype='int64'), axis=1)", "%(a3, np.array([0], dtype='int64'), axis=1)",
     "%(a2, np.array([0, 1], dtype='float32'), axis=0)", "%(a2, np.array([0], dtype='int64'), axis=1, out=np.zeros((2, 1), dtype='float32'))", "%(a2, np.array([0], dtype='int64'), axis=2)", "%(ai, q1[:1])",
     "%(a1, np.array([-1], dtype='int64'))", "%(a2, np.zeros((0,), dtype='int64'), axis=0)")  # fmt: skip
case(
    "sort",
    "%(a2)",
    "%(a2, axis=0)",
    "%(a2, axis=None)",
    "%(ai)",
    "%(al, -1)",
    "%(az)",
    "%(a3, axis=1)",
    "%(a0)",
    "%(b1)",
    "%(a2, axis=2)",
    "%(au)",
    "%(ad)",
    "%(ah)",
    "%(n1)",
)
case(
    "argsort",
    "%(a2)",
    "%(a2, axis=0)",
    "%(a2, axis=None)",
    "%(ai)",
    "%(al, -1)",
    "%(az)",
    "%(a3, axis=1)",
    "%(r1[::-1])",
    "%(a2, axis=2)",
    "%(a2, kind='stable')",
)
case("delete", "%(a1, 1)", "%(a2, 0, axis=0)", "%(a2, np.array([0, 2], dtype='int64'), axis=1)", "%(r1, slice(1, 4))", "%(r1, slice(None, None, 2))", "%(a2, -1, axis=1)", "%(r1, [0, 1])", "%(a2, 1)", "%(a1, 5)", "%(ai, 0)", "%(r1, [0, 0])",
     "%(a2, slice(0, 2), 1)", "%(a1, onp.int64(1))", "%(a2, 0, 2)", "%(r1, slice(10, 20))", "%(r1, [])", "%(r1, np.array([-1], dtype='int64'))")  # fmt: skip
case("insert", "%(a1, 1, 9.0)", "%(a2, 0, g1, axis=0)", "%(a2, 1, 5, axis=1)", "%(a1, np.array([0, 2], dtype='int64'), g1[:2])", "%(r1, slice(0, 3), 7)", "%(a2, [0, 1], 4, axis=1)", "%(a1, 1, g2[0])", "%(a2, 1, 3)", "%(a2, -1, 3, axis=1)", "%(ai, 0, 5)",
     "%(a1, 7, 1)", "%(a1, 3, 8.0)", "%(a2, 1, a2[:, :1], axis=1)", "%(a2, np.array([1], dtype='int64'), g1, axis=0)", "%(a1, onp.int64(1), 2)", "%(a2, slice(0, 2), g2, axis=0)")  # fmt: skip
case("searchsorted", "%(r1, a1)", "%(r1, 2)", "%(r1, 2, side='right')")
case(
    "digitize",
    "%(a1, np.array([-1, 0, 1], dtype='float32'))",
    "%(r1, np.array([1, 5], dtype='float32'), right=True)",
)
case("argpartition", "%(a1, 1).shape", "%(a2, 1, axis=0).dtype")
case("partition", "%(r1[::-1], 2)[2]", "%(a2, 0)[:, 0]")
case("lexsort", "%((a1, g1))", "%(a2)")
case("msort", "%(a2)", "%(al)")
case("compress", "%(b1, a1)", "%([True, False], a2, axis=0)", "%(b1, a2, axis=1)")
case("choose", "%(pi, [a1, g1])", "%(np.array([0, 1, 2], dtype='int64'), (a1, g1, p1))")
case("select", "%([b1, a1 > 0], [a1, g1])", "%([b1], [a1], default=7)")
case("take_along_axis", "%(a2, k2, axis=1)", "%(al, k2, 1)")
case(
    "trim_zeros",
    "%(np.array([0, 0, 1, 2, 0], dtype='float32'))",
    "%(np.array([0, 1, 0], dtype='float32'), 'f')",
)
case("isin in1d", "%(q1, np.array([1, 5], dtype='int64'))", "%(q1, [2], invert=True)", "%(a1, a2)")
case("intersect1d setdiff1d setxor1d union1d", "%(q1, gi)", "%(r1, a1)", "%(al, q1)")
case("packbits", "%(b1)", "%(b2, axis=1)")
case("unpackbits", "%(au)")

# ---- products -------------------------------------------------------------------------------------

case("dot", "%(a1, g1)", "%(a2, g1)", "%(a2, c2)", "%(a3, np.ones((4, 2)))", "%(a1, 2)", "%(3, a2)", "%(a0, g1)", "%(a2, a2)", "%(az, c2)", "%(a3, t6[0, :, :4].reshape((4, 3)))", "%(ai, gi)", "%(a2, c2, out=np.zeros((2, 2), dtype='float32'))", "%(ad, gd)", "%(a1, gd)",
     "%(s3, s3)")  # fmt: skip
case(
    "matmul",
    "%(a2, c2)",
    "%(s3, c2)",
    "%(s3, s3)",
    "%(a1, c2)",
    "%(a2, g1)",
    "%(a1, g1)",
    "%(a2, a2)",
    "%(a2, 2)",
    "%(az, c2)",
    "%(a2, c2, out=np.zeros((2, 2), dtype='float32'))",
    "%(ad, gd)",
    "%(ai, gi)",
    "%(a0, a1)",
)
case("inner", "%(a1, g1)", "%(a2, g2)", "%(a2, g1)", "%(a2, c2)", "%(a3, np.ones((2, 4)))")
case("outer", "%(a1, g1)", "%(a2, g1)", "%(a0, g1)", "%(ai, gi)", "%(e1, a1)")
case("vdot", "%(a1, g1)", "%(a2, g2)", "%(a1, a2)", "%(ad, gd)")
case("tensordot", "%(a2, c2, 1)", "%(a3, g3, axes=3)", "%(a2, g1, axes=0)", "%(a3, g3, axes=((0, 1), (0, 1)))", "%(a3, g2, axes=([1], [1]))", "%(a2, c2, axes=(1, 0))", "%(a2, a2, 1)", "%(a3, g3)", "%(az, az, axes=((0,), (0,)))", "%(a2, g2, axes=((-1,), (-1,)))",
     "%(a2, g2, axes=2)", "%(a2, c2, onp.int64(1))")  # fmt: skip
case("einsum", "%('ij,jk->ik', a2, c2)", "%('ij->ji', a2)", "%('ii', s2)", "%('ii->i', s2)", "%('ij,ij->', a2, g2)", "%('i,j', a1, g1)", "%('...j,j->...', a3, a3[0, 0])", "%('ijk->', a3)", "%('ij,jk', a2, c2, optimize=True)", "%('bij,bjk->bik', s3, s3)", "%('ij,jk->ik', a2, a2)",
     "%('i,i->i', ai, gi)", "%(a2, [0, 1], c2, [1, 2])", "%('ij,j->i', a2, g1, out=np.zeros(2, dtype='float32'))")  # fmt: skip
case("polyval", "%(a1, g1)", "%(a1, g2)", "%(a1, g0)", "%(a1, 2.0)", "%(ai, gi)", "%(e1, g1)")
case("correlate", "%(a1, g1)", "%(a1, g1, 'full')")
case("corrcoef cov", "%(a2)", "%(a3[0])")
case("cov", "%(a2, bias=True)", "%(a2, rowvar=False)")
case("interp", "%(a1, r1, r1 * 2)", "%(2.5, r1, r1)")
case("poly", "%(a1)")
case("polyadd polysub polymul polydiv", "%(a1, g1)", "%(g1[:2], a1)")
case("polyfit", "%(r1, r1 * r1, 1)", "%(a1, g1, 2)")
case("polyint", "%(a1)", "%(a1, 2)")
case("roots", "%(np.array([1, -3, 2], dtype='float32'))")
case("trapz", "%(r1)", "%(a2, axis=0)", "%(a1, g1)")

# ---- others that NumPy computes ----------------------------------------------------------------------

case("allclose", "%(a1, a1)", "%(a1, g1)", "%(a1, a1 + 1e-4, atol=1e-2)")
case("array_equal array_equiv", "%(a1, a1)", "%(a1, g1)", "%(a2, a1)")
case("isclose", "%(a1, a1 + 1e-9)", "%(a1, g1)", "%(x1, x1, equal_nan=True)")
case("apply_along_axis", "%(lambda v: v.sum(), 0, a2)", "%(lambda v: v[::-1], 1, a2)")
case("apply_over_axes", "%(onp.sum, a3, [0, 2])")
case("divmod", "%(a1, g1)", "%(gi, 2)")
case("float_power", "%(g1, a1)", "%(gi, 2)")
case("frexp modf", "%(a1)", "%(a2)")
case("heaviside", "%(a1, 0.5)", "%(a1, g1)")
case("histogram2d", "%(a1, g1, 2)")
case("histogram_bin_edges", "%(a2, 4)", "%(r1, bins=3, range=(0, 6))")
case("histogramdd", "%(m2, 2)")
case("i0 spacing", "%(a1)", "%(a2)")
case("min_scalar_type", "%(10)", "%(-300)")
case("promote_types", "%('int32', 'float32')", "%('int8', 'uint8')")
case("result_type", "%(a1, ad)", "%('int32', ai)")
case("piecewise", "%(a1, [a1 < 0, a1 >= 0], [-1, 1])")
case("positive real", "%(a1)", "%(ai)")
case("signbit", "%(x1)", "%(a2)")
case("unwrap", "%(np.array([0, 3, 6.5, 0.5], dtype='float32'))", "%(a2, axis=0)")
case("mirr", "%([-100, 39, 59], 0.1, 0.12)")
case("npv", "%(0.1, [1, 2])")
case("pv rate", "%(0.1, 2, 3, 4)")
case("ppmt", "%(0.1, 1, 3, 100)")
case("NAN NINF NZERO NaN PINF PZERO e inf nan newaxis pi", "repr(%)")
case("bool bool_ float16 float32 float64 int32 int64 int8 uint8", "np.zeros(2, dtype=%)")
case("finfo", "float(%('float32').eps)")
case("ndarray", "isinstance(a1, %)")

# ---- linear algebra ----------------------------------------------------------------------------------

case("linalg.norm", "%(a1)", "%(a2)", "%(a3)", "%(a1, 1)", "%(a1, onp.inf)", "%(a1, -onp.inf)", "%(a1, 3)", "%(a1, 0)", "%(a2, 'fro')", "%(a2, 1)", "%(a2, -1)", "%(a2, onp.inf)", "%(a2, 2)", "%(a2, 'nuc')", "%(a2, -2)", "%(a2, axis=0)", "%(a2, ord=2, axis=-1)",
     "%(a3, axis=(0, 1))", "%(a3, ord=1, axis=(1, 2), keepdims=True)", "%(a3, ord=2, axis=(0, 2), keepdims=True)", "%(a2, keepdims=True)", "%(a3, 'nuc', axis=(1, 2))", "%(a3, ord=1)", "%(a2, ord='foo')", "%(ad)", "%(a0)", "%(az)", "%(a3, ord=-onp.inf, axis=(-2, -1))",
     "%(a2, ord=3, axis=(0, 1))", "%(a3, axis=(0, 1, 2))", "%(a2, axis=onp.int64(1))")  # fmt: skip
case(
    "linalg.svd",
    "[x.shape for x in %(a2)]",
    "%(a2)[1]",
    "(lambda u, l, v: np.matmul(u * l.reshape((1, -1)), v))(*%(a2))",
    "[x.shape for x in %(s3)]",
    "len(%(s2))",
    "%(m2)",
    "%(a1)",
)
case("linalg.cholesky", "%(s2)", "%(s3)", "%(a2)", "%(s2.astype('float64'))")
case("linalg.inv", "%(s2)", "%(s3)", "%(a2)", "%(s2.astype('float64'))", "%(a1)")
case("linalg.det", "%(s2)", "%(s3)", "%(a2)", "%(s2.astype('float64'))")
case("linalg.slogdet", "tuple(%(s2))", "tuple(%(s3))", "tuple(%(-s2))")
case("linalg.solve", "%(s2, c2)", "%(s3, s3)", "%(s2, a1)", "%(a2, c2)")
case(
    "linalg.tensorinv",
    "%(s2.reshape((3, 3, 1, 1)), ind=1).shape",
    "%(s2, ind=1)",
    "%(np.eye(6).reshape((2, 3, 6)))",
    "%(s2, ind=0)",
)
case(
    "linalg.tensorsolve",
    "%(s2, a1)",
    "%(np.eye(6).reshape((2, 3, 2, 3)), a2)",
    "%(np.eye(6).reshape((2, 3, 2, 3)), a2, axes=(0, 2)).shape",
)
case(
    "linalg.pinv",
    "%(a2)",
    "%(s2)",
    "%(s3)",
    "%(s2, 1e-3)",
    "%(s2, hermitian=True)",
    "%(s2, np.array(1e-3, dtype='float32'))",
)
case(
    "linalg.eig",
    "np.sort(%(s2)[0])",
    "%(s2)[1].shape",
    "[x.shape for x in %(s3)]",
    "%(a2)",
)
case("linalg.eigvals", "np.sort(%(s2))", "%(s3).shape", "%(a2)")
case(
    "linalg.eigh",
    "%(s2)[0]",
    "%(s2, 'U')[0]",
    "[x.shape for x in %(s3)]",
    "abs(%(s2)[1])",
    "%(s2, UPLO='X')",
    "%(a2)",
)
case("linalg.eigvalsh", "%(s2)", "%(s3)", "%(s2, UPLO='U')", "%(a2)")
case(
    "linalg.multi_dot",
    "%([a2, c2])",
    "%([a2, c2, a2, c2])",
    "%((a1, c2, a2))",
    "%([a1, c2, g2[:, 0]])",
    "%([a2])",
    "%([a2, a2])",
    "%([a2, s2, c2], out=np.zeros((2, 2), dtype='float32'))",
)
case("linalg.matrix_power", "%(s2, 3)", "%(s2, 0)", "%(s2, -2)", "%(s3, 2)", "%(a2, 2)", "%(s2, 1)")
case("linalg.cond", "%(s2)", "%(s2, 1)")
case(
    "linalg.lstsq",
    "%(m2, g2.reshape((6,))[:4], rcond=None)[0]",
    "%(m2, m2, rcond=None)[0]",
    "len(%(m2, m2, rcond=None))",
)
case("linalg.matrix_rank", "%(s2)", "%(np.ones((3, 3)))", "%(s2, hermitian=True)")
case("linalg.qr", "[x.shape for x in %(m2)]", "abs(%(m2)[1])", "abs(%(m2, mode='r'))")

# ---- random numbers: shape and dtype -----------------------------------------------------------------

_SIZES = [", size=3", ", size=(2, 0)", ", size=()", ", size=(2, onp.int64(3))"]
_S = "(lambda v: (v.shape, str(v.dtype)))"
for _name, _first in {"uniform": "0.0, 1.0", "normal": "0.0, 1.0", "lognormal": "0.0, 1.0", "logistic": "0.0, 1.0", "gumbel": "0.0, 1.0", "gamma": "2.0, 1.0",
                      "beta": "2.0, 3.0", "exponential": "1.5", "rayleigh": "1.5", "pareto": "2.0", "weibull": "2.0", "power": "2.0", "chisquare": "2.0"}.items():  # fmt: skip
    case(f"random.{_name}", f"{_S}(%({_first}))", *[f"{_S}(%({_first}{size}))" for size in _SIZES])
case(
    "random.uniform random.normal random.lognormal random.logistic random.gumbel",
    f"{_S}(%())",
    f"{_S}(%(g2, 2.0))",
    f"{_S}(%(0.0, g2))",
    f"{_S}(%(g2, g1))",
    f"{_S}(%(g1, g1, size=(4, 3)))",
    f"{_S}(%(g1, g1, size=(4, 2)))",
)
case(
    "random.uniform random.normal random.gamma",
    f"{_S}(%(1.0, 2.0, size=2, dtype='float64'))",
    f"{_S}(%(1.0, 2.0, size=2, dtype='float16'))",
    f"{_S}(%(1.0, 2.0, size=2, ctx=npx.cpu()))",
    f"{_S}(%(1.0, 2.0, size=2, out=np.zeros(2, dtype='float32')))",
)
case(
    "random.gamma",
    f"{_S}(%(g2))",
    f"{_S}(%(g2, g1))",
    f"{_S}(%(2.0, g1))",
    f"{_S}(%(g1, size=(2, 3)))",
)
case("random.beta", f"{_S}(%(g2, g1))", f"{_S}(%(g1, 2.0))", f"{_S}(%(g1, 2.0, size=(2, 3)))")
case(
    "random.exponential random.rayleigh",
    f"{_S}(%())",
    f"{_S}(%(g2))",
    f"{_S}(%(g1, size=(2, 3)))",
    f"{_S}(%(1.0, size=2, ctx=npx.cpu()))",
)
case(
    "random.pareto random.weibull random.power random.chisquare",
    f"{_S}(%(g2))",
    f"{_S}(%(g1, size=(2, 3)))",
)
case("random.rand random.randn", f"{_S}(%())", f"{_S}(%(2, 3))", f"{_S}(%(0, 2))")
case(
    "random.randint",
    f"{_S}(%(5))",
    f"{_S}(%(2, 5, size=(2, 2)))",
    f"{_S}(%(5, size=2, dtype='int32'))",
    f"{_S}(%(5, 5))",
    "bool((%(2, 4, size=50) >= 2).all())",
    f"{_S}(%(onp.int64(5), size=onp.int64(2)))",
)
case(
    "random.choice",
    f"{_S}(%(5))",
    f"{_S}(%(5, 3))",
    f"{_S}(%(5, size=(2, 2)))",
    f"{_S}(%(5, 5, replace=False))",
    f"{_S}(%(a1, 2))",
    f"{_S}(%(a1, (2, 2), p=np.array([0.2, 0.3, 0.5])))",
    f"{_S}(%(3, 5, replace=False))",
    "np.sort(%(4, 4, replace=False))",
    f"{_S}(%(ai, 2))",
)
case(
    "random.multinomial",
    f"{_S}(%(10, [0.2, 0.8]))",
    f"{_S}(%(10, [0.2, 0.8], size=(3,)))",
    "%(10, [0.2, 0.8]).sum()",
    f"{_S}(%(5, np.array([0.5, 0.5])))",
    f"{_S}(%(5, [0.9, 0.9, 0.1]))",
    f"{_S}(%(5, [0.5, 0.5], size=2))",
)
case(
    "random.multivariate_normal",
    f"{_S}(%(a1, s2))",
    f"{_S}(%(a1, s2, size=(4,)))",
    f"{_S}(%(np.zeros((2, 3)), s2))",
)
case(
    "random.shuffle",
    "(lambda v: [%(v), np.sort(v)])(np.arange(5))",
    "(lambda v: [%(v), v.sum()])(a2.copy())",
)

# ---- npx ----------------------------------------------------------------------------------------------

case(
    "npx.relu npx.sigmoid npx.erf",
    "%(a2)",
    "%(a0)",
    "%(az)",
    "%(ah)",
    "%(ad)",
    "%(ai)",
    "%(a2, out=np.zeros((2, 3)))",
)
case("npx.erfinv", "%(p2)", "%(p0)")
case("npx.gamma npx.gammaln", "%(g2)", "%(g0)", "%(gd)")
case("npx.smooth_l1", "%(a2)", "%(a2, scalar=2.0)", "%(a0)", "%(az)")
case(
    "npx.activation",
    *[
        f"%(a2, act_type='{kind}')"
        for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign", "foo")
    ],
    "%(a0, act_type='relu')",
    "%(data=a1, act_type='tanh')",
)
case(
    "npx.leaky_relu",
    "%(a2)",
    "%(a2, act_type='leaky', slope=0.1)",
    "%(a2, act_type='elu', slope=0.5)",
    "%(a2, act_type='selu')",
    "%(a2, act_type='gelu')",
    "%(a2, g1[:1], act_type='prelu')",
)
case(
    "npx.softmax npx.log_softmax",
    "%(a2)",
    "%(a2, axis=0)",
    "%(a3, axis=1, temperature=2.0)",
    "%(ah)",
    "%(a2, dtype='float64')",
    "%(a1)",
    "%(az)",
    "%(a2, axis=onp.int64(0))",
)
case("npx.softmax", "%(a2, np.array([1, 2], dtype='int32'), use_length=True, axis=1)")
case(
    "npx.batch_dot",
    "%(s3, s3)",
    "%(s3, s3, transpose_a=True)",
    "%(s3, s3, transpose_b=True)",
    "%(a3, np.ones((2, 4, 2)))",
    "%(a3, a3)",
    "%(np.ones((0, 2, 3)), np.ones((0, 3, 1)))",
)
case("npx.batch_flatten", "%(a3)", "%(a2)", "%(a1)", "%(np.ones((0, 2, 3)))")
case(
    "npx.batch_norm",
    "%(nchw, np.ones(2), np.zeros(2), np.zeros(2), np.ones(2))",
    "%(nchw, np.ones(2) * 2, np.ones(2), np.zeros(2), np.ones(2), fix_gamma=False, eps=0.1)",
    "%(nchw, np.ones(2), np.zeros(2), np.zeros(2), np.ones(2), use_global_stats=True, axis=1)",
)
case(
    "npx.layer_norm",
    "%(a2, g1, a1)",
    "%(a3, np.ones(3), np.zeros(3), axis=1)",
    "%(a2, g1, a1, eps=0.1)",
)
case(
    "npx.cast",
    "%(a2, dtype='int32')",
    "%(ai, dtype='float16')",
    "%(a0, dtype='float64')",
    "%(a1, dtype=onp.int8)",
    "%(a1, dtype='bool')",
)
case(
    "npx.convolution",
    "%(nchw, kern, np.ones(3), kernel=(3, 3), num_filter=3)",
    "%(nchw, kern, kernel=(3, 3), num_filter=3, no_bias=True, stride=(2, 2), pad=(1, 1))",
    "%(nchw, kern, kernel=[3, 3], num_filter=onp.int64(3), no_bias=True)",
)
case(
    "npx.deconvolution",
    "%(nchw, np.ones((2, 3, 2, 2)), kernel=(2, 2), num_filter=3, stride=(2, 2), no_bias=True)",
)
case(
    "npx.pooling",
    "%(nchw, kernel=(2, 2), pool_type='max', stride=(2, 2))",
    "%(nchw, kernel=(3, 3), pool_type='avg', pad=(1, 1))",
    "%(nchw, global_pool=True, pool_type='avg')",
    "%(nchw, kernel=(2, 2), pool_type='max', stride=(2, 2), pooling_convention='full')",
)
case(
    "npx.fully_connected",
    "%(a2, c2.reshape((2, 3)), np.ones(2), num_hidden=2)",
    "%(a2, c2.reshape((2, 3)), num_hidden=2, no_bias=True)",
    "%(a3, np.ones((5, 4)), num_hidden=5, no_bias=True, flatten=False)",
    "%(a3, np.ones((5, 12)), num_hidden=5, no_bias=True)",
    "%(az, np.ones((5, 3)), num_hidden=5, no_bias=True)",
)
case(
    "npx.dropout",
    "%(a2)",
    "%(a2, p=0.5)",
    "%(a2, p=0.5, mode='always').shape",
    "%(az, p=0.5)",
    "%(a2, p=0.0)",
)
case(
    "npx.embedding",
    "%(q1, m2.reshape((6, 2)), input_dim=6, output_dim=2)",
    "%(np.array(1, dtype='int32'), m2, input_dim=4, output_dim=3)",
    "%(a1 * 0 + 1, m2, 4, 3)",
    "%(np.array([[9, -1]], dtype='int32'), m2, 4, 3)",
)
case(
    "npx.gather_nd",
    "%(a2, np.array([[0, 1], [2, 0]], dtype='int32'))",
    "%(a3, np.array([[0, 1]], dtype='int64'))",
    "%(a2, np.array([0, 1], dtype='int64'))",
)
case("npx.nonzero", "%(al)", "%(b2)", "%(az)")
case(
    "npx.one_hot",
    "%(q1, 6)",
    "%(gi, depth=4, on_value=2.0, off_value=-1.0)",
    "%(gi, 4, dtype='int32')",
    "%(np.array(1, dtype='int32'), 3)",
    "%(gi, onp.int64(3))",
    "%(np.zeros((0,), dtype='int32'), 3)",
)
case(
    "npx.pick",
    "%(a2, np.array([0, 2]))",
    "%(a2, np.array([0, 1, 1]), axis=0)",
    "%(a2, np.array([0, 2]), keepdims=True)",
    "%(a2, np.array([5, -1]), mode='clip')",
    "%(a2, np.array([5, -1]), mode='wrap')",
    "%(a2, np.array([0, 2], dtype='int64'), axis=onp.int64(1))",
)
case(
    "npx.reshape",
    "%(a3, (-2, -1))",
    "%(a3, (-5, 4))",
    "%(a3, (-4,))",
    "%(a3, (-6, 1, 2, -4))",
    "%(a3[:1], (-3, -2, -2))",
    "%(a3, (-2, -2, 2, 2))",
    "%(a3, (-1, 4), reverse=True)",
    "%(a3, -1)",
    "%(a3, (5, -1))",
    "%(az, (-2, 3))",
    "%(a0, (1,))",
    "%(a3, (-6, 2, -1, 12))",
    "%(a3, (-4, -1, 2))",
)
case(
    "npx.reshape_like",
    "%(a2, c2)",
    "%(a3, np.ones((2, 12)))",
    "%(a3, np.ones((6, 4)), lhs_begin=0, lhs_end=2, rhs_begin=0, rhs_end=1)",
    "%(a2, a1)",
)
case(
    "npx.rnn",
    "%(t6, np.ones(54) * 0.1, np.zeros((1, 3, 3)), mode='rnn_tanh', state_size=3, num_layers=1)".replace(
        "54", "33"
    ),
    "%(t6, np.ones(132) * 0.1, np.zeros((1, 3, 3)), np.zeros((1, 3, 3)), mode='lstm', state_size=3, num_layers=1, state_outputs=True)",
)
case(
    "npx.roi_pooling",
    "%(nchw, np.array([[0, 0, 0, 3, 3]], dtype='float32'), pooled_size=(2, 2), spatial_scale=1.0)",
)
case(
    "npx.sequence_mask",
    "%(a3, np.array([1, 2, 0], dtype='float32'), use_sequence_length=True)",
    "%(a3)",
    "%(a3, np.array([1, 3], dtype='int32'), use_sequence_length=True, value=-1, axis=1)",
)
case("npx.shape_array", "%(a3)", "%(a0)", "%(az)")
case(
    "npx.slice",
    "%(a3, (0, 1), (1, 3))",
    "%(a2, begin=(None, 1), end=(None, None))",
    "%(r1, (4,), (0,), (-2,))",
    "%(a2, (0, -1), (None, None))",
)
case(
    "npx.topk",
    "%(a2)",
    "%(a2, k=2)",
    "%(a2, k=2, ret_typ='value')",
    "%(a2, axis=0, k=1, ret_typ='both')",
    "%(a2, k=2, is_ascend=True, dtype='int64')",
    "%(a2, ret_typ='mask', k=1)",
    "%(a2, axis=None, k=3)",
)
case(
    "npx.arange_like",
    "%(a2)",
    "%(a2, axis=1)",
    "%(a2, start=1.0, step=2.0)",
    "%(a2, axis=-1)",
    "%(a0)",
)
case(
    "npx.multibox_prior",
    "%(nchw, sizes=(0.5, 0.25), ratios=(1, 2))",
    "%(nchw, sizes=(0.5,), clip=True)",
)
case(
    "npx.multibox_target",
    "%(np.array([[[0.1, 0.1, 0.5, 0.5], [0.4, 0.4, 0.9, 0.9]]]), np.array([[[0, 0.1, 0.1, 0.5, 0.45]]]), np.zeros((1, 2, 2)))",
)
case(
    "npx.multibox_detection",
    "%(np.array([[[0.2, 0.7], [0.8, 0.3]]]), np.zeros((1, 8)), np.array([[[0.1, 0.1, 0.5, 0.5], [0.4, 0.4, 0.9, 0.9]]]))",
)
case("npx.constraint_check", "%(np.array([True, True]), 'msg')", "%(b1, 'it is false')")
case("npx.cpu npx.gpu npx.cpu_pinned", "str(%())", "str(%(1))")
case("npx.current_context", "str(%())")
case("npx.Context", "str(%('cpu', 0))")
case("npx.num_gpus", "%() >= 0")
case("npx.gpu_memory_info", "callable(%)")
case("npx.get_cuda_compute_capability", "callable(%)")
case("npx.is_np_array npx.is_np_shape", "%()")
case("npx.waitall", "%()")
case("npx.set_np", "[%(), npx.is_np_array(), npx.is_np_shape()]", "%(shape=False, array=True)")
case("npx.reset_np", "[%(), npx.is_np_array(), npx.set_np(), npx.is_np_array()]")
case(
    "npx.save npx.load",
    "[npx.save(PATH, [a2, a0, az]), npx.load(PATH)]",
    "[npx.save(PATH, {'x': ai, 'y': b1}), npx.load(PATH)['x'], npx.load(PATH)['y']]",
    "[npx.save(PATH, a2), npx.load(PATH)]",
    "npx.save(PATH, 5)",
)
case(
    "npx.random.bernoulli",
    f"{_S}(%(0.5))",
    f"{_S}(%(prob=0.3, size=(2, 2)))",
    f"{_S}(%(logit=a2))",
    f"{_S}(%(p2, size=(2, 3), dtype='int32'))",
    f"{_S}(%())",
    f"{_S}(%(0.5, 0.5))",
    "%(1.0, size=4)",
)
case(
    "npx.random.uniform_n npx.random.normal_n",
    f"{_S}(%())",
    f"{_S}(%(0.0, 1.0, batch_shape=(2, 3)))",
    f"{_S}(%(a1, g1, batch_shape=(2,)))",
    f"{_S}(%(a1, 1.0))",
    f"{_S}(%(0.0, g2, batch_shape=4))",
    f"{_S}(%(0.0, 1.0, (2,), dtype='float64'))",
)
case(
    "npx.random.seed",
    "%(3)",
    "(lambda draw: bool((draw() == draw()).all()))(lambda: (%(7), np.random.uniform(size=4))[1])",
)
case("npx.image.to_tensor", "%(img)", "%(np.stack([img, img]))", "%(a2)")
case(
    "npx.image.normalize",
    "%(npx.image.to_tensor(img), mean=(0.1, 0.2, 0.3), std=(1, 2, 3))",
    "%(npx.image.to_tensor(img), 0.5, 2.0)",
)
case("npx.image.flip_left_right npx.image.flip_top_bottom", "%(img[:, :4])")
case(
    "npx.image.resize",
    "%(img, size=(5, 4))",
    "%(img, size=(10, 8), interp=0)",
    "%(img, 3).shape",
    "%(img, 3, keep_ratio=True).shape",
)
case("npx.image.crop", "%(img, x=1, y=0, width=2, height=3)", "%(img, 4, 4, 5, 5)")
case("npx.image.adjust_lighting", "%(img, alpha=(0.1, 0.2, 0.3))")
case(
    "npx.image.random_brightness npx.image.random_contrast npx.image.random_saturation npx.image.random_hue",
    f"{_S}(%(img.astype('float32'), 0.5, 1.5))",
    "%(img.astype('float32'), 1.0, 1.0)",
)
case("npx.image.random_color_jitter", f"{_S}(%(img.astype('float32'), 0.1, 0.1, 0.1, 0.1))")
case("npx.image.random_lighting", f"{_S}(%(img.astype('float32'), 0.1))", "%(img, 0.0)")
case("npx.image.random_flip_left_right npx.image.random_flip_top_bottom", f"{_S}(%(img))")

# ---- the class: statements, then an expression ---------------------------------------------------------

case("ndarray.arithmetic", *[f"a2 {sign} {other}" for sign in ("+", "-", "*", "/", "%", "**", "==", "!=", "<", "<=", ">", ">=")
     for other in ("g2", "g1", "2", "g0", "onp.float32(2)", "gz", "a3", "None", "'x'", "[1, 2, 3]", "1j")],
     *[f"{other} {sign} g2" for sign in ("+", "-", "*", "/", "%", "**", "==", "<", ">=") for other in ("2", "2.5", "True", "onp.float32(2)", "onp.int64(2)")],
     *[f"ai {sign} {other}" for sign in ("&", "|", "^") for other in ("gi", "3", "a1")], *[f"3 {sign} ai" for sign in ("&", "|", "^")],
     "a2 @ c2", "a1 @ g1", "a2 @ a2", "-a2", "-ai", "abs(a2)", "~b1", "~ai", "~a1", "-b1", "+a2", "a2 // 2", "divmod(a2, 2)", "a2 << 1")  # fmt: skip
case("ndarray.in_place", *[f"a2 {sign}= {other}; a2" for sign in ("+", "-", "*", "/", "%") for other in ("2", "g1", "g2", "a3", "onp.float32(2)")],
     "a1 += a2; a1", "a2 **= 2; a2", "s2 @= s2; s2", "ai &= 1; ai", "ai |= gi; ai", "ai ^= 3; ai", "b1 &= b1; b1", "ai += 2; ai", "ai *= gi; ai", "a0 += 1; a0",
     "az += 1; az", "v = a2; v += 1; a2", "v = a2[0]; v += 1; a2", "a2 += a2; a2", "a2 //= 2; a2", "ai += 1.5; ai", "ah *= 2; ah")  # fmt: skip
_KEYS = ["0", "-1", "5", "0, 1", "0, 1, 2, 3", "1:", ":-1", "::-1", "::2", ":, 1", ":, ::-1", "..., 0", "0, ...", "None", "None, 0", ":, None", "..., None", "()", "...", "1:1", "0:9, 1:2", "-1:0:-1",
         "[0, 1]", "[[0, 1], [1, 0]]", "[1, 0], [2, 0]", ":, [2, 0]", "..., [1]", "[0], :, [1]", "0, [1, 2]", "[True, False]", "b2", "b2[:, :]", "b1[:2]", ":, b1", "np.array([1, 0], dtype='int64')",
         "np.array([-1], dtype='int32'), 1:", ":, np.array([[0, 2]], dtype='int64')", "np.array(1, dtype='int64')", "onp.array([0, 1])", "onp.int64(1)", "onp.array([True, False])", "[5]", "[0, 1, 2], [0, 1]", "1.5",
         "'x'", "None, ..., None", "np.array([0, 1]), np.array([1, 2])", "..., ...", "True", "slice(0, onp.int64(1))", "np.zeros((0,), dtype='int64')", "[]", "a2 > 0"]  # fmt: skip
case(
    "ndarray.reading",
    *[f"{array}[{key}]" for array in ("a2", "a3") for key in _KEYS],
    "a0[()]",
    "a0[0]",
    "a0[a0 > 5]",
    "a1[1][()]",
    "az[0]",
    "az[:, 1]",
    "az[:0]",
    "az[b1]",
    "e1[[]]",
    "al[al > 1]",
    "a1[b1][::-1]",
    "a1[1:][0]",
)
_VALUES = ["7", "[1, 2, 3]", "g1", "onp.ones(3)", "g0", "np.zeros((1, 3))", "np.zeros((4,))", "ai"]
case("ndarray.writing", *[f"a2[{key}] = 7; a2" for key in _KEYS if "5" not in key and "[-1]" not in key], *[f"a2[{key}] = {value}; a2" for key in ("0", ":", "...", "1:", "::-1", "[1, 0]", "b1[:2]", ":, ::2", "None") for value in _VALUES],
     "a2[b2] = np.array([1, 2, 3], dtype='float32'); a2", "a2[:, b1] = a2[:, :2]; a2", "a2[[0, 1], [1, 2]] = np.array([8, 9], dtype='float32'); a2", "a0[()] = 4; a0", "az[:] = 1; az", "a2[0, 0] = 'x'; a2", "a2[a2 > 100] = np.zeros((0,)); a2",
     "v = a2[1]; v[:] = 5; a2", "v = a2[:, 1]; v[:] = 5; v", "v = a2.reshape((3, 2)); v[0] = 1; a2", "ai[0] = 2.7; ai", "b1[1] = 3; b1", "a2[0][1] = 9; a2", "a2[1:, :2] = a2[:1, 1:]; a2", "a3[1, :, 2] = g1; a3", "a3[:, [0, 2]] = 1; a3", "al[al > 1] = 0; al",
     "a3[..., 0] = g2; a3", "a3[b1[:2], 1] = 2; a3", "a1[[0, 0]] = np.array([4, 4], dtype='float32'); a1")  # fmt: skip
case("ndarray.methods", "a3.sum()", "a3.sum((0, 2))", "a3.sum(axis=-1, keepdims=True)", "ai.sum(dtype='float32')", "a3.mean(1)", "ai.mean()", "a3.std(axis=0)", "a3.var(ddof=1)", "a3.max(0)", "a3.min(axis=(0, 1))", "a3.prod(2)", "b2.all()", "b2.any(axis=1, keepdims=True)",
     "a3.argmax()", "a3.argmin(1)", "a2.cumsum()", "a2.cumsum(axis=1)", "a2.clip(0, 1)", "a2.clip(max=1)", "a2.round(1)", "a2.take(k2)", "a2.take([0], axis=1)", "a2.repeat(2)", "a2.repeat(2, axis=0)", "a2.dot(c2)", "al.nonzero()", "a2.argsort()", "a2.argsort(axis=0)", "a2.copy()",
     "a2.astype('int32')", "a2.astype(int)", "a2.astype(bool)", "au.astype('float16')", "a2.flatten()", "a2.ravel()", "a2.reshape(3, 2)", "a2.reshape((3, -1))", "a2.reshape(-1)", "a2.reshape(6)", "a2.reshape(onp.int64(3), 2)", "a2.reshape(3, 2, order='C')", "a2.reshape(7, 1)", "a1[:1].reshape(())",
     "a3.transpose()", "a3.transpose(1, 0, 2)", "a3.transpose((1, 0, 2))", "a3.T", "a3.swapaxes(0, 2)", "a3[:1].squeeze()", "a3[:1].squeeze(0)", "a3.squeeze(1)", "a2.tolist()", "a0.tolist()", "ai.tolist()", "b1.tolist()", "az.tolist()", "a2.item(1)", "a2.item(1, 2)", "a0.item()", "a2.item()", "ai.item(-1)",
     "len(a3)", "len(a0)", "len(az)", "[v for v in a2]", "list(a0)", "list(az)", "bool(a0)", "bool(a1)", "bool(a1[:1])", "bool(np.zeros((2,))[:1])", "float(a0)", "float(a1)", "int(gi[0])", "float(a1[:1])", "a2.shape", "a2.size", "a2.ndim", "a2.dtype", "ai.dtype", "az.size", "a0.ndim", "round(a0)", "round(a1, 1)",
     "str(a2)", "str(a0)", "str(ai)", "str(az)", "str(b1)", "'{:.2f}'.format(a0)", "f'{a0:.1f}'", "f'{a2}'", "a2 is a2[:]", "a2.reshape((3, 2))[0, 0]", "1 in gi", "a2 in [1]", "max(a1)", "sum(gi)", "sorted(gi)[0]", "a1.astype('float64').sum().dtype", "a1.astype('float32', copy=False) is a1", "range(3)[gi[1]]", "[1, 2, 3][gi[0]]")  # fmt: skip
case("ndarray.text", *[f"repr({each})" for each in ("a2", "a0", "az", "b1", "ai", "al", "au", "a8", "ah", "ad", "e1", "x1", "np.zeros((2, 0, 3), dtype='int32')", "np.arange(2000)", "np.array(2, dtype='int64')", "np.array(True)",
     "np.array([1e-10, 1e10])", "np.array([1.0, 2.5])", "np.zeros((0,), dtype='int64')", "a2[0]", "a2.T", "np.ones((40, 40))")])  # fmt: skip
case("ndarray.protocols", "onp.mean(a2)", "onp.mean(a2, axis=1)", "onp.add(a2, 1)", "onp.add(2, a2)", "onp.multiply(a2, g1)", "onp.concatenate([a2, a2])", "onp.linalg.norm(a2)", "onp.sin(a2)", "onp.allclose(a2, a2)", "onp.sum(a2, axis=0, keepdims=True)", "onp.stack([a1, g1])", "onp.add(a2, 1, out=a2)", "onp.where(a2 > 1, a2, a2)", "onp.matmul(a2, c2)",
     "onp.zeros_like(a2)", "onp.shape(a2)", "onp.clip(a2, 0, 1)", "onp.split(a2, 3, axis=1)", "onp.expand_dims(a1, 0)", "onp.argsort(a2)", "onp.unique(gi)", "onp.tensordot(a2, c2, 1)", "onp.einsum('ij->j', a2)", "onp.dot(a2, c2)", "onp.linalg.inv(s2)", "onp.std(a2)", "onp.transpose(a2)", "onp.reshape(a2, (3, 2))", "onp.tile(a1, 2)",
     "onp.repeat(a1, 2)", "onp.max(a2, 1)", "onp.prod(a1)", "onp.isnan(x1)", "onp.less(a1, g1)", "onp.maximum(a1, 0)", "onp.count_nonzero(al)", "onp.asarray(a2).shape", "onp.ravel(a2)", "onp.squeeze(a2[:1])", "onp.take(a2, k2)", "onp.cumsum(a2, 1)", "onp.vstack([a1, g1])", "onp.full_like(a2, 2)", "onp.swapaxes(a3, 0, 1)", "onp.diff(a1)")  # fmt: skip
