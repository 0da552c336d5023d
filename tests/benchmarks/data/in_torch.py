"""The same images for PyTorch: decoded, cropped, mirrored and normalised as one would write it."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from tests.benchmarks.data.case import CROP, IMAGES, MEAN, STD


class Images(Dataset):
    """JPEG files of a folder.

    Args:
        folder: of the files.
        variant: ``Pillow`` or ``OpenCV``.
        resized: crop a random area and resize it.
    """

    def __init__(self, folder: str, variant: str, resized: bool):
        self.folder, self.variant, self.resized = folder, variant, resized
        self.mean = torch.tensor(MEAN).reshape(3, 1, 1)
        self.std = torch.tensor(STD).reshape(3, 1, 1)

    def __len__(self) -> int:
        return IMAGES

    def __getitem__(self, number: int) -> Any:
        path = f"{self.folder}/{number}.jpg"
        pixels = self._pillow(path) if self.variant == "Pillow" else self._opencv(path)
        if random.random() < 0.5:
            pixels = pixels[:, ::-1]
        image = torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))
        return (image.float() - self.mean) / self.std, number % 10

    def _box(self, height: int, width: int) -> tuple[int, int, int, int]:
        """Left, top, width and height of the crop."""
        if not self.resized:
            return random.randint(0, width - CROP), random.randint(0, height - CROP), CROP, CROP
        for _ in range(10):
            area = random.uniform(0.08, 1.0) * height * width
            ratio = random.uniform(0.75, 4 / 3)
            w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if w <= width and h <= height:
                return random.randint(0, width - w), random.randint(0, height - h), w, h
        return 0, 0, width, height

    def _pillow(self, path: str) -> np.ndarray:
        from PIL import Image

        image = Image.open(path).convert("RGB")
        x, y, w, h = self._box(image.height, image.width)
        image = image.crop((x, y, x + w, y + h))
        if self.resized:
            image = image.resize((CROP, CROP), Image.Resampling.BILINEAR)
        return np.asarray(image)

    def _opencv(self, path: str) -> np.ndarray:
        import cv2

        cv2.setNumThreads(0)  # the loader's processes share the cores already
        image = cv2.imread(path, cv2.IMREAD_COLOR_RGB)
        x, y, w, h = self._box(*image.shape[:2])
        image = image[y : y + h, x : x + w]
        return cv2.resize(image, (CROP, CROP)) if self.resized else image
