"""The command line of ``mixnet-launch``: that of MXNet's ``launch.py``, with additional options."""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

from mixnet.base import MXNetError
from mixnet.tools.launch.launchers import LAUNCHERS, copying, manifest, processes
from mixnet.tools.launch.plan import LaunchError, Plan, Process, new_port, own_address, read_hosts
from mixnet.tools.launch.preflight import check
from mixnet.tools.launch.supervise import Supervisor

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number of 0 or more")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """The options."""
    arguments = argparse.ArgumentParser(
        prog="mixnet-launch",
        description="Start a program in many processes that train together (mx.kv.create('dist_sync')).",
    )
    add = arguments.add_argument
    add("-n", "--num-workers", type=int, required=True, help="processes that train")
    add(
        "-s",
        "--num-servers",
        type=_count,
        help="server processes, for dist_async; synchronous stores need none",
    )
    add("-H", "--hostfile", help="file with the names of machines, one per line")
    add(
        "--launcher",
        default="ssh",
        choices=[*LAUNCHERS, "k8s"],
        help="how to start them; ssh without -H means local",
    )
    add(
        "--sync-dst-dir",
        default="",
        help="copy the working folder to this folder on every machine, with rsync",
    )
    add(
        "-p",
        "--p3",
        action="store_true",
        help="accepted; gradients are always summed in pieces, as MXNet's P3 does",
    )
    add(
        "--env",
        action="append",
        default=[],
        help="NAME passes a variable on; NAME:VALUE sets it for all",
    )
    add("--env-worker", action="append", default=[], help="NAME:VALUE for workers")
    add("--env-server", action="append", default=[], help="NAME:VALUE for servers")
    add("--env-scheduler", action="append", default=[], help="NAME:VALUE for the scheduler")
    add("--max-restarts", type=_count, default=0, help="restart all processes up to so many times")
    add("--dry-run", action="store_true", help="print what would be run")
    add("command", nargs=argparse.REMAINDER, help="the program and its arguments")
    return arguments


def main(arguments: Sequence[str] | None = None) -> int:
    """Start a job and supervise it; the exit code.

    0: all workers succeeded; 68: nothing was started; 130: Ctrl-C; else that of the worker that failed first.
    """
    argument_parser = parser()
    options = argument_parser.parse_args(arguments)
    if options.command[:1] == ["--"]:
        del options.command[0]
    if not options.command or options.num_workers < 1:
        argument_parser.error(
            "give -n of 1 or more, and the program to start: mixnet-launch -n 2 python train.py"
        )
    try:
        return _launch(options)
    except MXNetError as error:
        print(f"mixnet-launch: {error}", file=sys.stderr)
        return LaunchError.exit_code if error.exit_code is None else error.exit_code
    except KeyboardInterrupt:  # later the supervisor minds signals
        print("mixnet-launch: ended by SIGINT; no process was started.", file=sys.stderr)
        return 128 + signal.SIGINT


def _launch(options: argparse.Namespace) -> int:
    plan = _plan(options)
    if plan.launcher == "k8s":
        print(manifest(plan), end="")
        return 0
    if options.dry_run:
        for command in copying(plan):
            print(" ".join(command))
        for process in _processes(plan, options):
            print(process)
        return 0
    check(plan)
    for command in copying(plan):
        _run(command)
    for attempt in range(options.max_restarts + 1):
        supervisor = Supervisor()
        code = supervisor.run(_processes(plan, options))
        if code == 0 or supervisor.signal or attempt == options.max_restarts:
            break
        print(
            f"mixnet-launch: start {attempt + 2} of {options.max_restarts + 1}, from the last checkpoint",
            flush=True,
        )
        plan = replace(plan, port=new_port(plan.root))
    return code


def _plan(options: argparse.Namespace) -> Plan:
    hosts = read_hosts(options.hostfile) if options.hostfile else ()
    launcher = "local" if options.launcher == "ssh" and not hosts else options.launcher
    root = "127.0.0.1" if launcher == "local" else own_address(hosts)
    named = [text for text in options.env if ":" not in text]
    for text in named:
        if not _NAME.fullmatch(text):
            raise LaunchError(
                f"--env {text}: expected the NAME of a variable of this shell, or NAME:VALUE."
            )
    return Plan(
        command=tuple(options.command),
        workers=options.num_workers,
        servers=options.num_servers or 0,
        launcher=launcher,
        hosts=hosts,
        root=root,
        port=0 if launcher == "k8s" else new_port(root),
        folder=options.sync_dst_dir,
        passed=tuple(named),
        for_all=_pairs("--env", [text for text in options.env if ":" in text]),
        for_workers=_pairs("--env-worker", options.env_worker),
        for_servers=_pairs("--env-server", options.env_server),
    )


def _processes(plan: Plan, options: argparse.Namespace) -> list[Process]:
    scheduler, *others = processes(plan)
    more = _pairs("--env-scheduler", options.env_scheduler)
    return [replace(scheduler, environment={**scheduler.environment, **more}), *others]


def _pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, colon, value = text.partition(":")
        if not (colon and _NAME.fullmatch(name)):
            raise LaunchError(f"{option} {text}: expected NAME:VALUE, such as OMP_NUM_THREADS:3.")
        pairs[name] = value
    return pairs


def _run(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise LaunchError(f"{command[0]} failed: {error}") from None
