"""A network like BERT (Devlin et al., 2018), in Gluon's public API: several tests and benchmarks run it."""

from __future__ import annotations

from typing import Any

from mixnet.gluon import nn


class Attention(nn.HybridBlock):
    """Every token looks at all tokens of its row that are not padding.

    Args:
        units: extent of a token's vector.
        heads: how many; they share ``units``.
    """

    def __init__(self, units: int, heads: int):
        super().__init__()
        self.heads, self.width = heads, units // heads
        self.query = nn.Dense(units, flatten=False, in_units=units)
        self.key = nn.Dense(units, flatten=False, in_units=units)
        self.value = nn.Dense(units, flatten=False, in_units=units)
        self.out = nn.Dense(units, flatten=False, in_units=units)

    def hybrid_forward(self, F: Any, x: Any, mask: Any) -> Any:
        """Map ``(batch, time, units)``; ``mask`` is ``(batch, time)``, 1 for a token and 0 for padding."""
        query, key, value = (
            F.reshape(each(x), (0, 0, self.heads, self.width)).transpose((0, 2, 1, 3))
            for each in (self.query, self.key, self.value)
        )
        scores = F.linalg.gemm2(query, key, transpose_b=True, alpha=self.width**-0.5)
        hidden = F.expand_dims(F.expand_dims((1 - mask) * -1e4, 1), 1)
        weights = F.softmax(F.broadcast_add(scores, hidden), axis=-1)
        mixed = F.linalg.gemm2(weights, value).transpose((0, 2, 1, 3))
        return self.out(F.reshape(mixed, (0, 0, -3)))


class Layer(nn.HybridBlock):
    """Attention and two affine maps, each added and normalized.

    Args:
        units: extent of a token's vector.
        heads: of the attention.
    """

    def __init__(self, units: int, heads: int):
        super().__init__()
        self.attention = Attention(units, heads)
        self.after_attention = nn.LayerNorm(in_channels=units)
        self.wide = nn.Dense(4 * units, flatten=False, in_units=units)
        self.gelu = nn.GELU()
        self.narrow = nn.Dense(units, flatten=False, in_units=4 * units)
        self.after_maps = nn.LayerNorm(in_channels=units)

    def hybrid_forward(self, F: Any, x: Any, mask: Any) -> Any:
        """Map ``(batch, time, units)``."""
        x = self.after_attention(x + self.attention(x, mask))
        return self.after_maps(x + self.narrow(self.gelu(self.wide(x))))


class Encoder(nn.HybridBlock):
    """Scores of classes for rows of tokens.

    Args:
        words: how many tokens there are.
        units: extent of a token's vector.
        layers: how many.
        heads: of each layer.
        longest: greatest number of tokens in a row.
        classes: how many.
    """

    def __init__(
        self, words: int = 30522, units: int = 768, layers: int = 12, heads: int = 12, longest: int = 512,
        classes: int = 2,
    ):  # fmt: skip
        super().__init__()
        self.words = nn.Embedding(words, units)
        self.places = nn.Embedding(longest, units)
        self.norm = nn.LayerNorm(in_channels=units)
        self.layers = [Layer(units, heads) for _ in range(layers)]
        for each in self.layers:
            self.register_child(each)
        self.pooled = nn.Dense(units, activation="tanh", in_units=units)
        self.classes = nn.Dense(classes, in_units=units)

    def hybrid_forward(self, F: Any, tokens: Any, mask: Any) -> Any:
        """Map tokens and mask, ``(batch, time)`` each, to ``(batch, classes)``."""
        places = self.places(F.contrib.arange_like(tokens, axis=1))
        x = self.norm(F.broadcast_add(self.words(tokens), F.expand_dims(places, 0)))
        for each in self.layers:
            x = each(x, mask)
        first = F.reshape(F.slice_axis(x, axis=1, begin=0, end=1), (0, -1))
        return self.classes(self.pooled(first))
