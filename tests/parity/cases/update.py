"""Update rules of optimizers: weights, states, in place, half precision with float32 copies."""

import numpy as np

_RNG = np.random.RandomState(11)


def _array(*shape, low=-1.0, high=1.0, dtype="float32"):
    return _RNG.uniform(low, high, shape).astype(dtype)


_SHAPE = (2, 3)
# Each state's range: squares are positive, ftml's divisor is away from 0.
_RANGES = {
    "n": (1.0, 2.0), "var": (0.1, 1.0), "v": (0.1, 1.0), "d": (1.0, 2.0), "g": (-0.5, 0.5),
    "r1": (0.5, 2.0), "r2": (0.5, 2.0),
}  # fmt: skip
_PLAIN = {"wd": 0.01, "rescale_grad": 0.5, "clip_gradient": 0.2}
# operator: states, attributes of several cases
_RULES = {
    "sgd_update": ([], [{"lr": 0.1}, {"lr": 0.1, **_PLAIN}]),
    "sgd_mom_update": (["mom"], [{"lr": 0.1}, {"lr": 0.1, "momentum": 0.9, **_PLAIN}]),
    "nag_mom_update": (["mom"], [{"lr": 0.1}, {"lr": 0.1, "momentum": 0.9, **_PLAIN}]),
    "signsgd_update": ([], [{"lr": 0.1}, {"lr": 0.1, **_PLAIN}]),
    "signum_update": (
        ["mom"],
        [{"lr": 0.1}, {"lr": 0.1, "momentum": 0.9, "wd_lh": 0.05, **_PLAIN}],
    ),
    "adam_update": (
        ["mean", "var"],
        [{"lr": 0.1}, {"lr": 0.1, "beta1": 0.8, "beta2": 0.9, "epsilon": 0.01, **_PLAIN}],
    ),
    "rmsprop_update": (
        ["n"],
        [{"lr": 0.1}, {"lr": 0.1, "gamma1": 0.8, "epsilon": 0.01, "clip_weights": 0.4, **_PLAIN}],
    ),
    "rmspropalex_update": (
        ["n", "g", "delta"],
        [
            {"lr": 0.1},
            {"lr": 0.1, "gamma1": 0.8, "gamma2": 0.7, "epsilon": 0.01, "clip_weights": 0.4, **_PLAIN},
        ],
    ),
    "ftrl_update": (
        ["z", "n"],
        [{"lr": 0.1}, {"lr": 0.1, "lamda1": 0.3, "beta": 0.5, **_PLAIN}],
    ),
    "ftml_update": (
        ["d", "v", "z"],
        [
            {"lr": 0.1, "t": 1},
            {"lr": 0.1, "t": 3, "beta1": 0.5, "beta2": 0.9, "epsilon": 0.01, "wd": 0.01,
             "rescale_grad": 0.5, "clip_grad": 0.2},
        ],
    ),
    "lamb_update_phase1": (
        ["mean", "var"],
        [
            {"t": 1, "wd": 0.0},
            {"t": 4, "beta1": 0.8, "beta2": 0.9, "epsilon": 0.01, **_PLAIN},
            {"t": 4, "bias_correction": False, "wd": 0.1},
        ],
    ),
}  # fmt: skip


def _state(name, shape=_SHAPE):
    low, high = _RANGES.get(name, (-1.0, 1.0))
    return _array(*shape, low=low, high=high)


def _single():
    for op, (states, settings) in _RULES.items():
        for number, attrs in enumerate(settings):
            inputs = {"weight": _array(*_SHAPE), "grad": _array(*_SHAPE)}
            inputs.update({name: _state(name) for name in states})
            case = {"case": f"{op}_{number}", "op": op, "inputs": inputs, "attrs": attrs,
                    "states": ["weight", *states]}  # fmt: skip
            # MXNet's Nesterov takes the decay of another weight where it does not work in place.
            if op != "nag_mom_update" or "wd" not in attrs:
                yield case
            if number:
                copies = {name: value.copy() for name, value in inputs.items()}
                yield {**case, "case": f"{op}_{number}_in_place", "inputs": copies,
                       "out": ["weight"]}  # fmt: skip


def _half_alone():
    """Everything in float16: one unit in the last place, which is 0.001 of the number."""
    for op in ("sgd_update", "sgd_mom_update", "nag_mom_update", "signsgd_update", "signum_update",
               "adam_update", "rmsprop_update", "rmspropalex_update", "ftrl_update"):  # fmt: skip
        states, settings = _RULES[op]
        inputs = {"weight": _array(*_SHAPE), "grad": _array(*_SHAPE)}
        inputs.update({name: _state(name) for name in states})
        yield {"case": f"{op}_half", "op": op, "attrs": settings[1], "states": states,
               "inputs": {name: value.astype("float16") for name, value in inputs.items()},
               "out": ["weight"], "close": {"rtol": 2e-3, "atol": 1e-3}}  # fmt: skip


def _half(*names):
    """A float16 weight, its gradient, float32 states and the float32 weight."""
    weight32 = _array(*_SHAPE)
    inputs = {"weight": weight32.astype("float16"), "grad": _array(*_SHAPE, dtype="float16")}
    inputs.update({name: _state(name) for name in names})
    inputs["weight32"] = weight32
    return inputs


def _mixed():
    for op, states in (
        ("sgd_update", []),
        ("sgd_mom_update", ["mom"]),
        ("nag_mom_update", ["mom"]),
    ):
        for number, attrs in enumerate(_RULES[op][1]):
            yield {"case": f"mp_{op}_{number}", "op": f"mp_{op}", "inputs": _half(*states),
                   "attrs": attrs, "states": [*states, "weight32"], "out": ["weight"]}  # fmt: skip
    for number, attrs in enumerate(_RULES["lamb_update_phase1"][1]):
        yield {"case": f"mp_lamb_update_phase1_{number}", "op": "mp_lamb_update_phase1",
               "inputs": _half("mean", "var"), "attrs": attrs,
               "states": ["mean", "var", "weight32"]}  # fmt: skip


def _lamb_second():
    settings = [
        {"lr": 0.1},
        {"lr": 0.1, "lower_bound": 3.0},
        {"lr": 0.1, "upper_bound": 0.2},
        {"lr": 0.1, "lower_bound": 0.0, "upper_bound": 0.0},
    ]
    for number, attrs in enumerate(settings):
        norms = {"r1": _state("r1", (1,)), "r2": _state("r2", (1,))}
        inputs = {"weight": _array(*_SHAPE), "g": _array(*_SHAPE), **norms}
        yield {"case": f"lamb_update_phase2_{number}", "op": "lamb_update_phase2",
               "inputs": inputs, "attrs": attrs}  # fmt: skip
        # MXNet leaves weight32 as it was, so that the next step would start from there again.
        weight32 = _array(*_SHAPE)
        inputs = {"weight": weight32.astype("float16"), "g": _array(*_SHAPE),
                  **{k: v.copy() for k, v in norms.items()}, "weight32": weight32}  # fmt: skip
        yield {"case": f"mp_lamb_update_phase2_{number}", "op": "mp_lamb_update_phase2",
               "inputs": inputs, "attrs": attrs}  # fmt: skip
    for number, (r1, r2) in enumerate([(0, 2), (2, 0)]):
        inputs = {"weight": _array(*_SHAPE), "g": _array(*_SHAPE),
                  "r1": np.array([r1], "float32"), "r2": np.array([r2], "float32")}  # fmt: skip
        yield {"case": f"lamb_update_phase2_zero_{number}", "op": "lamb_update_phase2",
               "inputs": inputs, "attrs": {"lr": 0.1}}  # fmt: skip


def _adamw():
    attrs = [
        {"lr": 0.1, "eta": 1.0},
        {"lr": 0.1, "eta": 0.5, "beta1": 0.8, "beta2": 0.9, "epsilon": 0.01, "wd": 0.1,
         "clip_gradient": 0.2},
    ]  # fmt: skip
    for number, source in enumerate(attrs):
        for scale in (0.5, 0.0, np.inf, np.nan):
            inputs = {"weight": _array(*_SHAPE), "grad": _array(*_SHAPE), "mean": _state("mean"),
                      "var": _state("var"), "rescale_grad": np.array([scale], "float32")}  # fmt: skip
            yield {"case": f"adamw_{number}_{scale}", "op": "_adamw_update", "inputs": inputs,
                   "attrs": source, "states": ["mean", "var"], "out": ["weight"]}  # fmt: skip
            half = _half("mean", "var")
            half["rescale_grad"] = np.array([scale], "float32")
            yield {"case": f"mp_adamw_{number}_{scale}", "op": "_mp_adamw_update", "inputs": half,
                   "attrs": source, "states": ["mean", "var", "weight32"],
                   "out": ["weight"]}  # fmt: skip


_SHAPES = [(2, 3), (4,)]


def _many(half, *states):
    """Arrays of two weights in turn; returns them with the places of weights and states."""
    arrays, weights, written = [], [], []
    for shape in _SHAPES:
        weight32 = _array(*shape)
        weights.append(f"arg{len(arrays)}")
        if half:
            arrays += [weight32.astype("float16"), _array(*shape, dtype="float16")]
        else:
            arrays += [weight32, _array(*shape)]
        for name in states:
            written.append(f"arg{len(arrays)}")
            arrays.append(_state(name, shape))
        if half:
            written.append(f"arg{len(arrays)}")
            arrays.append(weight32)
    return arrays, weights, written


def _several():
    lists = {"lrs": (0.1, 0.2), "wds": (0.01, 0.0)}
    more = {"rescale_grad": 0.5, "clip_gradient": 0.2}
    for half in (False, True):
        for momentum in (False, True):
            name = f"multi_{'mp_' * half}sgd_{'mom_' * momentum}update"
            states = ["mom"] if momentum else []
            for number, attrs in enumerate([{}, more]):
                if momentum and number:
                    attrs = {**attrs, "momentum": 0.9}
                arrays, weights, written = _many(half, *states)
                yield {"case": f"{name}_{number}", "op": name, "inputs": arrays,
                       "attrs": {**lists, **attrs, "num_weights": 2}, "out": weights,
                       "states": written}  # fmt: skip
                arrays, weights, written = _many(half, *states)
                arrays += [np.array(lists["lrs"], "float32"), np.array(lists["wds"], "float32")]
                yield {"case": f"preloaded_{name}_{number}", "op": f"preloaded_{name}",
                       "inputs": arrays, "attrs": {**attrs, "num_weights": 2}, "out": weights,
                       "states": written}  # fmt: skip
        mp = "mp_" * half
        for number, attrs in enumerate(
            [{}, {"beta1": 0.8, "beta2": 0.9, "epsilon": 0.01, "clip_gradient": 0.2}]
        ):
            for scale in (0.5, 0.0):
                arrays, weights, written = _many(half, "mean", "var")
                arrays.append(np.array([scale], "float32"))
                yield {"case": f"multi_{mp}adamw_{number}_{scale}",
                       "op": f"_multi_{mp}adamw_update", "inputs": arrays,
                       "attrs": {**lists, "etas": (1.0, 0.5), **attrs, "num_weights": 2},
                       "out": weights, "states": written}  # fmt: skip
        for number, attrs in enumerate([
            {},
            {"beta1": 0.8, "beta2": 0.9, "epsilon": 0.01, "clip_gradient": 0.2, "rescale_grad": 0.5,
             "lower_bound": 3.0, "upper_bound": 4.0},
            {"bias_correction": False, "upper_bound": 0.5},
        ]):  # fmt: skip
            arrays, weights, written = _many(half, "mean", "var")
            # MXNet takes some norms of the half-precision weight, mixnet all of the float32 copy.
            near = {"rtol": 2e-3, "atol": 1e-4} if half else {"rtol": 1e-4, "atol": 1e-5}
            yield {"case": f"multi_{mp}lamb_{number}", "op": f"_multi_{mp}lamb_update",
                   "close": near, "inputs": arrays, "out": weights, "states": written,
                   "attrs": {"learning_rates": (0.1, 0.2), "wds": (0.01, 0.0),
                             "step_count": (1, 3), **attrs, "num_tensors": 2}}  # fmt: skip


def _lists():
    yield {"case": "multi_sum_sq_0", "op": "multi_sum_sq",
           "inputs": [_array(2, 3), _array(4)], "attrs": {"num_arrays": 2}}  # fmt: skip
    yield {"case": "multi_sum_sq_half", "op": "multi_sum_sq",
           "inputs": [_array(2, 3, dtype="float16"), _array(4, dtype="float16")],
           "attrs": {"num_arrays": 2}}  # fmt: skip
    yield {"case": "multi_lars_0", "op": "multi_lars",
           "inputs": {"lrs": np.array([0.1, 0.2, 0.3, 0.4], "float32"),
                      "weights_sum_sq": np.array([4, 0, 9, 1], "float32"),
                      "grads_sum_sq": np.array([1, 1, 0, 2], "float32"),
                      "wds": np.array([0.1, 0, 0.1, 0], "float32")},
           "attrs": {"eta": 0.5, "eps": 0.001, "rescale_grad": 0.5}}  # fmt: skip
    for name, array in (
        ("finite", _array(3)),
        ("infinite", np.array([1, np.inf], "float32")),
        ("nan", np.array([np.nan, 1], "float16")),
    ):
        yield {"case": f"all_finite_{name}", "op": "all_finite", "inputs": {"data": array},
               "attrs": {}}  # fmt: skip
        both = [array, array[:1].copy()]
        yield {"case": f"multi_all_finite_{name}", "op": "multi_all_finite", "inputs": both,
               "attrs": {"num_arrays": 2}}  # fmt: skip


CASES = [*_single(), *_half_alone(), *_mixed(), *_lamb_second(), *_adamw(), *_several(), *_lists()]
