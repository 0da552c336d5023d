"""Encoded images: the sizes in their headers, and images that are refused before memory is allocated."""

from __future__ import annotations

import struct
import zlib

import cv2
import numpy as np
import pytest

import mixnet as mx
from mixnet.base import FileFormatError
from mixnet.files.pixels import decode, named_size


def encoded(extension: str, height: int = 6, width: int = 7) -> bytes:
    pixels = np.random.RandomState(0).randint(0, 256, (height, width, 3), np.uint8)
    return cv2.imencode(extension, pixels)[1].tobytes()


def png(width: int, height: int, content: bytes = b"") -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(content)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def jpeg(width: int, height: int) -> bytes:
    content = bytearray(encoded(".jpg"))
    at = content.index(b"\xff\xc0")
    content[at + 5 : at + 9] = struct.pack(">HH", height, width)
    return bytes(content)


@pytest.mark.parametrize("extension", [".png", ".jpg", ".bmp", ".gif", ".webp", ".ppm", ".ras"])
def test_sizes_are_read_from_headers(extension: str) -> None:
    content = np.frombuffer(encoded(extension), np.uint8)
    assert named_size(content)[:2] == (7, 6)
    assert decode(content, 1).shape == (6, 7, 3)


def test_sizes_of_other_variants_are_read() -> None:
    pixels = np.random.RandomState(0).randint(0, 256, (6, 7, 3), np.uint8)
    lossy = cv2.imencode(".webp", pixels, [cv2.IMWRITE_WEBP_QUALITY, 50])[1]
    late = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_PROGRESSIVE, 1])[1]
    junk = encoded(".jpg")
    for content in (lossy, late, np.frombuffer(junk[:2] + b"junk" + junk[2:], np.uint8)):
        assert named_size(content)[:2] == (7, 6)
    for content in (b"", b"P6", b"P6 a b", b"BM", b"\xff\xd8\xff", b"\x89PNG", b"words", b"RIFF"):
        assert named_size(np.frombuffer(content, np.uint8)) is None


@pytest.mark.parametrize("content", [
    png(60000, 60000), png(20000, 20000), png(1 << 30, 1 << 30), jpeg(60000, 60000),
    jpeg(20000, 20000), b"P6\n60000 60000\n255\n" + bytes(100),
    b"BM" + bytes(16) + struct.pack("<ii", 30000, -30000) + bytes(100),
])  # fmt: skip
def test_sizes_beyond_the_length_of_the_file_are_refused(content: bytes) -> None:
    with pytest.raises(
        FileFormatError, match=r"claims a size of \d+ x \d+ pixels, which \d+ bytes"
    ):
        mx.image.imdecode(content)
    with pytest.raises(FileFormatError, match="cannot hold"):
        mx.nd.imdecode(content)
    with pytest.raises(FileFormatError, match="cannot hold"):
        mx.recordio.unpack_img(mx.recordio.pack((0, 1.0, 0, 0), content))


def test_highly_compressed_images_are_decoded() -> None:
    flat = np.zeros((3000, 3000, 3), np.uint8)
    for extension in (".png", ".jpg", ".webp", ".gif"):
        content = cv2.imencode(extension, flat)[1]
        assert decode(content, 1).shape == flat.shape, (extension, content.size)


def test_parts_beyond_the_end_are_refused() -> None:
    # OpenCV takes memory for the length that a part names before it reads it.
    content = bytearray(png(4, 4, bytes(13 * 4)))
    content[33:37] = struct.pack(">I", 500 << 20)
    with pytest.raises(FileFormatError, match="not an image that OpenCV can read"):
        decode(bytes(content), 1)
    with pytest.raises(FileFormatError, match="not an image"):
        decode(encoded(".png")[:-4], 1)


def test_errors_of_opencv_are_errors_of_the_file() -> None:
    with pytest.raises(FileFormatError, match="OpenCV cannot decode the image"):
        # A size that the decoder itself refuses, in a file long enough to have it.
        decode(b"P6\n2000000 3\n255\n" + bytes(18_000_000), 1)


def test_sizes_are_read_from_headers_of_further_formats() -> None:
    pixels = np.random.RandomState(0).randint(0, 256, (80, 70, 3), np.uint8)
    for extension in (".tiff", ".jp2", ".avif", ".hdr"):
        try:
            done, content = cv2.imencode(extension, pixels)
        except cv2.error:  # OpenCV was built without this format
            continue
        if done:
            assert named_size(content)[:2] == (70, 80), extension
    turned = b"MM\0*" + struct.pack(">IHHHIHHHHII", 8, 2, 256, 3, 1, 70, 0, 257, 4, 1, 80)
    assert named_size(np.frombuffer(turned, np.uint8))[:2] == (70, 80)
    bare = b"\xff\x4f\xff\x51" + bytes(4) + struct.pack(">IIII", 80, 90, 10, 10)
    assert named_size(np.frombuffer(bare, np.uint8))[:2] == (70, 80)
    for content in (b"II*\0", b"II*\0\xff\xff\xff\xff", b"\0\0\0\x0cjP  ihdr", b"#?RADIANCE\n"):
        assert named_size(np.frombuffer(content, np.uint8)) is None


def test_large_and_highly_compressed_images_need_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = cv2.imencode(".png", np.zeros((2400, 2400, 3), np.uint8))[1]
    noise = np.random.RandomState(0).randint(0, 256, (2400, 2400, 3), np.uint8)
    smooth = cv2.GaussianBlur(noise, (0, 0), 3)
    photograph = cv2.imencode(".jpg", smooth, [cv2.IMWRITE_JPEG_QUALITY, 50])[1]
    assert flat.size * 100 < 2400 * 2400 < photograph.size * 100
    monkeypatch.setenv("MIXNET_IMAGE_MEGAPIXELS", "5")
    assert decode(photograph, 1).shape == (2400, 2400, 3)
    with pytest.raises(FileFormatError, match=r"2400 x 2400.*5 million.*MIXNET_IMAGE_MEGAPIXELS=6"):
        decode(flat, 1)
    monkeypatch.setenv("MIXNET_IMAGE_MEGAPIXELS", "6")
    assert decode(flat, 1).shape == (2400, 2400, 3)
    monkeypatch.delenv("MIXNET_IMAGE_MEGAPIXELS")
    assert decode(flat, 1).shape == (2400, 2400, 3)
