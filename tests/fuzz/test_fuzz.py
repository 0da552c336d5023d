"""Damaged files of every format give errors of the family, and nothing else; the driver finds
what does not.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz import driver, planted
from tests.fuzz.formats import find, names
from tests.fuzz.mutate import mutated
from tests.fuzz.worker import Loader

COUNT = 300  # `python -m tests.fuzz` takes more
# In one worker of pytest: all formats are loaded by one process.
pytestmark = pytest.mark.xdist_group("fuzz")


@pytest.fixture(scope="module")
def findings() -> list[driver.Finding]:
    return driver.run(names(), COUNT)


@pytest.mark.parametrize("name", names())
def test_damaged_files_are_errors(name: str, findings: list[driver.Finding]) -> None:
    assert not [str(each) for each in findings if each.format == name]


def test_every_format_has_a_corpus() -> None:
    expected = {
        "records",
        "index",
        "params",
        "symbols",
        "csv",
        "libsvm",
        "mnist",
        "lists",
        "images",
    }
    assert expected <= set(names())


def test_the_same_seed_gives_the_same_damage(tmp_path: Path) -> None:
    loader = Loader(find("csv"), tmp_path)
    first = [loader.mutation(1, i) for i in range(50)]
    assert first == [loader.mutation(1, i) for i in range(50)]
    assert first != [loader.mutation(2, i) for i in range(50)]
    contents = {content for _, content in first}
    assert len(contents) > 40


def test_damage_is_of_many_kinds() -> None:
    content = b'{"name": [1, 22]}' * 10
    lengths, texts = set(), set()
    for i in range(300):
        actual = mutated(content, [content, b"other"], random.Random(i))
        lengths.add(len(actual))
        texts.add(actual)
    assert min(lengths) < 20 and max(lengths) > 3000 and len(texts) > 280


def test_the_driver_finds_planted_mistakes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(driver, "HANGS", 10.0)  # others may use the machine
    monkeypatch.setattr(driver, "FINDINGS", tmp_path / "findings")
    (tmp_path / "corpus").mkdir()
    name, count, seed = "tests.fuzz.planted", 7, 4
    loader = Loader(find(name), tmp_path / "corpus")
    kinds = [planted.kind_of(loader.mutation(seed, i)[1]) for i in range(count)]
    assert set(kinds) == set(planted.KINDS) and kinds.count("crash") + kinds.count("hang") < 5
    actual = {each.number: each for each in driver.run([name], count, seed)}
    words = {"error": "KeyError: 'planted'", "crash": "ended by signal 11", "hang": "no answer",
             "memory": "MiB for a file of"}  # fmt: skip
    for number, kind in enumerate(kinds):
        if kind == "nothing":
            assert number not in actual
        else:
            assert words[kind] in actual[number].problem
    stored = next(each for number, each in actual.items() if kinds[number] == "error").path
    assert stored is not None
    assert planted.kind_of(stored.read_bytes()) == "error"
    assert "planted" in (driver.replay(stored) or "")
