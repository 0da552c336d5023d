"""Freed memory is kept only on request; compiler options apply only to programs that need them."""

from __future__ import annotations

import subprocess
import sys

import jax
import pytest

from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.lowering.activation import RELU_GRADIENT
from mixnet.ops.lowering.convolution import CONVOLUTION
from mixnet.runtime.compile import disk_cache
from mixnet.runtime.compile.options import can_be_written, chosen_options, compiler_options
from mixnet.runtime.devices.host_memory import keep_freed_memory


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator")
def test_a_large_block_reuses_freed_memory() -> None:
    """The second allocation of 64 MB causes no page faults with the setting, and all of them without."""
    code = (
        "import ctypes, resource\n"
        "from mixnet.runtime.devices.host_memory import keep_freed_memory\n"
        "keep_freed_memory()\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]\n"
        "libc.free.argtypes = [ctypes.c_void_p]\n"
        "def once():\n"
        "    block = libc.malloc(1 << 26)\n"
        "    ctypes.memset(block, 1, 1 << 26)\n"
        "    libc.free(block)\n"
        "once()\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "once()\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)\n"
    )
    faults = {}
    for setting in ("0", "1"):
        ran = subprocess.run(
            [sys.executable, "-c", code],
            env={"MIXNET_KEEP_MEMORY": setting, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
            timeout=240,
        )
        faults[setting] = int(ran.stdout)
    assert faults["0"] > 16 * max(1, faults["1"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator")
def test_unused_memory_is_returned() -> None:
    """Resident memory stays after 256 MB are freed and falls when they are returned."""
    code = (
        "import numpy as np\n"
        "from mixnet.runtime.devices.host_memory import keep_freed_memory, return_freed_memory\n"
        "keep_freed_memory()\n"
        "def resident():\n"
        "    return int(open('/proc/self/statm').read().split()[1]) * 4096\n"
        "blocks = [np.ones(1 << 20, np.uint8) for _ in range(256)]\n"
        "last, used = np.ones(8), resident()\n"
        "del blocks\n"
        "kept = resident()\n"
        "print(used - kept, return_freed_memory(), kept - resident())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={"MIXNET_KEEP_MEMORY": "1", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    freed, some, returned = ran.stdout.split()
    assert some == "True"
    assert int(freed) < 1 << 20 and int(returned) > 200 << 20


def test_freed_memory_is_returned_on_request(monkeypatch) -> None:
    monkeypatch.setenv("MIXNET_KEEP_MEMORY", "0")
    keep_freed_memory.cache_clear()
    assert not keep_freed_memory()
    keep_freed_memory.cache_clear()


def test_options_are_for_lowerings_on_a_cpu() -> None:
    x = Node(None, name="x")
    graph = Graph((Entry(Node(RELU_GRADIENT, (), (), (Entry(x), Entry(x)))),))
    assert compiler_options(graph, "cpu") == chosen_options()
    assert compiler_options(graph, "gpu") == {}
    assert compiler_options(Graph((Entry(x),)), "cpu") == {}


def test_programs_with_onednn_are_not_stored_on_disk() -> None:
    x = Node(None, name="x")
    for method in ("onednn", "xla"):
        node = Node(CONVOLUTION, (("method", method),), (), (Entry(x), Entry(x)))
        assert can_be_written(Graph((Entry(node),))) == (method == "xla")
    name = "jax_persistent_cache_min_compile_time_secs"
    before = jax.config.values[name]
    with disk_cache.not_on_disk():
        with disk_cache.not_on_disk():
            assert jax.config.values[name] == float("inf")
        assert jax.config.values[name] == float("inf")
    assert jax.config.values[name] == before
