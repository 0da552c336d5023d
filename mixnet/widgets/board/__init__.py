"""TrainingBoard: curves of a training while it runs, and its pause, step and stop."""

from mixnet.widgets.board.view import TrainingBoard as TrainingBoard
