"""``mx.viz``: pictures of graphs, and tables of layers."""

# What `import *` brings beside mixnet's own names, as MXNet's module does.
import copy as copy
import json as json
import re as re
import warnings as warnings

from mixnet.process.lazy import star_names as _star_names
from mixnet.symbol.symbol import Symbol as Symbol
from mixnet.visualization.drawing import Picture as Picture
from mixnet.visualization.drawing import draw as draw
from mixnet.visualization.network import plot_network as plot_network
from mixnet.visualization.summary import print_summary as print_summary
from mixnet.visualization.summary import table as table

__all__ = _star_names(globals())
