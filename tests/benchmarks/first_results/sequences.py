"""A two-layer LSTM, unrolled and hybridized, forward and backward."""

from __future__ import annotations


def unrolled(mx, *lengths):
    """A step of a network for each length; they share the parameters."""
    gluon = mx.gluon
    cell = gluon.rnn.HybridSequentialRNNCell(prefix="cells_")
    with cell.name_scope():
        for _ in range(2):
            cell.add(gluon.rnn.LSTMCell(64))
    out = gluon.nn.Dense(1, prefix="out_")

    class Unrolled(gluon.HybridBlock):
        def __init__(self, length):
            super().__init__()
            self.length, self.cell, self.out = length, cell, out

        def hybrid_forward(self, F, x):
            states, _ = self.cell.unroll(self.length, x, layout="NTC", merge_outputs=False)
            return self.out(states[-1])

    results, trainer = [], None
    for length in lengths:
        net = Unrolled(length)
        if trainer is None:
            net.initialize(mx.init.Xavier())
            trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        net.hybridize()
        x, y = mx.nd.random.uniform(shape=(16, length, 32)), mx.nd.ones((16, 1))
        with mx.autograd.record():
            loss = gluon.loss.L2Loss()(net(x), y)
        loss.backward()
        trainer.step(16)
        results.append(loss.mean().asscalar())
    return results


def unrolled_torch(torch, *lengths):
    """The same in PyTorch, cell by cell."""
    cells = [torch.nn.LSTMCell(32, 64), torch.nn.LSTMCell(64, 64)]
    out = torch.nn.Linear(64, 1)
    parameters = [p for each in (*cells, out) for p in each.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    results = []
    for length in lengths:
        x = torch.rand(16, length, 32)
        states = [None, None]
        for t in range(length):
            inner = x[:, t]
            for i, cell in enumerate(cells):
                states[i] = cell(inner, states[i])
                inner = states[i][0]
        loss = ((out(inner) - 1) ** 2).mean() / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        results.append(loss.item())
    return results
