"""Playground: a network that trains, with the numbers of every operation, and buttons that change it."""

from mixnet.widgets.playground.view import Playground as Playground
