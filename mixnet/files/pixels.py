"""Decoding of images with OpenCV, within limits.

Decoders take the memory for an image of the size in its header before they look at anything else. So
the size is looked at first: what no file of this length can hold is refused, and so are large images that
are packed as no photograph is, unless a setting allows them.
"""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np

from mixnet import config
from mixnet.base import FileFormatError

# Images below this are decoded whatever their headers say: 2048 x 2048, 12 MiB in colour.
SMALL = 1 << 22
# Pixels that a byte of a file can stand for: deflate, of PNG, packs 1032 bytes into one at best; a
# block of 8 x 8 pixels in a JPEG file takes a bit; WebP wrote one colour at 22,000 pixels a byte; of
# other formats we know nothing better than PNG.
_PNG, _JPEG, _WEBP, _OTHER = 8 * 1032, 512, 1 << 15, 8 * 1032
# Photographs have 2 to 40 pixels a byte; what has more is of one colour, a drawing, or meant to
# fill the memory.
PHOTOGRAPH = 100


def decode(content: Any, mode: int, failure: str = "Decoding failed", needed: bool = True) -> Any:
    """The pixels that OpenCV decodes from the bytes of an image file.

    Args:
        content: bytes, or an array of them.
        mode: one of OpenCV's ``IMREAD_``.
        failure: beginning of messages.
        needed: raise if the bytes are not an image; otherwise return None.

    Raises:
        FileFormatError: the bytes are not an image, or too few for the size that they claim.
    """
    import cv2

    data = np.frombuffer(content, np.uint8)
    if not data.size:
        raise FileFormatError(f"{failure}: the buffer of the image is empty.")
    named = named_size(data)
    if named is not None:
        width, height, most = named
        if width * height > max(SMALL, most * data.size):
            raise FileFormatError(
                f"{failure}: the image claims a size of {width} x {height} pixels, which {data.size} "
                f"bytes cannot hold; it is damaged or forged."
            )
        allowed = config.get("MIXNET_IMAGE_MEGAPIXELS")
        if width * height > max(allowed * 1e6, PHOTOGRAPH * data.size):
            raise FileFormatError(
                f"{failure}: {data.size} bytes claim an image of {width} x {height} pixels: more "
                f"than {PHOTOGRAPH} pixels per byte, and more than {allowed:g} million pixels. "
                f"If you trust the file, set MIXNET_IMAGE_MEGAPIXELS="
                f"{-(-width * height // 1_000_000)}."
            )
    try:
        pixels = cv2.imdecode(data, mode) if _is_whole(data) else None
    except cv2.error as error:
        reason = " ".join(str(error).split())
        raise FileFormatError(f"{failure}: OpenCV cannot decode the image: {reason}") from None
    if pixels is None and needed:
        raise FileFormatError(
            f"{failure}: {data.size} bytes are not an image that OpenCV can read."
        )
    return pixels


def named_size(data: np.ndarray) -> tuple[int, int, int] | None:
    """Width, height, and how many pixels a byte may stand for; None for a format unknown here."""
    head = data[:64].tobytes()
    try:
        if head.startswith(b"\x89PNG"):
            width, height, bits, kind = struct.unpack_from(">IIBB", head, 16)
            channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}.get(kind, 1)
            return width, height, _PNG // max(bits * channels, 1)
        if head.startswith(b"\xff\xd8"):
            size = _jpeg_size(data)
            return None if size is None else (*size, _JPEG)
        if head.startswith(b"GIF8"):
            return (*struct.unpack_from("<HH", head, 6), _OTHER)
        if head.startswith(b"BM"):
            width, height = struct.unpack_from("<ii", head, 18)
            return abs(width), abs(height), _OTHER
        if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
            return (*_webp_size(head), _WEBP)
        if head.startswith(b"Y\xa6j\x95"):  # Sun raster
            return (*struct.unpack_from(">II", head, 4), _OTHER)
        if head[:4] in (b"II*\0", b"MM\0*"):
            size = _tiff_size(data)
            return None if size is None else (*size, _OTHER)
        if head[4:8] in (b"jP  ", b"ftyp"):  # JPEG 2000, AVIF: boxes
            size = _box_size(data)
            return None if size is None else (*size, _WEBP)
        if head.startswith(b"\xff\x4f\xff\x51"):  # JPEG 2000 without boxes
            right, down, left, up = struct.unpack_from(">IIII", head, 8)
            return max(right - left, 0), max(down - up, 0), _WEBP
        if head.startswith((b"#?RADIANCE", b"#?RGBE")):
            match = re.search(rb"\n-Y (\d{1,9}) \+X (\d{1,9})\n", data[:4096].tobytes())
            return None if match is None else (int(match[2]), int(match[1]), _OTHER)
        if head[:1] == b"P" and head[1:2] in b"123456Ff":
            width, height = (int(each) for each in _words(data)[1:3])
            return width, height, _OTHER
    except (struct.error, ValueError):
        pass
    return None


def _is_whole(data: np.ndarray) -> bool:
    """Whether the parts of a PNG file lie within it: OpenCV takes memory for what they name, too."""
    at = 8
    if data[:4].tobytes() != b"\x89PNG":
        return True
    while at + 12 <= data.size:
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        at += 12 + size
        if kind == b"IEND":
            break
    return at <= data.size


def _words(data: np.ndarray) -> list[bytes]:
    """The first words of a PNM header, comments left out."""
    lines = data[:4096].tobytes().split(b"\n")
    return b"\n".join(line.partition(b"#")[0] for line in lines).split()[:3]


def _jpeg_size(data: np.ndarray) -> tuple[int, int] | None:
    """Width and height in the frame header, at the end of a chain of segments."""
    at = 2
    while at + 9 <= data.size:
        marker = data[at : at + 9].tobytes()
        if marker[0] != 0xFF:  # decoders pass over what is no segment
            ahead = np.flatnonzero(data[at : at + (1 << 16)] == 0xFF)
            at += int(ahead[0]) if len(ahead) else 1 << 16
        elif marker[1] == 0xFF or marker[1] in (0x00, 0x01) or 0xD0 <= marker[1] <= 0xD9:
            at += 1 if marker[1] in (0xFF, 0x00) else 2
        elif 0xC0 <= marker[1] <= 0xCF and marker[1] not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", marker, 5)
            return width, height
        else:
            at += 2 + struct.unpack_from(">H", marker, 2)[0]
    return None


def _tiff_size(data: np.ndarray) -> tuple[int, int] | None:
    """Width and height among the tags of the first image."""
    order = "<" if data[0] == ord("I") else ">"
    (at,) = struct.unpack(f"{order}I", data[4:8].tobytes())
    (count,) = struct.unpack(f"{order}H", data[at : at + 2].tobytes())
    size: dict[int, int] = {}
    for i in range(count):
        entry = data[at + 2 + 12 * i : at + 14 + 12 * i].tobytes()
        tag, kind = struct.unpack_from(f"{order}HH", entry)
        if tag in (256, 257):  # as 16 or as 32 bits
            (size[tag],) = struct.unpack_from(order + ("H" if kind == 3 else "I"), entry, 8)
    return (size[256], size[257]) if len(size) == 2 else None


def _box_size(data: np.ndarray) -> tuple[int, int] | None:
    """The largest size that a header names: ``ihdr`` of JPEG 2000, ``ispe`` of AVIF."""
    head = data[: 1 << 16].tobytes()
    sizes = [
        struct.unpack_from(">II", head, match.start() + 4)[::-1]
        for match in re.finditer(rb"ihdr(?=.{8})", head, re.DOTALL)
    ]
    sizes += [
        struct.unpack_from(">II", head, match.start() + 8)
        for match in re.finditer(rb"ispe(?=.{12})", head, re.DOTALL)
    ]
    return max(sizes, key=lambda size: size[0] * size[1], default=None)


def _webp_size(head: bytes) -> tuple[int, int]:
    if head[12:16] == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if head[12:16] == b"VP8L":
        (word,) = struct.unpack_from("<I", head, 21)
        return 1 + (word & 0x3FFF), 1 + (word >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<HH", head, 26)
    return width & 0x3FFF, height & 0x3FFF
