"""Learning a board game by playing against itself: ``python tictactoe.py``.

Policy gradients (Williams, 1992) with a value as baseline. Ends with how often it does not lose
against a player who moves at random.
"""

from __future__ import annotations

import argparse

import numpy as np

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import nn

LINES = np.array(
    [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]]
)


class Boards:
    """Many games side by side: 1 and -1 are the players' stones, seen by who is to move."""

    def __init__(self, count: int):
        self.cells = np.zeros((count, 9), np.float32)
        self.running = np.ones(count, bool)

    def move(self, places: np.ndarray) -> np.ndarray:
        """Put a stone in each running game and turn the boards; who won gets 1."""
        rows = np.nonzero(self.running)[0]
        self.cells[rows, places[rows]] = 1
        won = (self.cells[:, LINES].sum(2) == 3).any(1) & self.running
        self.running &= ~won & (self.cells == 0).any(1)
        self.cells = -self.cells
        return won.astype(np.float32)


class Player(gluon.HybridBlock):
    """Scores of the nine places and the expected outcome."""

    def __init__(self, hidden: int, **kwargs: object):
        super().__init__(**kwargs)
        with self.name_scope():
            self.body = nn.HybridSequential()
            self.body.add(nn.Dense(hidden, "relu", in_units=18), nn.Dense(hidden, "relu"))
            self.scores, self.outcome = nn.Dense(9), nn.Dense(1)

    def hybrid_forward(self, F, boards):
        both = F.concat(boards == 1, boards == -1, dim=1)
        x = self.body(both)
        barred = F.abs(boards) * 1e9
        return F.log_softmax(self.scores(x) - barred), F.tanh(self.outcome(x))


def choose(chances: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """A place of each row, drawn with these chances."""
    return (
        chances.cumsum(1) > random.rand(len(chances), 1) * chances.sum(1, keepdims=True)
    ).argmax(1)


def episode(
    net: Player, games: int, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Boards, moves, outcomes for who moved, and 1 where a game was still running: all of nine moves."""
    boards, seen, moves, won, running = Boards(games), [], [], [], []
    for _ in range(9):
        seen.append(boards.cells.copy())
        running.append(boards.running.astype(np.float32))
        logs, _ = net(nd.array(boards.cells))
        moves.append(choose(np.exp(logs.asnumpy()), random))
        won.append(boards.move(moves[-1]))
    total = np.zeros((9, games), np.float32)
    after = np.zeros(games, np.float32)
    for step in reversed(range(9)):
        after = won[step] - after  # what is good for the one is bad for the other
        total[step] = after
    return np.stack(seen), np.stack(moves), total, np.stack(running)


def against_chance(net: Player, games: int, random: np.random.RandomState) -> float:
    """Share of games that it does not lose; it begins half of them."""
    boards, mine = Boards(games), np.arange(games) % 2 == 0
    lost = np.zeros(games)
    for step in range(9):
        logs, _ = net(nd.array(boards.cells))
        best = logs.asnumpy().argmax(1)
        free = (boards.cells == 0).astype(np.float64)
        its_turn = mine if step % 2 == 0 else ~mine
        won = boards.move(np.where(its_turn, best, choose(free + 1e-12, random)))
        lost += won * ~its_turn
    return 1 - lost.mean()


def main() -> None:
    """Play, learn, and play against chance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hidden", type=int, default=96)
    parser.add_argument("--games", type=int, default=128, help="number of games played in parallel")
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    mx.random.seed(args.seed)
    random = np.random.RandomState(args.seed)
    net = Player(args.hidden)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": args.lr})
    begin = against_chance(net, 1000, random)
    for number in range(args.episodes):
        seen, moves, outcome, running = episode(net, args.games, random)
        boards, running = nd.array(seen.reshape(-1, 9)), nd.array(running.reshape(-1))
        moves, outcome = nd.array(moves.reshape(-1)), nd.array(outcome.reshape(-1))
        with autograd.record():
            logs, expected = net(boards)
            better = outcome - expected.reshape(-1)
            gain = logs.pick(moves) * better.detach()
            spread = -(logs.exp() * nd.maximum(logs, -50)).sum(axis=1)
            loss = running * (better**2 / 2 - gain - 0.02 * spread)
        loss.backward()
        trainer.step(args.games)
        if number % 50 == 49:
            print(f"episode {number}: does not lose {against_chance(net, 1000, random):.3f}")
    final = against_chance(net, 1000, random)
    print(f"games not lost against chance, {begin:.3f} before: {final:.3f}")


if __name__ == "__main__":
    main()
