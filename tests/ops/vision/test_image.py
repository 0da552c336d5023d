"""Image operators: their randomness and their errors."""

from __future__ import annotations

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, config, nd
from mixnet.base import AttributeValueError, DTypeError, ShapeError

IMAGE = np.array([[[255, 0, 10], [100, 200, 50]], [[7, 7, 7], [30, 129, 255]]], "float32")


def test_a_flip_happens_half_the_time() -> None:
    mx.random.seed(1)
    image = nd.array(IMAGE)
    for name, flipped in (("left_right", IMAGE[:, ::-1]), ("top_bottom", IMAGE[::-1])):
        function = getattr(nd, f"_image_random_flip_{name}")
        results = [function(image).asnumpy() for _ in range(100)]
        count = sum(np.array_equal(each, flipped) for each in results)
        assert count + sum(np.array_equal(each, IMAGE) for each in results) == 100
        assert 25 < count < 75  # five standard deviations


def test_a_factor_is_uniform_in_its_range() -> None:
    mx.random.seed(1)
    white = nd.full((1, 1, 3), 100)
    results = [
        nd._image_random_brightness(white, min_factor=0.5, max_factor=2.0).asnumpy()[0, 0, 0]
        for _ in range(200)
    ]
    assert 50 <= min(results) < 60 and 190 < max(results) < 200
    assert np.mean(results) == pytest.approx(125, abs=5 * 150 / np.sqrt(12 * 200))


def test_saturation_moves_from_and_to_gray() -> None:
    gray = IMAGE @ np.array([0.299, 0.587, 0.114], "float32")
    actual = nd._image_random_saturation(nd.array(IMAGE), min_factor=0.0, max_factor=0.0)
    np.testing.assert_allclose(actual.asnumpy(), np.repeat(gray[..., None], 3, -1), rtol=1e-6)
    bytes_ = nd.array(IMAGE, dtype="uint8")
    actual = nd._image_random_saturation(bytes_, min_factor=0.0, max_factor=0.0)
    assert actual.dtype == np.uint8 and actual.asnumpy()[0, 0, 0] == int(gray[0, 0])


def test_hue_turns_red_to_green_to_blue() -> None:
    red = nd.array([[[255, 0, 0]]])
    turned = [nd._image_random_hue(red, min_factor=t, max_factor=t) for t in (1 / 3, 2 / 3, 1.0)]
    for each, expected in zip(turned, ([0, 255, 0], [0, 0, 255], [255, 0, 0]), strict=True):
        np.testing.assert_allclose(each.asnumpy()[0, 0], expected, atol=1e-3)


def test_hue_of_whole_numbers_is_cut_to_levels_as_in_mxnet() -> None:
    pixels = np.random.RandomState(0).randint(0, 256, (4, 2, 3))
    # Pixels that MXNet 1.9.1 gives, a row of two in each line.
    expected = {
        0.0: """172 46 116 192 67 250
                195 103 8 211 20 242
                36 87 70 215 88 139
                57 192 230 38 86 174""",
        0.25: """172 164 46 250 100 67
                 8 195 9 242 100 20
                 44 36 87 203 215 88
                 181 57 230 174 38 154""",
        0.6: """46 166 172 67 250 118
                28 8 195 20 242 122
                87 49 36 88 191 215
                230 198 57 140 174 38""",
    }
    for turn, levels in expected.items():
        image = nd.array(pixels, dtype="uint8")
        turned = nd._image_random_hue(image, min_factor=turn, max_factor=turn).asnumpy()
        truth = np.array(levels.split(), int)
        # XLA fuses products and sums in compiled programs: a level of some channels may be the next one.
        off = np.abs(turned.ravel().astype(int) - truth)
        assert off.max() <= (0 if config.get("MIXNET_INTERPRET") else 1)


def test_color_jitter_stays_in_its_ranges() -> None:
    mx.random.seed(1)
    image = nd.array(IMAGE)

    def jitter(*widths: float) -> np.ndarray:
        names = ("brightness", "contrast", "saturation", "hue")
        return nd._image_random_color_jitter(
            image, **dict(zip(names, widths, strict=True))
        ).asnumpy()

    np.testing.assert_array_equal(jitter(0, 0, 0, 0), IMAGE)
    factors = np.array([jitter(0.4, 0, 0, 0)[0, 0, 0] / 255 for _ in range(100)])
    assert 0.6 <= factors.min() < 0.7 and 1.3 < factors.max() < 1.4
    turned = np.array([jitter(0, 0, 0, 0.1)[0, 0] for _ in range(20)])
    np.testing.assert_allclose(turned.max(-1), 255, rtol=1e-4)  # hue keeps the greatest channel
    assert len({tuple(each) for each in np.round(turned, 3)}) > 10
    assert np.isfinite(jitter(0.4, 0.4, 0.4, 0.4)).all()


def test_random_lighting_has_the_colours_of_adjust_lighting() -> None:
    mx.random.seed(1)
    black = nd.zeros((1, 1, 3))
    drawn = np.array(
        [nd._image_random_lighting(black, alpha_std=0.05).asnumpy()[0, 0] for _ in range(300)]
    )
    columns = np.stack(
        [
            nd._image_adjust_lighting(black, alpha=tuple(row)).asnumpy()[0, 0]
            for row in np.eye(3).tolist()
        ],
        1,
    )
    expected = 0.05**2 * columns @ columns.T
    # a variance from 300 draws: five standard errors are 5 sqrt(2 / 300)
    np.testing.assert_allclose(np.cov(drawn.T), expected, rtol=0.41)


def test_a_colour_operator_leaves_gray_images_gray() -> None:
    gray = nd.array([[[1], [2]]])
    for name in ("saturation", "hue"):
        function = getattr(nd, f"_image_random_{name}")
        actual = function(gray, min_factor=0.3, max_factor=0.3)
        np.testing.assert_array_equal(actual.asnumpy(), gray.asnumpy())
    actual = nd._image_adjust_lighting(gray, alpha=(1.0, 1.0, 1.0))
    np.testing.assert_array_equal(actual.asnumpy(), gray.asnumpy())


def test_errors_say_what_is_wrong() -> None:
    image, two = nd.zeros((2, 3, 3)), nd.zeros((2, 2))
    with pytest.raises(ShapeError, match="height, width, channels"):
        nd._image_to_tensor(two)
    with pytest.raises(ShapeError, match="one image at a time"):
        nd._image_flip_left_right(nd.zeros((1, 2, 2, 3)))
    with pytest.raises(ShapeError, match="1 or 3 channels"):
        nd._image_normalize(nd.zeros((2, 2, 2)))
    with pytest.raises(AttributeValueError, match=r"1 or 3 number"):
        nd._image_normalize(nd.zeros((3, 2, 2)), mean=(1.0, 2.0))
    with pytest.raises(AttributeValueError, match="size="):
        nd._image_resize(image)
    with pytest.raises(AttributeValueError, match="interp=7"):
        nd._image_resize(image, size=2, interp=7)
    with pytest.raises(DTypeError, match="cast it"):
        nd._image_resize(nd.zeros((2, 3, 3), dtype="int32"), size=2)
    with pytest.raises(AttributeValueError, match="out of range"):
        nd._image_crop(image, x=-1, y=0, width=2, height=2)
    with pytest.raises(AttributeValueError, match="0 or more"):
        nd._image_random_hue(image, min_factor=-1.0, max_factor=0.0)
    with pytest.raises(ShapeError, match="3 channels"):
        nd._image_random_contrast(nd.zeros((2, 2, 4)), min_factor=0.0, max_factor=1.0)
    with pytest.raises(AttributeValueError, match="3 numbers"):
        nd._image_adjust_lighting(image, alpha=(1.0, 2.0))
    with pytest.raises(AttributeValueError, match="both scales"):
        nd._contrib_BilinearResize2D(nd.zeros((1, 1, 2, 2)), scale_height=2.0)
    with pytest.raises(DTypeError, match="float32"):
        nd._contrib_BilinearResize2D(nd.zeros((1, 1, 2, 2), dtype="uint8"), height=2)
    with pytest.raises(AttributeValueError, match="target_shape"):
        nd.GridGenerator(nd.zeros((1, 6)), transform_type="affine")
    with pytest.raises(ShapeError, match="batch, 6"):
        nd.GridGenerator(nd.zeros((1, 5)), transform_type="affine", target_shape=(2, 2))
    with pytest.raises(ShapeError, match="flow"):
        nd.GridGenerator(nd.zeros((1, 3, 2, 2)), transform_type="warp")
    with pytest.raises(ShapeError, match="grid"):
        nd.BilinearSampler(nd.zeros((1, 1, 2, 2)), nd.zeros((2, 2, 1, 1)))


def test_under_the_identity_the_gradient_is_taken_where_mxnet_takes_it() -> None:
    # All places lie on pixels, where the derivative jumps: the rounding of the grid decides.
    data = nd.array((np.arange(100) ** 2 % 11 / 4).reshape(1, 1, 10, 10))
    theta = nd.array([[1, 0, 0, 0, 1, 0]])
    theta.attach_grad()
    with mx.autograd.record():
        grid = nd.GridGenerator(theta, transform_type="affine", target_shape=(10, 10))
        loss = (nd.BilinearSampler(data, grid) ** 2).sum()
    loss.backward()
    expected = [[-165.1875, 35.0625, -313.3125, 35.0625, -165.1875, -313.3125]]  # MXNet 1.9.1
    np.testing.assert_allclose(theta.grad.asnumpy(), expected, rtol=1e-4)


@pytest.mark.parametrize(
    "name",
    ["flip_left_right", "flip_top_bottom", "random_flip_left_right", "random_flip_top_bottom"],
)
def test_images_with_channels_first_are_not_flipped(name: str) -> None:
    """MXNet refuses them, too; the rows of a channel would change places with the columns."""
    with pytest.raises(mx.MXNetError, match=r"\(3, 4, 5\) must have 3 channels.*last axis"):
        getattr(mx.nd.image, name)(mx.nd.ones((3, 4, 5)))
    with pytest.raises(mx.MXNetError, match="last axis"):
        mx.nd.image.crop(mx.nd.ones((3, 4, 5)), 0, 0, 2, 2)


# Where MXNet 1.9.1 takes the gradient of a transformer under the identity: the slope at each place of a
# picture whose slopes are 1, 2, 3, ... from left to right. The last place has the outside on its right.
SLOPES = {
    4: [1, 1, 3],
    7: [1, 1, 2, 4, 5, 6],
    10: [1, 1, 2, 3, 5, 6, 7, 8, 9],
    14: [1, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13],
    28: [1, 2, 2, 3, 5, 6, 6, 8, 9, 9, *range(11, 28)],
}


@pytest.mark.parametrize("width", SLOPES)
def test_a_transformer_under_the_identity_has_the_gradient_of_mxnet(width: int) -> None:
    row = np.cumsum(np.arange(width)).astype("float32")
    picture = nd.array(np.tile(row, (1, 1, 3, 1)))
    loc = nd.array([[1, 0, 0, 0, 1, 0]])
    loc.attach_grad()
    slopes = []
    for place in range(width - 1):
        head = nd.zeros((1, 1, 3, width))
        head[0, 0, 1, place] = 1
        with autograd.record():
            sampled = nd.SpatialTransformer(
                picture,
                loc,
                target_shape=(3, width),
                transform_type="affine",
                sampler_type="bilinear",
            )
        sampled.backward(head)
        slopes.append(round(loc.grad[0, 2].asscalar() * 2 / (width - 1)))
    assert slopes == SLOPES[width]
