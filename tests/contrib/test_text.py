"""Vocabularies and embeddings of tokens."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import mixnet as mx
from mixnet.contrib import text

COUNTER = Counter(["b", "c", "c", "a", "a", "a", "some_word$"])


def test_tokens_are_counted() -> None:
    source = " Life is great ! \n life is good . \n"
    count = text.utils.count_tokens_from_str
    assert count(source, to_lower=True) == {
        "life": 2, "is": 2, "great": 1, "!": 1, "good": 1, ".": 1,
    }  # fmt: skip
    assert count(source)["Life"] == 1
    counter = Counter({"life": 2})
    actual = count("*life*is*", r"\*", "\n", counter_to_update=counter)
    assert actual is counter and counter == {"life": 3, "is": 1}


@pytest.mark.parametrize(
    ("options", "tokens"),
    [
        ({}, ["<unk>", "a", "c", "b", "some_word$"]),
        ({"most_freq_count": 2}, ["<unk>", "a", "c"]),
        ({"min_freq": 2}, ["<unk>", "a", "c"]),
        ({"most_freq_count": 0}, ["<unk>"]),
        ({"most_freq_count": -1}, ["<unk>", "a", "c", "b", "some_word$"]),
        ({"unknown_token": "a"}, ["a", "c", "b", "some_word$"]),
        (
            {"unknown_token": "<u>", "reserved_tokens": ["<pad>", "b"]},
            ["<u>", "<pad>", "b", "a", "c", "some_word$"],
        ),
    ],
)
def test_tokens_have_indices(options: dict, tokens: list) -> None:
    vocabulary = text.vocab.Vocabulary(COUNTER, **options)
    assert vocabulary.idx_to_token == tokens and len(vocabulary) == len(tokens)
    assert vocabulary.token_to_idx == {token: i for i, token in enumerate(tokens)}
    assert vocabulary.reserved_tokens == options.get("reserved_tokens")
    assert vocabulary.unknown_token == tokens[0]


def test_tokens_become_numbers_and_back() -> None:
    vocabulary = text.vocab.Vocabulary(COUNTER)
    assert vocabulary.to_indices("c") == 2 and vocabulary.to_indices(["c", "zz"]) == [2, 0]
    assert vocabulary.to_tokens(0) == "<unk>" and vocabulary.to_tokens([1, 2]) == ["a", "c"]
    with pytest.raises(ValueError, match="100 is not the index of a token"):
        vocabulary.to_tokens([1, 100])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_freq": 0}, "min_freq=0"),
        ({"reserved_tokens": ["<unk>"]}, "both unknown and reserved"),
        ({"reserved_tokens": ["x", "x"]}, "reserved twice"),
        ({"counter": "abc"}, "not str"),
    ],
)
def test_impossible_vocabularies_are_errors(options: dict, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        text.vocab.Vocabulary(**{"counter": COUNTER, **options})


# ---- embeddings ---------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "a").write_text("a 0.5 0.25\nb 3 4\n")
    (tmp_path / "unknown").write_text("a 1 2\n<unk> 9 9\nb 3 4\n")
    (tmp_path / "header").write_text("3 2\na 1 2\na 5 6\nb 1 2\n")
    (tmp_path / "wrong").write_text("a 1 2\nb 3 4 5\n")
    (tmp_path / "tab").write_text("a\t1\t2\nB\t3\t4\n")
    (tmp_path / "empty").write_text("")
    return tmp_path


def test_vectors_of_a_file_are_read(files: Path) -> None:
    embedding = text.embedding.CustomEmbedding(str(files / "a"))
    assert (
        len(embedding) == 3
        and embedding.vec_len == 2
        and embedding.idx_to_token == ["<unk>", "a", "b"]
    )
    assert embedding.idx_to_vec.asnumpy().tolist() == [[0, 0], [0.5, 0.25], [3, 4]]
    actual = text.embedding.CustomEmbedding(str(files / "unknown"))
    assert actual.idx_to_vec.asnumpy().tolist() == [[9, 9], [1, 2], [3, 4]]
    ones = text.embedding.CustomEmbedding(
        str(files / "tab"), "\t", init_unknown_vec=mx.nd.ones, reserved_tokens=["<pad>"]
    )
    assert ones.idx_to_token == ["<unk>", "<pad>", "a", "B"]
    assert ones.idx_to_vec.asnumpy().tolist() == [[1, 1], [1, 1], [1, 2], [3, 4]]
    with pytest.warns(UserWarning) as caught:
        skipped = text.embedding.CustomEmbedding(str(files / "header"))
    assert len(caught) == 2 and "looks like a header" in str(caught[0].message)
    assert "a already has a vector" in str(caught[1].message)
    assert skipped.idx_to_vec.asnumpy().tolist() == [[0, 0], [1, 2], [1, 2]]


def test_vectors_are_selected_for_a_vocabulary(files: Path) -> None:
    vocabulary = text.vocab.Vocabulary(Counter(["a", "b", "zz"]))
    a, unknown = (text.embedding.CustomEmbedding(str(files / n)) for n in ("a", "unknown"))
    only = text.embedding.CustomEmbedding(str(files / "unknown"), vocabulary=vocabulary)
    assert only.idx_to_vec.asnumpy().tolist() == [[9, 9], [1, 2], [3, 4], [9, 9]]
    both = text.embedding.CompositeEmbedding(vocabulary, [a, unknown])
    assert both.vec_len == 4 and both.idx_to_token == ["<unk>", "a", "b", "zz"]
    assert both.idx_to_vec.asnumpy().tolist() == [
        [0, 0, 9, 9], [0.5, 0.25, 1, 2], [3, 4, 3, 4], [0, 0, 9, 9],
    ]  # fmt: skip
    with pytest.raises(AssertionError, match="token_embeddings"):
        text.embedding.CompositeEmbedding(vocabulary, 5)


def test_vectors_can_be_looked_up_and_updated(files: Path) -> None:
    embedding = text.embedding.CustomEmbedding(str(files / "tab"), "\t")
    ask = embedding.get_vecs_by_tokens
    assert ask("a").asnumpy().tolist() == [1, 2]
    assert ask(["a", "b", "zz"]).asnumpy().tolist() == [[1, 2], [0, 0], [0, 0]]
    assert ask(["A", "B"], lower_case_backup=True).asnumpy().tolist() == [[1, 2], [3, 4]]
    embedding.update_token_vectors(["a", "B"], mx.nd.array([[5, 6], [7, 8]]))
    embedding.update_token_vectors("<unk>", mx.nd.array([3, 3]))
    assert embedding.idx_to_vec.asnumpy().tolist() == [[3, 3], [5, 6], [7, 8]]
    with pytest.raises(ValueError, match="'zz' is unknown"):
        embedding.update_token_vectors("zz", mx.nd.ones((2,)))
    for tokens, vectors in ((["a", "B"], mx.nd.ones((2,))), ("a", mx.nd.ones((3,))), ("a", [1, 2])):
        with pytest.raises(AssertionError, match="must be an array of shape"):
            embedding.update_token_vectors(tokens, vectors)


def test_files_that_are_not_embeddings_are_refused(files: Path) -> None:
    for name, error, message in (
        ("wrong", AssertionError, "Line 2 of .* has 3 numbers, but earlier ones have 2"),
        ("wrong", mx.base.FileFormatError, "Line 2 of"),
        ("empty", mx.base.FileFormatError, "has no vectors"),
        ("none", ValueError, "There is no file"),
    ):
        with pytest.raises(error, match=message):
            text.embedding.CustomEmbedding(str(files / name))


def test_embeddings_are_created_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = text.embedding.get_pretrained_file_names
    assert names("glove")[0] == "glove.42B.300d.txt" and len(names("fasttext")) == 327
    with pytest.raises(KeyError, match="no embedding 'x'"):
        names("x")
    with pytest.raises(KeyError, match="no file 'zz'"):
        text.embedding.create("glove", pretrained_file_name="zz")
    where = text.embedding.GloVe._get_pretrained_file_url("glove.6B.50d.txt")
    assert where.endswith("gluon/embeddings/glove/glove.6B.zip")
    where = text.embedding.FastText._get_pretrained_file_url("wiki.simple.vec")
    assert where.endswith("gluon/embeddings/fasttext/wiki.simple.zip")
    monkeypatch.setenv("MXNET_GLUON_REPO", (tmp_path / "none").as_uri())
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(mx.MXNetError, match="Download it another way"):
        text.embedding.GloVe("glove.6B.50d.txt", str(tmp_path))


@pytest.mark.parametrize("line", ["b 1 x", "b", "b 1 2 3", "b  1 2"])
def test_lines_that_are_not_vectors_are_errors(tmp_path: Path, line: str) -> None:
    (tmp_path / "bad").write_text(f"a 1 2\n{line}\n")
    with pytest.raises(mx.base.FileFormatError, match=r"Line 2 of .*bad"):
        text.embedding.CustomEmbedding(str(tmp_path / "bad"))
    (tmp_path / "bad").write_bytes(b"a 1 2\n\xff 1 2\n")
    with pytest.raises(mx.base.FileFormatError, match="bad, line 2: this is not text in utf8"):
        text.embedding.CustomEmbedding(str(tmp_path / "bad"))
