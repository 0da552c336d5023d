"""Random augmentation of record iterators draws the numbers of MXNet 1.9.1 with one thread."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from mixnet.image.draw import of_seed, of_words
from tests.each_record import each_record

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"
RECORDED = json.loads((Path(__file__).parent / "draws_of_mxnet.json").read_text(encoding="utf-8"))
INDEX = str(FIXTURES / "augment.idx")
CROP = {"rand_crop": True, "rand_mirror": True}
AREA = {
    "random_resized_crop": True,
    "min_random_area": 0.3,
    "max_aspect_ratio": 1.3,
    "min_aspect_ratio": 0.7,
}
CASES: dict[str, dict[str, Any]] = {
    "crop": {"rand_crop": True},
    "mirror": {"rand_mirror": True},
    "both": CROP,
    "shuffled": {**CROP, "shuffle": True, "batch_size": 2},
    "shuffled by index": {**CROP, "shuffle": True, "batch_size": 2, "path_imgidx": INDEX},
    "light": {**CROP, "max_random_contrast": 0.4, "max_random_illumination": 9},
    "uint8": {**CROP, "dtype": "uint8"},
    "uint8 light": {**CROP, "dtype": "uint8", "max_random_illumination": 9},
    "int8": {**CROP, "dtype": "int8"},
    "rotated": {"max_rotate_angle": 20, "rand_mirror": True},
    "scaled": {**CROP, "max_random_scale": 1.5, "min_random_scale": 0.8},
    "squares": {**CROP, "max_crop_size": 22, "min_crop_size": 16},
    "crop from a seed": {**CROP, "seed_aug": 7},
    "scaled from a seed": {**CROP, "max_random_scale": 1.5, "seed_aug": 7},
    "area from a seed": {**AREA, "rand_mirror": True, "seed_aug": 7},
    "rotated area from a seed": {**AREA, "max_rotate_angle": 20, "seed_aug": 7},
    "areas that do not fit": {
        **AREA,
        "min_aspect_ratio": 3,
        "max_aspect_ratio": 3,
        "min_random_area": 1,
        "seed_aug": 7,
    },
    "enlarged": {"data_shape": (3, 50, 90)},
    "enlarged with the best interpolation": {"data_shape": (3, 38, 60), "inter_method": 9},
    "any interpolation": {**CROP, "inter_method": 10, "seed_aug": 7},
    "no areas": {"random_resized_crop": True, "seed_aug": 7},
    "pairs from a seed": {**CROP, "seed_aug": 7, "batch_size": 2},
    "pairs by index": {**CROP, "seed_aug": 7, "batch_size": 2, "path_imgidx": INDEX},
    "shuffled from a seed": {**CROP, "seed_aug": 7, "batch_size": 2, "shuffle": True},
}


def drawn(mx: Any, case: str) -> list[list[float]]:
    """A corner and the sum of each image of two epochs.

    Args:
        mx: MXNet, or mixnet.
        case: one of ``CASES``.
    """
    images = mx.io.ImageRecordIter(
        path_imgrec=str(FIXTURES / "augment.rec"), preprocess_threads=1,
        **{"batch_size": 3, "data_shape": (3, 20, 18), **CASES[case]},
    )  # fmt: skip
    rows = []
    for _ in range(2):
        for batch in images:
            for image in batch.data[0].asnumpy().astype(np.float64):
                rows.append([*image[:, 0, 0].tolist(), float(image.sum())])
        images.reset()
    return rows


@each_record("case", CASES)
def test_images_are_those_of_mxnet(case: str) -> None:
    import mixnet

    np.testing.assert_allclose(drawn(mixnet, case), RECORDED[case], rtol=1e-5, atol=1e-3)


def test_draws_are_even() -> None:
    draw = of_seed(3)
    assert abs(np.mean([draw.random() for _ in range(2000)]) - 0.5) < 0.02
    assert {draw.randint(2, 4) for _ in range(50)} == {2, 3, 4}
    assert draw.randint(5, 5) == 5
    assert 400 < sum(draw.is_heads() for _ in range(1000)) < 600
    items = list(range(9))
    draw.shuffle(items)
    assert sorted(items) == list(range(9)) != items
    assert abs(np.std([draw.gauss(0, 2) for _ in range(2000)]) - 2) < 0.1


def test_words_are_taken_in_order() -> None:
    draw = of_words(np.array([2**31, 0, 2**32 - 1, 2**30], np.uint32))
    assert draw.random() == 0.5
    assert not draw.is_heads()
    assert draw.random() == 0.25
    assert of_seed(3).getrandbits(40) < 2**40
