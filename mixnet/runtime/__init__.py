"""From recorded operations to programs on a device, and counters of what happened."""

from mixnet.runtime.counters import counters as counters
from mixnet.runtime.counters import reset_counters as reset_counters
from mixnet.runtime.memory import live_bytes as live_bytes
from mixnet.runtime.memory import memory as memory
from mixnet.source import source_lines as source_lines
