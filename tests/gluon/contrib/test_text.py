"""Texts to model language with."""

from __future__ import annotations

from pathlib import Path

import pytest

from mixnet.gluon.contrib.data.text import WikiText2, WikiText103

TEXT = " = Title = \n \n the quick brown fox jumps over the lazy dog . \n the fox <unk> again \n"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixnet.gluon.utils.check_sha1", lambda path, sha1: True)
    for name, times in (("train", 3), ("valid", 1), ("test", 1)):
        (tmp_path / f"wiki.{name}.tokens").write_text(TEXT * times)


def test_samples_are_rows_of_tokens_and_their_successors(tmp_path: Path) -> None:
    words = WikiText2(str(tmp_path), seq_len=5)
    assert len(words) == 11 and words.vocabulary.idx_to_token == [
        "<unk>", "<eos>", "the", "=", "fox", ".", "Title", "again", "brown", "dog", "jumps",
        "lazy", "over", "quick",
    ]  # fmt: skip
    assert words.frequencies["the"] == 9
    data, label = words[1]
    assert data.asnumpy().tolist() == [13, 8, 4, 10, 12] and str(data.dtype).count("int32")
    assert label.asnumpy().tolist() == [8, 4, 10, 12, 2]
    more = WikiText2(str(tmp_path), "validation", words.vocabulary, 4)
    assert len(more) == 4 and more.frequencies is None
    assert more[3][0].asnumpy().tolist() == [9, 5, 1, 2]
    assert len(WikiText103(str(tmp_path), "test", seq_len=3)) == 6
    with pytest.raises(KeyError, match="segment='all'"):
        WikiText2(str(tmp_path), "all")
