"""Encoded images."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import cv2
import numpy as np

import mixnet as mx
from tests.fuzz.formats import Packing

FORMAT = "images"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def corpus(folder: Path) -> list[Path]:
    """The same pixels in several formats, and some with opacity or 16 bits."""
    pixels = np.random.RandomState(0).randint(0, 256, (6, 7, 4), np.uint8)
    for name in ("a.png", "a.jpg", "a.bmp", "a.webp", "a.ppm", "a.gif"):
        cv2.imwrite(str(folder / name), pixels[:, :, :3])
    cv2.imwrite(str(folder / "opaque.png"), pixels)
    cv2.imwrite(str(folder / "grey16.png"), pixels[:, :, 0].astype(np.uint16) * 257)
    cv2.imwrite(str(folder / "late.jpg"), pixels[:, :, 0], [cv2.IMWRITE_JPEG_PROGRESSIVE, 1])
    return sorted(folder.iterdir())


def packing(path: Path) -> Packing | None:
    """Damage below the checksums of PNG."""
    return (_without_sums, _with_sums) if path.suffix == ".png" else None


def _without_sums(content: bytes) -> bytes:
    """The chunks, their content and no checksums; what is packed is unpacked."""
    parts, at = [], len(_SIGNATURE)
    while at < len(content):
        (size,) = struct.unpack_from(">I", content, at)
        kind, body = content[at + 4 : at + 8], content[at + 8 : at + 8 + size]
        body = zlib.decompress(body) if kind == b"IDAT" else body
        parts.append(struct.pack(">I", len(body)) + kind + body)
        at += 12 + size
    return b"".join(parts)


def _with_sums(content: bytes) -> bytes:
    parts, at = [_SIGNATURE], 0
    while at + 8 <= len(content):
        (size,) = struct.unpack_from(">I", content, at)
        kind, body = content[at + 4 : at + 8], content[at + 8 : at + 8 + size]
        body = zlib.compress(body) if kind == b"IDAT" else body
        whole = kind + body
        parts += [struct.pack(">I", len(body)), whole, struct.pack(">I", zlib.crc32(whole))]
        at += 8 + size
    return b"".join(parts)


def load(path: Path) -> None:
    """Decode by all ways there are."""
    content = path.read_bytes()
    mx.image.imread(str(path))
    mx.image.imdecode(content, flag=0)
    mx.nd.imdecode(content)
    mx.image.host.decode(content, -1, True)
