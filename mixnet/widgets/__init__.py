"""Notebook views: live with ``mixnet[widgets]``, static pages and pictures everywhere else."""

from mixnet.widgets import magics as magics
from mixnet.widgets.array import ArrayView as ArrayView
from mixnet.widgets.board import TrainingBoard as TrainingBoard
from mixnet.widgets.board.control import StopTraining as StopTraining
from mixnet.widgets.explorer import OpExplorer as OpExplorer
from mixnet.widgets.graph import GraphView as GraphView
from mixnet.widgets.look import Look as Look
from mixnet.widgets.magics import register as load_ipython_extension
from mixnet.widgets.memory import MemoryView as MemoryView
from mixnet.widgets.playground import Playground as Playground
from mixnet.widgets.puzzle import Puzzle as Puzzle
from mixnet.widgets.scaling import ScalingView as ScalingView
from mixnet.widgets.scaling.measure import measure_scaling as measure_scaling
from mixnet.widgets.stepper import HybridizeStepper as HybridizeStepper
from mixnet.widgets.timeline import EngineTimeline as EngineTimeline
from mixnet.widgets.view import View as View
from mixnet.widgets.why import ask as ask

magics.register()  # after all views have declared theirs
