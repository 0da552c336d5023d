"""All settings in one table: name, type, default, description. Set by environment variables."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mixnet.base import MXNetError


@dataclass(frozen=True)
class Setting:
    """One setting: ``name`` is the environment variable, ``parse`` turns its text into a value."""

    name: str
    parse: Callable[[str], Any]
    default: Any
    sentence: str


def _flag(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("", "0", "false", "no", "off"):
        return False
    raise ValueError(text)


def _one_of(*allowed: str) -> Callable[[str], str]:
    def choice(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    choice.__name__ = f"choice of {', '.join(allowed)}"
    return choice


SETTINGS: dict[str, Setting] = {
    each.name: each
    for each in (
        Setting("MXNET_ENGINE_TYPE", str, "ThreadedEnginePerDevice",
            "NaiveEngine runs every operation immediately, for debugging; ThreadedEngine has one pool of "
            "worker threads per kind of resource, ThreadedEnginePerDevice one per device."),
        Setting("MIXNET_JOINT_STEP_AFTER", int, 20,
            "Training steps on several devices after which backward, gradient sums and updates are compiled "
            "into one program for all devices; 0: never."),
        Setting("MIXNET_MEETING_SECONDS", float, 60.0,
            "How long an operation over several devices (SyncBatchNorm) waits for the threads of the other "
            "devices to call it, before it raises an error."),
        Setting("MIXNET_JOIN_SECONDS", float, 25.0,
            "How long the processes of a job wait for each other when the first dist_* store is created, "
            "before an error names the missing ones."),
        Setting("MIXNET_SHARED_MEMORY", _flag, True,
            "Whether the processes of a job on one machine exchange arrays of 64 kB and more through shared "
            "memory (/dev/shm, 2 MB for each process), and not over network connections."),
        Setting("MIXNET_SERVER_FOLDER", str, "",
            "Folder for the key of a job and the databases of its servers (KVStore dist_async); all "
            "machines of the job must share it. Default: mixnet/servers in the user's cache folder."),
        Setting("MIXNET_TLS_CA", str, "",
            "File (PEM) with the certificate of the authority that signed those of all processes of a job."),
        Setting("MIXNET_TLS_CERT", str, "",
            "File (PEM) with the certificate of this process: connections to the scheduler and the servers "
            "of a job then use TLS, and both ends show a certificate."),
        Setting("MIXNET_TLS_KEY", str, "",
            "File (PEM) with the private key of MIXNET_TLS_CERT, readable only by its user."),
        Setting("MXNET_KVSTORE_BIGARRAY_BOUND", int, 1_000_000,
            "Values with at least this many elements are split by rows over all servers of a dist_async "
            "KVStore."),
        Setting("MIXNET_WATCHDOG", float, 0.0,
            "Seconds after which a waiting thread is reported on stderr, with what every thread runs, holds "
            "and waits for; the order in which locks are taken is then checked, too. 0: off."),
        Setting("MIXNET_IMAGE_MEGAPIXELS", float, 64.0,
            "Megapixels that an encoded image may have, whatever its file size; a larger image is rejected "
            "before memory is allocated for it, unless its file has a byte per 100 pixels, as photographs "
            "do."),
        Setting("MXNET_CPU_WORKER_NTHREADS", int, 1, "Threads per device that run compiled programs."),
        Setting("MXNET_GPU_WORKER_NTHREADS", int, 2,
            "Threads per GPU that run compiled programs: the number that run in parallel."),
        Setting("MXNET_EXEC_ENABLE_INPLACE", _flag, True,
            "Results reuse the buffers of inputs that are no longer needed."),
        Setting("MXNET_ELIMINATE_COMMON_EXPR", _flag, True,
            "Compute the same operation on the same inputs only once."),
        Setting("MXNET_GPU_COPY_NTHREADS", int, 2, "Threads that copy between host and devices."),
        Setting("MIXNET_IO_NTHREADS", int, 4, "Threads that read, write and decode files."),
        Setting("MIXNET_COMMUNICATION_NTHREADS", int, 1, "Threads that communicate with other processes."),
        Setting("MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN", int, 1000,
            "Number of recorded operations at which they run even if no value has been read."),
        Setting("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", _flag, True,
            "Warn when an operator has no sparse implementation, so its arguments are copied to dense."),
        Setting("MXNET_UPDATE_ON_KVSTORE", _flag, True,
            "Default of gluon.Trainer on several contexts: the KVStore updates the parameters."),
        Setting("MXNET_OPTIMIZER_AGGREGATION_SIZE", int, 0,
            "Parameters that an optimizer updates in one call (0: 4, LAMB 45); they run as one program in "
            "any case."),
        Setting("MXNET_BACKWARD_DO_MIRROR", _flag, False,
            "Backward recomputes cheap operations instead of storing their results. Applies to executors, "
            "when they are bound."),
        Setting("MXNET_PROFILER_AUTOSTART", _flag, False,
            "Start mx.profiler with the process and write profile.json when the process ends."),
        Setting("MXNET_GLUON_REPO", str, "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/",
            "Base URL for Gluon's datasets and pretrained weights."),
        Setting("MIXNET_CPU_DEVICES", int, 0,
            "Number of CPU devices of this process (0: JAX decides); read before JAX starts."),
        Setting("MIXNET_CACHE_DIR", str, "",
            "Folder for compiled programs and traces (empty: in the user's cache folder; 'off': no cache)."),
        Setting("MIXNET_LAYOUT", _one_of("auto", "xla", "off"), "auto",
            "auto: image operators run with channels last, convolutions with oneDNN where XLA supports it; "
            "xla: the same without oneDNN; off: the layout as written."),
        Setting("MIXNET_TF32", _one_of("convolutions", "all", "off"), "convolutions",
            "Which products of float32 a GPU may round to TF32 (10 bits): convolutions, as in MXNet and "
            "PyTorch; all; off: none. Read when a program is compiled."),
        Setting("MIXNET_KEEP_MEMORY", _flag, True,
            "Reuse host memory that a program frees for the next one, instead of returning it to the system "
            "(Linux)."),
        Setting("MIXNET_COMPILE_WARNING", int, 50,
            "Programs that one line of code may compile before mixnet warns (0: never)."),
        Setting("MIXNET_INTERPRET", _flag, True,
            "Run programs without the compiler, on the host, until compiling pays off; 0: compile every "
            "program before it runs."),
        Setting("MIXNET_RANDOM", _one_of("mxnet", "threefry"), "mxnet",
            "Random numbers on CPUs: mxnet, those that MXNet draws from the same seed, or threefry, which "
            "programs compute themselves, on GPUs as on CPUs."),
        Setting("MIXNET_DONATE_BYTES", int, 1 << 14,
            "Buffers of at least this many bytes are reused in place when nothing else refers to them."),
        Setting("MIXNET_FULL_TRACEBACK", _flag, False,
            "Errors in notebooks, in calls of Gluon blocks and at the end of a worker of a job show all of "
            "mixnet's frames, not only those of the program."),
        Setting("MIXNET_SOURCE_LINES", _flag, False,
            "Graph nodes record the line of the program that created them."),
    )
}  # fmt: skip


def get(name: str) -> Any:
    """Value of a setting now: the environment variable if set, else the default.

    Raises:
        MXNetError: the variable's text is not of the setting's type.
    """
    setting = SETTINGS[name]
    text = os.environ.get(name)
    if text is None:
        return setting.default
    try:
        return setting.parse(text)
    except ValueError:
        raise MXNetError(
            f"Environment variable {name}={text!r} is not a valid {setting.parse.__name__.strip('_')}. "
            f"{setting.sentence} Unset it for the default, {setting.default!r}."
        ) from None
