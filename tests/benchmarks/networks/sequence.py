"""Networks over sequences in Gluon's public API: ``mx`` is mixnet or the real mxnet."""

from __future__ import annotations

from typing import Any


def lstm(mx: Any, shape: tuple[int, ...], classes: int, units: int, layers: int = 2) -> Any:
    """A language model (Zaremba et al., 2014): embedding, LSTM layers, scores of the next word.

    Without dropout. The layers are the fused operator ``RNN`` with its one vector of parameters.
    Data are token numbers ``(time, batch)``; results ``(time * batch, classes)``.
    """
    batch = shape[1]

    class LanguageModel(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            size = layers * (2 * 4 * units * units + 2 * 4 * units)
            self.embedding = mx.gluon.nn.Embedding(classes, units)
            self.layers = self.params.get("layers", shape=(size,), init=mx.init.Uniform(0.05))
            self.decoder = mx.gluon.nn.Dense(classes, in_units=units)

        def hybrid_forward(self, F: Any, tokens: Any, layers: Any) -> Any:
            return self.decoder(recurrent(F, self.embedding(tokens), layers))

    def recurrent(F: Any, steps: Any, parameters: Any) -> Any:
        start = F.zeros(shape=(layers, batch, units))
        options = {"state_size": units, "num_layers": layers, "mode": "lstm"}
        outputs = F.RNN(steps, parameters, start, start, state_outputs=False, **options)
        return F.reshape(outputs, shape=(-1, units))

    return LanguageModel()


def transformer(mx: Any, shape: tuple[int, ...], classes: int, heads: int, layers: int = 4) -> Any:
    """An encoder (Vaswani et al., 2017): attention and two affine maps, each added and normalised.

    Without dropout. Data are ``(time, batch, units)``; results ``(batch, classes)``, an affine map
    of the mean over time.
    """
    units = shape[2]
    gluon, nn = mx.gluon, mx.gluon.nn

    class LayerNorm(gluon.HybridBlock):
        """``gluon.nn.LayerNorm``, as the operator."""

        def __init__(self) -> None:
            super().__init__()
            self.gamma = self.params.get("gamma", shape=(units,), init="ones")
            self.beta = self.params.get("beta", shape=(units,), init="zeros")

        def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
            return F.LayerNorm(x, gamma, beta, axis=-1, eps=1e-5)

    class Layer(gluon.HybridBlock):
        """Attention of all steps to all steps, then an affine map of each step and back."""

        def __init__(self) -> None:
            super().__init__()
            self.projections = nn.Dense(3 * units, flatten=False, in_units=units)
            self.out = nn.Dense(units, flatten=False, in_units=units)
            self.after_attention = LayerNorm()
            self.wide = nn.Dense(4 * units, "relu", flatten=False, in_units=units)
            self.narrow = nn.Dense(units, flatten=False, in_units=4 * units)
            self.after_maps = LayerNorm()

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            projections = self.projections(x)
            scores = F.contrib.interleaved_matmul_selfatt_qk(projections, heads=heads)
            weights = F.softmax(scores, axis=-1)
            mixed = F.contrib.interleaved_matmul_selfatt_valatt(projections, weights, heads=heads)
            x = self.after_attention(x + self.out(mixed))
            return self.after_maps(x + self.narrow(self.wide(x)))

    class Encoder(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.HybridSequential()
            for _ in range(layers):
                self.layers.add(Layer())
            self.decoder = nn.Dense(classes, in_units=units)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.decoder(F.mean(self.layers(x), axis=0))

    return Encoder()
