"""Kernels that are forked from a process that has imported what all of them import.

``python -m tests.kernels jupyterlab --port=…`` runs a Jupyter server whose kernels are forked.
"""

from __future__ import annotations

import os
import runpy
import sys

import jupyter_client.launcher

from tests import processes


class Kernel(processes.Popen):
    """What ``jupyter_client`` starts a kernel with, in place of ``subprocess.Popen``.

    It has imported what kernels import, and what most notebooks do.
    """

    imports = (
        ("numpy", "jax", "mixnet", "ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.zmqshell",
         "IPython.core.completer", "matplotlib.pyplot", "matplotlib_inline.backend_inline", "anywidget",
         "mixnet.gluon.data", "mixnet.widgets", "sklearn.datasets"),
    )  # fmt: skip
    starting = ("ipykernel_launcher", *processes.Popen.starting)

    def variables(self) -> dict[str, str]:
        return variables()


def variables() -> dict[str, str]:
    """What kernels read at import: a process that starts them sets it before."""
    return {
        "JPY_PARENT_PID": str(os.getpid()),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }


def start_server() -> None:
    """Import now what kernels import.

    Jupyter looks for free ports before it starts a kernel: while a server imports, others may take them.
    """
    processes.start_server(Kernel.imports[0], variables())


if __name__ == "__main__":
    jupyter_client.launcher.Popen = Kernel  # type: ignore[misc, assignment]
    os.environ.update(variables())
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
