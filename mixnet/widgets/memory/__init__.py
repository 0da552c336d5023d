"""MemoryView: the boxes of a memory plan, and recorded live memory."""

from mixnet.widgets.memory.view import MemoryView as MemoryView
