"""Images and detection: boxes, regions, colours."""

from mixnet.ops.vision import boxes as boxes
from mixnet.ops.vision import correlation as correlation
from mixnet.ops.vision import crop as crop
from mixnet.ops.vision import image as image
from mixnet.ops.vision import image_color as image_color
from mixnet.ops.vision import multibox as multibox
from mixnet.ops.vision import position_sensitive as position_sensitive
from mixnet.ops.vision import proposal as proposal
from mixnet.ops.vision import region as region
from mixnet.ops.vision import spatial_transform as spatial_transform
from mixnet.ops.vision import suppression as suppression
