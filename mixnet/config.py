"""Every setting in one table: name, type, default, sentence. Set by environment variable."""

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
        Setting(
            "MXNET_ENGINE_TYPE",
            str,
            "ThreadedEnginePerDevice",
            "NaiveEngine runs every operation at once, for debugging; ThreadedEngine has one pool of "
            "workers for each kind of resource, ThreadedEnginePerDevice one for each device.",
        ),
        Setting(
            "MIXNET_JOINT_STEP_AFTER",
            int,
            20,
            "Steps of training on several devices after which backward, sums and updates are compiled as one "
            "program over all of them; 0: they never are.",
        ),
        Setting(
            "MIXNET_MEETING_SECONDS",
            float,
            60.0,
            "How long a thread waits for devices that other threads should call in an operation over "
            "several devices (SyncBatchNorm), before that is an error.",
        ),
        Setting(
            "MIXNET_JOIN_SECONDS",
            float,
            30.0,
            "How long the processes of a job wait for each other when the first store of kind dist_* is made, before "
            "that is an error that names who is missing.",
        ),
        Setting(
            "MIXNET_SERVER_FOLDER",
            str,
            "",
            "Folder for the key of a job and the databases of its servers (KVStore dist_async); all machines of the job "
            "share it. By default mixnet/servers in the user's cache folder.",
        ),
        Setting(
            "MXNET_KVSTORE_BIGARRAY_BOUND",
            int,
            1_000_000,
            "Elements from which the rows of a value are spread over all servers of a KVStore dist_async.",
        ),
        Setting(
            "MIXNET_WATCHDOG",
            float,
            0.0,
            "Seconds after which a thread that waits is reported on stderr, with what every thread does, holds and "
            "waits for; locks are then checked to be taken in their order. 0: off.",
        ),
        Setting(
            "MIXNET_IMAGE_MEGAPIXELS",
            float,
            64.0,
            "Millions of pixels that an encoded image may have whatever its file's length; a larger one needs a byte for "
            "every 100 pixels, as photographs have, or it is refused before memory is taken for it.",
        ),
        Setting(
            "MXNET_CPU_WORKER_NTHREADS", int, 1, "Threads that run compiled programs, a device."
        ),
        Setting(
            "MXNET_GPU_WORKER_NTHREADS",
            int,
            2,
            "The same on a GPU: programs that run side by side.",
        ),
        Setting(
            "MXNET_EXEC_ENABLE_INPLACE",
            _flag,
            True,
            "Results take over the buffers of inputs that nobody needs any more.",
        ),
        Setting(
            "MXNET_ELIMINATE_COMMON_EXPR",
            _flag,
            True,
            "The same operation on the same inputs is computed once.",
        ),
        Setting("MXNET_GPU_COPY_NTHREADS", int, 2, "Threads that copy between host and devices."),
        Setting("MIXNET_IO_NTHREADS", int, 4, "Threads that read, write and decode files."),
        Setting("MIXNET_COMMUNICATION_NTHREADS", int, 1, "Threads that talk to other processes."),
        Setting(
            "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN",
            int,
            1000,
            "Operations that are recorded before they run without being asked for.",
        ),
        Setting(
            "MXNET_STORAGE_FALLBACK_LOG_VERBOSE",
            _flag,
            True,
            "Warn of operators that have no computation for sparse arrays, and take dense copies.",
        ),
        Setting(
            "MXNET_UPDATE_ON_KVSTORE",
            _flag,
            True,
            "On several contexts gluon.Trainer lets the KVStore update the parameters, by default.",
        ),
        Setting(
            "MXNET_OPTIMIZER_AGGREGATION_SIZE",
            int,
            0,
            "Parameters that an optimizer is handed together (0: 4, LAMB 45); all are one program "
            "anyway.",
        ),
        Setting(
            "MXNET_BACKWARD_DO_MIRROR",
            _flag,
            False,
            "Backward computes cheap operations again rather than keep their results: of executors, which "
            "read it when they are bound.",
        ),
        Setting(
            "MXNET_PROFILER_AUTOSTART",
            _flag,
            False,
            "Start mx.profiler with the process; profile.json is written at its end.",
        ),
        Setting(
            "MXNET_GLUON_REPO",
            str,
            "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/",
            "Where Gluon's data sets and pretrained weights are downloaded from.",
        ),
        Setting(
            "MIXNET_CPU_DEVICES",
            int,
            0,
            "CPU devices of this process (0: leave it to JAX); read before JAX starts.",
        ),
        Setting(
            "MIXNET_CACHE_DIR",
            str,
            "",
            "Folder of compiled programs (empty: the user's cache folder; 'off': none).",
        ),
        Setting(
            "MIXNET_LAYOUT",
            _one_of("auto", "xla", "off"),
            "auto",
            "auto: images are computed with channels last, convolutions by oneDNN where XLA has it; "
            "xla: without oneDNN; off: as written.",
        ),
        Setting(
            "MIXNET_KEEP_MEMORY",
            _flag,
            True,
            "Host memory that a program frees is kept for the next one (Linux), not given back.",
        ),
        Setting(
            "MIXNET_COMPILE_WARNING",
            int,
            50,
            "Programs that one line of code may compile before it is warned of (0: never).",
        ),
        Setting(
            "MIXNET_INTERPRET",
            _flag,
            True,
            "Programs on CPUs run without the compiler until it is worth its time; 0: every program is compiled "
            "before it runs.",
        ),
        Setting(
            "MIXNET_DONATE_BYTES",
            int,
            1 << 14,
            "Buffers of at least this many bytes are reused in place where nobody holds them.",
        ),
        Setting(
            "MIXNET_FULL_TRACEBACK",
            _flag,
            False,
            "Errors of a mistake in a call of a Gluon block show all frames of mixnet, not only the "
            "innermost beside the program's own.",
        ),
        Setting(
            "MIXNET_SOURCE_LINES",
            _flag,
            False,
            "Nodes of graphs keep the line of the program that made them.",
        ),
    )
}


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
