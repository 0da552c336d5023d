"""``mx.image``: image decoding, augmenters and image iterators, based on OpenCV."""

# What `import *` brings beside mixnet's own names, as MXNet's module does.
import json as json
import logging as logging
import os as os
import random as random
import sys as sys
import warnings as warnings
from numbers import Number as Number

import numpy as np

from mixnet import io as io
from mixnet import ndarray as nd
from mixnet import recordio as recordio
from mixnet.base import numeric_types as numeric_types
from mixnet.image import detection as detection
from mixnet.image import image as image
from mixnet.image.augment import Augmenter as Augmenter
from mixnet.image.augment import BrightnessJitterAug as BrightnessJitterAug
from mixnet.image.augment import CastAug as CastAug
from mixnet.image.augment import CenterCropAug as CenterCropAug
from mixnet.image.augment import ColorJitterAug as ColorJitterAug
from mixnet.image.augment import ColorNormalizeAug as ColorNormalizeAug
from mixnet.image.augment import ContrastJitterAug as ContrastJitterAug
from mixnet.image.augment import CreateAugmenter as CreateAugmenter
from mixnet.image.augment import ForceResizeAug as ForceResizeAug
from mixnet.image.augment import HorizontalFlipAug as HorizontalFlipAug
from mixnet.image.augment import HueJitterAug as HueJitterAug
from mixnet.image.augment import LightingAug as LightingAug
from mixnet.image.augment import RandomCropAug as RandomCropAug
from mixnet.image.augment import RandomGrayAug as RandomGrayAug
from mixnet.image.augment import RandomOrderAug as RandomOrderAug
from mixnet.image.augment import RandomSizedCropAug as RandomSizedCropAug
from mixnet.image.augment import ResizeAug as ResizeAug
from mixnet.image.augment import SaturationJitterAug as SaturationJitterAug
from mixnet.image.augment import SequentialAug as SequentialAug
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
from mixnet.image.transform import center_crop as center_crop
from mixnet.image.transform import color_normalize as color_normalize
from mixnet.image.transform import copyMakeBorder as copyMakeBorder
from mixnet.image.transform import fixed_crop as fixed_crop
from mixnet.image.transform import imdecode as imdecode
from mixnet.image.transform import imread as imread
from mixnet.image.transform import imresize as imresize
from mixnet.image.transform import imrotate as imrotate
from mixnet.image.transform import random_crop as random_crop
from mixnet.image.transform import random_rotate as random_rotate
from mixnet.image.transform import random_size_crop as random_size_crop
from mixnet.image.transform import resize_short as resize_short
from mixnet.image.transform import scale_down as scale_down
from mixnet.process.lazy import names_later as _names_later
from mixnet.process.lazy import star_names as _star_names
from mixnet.util import is_np_array as is_np_array

det = detection

# OpenCV is imported on first use.
__getattr__, __dir__ = _names_later(globals(), {"cv2": "cv2"})

__all__ = [*_star_names(globals(), ("det", "detection", "image")), "cv2"]
