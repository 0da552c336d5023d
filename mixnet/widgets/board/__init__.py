"""TrainingBoard: curves of a running training, with pause, step and stop."""

from mixnet.widgets.board.view import TrainingBoard as TrainingBoard
