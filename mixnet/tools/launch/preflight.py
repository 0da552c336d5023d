"""Checks before a launch: every machine is reachable, can connect back, and has the same versions."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import PurePath

from mixnet.libinfo import _PACKAGE_VERSION
from mixnet.tools.launch.launchers import exports, over_ssh
from mixnet.tools.launch.plan import LaunchError, Plan, name_of

_SECONDS = 60
_NO_FOLDER = 68
_LOOK = (
    "import socket, mixnet.libinfo, jax; "
    "socket.create_connection(({root!r}, {port}), 10).close(); "
    "print(mixnet.libinfo._PACKAGE_VERSION, jax.__version__)"
)


def check(plan: Plan) -> None:
    """Check all machines at once.

    Raises:
        LaunchError: names each machine that cannot take part, and why.
    """
    hosts = list(dict.fromkeys(plan.hosts))
    if plan.launcher != "ssh" or not hosts:
        return
    with socket.socket() as listener, ThreadPoolExecutor(min(32, len(hosts))) as pool:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((plan.root, plan.port))
        listener.listen(128)
        problems = [text for text in pool.map(lambda host: _problem(plan, host), hosts) if text]
    if problems:
        raise LaunchError("\n".join(["The job was not started:", *problems]))


def _problem(plan: Plan, host: str) -> str:
    name = name_of(host)
    try:
        socket.getaddrinfo(name, None)
    except socket.gaierror as error:
        return (
            f"  {host}: the name has no address ({error.strerror}). Give an IP address, or enter "
            "it in the DNS."
        )
    try:
        probe = subprocess.run(
            over_ssh(host, _script(plan)),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"  {host}: ssh does not answer: {error}."
    return _judged(host, plan, probe.returncode, probe.stdout, probe.stderr)


def _script(plan: Plan) -> str:
    """A script that looks for Python as a worker will, in its folder and with its variables."""
    # A folder that will be copied need not exist yet.
    missing = "true" if plan.folder else f"exit {_NO_FOLDER}"
    folder = f"cd {shlex.quote(plan.folder or os.getcwd())} 2>/dev/null || {missing}"
    look = _LOOK.format(root=plan.root, port=plan.port)
    variables = exports({**plan.passed_on(), **plan.variables("worker")})
    return f"{folder}; {variables} {shlex.join([_python(plan.command), '-c', look])}"


def _python(command: Sequence[str]) -> str:
    return command[0] if PurePath(command[0]).name.startswith("python") else "python3"


def _judged(host: str, plan: Plan, code: int, out: str, error: str) -> str:
    last = (error.strip().splitlines() or ["no message"])[-1]
    if code == 255:
        return f"  {host}: cannot be reached by ssh: {last}. Try: ssh -o BatchMode=yes {host} true"
    if code == _NO_FOLDER:
        return (
            f"  {host}: there is no folder {os.getcwd()}, in which the program runs. "
            "--sync-dst-dir copies the working folder."
        )
    if code and ("refused" in last or "timed out" in last or "unreachable" in last.lower()):
        return (
            f"  {host}: it does not reach this machine at {plan.root}:{plan.port}: {last}. Is there a "
            f"firewall, or another network? DMLC_INTERFACE names the one to use."
        )
    if code:
        return f"  {host}: Python, mixnet or JAX is missing there: {last}"
    jax = metadata.version("jax")  # which need not be imported here
    remote = out.split()[-2:]
    if remote != [_PACKAGE_VERSION, jax]:
        return (
            f"  {host}: mixnet {' and JAX '.join(remote)}, here mixnet {_PACKAGE_VERSION} and JAX {jax}. "
            f"Install the same versions."
        )
    return ""
