"""Cases of operators that read windows or positions: convolution, pooling, resizing, sampling.

Left out: layouts with channels last in convolutions, which MXNet has no code for on a CPU; a mean
over windows of nothing but padding, which is NaN there;
a Deconvolution with stride and dilation above 1 on one axis, where MXNet's own code is wrong.
"""

import numpy as np

_rng = np.random.RandomState(12)


def _data(*shape):
    return _rng.uniform(-1, 1, shape).astype("float32")


CASES = []


def _case(name, op, inputs, grads=None, **attrs):
    if not isinstance(inputs, (dict, list)):
        inputs = {"data": inputs}
    if grads is None:
        grads = list(inputs) if isinstance(inputs, dict) else []
    CASES.append({"case": name, "op": op, "inputs": inputs, "attrs": attrs, "grads": grads})


def _conv(name, op, shape, weight, bias=None, **attrs):
    inputs = {"data": _data(*shape), "weight": _data(*weight)}
    if bias:
        inputs["bias"] = _data(bias)
    _case(name, op, inputs, **attrs)


_C, _D = "Convolution", "Deconvolution"
_conv(
    "conv_1d_all",
    _C,
    (1, 4, 9),
    (4, 2, 2),
    4,
    kernel=(2,),
    num_filter=4,
    num_group=2,
    stride=(2,),
    pad=(1,),
    dilate=(2,),
)
_conv(
    "conv_1d_layout",
    _C,
    (1, 2, 5),
    (3, 2, 3),
    kernel=(3,),
    num_filter=3,
    no_bias=True,
    layout="NCW",
)
_conv(
    "conv_2d_uneven",
    _C,
    (1, 2, 6, 5),
    (2, 2, 2, 3),
    2,
    kernel=(2, 3),
    num_filter=2,
    stride=(2, 1),
    pad=(0, 1),
    dilate=(1, 2),
    layout="NCHW",
)
_conv(
    "conv_2d_depthwise",
    _C,
    (2, 3, 4, 4),
    (6, 1, 3, 3),
    6,
    kernel=(3, 3),
    num_filter=6,
    num_group=3,
    pad=(1, 1),
)
_conv(
    "conv_3d_all",
    _C,
    (1, 2, 4, 4, 4),
    (2, 2, 2, 2, 2),
    2,
    kernel=(2, 2, 2),
    num_filter=2,
    stride=(2, 1, 1),
    pad=(1, 0, 0),
    dilate=(1, 2, 1),
)
_conv(
    "conv_3d_group",
    _C,
    (1, 2, 3, 3, 3),
    (4, 1, 2, 2, 2),
    kernel=(2, 2, 2),
    num_filter=4,
    num_group=2,
    no_bias=True,
    layout="NCDHW",
)
_conv(
    "conv_v1",
    "Convolution_v1",
    (2, 4, 5, 5),
    (2, 2, 3, 3),
    2,
    kernel=(3, 3),
    num_filter=2,
    num_group=2,
)
_conv(
    "conv_v1_all",
    "Convolution_v1",
    (1, 2, 6, 6),
    (3, 2, 2, 2),
    kernel=(2, 2),
    num_filter=3,
    stride=(2, 1),
    pad=(1, 0),
    dilate=(1, 2),
    no_bias=True,
)
_conv(
    "conv_wrong_weight", _C, (1, 2, 5, 5), (2, 3, 3, 3), kernel=(3, 3), num_filter=2, no_bias=True
)

_conv(
    "deconv_1d",
    _D,
    (2, 4, 5),
    (4, 2, 3),
    kernel=(3,),
    num_filter=2,
    stride=(2,),
    pad=(1,),
    adj=(1,),
)
_conv(
    "deconv_all",
    _D,
    (1, 2, 3, 3),
    (2, 2, 4, 4),
    4,
    kernel=(4, 4),
    num_filter=4,
    num_group=2,
    stride=(3, 1),
    dilate=(1, 2),
    adj=(2, 0),
    pad=(1, 1),
    no_bias=False,
)
_conv(
    "deconv_target_even",
    _D,
    (1, 2, 3, 3),
    (2, 2, 4, 4),
    kernel=(4, 4),
    num_filter=2,
    stride=(2, 2),
    target_shape=(6, 6),
)
_conv(
    "deconv_target_over_pad",
    _D,
    (1, 2, 3, 3),
    (2, 2, 4, 4),
    kernel=(4, 4),
    num_filter=2,
    stride=(2, 2),
    target_shape=(5, 7),
    pad=(2, 2),
    adj=(1, 1),
)
_conv(
    "deconv_target_1d",
    _D,
    (1, 2, 3),
    (2, 2, 4),
    kernel=(4,),
    num_filter=2,
    stride=(2,),
    target_shape=(5,),
)
_conv(
    "deconv_target_zero",
    _D,
    (1, 2, 3, 3),
    (2, 2, 4, 4),
    kernel=(4, 4),
    num_filter=2,
    stride=(2, 2),
    target_shape=(0, 0),
    pad=(1, 1),
)
_conv(
    "deconv_adj_too_large",
    _D,
    (1, 2, 3, 3),
    (2, 2, 2, 2),
    kernel=(2, 2),
    num_filter=2,
    stride=(2, 2),
    adj=(2, 2),
)
_conv(
    "deconv_target_too_large",
    _D,
    (1, 2, 3, 3),
    (2, 2, 4, 4),
    kernel=(4, 4),
    num_filter=2,
    stride=(2, 2),
    target_shape=(12, 12),
)

_x1, _x2, _x3 = _data(1, 2, 9), _data(1, 2, 5, 6), _data(1, 1, 4, 4, 4)
for _type in ("max", "avg", "sum", "lp"):
    _more = {"p_value": 2} if _type == "lp" else {}
    for _convention in ("valid", "full"):
        _common = {"pool_type": _type, "pooling_convention": _convention, **_more}
        _name = f"{_type}_{_convention}"
        _case(f"pool_1d_{_name}", "Pooling", _x1, kernel=(4,), stride=(3,), pad=(1,), **_common)
        _case(
            f"pool_2d_{_name}", "Pooling", _x2, kernel=(2, 3), stride=(2, 2), pad=(0, 1), **_common
        )
        _case(
            f"pool_3d_{_name}",
            "Pooling",
            _x3,
            kernel=(3, 2, 2),
            stride=(2, 2, 1),
            pad=(1, 0, 0),
            **_common,
        )
        if _type != "lp":
            for _pad in (0, 1):
                _case(
                    f"pool_v1_{_name}_{_pad}",
                    "Pooling_v1",
                    _data(1, 1, 5, 5),
                    kernel=(2, 2),
                    stride=(2, 2),
                    pad=(_pad, _pad),
                    pool_type=_type,
                    pooling_convention=_convention,
                )
    _case(
        f"pool_global_{_type}",
        "Pooling",
        _x2,
        kernel=(2, 2),
        stride=(3, 3),
        pad=(1, 1),
        global_pool=True,
        pool_type=_type,
        **_more,
    )
_case("pool_v1_global", "Pooling_v1", _x2, global_pool=True, pool_type="avg")
_case(
    "pool_max_full_empty",
    "Pooling",
    _x2,
    kernel=(2, 2),
    stride=(2, 3),
    pad=(1, 1),
    pooling_convention="full",
)
_case(
    "pool_avg_3d_no_pad",
    "Pooling",
    _x3,
    kernel=(3, 2, 2),
    stride=(2, 3, 1),
    pad=(1, 1, 0),
    pool_type="avg",
    pooling_convention="full",
    count_include_pad=False,
)
_case(
    "pool_avg_1d_no_pad",
    "Pooling",
    _x1,
    kernel=(3,),
    stride=(2,),
    pad=(1,),
    pool_type="avg",
    count_include_pad=False,
)
for _p in (1, 3):
    _case(f"pool_lp_{_p}", "Pooling", _x2, kernel=(2, 2), pool_type="lp", p_value=_p)
_case("pool_lp_none", "Pooling", _x2, kernel=(2, 2), pool_type="lp")
_case("pool_kernel_too_large", "Pooling", _x2, kernel=(6, 6))
_case("pool_no_kernel", "Pooling", _x2)
_case("pool_nwc", "Pooling", _data(1, 5, 2), kernel=(2,), layout="NWC", pool_type="avg")
_case(
    "pool_nhwc",
    "Pooling",
    _data(1, 4, 5, 2),
    kernel=(2, 3),
    stride=(1, 2),
    pad=(1, 0),
    layout="NHWC",
)
_case(
    "pool_ndhwc", "Pooling", _data(1, 3, 4, 2, 2), kernel=(2, 2, 1), layout="NDHWC", pool_type="sum"
)
_case(
    "pool_nhwc_global",
    "Pooling",
    _data(1, 3, 4, 2),
    global_pool=True,
    layout="NHWC",
    pool_type="avg",
)
_case("pool_ncw", "Pooling", _data(1, 2, 5), kernel=(2,), layout="NCW")

_image = _data(1, 2, 4, 5)
for _type in ((), (1,), (2,), (2, 3), (3,), (6, 7)):
    _case(
        f"adaptive_{'x'.join(map(str, _type))}",
        "_contrib_AdaptiveAvgPooling2D",
        _image,
        output_size=_type,
    )
_R = "_contrib_BilinearResize2D"
for _height, _width in ((1, 1), (8, 9), (2, 3), (4, 5)):
    for _align in (True, False):
        _case(
            f"bilinear_{_height}x{_width}_{_align}",
            _R,
            _image,
            height=_height,
            width=_width,
            align_corners=_align,
        )
_case("bilinear_like", _R, {"data": _image, "like": _data(1, 2, 7, 6)}, ["data"], mode="like")
for _mode in ("size", "odd_scale"):
    for _i, (_height, _width) in enumerate(((2.0, 1.5), (0.5, 0.6))):
        _case(
            f"bilinear_{_mode}_{_i}",
            _R,
            _image,
            mode=_mode,
            scale_height=_height,
            scale_width=_width,
        )
for _mode in ("to_even_down", "to_even_up", "to_odd_down", "to_odd_up"):
    _case(f"bilinear_{_mode}", _R, _image, mode=_mode)
_case("bilinear_one_scale", _R, _image, scale_height=2.0)
_case("bilinear_bytes", _R, np.ones((1, 1, 2, 2), "uint8"), [], height=3, width=3)

_theta = np.array([[0.9, 0.2, 0.1, -0.3, 1.1, -0.2]], "float32")
_case("grid_affine", "GridGenerator", _theta, transform_type="affine", target_shape=(3, 2))
_case("grid_no_target", "GridGenerator", _theta, transform_type="affine")
_case("grid_warp", "GridGenerator", _data(1, 2, 3, 4), transform_type="warp")
_case("grid_warp_channels", "GridGenerator", _data(1, 3, 3, 4), transform_type="warp")
_grid = _rng.uniform(-1.4, 1.4, (1, 2, 3, 4)).astype("float32")
_case("sampler_outside", "BilinearSampler", {"data": _image, "grid": _grid})
_corners = np.array([[[[-1, 1, -1, 1, 4]], [[-1, -1, 1, 1, 0]]]], "float32")
_case("sampler_corners", "BilinearSampler", {"data": _image, "grid": _corners}, ["data"])
_case(
    "transformer",
    "SpatialTransformer",
    {"data": _image, "loc": _theta},
    target_shape=(3, 2),
    transform_type="affine",
    sampler_type="bilinear",
)

for _scale in (2, 3):
    _extent = 2 * _scale - _scale % 2
    _case(
        f"upsampling_bilinear_{_scale}",
        "UpSampling",
        {"data": _image, "weight": _data(2, 1, _extent, _extent)},
        scale=_scale,
        num_filter=2,
        sample_type="bilinear",
    )
_case(
    "upsampling_sizes",
    "UpSampling",
    [_data(1, 1, 2, 3), _data(1, 2, 4, 6)],
    scale=4,
    sample_type="nearest",
    num_args=2,
)
_case(
    "upsampling_no_weight", "UpSampling", _image, [], scale=2, num_filter=2, sample_type="bilinear"
)

_window = {"kernel": (2, 3), "stride": (2, 1), "pad": (1, 0)}
_case("im2col_all", "im2col", _image, dilate=(1, 2), **_window)
_case("im2col_plain", "im2col", _image, kernel=(2, 2))
_case("col2im", "col2im", _data(1, 12, 9), output_size=(4, 5), **_window)
_case("col2im_dilate", "col2im", _data(1, 12, 3), output_size=(4, 5), dilate=(1, 2), **_window)
_case("col2im_wrong", "col2im", _data(1, 12, 9), output_size=(4, 6), **_window)
