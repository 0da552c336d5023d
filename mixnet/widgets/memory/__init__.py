"""MemoryView: the planner's boxes, and memory as it was."""

from mixnet.widgets.memory.view import MemoryView as MemoryView
