"""Rows of docs/from-mxnet.md: they name MXNet's behaviour, mixnet's, the reason and the remedy."""

from __future__ import annotations

import re
from pathlib import Path

from tests.each_record import each_record

PAGE = (Path(__file__).parents[2] / "docs" / "from-mxnet.md").read_text(encoding="utf-8")
HEADING = ["what", "MXNet 1.9.1", "mixnet", "why", "what to do"]
LIST, *TOPICS = re.split(r"^## ", PAGE, flags=re.M)
SECTIONS = {name: text for name, _, text in (each.partition("\n") for each in TOPICS)}


def _rows(section: str) -> list[list[str]]:
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@each_record("topic", [each for each, part in SECTIONS.items() if _rows(part)])
def test_rows_are_complete(topic: str) -> None:
    heading, _, *rows = _rows(SECTIONS[topic])
    columns = ["what", "names", "why"] if topic == "Left out" else HEADING
    assert heading == columns
    assert [row[0] for row in rows if len(row) != len(columns) or not all(row[:3])] == []
    names = [row[0] for row in rows]
    assert len(names) == len(set(names))


def test_every_topic_is_in_the_list() -> None:
    """The table at the beginning leads to each section."""
    links = set(re.findall(r"\]\(#([\w-]+)\)", LIST))
    topics = {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in SECTIONS}
    assert links == topics
