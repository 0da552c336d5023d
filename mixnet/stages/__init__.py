"""``mx.stages``: every stage from a line of Python to the instructions of the compiled program."""

from mixnet.stages.stages import Stages as Stages
from mixnet.stages.stages import stages as stages
