"""MXNet's import path ``mx.image.detection``."""

# What `import *` brings beside mixnet's own names, as MXNet's module does.
import json as json
import logging as logging
import random as random
import warnings as warnings

import numpy as np  # noqa: F401

from mixnet import io as io
from mixnet import ndarray as nd  # noqa: F401 - people import it from here
from mixnet.base import numeric_types as numeric_types
from mixnet.image.augment import Augmenter as Augmenter
from mixnet.image.augment import CastAug as CastAug
from mixnet.image.augment import ColorJitterAug as ColorJitterAug
from mixnet.image.augment import ColorNormalizeAug as ColorNormalizeAug
from mixnet.image.augment import ForceResizeAug as ForceResizeAug
from mixnet.image.augment import HueJitterAug as HueJitterAug
from mixnet.image.augment import LightingAug as LightingAug
from mixnet.image.augment import RandomGrayAug as RandomGrayAug
from mixnet.image.augment import RandomOrderAug as RandomOrderAug
from mixnet.image.augment import ResizeAug as ResizeAug
from mixnet.image.detection_augment import CreateDetAugmenter as CreateDetAugmenter
from mixnet.image.detection_augment import (
    CreateMultiRandCropAugmenter as CreateMultiRandCropAugmenter,
)
from mixnet.image.detection_augment import DetAugmenter as DetAugmenter
from mixnet.image.detection_augment import DetBorrowAug as DetBorrowAug
from mixnet.image.detection_augment import DetHorizontalFlipAug as DetHorizontalFlipAug
from mixnet.image.detection_augment import DetRandomCropAug as DetRandomCropAug
from mixnet.image.detection_augment import DetRandomPadAug as DetRandomPadAug
from mixnet.image.detection_augment import DetRandomSelectAug as DetRandomSelectAug
from mixnet.image.detection_iterator import ImageDetIter as ImageDetIter
from mixnet.image.iterator import ImageIter as ImageIter
from mixnet.image.transform import copyMakeBorder as copyMakeBorder
from mixnet.image.transform import fixed_crop as fixed_crop
from mixnet.util import is_np_array as is_np_array
