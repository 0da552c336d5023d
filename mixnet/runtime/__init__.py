"""The runtime: from recorded operations to programs on a device; counters and features."""

from mixnet.process.source import source_lines as source_lines
from mixnet.runtime.features import Feature as Feature
from mixnet.runtime.features import Features as Features
from mixnet.runtime.features import feature_list as feature_list
from mixnet.runtime.interpret import exchange as _exchange  # registers itself with devices
from mixnet.runtime.interpret.patience import compiling_at_once as compiling_at_once
from mixnet.runtime.value.counters import counters as counters
from mixnet.runtime.value.counters import reset_counters as reset_counters
from mixnet.runtime.value.memory import live_bytes as live_bytes
from mixnet.runtime.value.memory import memory as memory
