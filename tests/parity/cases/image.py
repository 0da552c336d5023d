"""Cases of the image operators. Random ones get a range of one number, so that nothing is random.

Left out: gradients, which MXNet returns unchanged (flips, colours) or cannot compute; hue of bytes,
which tests/ops/vision compares; saturation of colours, where
MXNet takes the blue part of the gray value for all of it; flips of an odd number of columns or rows,
where it leaves the middle one unset.
"""

import numpy as np

_rng = np.random.RandomState(11)


def _bytes(*shape):
    return _rng.randint(0, 256, shape).astype("uint8")


def _floats(*shape):
    return _rng.uniform(0, 255, shape).astype("float32")


CASES = []


def _case(name, op, data, grads=(), **attrs):
    CASES.append(
        {"case": name, "op": op, "inputs": {"data": data}, "attrs": attrs, "grads": list(grads)}
    )


for _dtype in ("uint8", "int32", "float16", "float64"):
    _case(f"to_tensor_{_dtype}", "_image_to_tensor", _bytes(2, 3, 3).astype(_dtype))
_case("to_tensor_batch", "_image_to_tensor", _bytes(2, 2, 3, 4))
_case("to_tensor_2d", "_image_to_tensor", _bytes(2, 3))

_chw = _rng.rand(3, 2, 2).astype("float32")
_three = {"mean": (0.1, 0.2, 0.3), "std": (0.5, 2.0, 3.0)}
_case("normalize", "_image_normalize", _chw, ["data"], **_three)
_case("normalize_batch", "_image_normalize", _rng.rand(2, 3, 2, 2).astype("f"), ["data"], **_three)
_case("normalize_one", "_image_normalize", _chw, ["data"], mean=(0.5,), std=(2.0,))
_case("normalize_gray", "_image_normalize", _chw[:1], mean=(0.5,), std=(2.0,))
_case("normalize_float64", "_image_normalize", _chw.astype("float64"), **_three)
_case("normalize_two", "_image_normalize", _chw, mean=(0.5, 1.0), std=(2.0,))
_case("normalize_channels", "_image_normalize", _chw[:2], mean=(0.5,), std=(2.0,))

for _interp in range(5):
    for _kind, _data in (("bytes", _bytes(5, 7, 3)), ("floats", _floats(5, 7, 3))):
        for _size in ((9, 8), (3, 2), (4, 9)):
            _name = f"resize_{_interp}_{_kind}_{_size[0]}x{_size[1]}"
            _case(_name, "_image_resize", _data, size=_size, interp=_interp)
for _channels in (1, 2):
    for _interp in (1, 3):
        _name = f"resize_half_{_interp}_{_channels}"
        _case(_name, "_image_resize", _bytes(6, 8, _channels), size=(4, 3), interp=_interp)
_case("resize_batch", "_image_resize", _bytes(2, 4, 6, 3), size=5)
_case("resize_ratio_wide", "_image_resize", _bytes(5, 8, 1), size=3, keep_ratio=True)
_case("resize_ratio_tall", "_image_resize", _bytes(7, 5, 1), size=3, keep_ratio=True)
_case("resize_ratio_both", "_image_resize", _bytes(7, 5, 1), size=(3, 2), keep_ratio=True)
_case("resize_none", "_image_resize", _bytes(7, 5, 1))
_case("resize_zero", "_image_resize", _bytes(7, 5, 1), size=0)
_case("resize_interp", "_image_resize", _bytes(7, 5, 1), size=3, interp=9)

_case("crop", "_image_crop", _floats(4, 6, 3), ["data"], x=1, y=2, width=4, height=2)
_case("crop_batch", "_image_crop", _bytes(2, 4, 6, 3), x=0, y=0, width=2, height=4)
_case("crop_outside", "_image_crop", _bytes(4, 6, 3), x=5, y=3, width=2, height=1)
_case("crop_empty", "_image_crop", _bytes(4, 6, 3), x=0, y=0, width=0, height=1)

_case("flip_left_right", "_image_flip_left_right", _bytes(3, 4, 3))
_case("flip_top_bottom", "_image_flip_top_bottom", _bytes(4, 3, 3))
_case("flip_batch", "_image_flip_left_right", _bytes(2, 2, 3, 3))

for _property in ("brightness", "contrast", "saturation", "hue"):
    for _factor in (0.0, 0.3, 0.73, 1.2) if _property != "saturation" else ():
        _fixed = {"min_factor": _factor, "max_factor": _factor}
        _case(f"{_property}_{_factor}", f"_image_random_{_property}", _floats(3, 2, 3), **_fixed)
        if _property != "hue":
            _name = f"{_property}_bytes_{_factor}"
            _case(_name, f"_image_random_{_property}", _bytes(3, 2, 3), **_fixed)
    if _property != "hue":
        _fixed = {"min_factor": 0.6, "max_factor": 0.6}
        _case(f"{_property}_gray", f"_image_random_{_property}", _floats(3, 2, 1), **_fixed)
    _case(
        f"{_property}_below",
        f"_image_random_{_property}",
        _bytes(2, 2, 3),
        min_factor=-1,
        max_factor=0,
    )

_case("lighting", "_image_adjust_lighting", _floats(2, 2, 3), alpha=(0.1, 0.2, -0.3))
_case("lighting_bytes", "_image_adjust_lighting", _bytes(2, 2, 3), alpha=(1.0, 3.0, -2.0))
_case("lighting_two", "_image_adjust_lighting", _bytes(2, 2, 3), alpha=(1.0, 3.0))
