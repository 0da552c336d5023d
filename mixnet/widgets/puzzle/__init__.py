"""Puzzles that need no kernel: plan memory, schedule tasks on threads, choose what to fuse."""

from mixnet.widgets.puzzle.view import Puzzle as Puzzle
