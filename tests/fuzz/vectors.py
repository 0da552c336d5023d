"""Files with vectors of tokens."""

from __future__ import annotations

from pathlib import Path

from mixnet.contrib.text.embedding import CustomEmbedding

FORMAT = "vectors"


def corpus(folder: Path) -> list[Path]:
    """With and without the vector of unknown tokens, and with a head line."""
    (folder / "plain.txt").write_text("hello 0.1 0.2 0.3\nworld -1 2e1 3\n<unk> 0 0 0\n")
    (folder / "head.txt").write_text("2 3\nhällo 0.1 0.2 0.3\nworld 1 2 3\n", encoding="utf-8")
    return sorted(folder.iterdir())


def load(path: Path) -> None:
    """The table, and the vectors of some tokens."""
    result = CustomEmbedding(str(path))
    result.idx_to_vec.asnumpy()
    result.get_vecs_by_tokens(["hello", "no such"])
