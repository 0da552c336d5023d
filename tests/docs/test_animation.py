"""The animation on the first pages: it exists, is small, moves, and has a text description."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mixnet as mx

ROOT = Path(mx.__file__).parents[1]
PATH = ROOT / "docs" / "pictures" / "hybridize.webp"


def chunks(data: bytes) -> list[str]:
    """Names of the parts of a WebP file."""
    names, at = [], 12
    while at < len(data):
        names.append(data[at : at + 4].decode())
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        at += 8 + size + size % 2
    return names


def test_the_file_is_a_small_animation() -> None:
    data = PATH.read_bytes()
    assert len(data) < 1_000_000
    assert data[:4] == b"RIFF" and data[8:12] == b"WEBP"
    assert chunks(data).count("ANMF") >= 8, "a frame for each stage"


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_pages_show_it_with_words(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = re.search(r"!\[([^\]]+)\]\(([\w/]+hybridize\.webp)\)", text)
    assert shown is not None and len(shown[1]) > 80
    assert (ROOT / page).parent.joinpath(shown[2]).samefile(PATH)
