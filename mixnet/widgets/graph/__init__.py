"""GraphView: a graph of boxes that open."""

from mixnet.widgets.graph.view import GraphView as GraphView
