"""Playground: a network in training, with statistics of every operation, and controls that change it."""

from mixnet.widgets.playground.view import Playground as Playground
