"""The glossary has each word once, and each word is one of the file that it names."""

from __future__ import annotations

import re
from pathlib import Path

import mixnet as mx
from tests.each_record import each_record

PAGE = Path(mx.__file__).parents[1] / "docs" / "concepts" / "glossary.md"
OF_CODE, OF_VIEWS = PAGE.read_text(encoding="utf-8").split("## In views")
ROWS = re.findall(
    r"^\| ([a-z][a-z, ]*) \| (.+) \| \[`[^`]*`\]\(([^)]+)\) \|$", OF_CODE, re.MULTILINE
)


def test_each_word_is_explained_once() -> None:
    words = [word for words, _, _ in ROWS for word in words.split(", ")]
    assert len(words) > 40
    assert sorted(words) == sorted(set(words))


@each_record(("words", "meaning", "link"), ROWS, ids=[row[0] for row in ROWS])
def test_a_word_is_one_of_its_file(words: str, meaning: str, link: str) -> None:
    text = link + (PAGE.parent / link).read_text(encoding="utf-8").lower()
    for word in words.split(", "):
        stem = word.removesuffix("s").removesuffix("ation")
        assert all(part in text for part in stem.split()), f"{link} does not speak of a {word}"
