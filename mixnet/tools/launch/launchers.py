"""The launchers (local, ssh, mpirun, ...): command lines that start the processes of a plan."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from mixnet.tools.launch.plan import LaunchError, Plan, Process, name_of


def processes(plan: Plan) -> list[Process]:
    """The processes to start for a plan, the scheduler first."""
    local = () if plan.launcher == "ssh" else _servers(plan)
    return [_scheduler(plan), *local, *LAUNCHERS[plan.launcher](plan)]


def _scheduler(plan: Plan) -> Process:
    env = {**plan.variables("scheduler"), "TF_CPP_MIN_LOG_LEVEL": "2", "JAX_PLATFORMS": "cpu"}
    return Process("scheduler", (sys.executable, "-c", "import mixnet"), env, is_worker=False)


def _servers(plan: Plan) -> list[Process]:
    """Servers on this machine; programs such as mpirun and srun start workers alone."""
    command = plan.command if plan.launcher == "local" else (sys.executable, "-c", "import mixnet")
    return [
        Process(
            f"server {i}", command, plan.variables("server", i), is_worker=False, comes_back=True
        )
        for i in range(plan.servers)
    ]


def _local(plan: Plan) -> list[Process]:
    return [
        Process(
            f"rank {i}", plan.command, {**plan.variables("worker", i), "DMLC_LOCAL_RANK": str(i)}
        )
        for i in range(plan.workers)
    ]


SSH = ("ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "ConnectTimeout=15")


def over_ssh(host: str, script: str) -> tuple[str, ...]:
    """The command line that runs a script of the shell on another machine; ``host:port`` names a port."""
    name, _, port = host.partition(":")
    return (*SSH, *(("-p", port) if port else ()), name, f"sh -c {shlex.quote(script)}")


def _ssh(plan: Plan) -> list[Process]:
    if not plan.hosts:
        raise LaunchError("--launcher ssh needs the machines' names: -H hostfile, one per line.")
    commands = []
    for role, count in (("server", plan.servers), ("worker", plan.workers)):
        for i in range(count):
            env = {**plan.passed_on(), **plan.variables(role, i)}
            name = f"{'rank' if role == 'worker' else role} {i}"
            script = _watched(plan, env)
            command = over_ssh(plan.host(i), script)
            is_worker = role == "worker"
            commands.append(
                Process(name, command, {}, is_worker, plan.host(i), True, comes_back=not is_worker)
            )
    return commands


def _watched(plan: Plan, env: Mapping[str, str]) -> str:
    """A script that runs the program, and ends it when the connection to the launcher does."""
    return (
        f"cd {shlex.quote(plan.folder or os.getcwd())} || exit 68; {exports(env)} exec 3<&0; "
        f"setsid {shlex.join(plan.command)} </dev/null & child=$!; "
        "(cat <&3; kill -TERM -$child; kill -CONT -$child; sleep 10; kill -KILL -$child) >/dev/null 2>&1 & "
        f"wait $child; code=$?; kill $! 2>/dev/null; exit $code"
    )


def _mpi(plan: Plan) -> list[Process]:
    # Numbers come from mpirun itself: OMPI_COMM_WORLD_RANK or PMI_RANK.
    env = {**plan.passed_on(), **plan.variables("worker")}
    hosts = ("--host", ",".join(map(name_of, plan.hosts))) if plan.hosts else ("--oversubscribe",)
    passed_on = [part for name in sorted(env) for part in ("-x", name)]
    folder = ("--wdir", plan.folder) if plan.folder else ()
    command = (
        "mpirun",
        "-n",
        str(plan.workers),
        "--tag-output",
        *hosts,
        *folder,
        *passed_on,
        *plan.command,
    )
    return [Process("mpirun", command, env, tag=r"\[[^\s\[\],]+,(\d+)\]<std(?:out|err)>:")]


def _slurm(plan: Plan) -> list[Process]:
    env = {**plan.passed_on(), **plan.variables("worker")}
    names = dict.fromkeys(map(name_of, plan.hosts))
    hosts = ("--nodelist", ",".join(names)) if names else ()
    folder = ("--chdir", plan.folder) if plan.folder else ()
    options = ("--kill-on-bad-exit=1", "--label", "--export=ALL", "--mpi=none")
    command = ("srun", "--ntasks", str(plan.workers), *options, *hosts, *folder, *plan.command)
    exit_of = r"srun: error: .*task (?P<rank>\d+): Exited with exit code (?P<code>\d+)"
    return [Process("srun", command, env, tag=r"^ *(\d+): ", exit_of=exit_of)]


def _sge(plan: Plan) -> list[Process]:
    # Tasks of an array are numbered from 1. SGE writes what they print to files in the working folder.
    log = f"mixnet-{plan.port}.{{}}.log"
    array = ("-t", f"1-{plan.workers}", "-N", "mixnet", "-o", log.format("$TASK_ID"))
    options = ("-cwd", "-sync", "y", "-j", "y", "-b", "y", *array)
    env = {**plan.passed_on(), **plan.variables("worker")}
    script = (
        f"{exports(env)} export DMLC_WORKER_ID=$((SGE_TASK_ID-1)); exec {shlex.join(plan.command)}"
    )
    command = ("qsub", *options, "sh", "-c", shlex.quote(script))
    return [
        Process(
            "qsub",
            command,
            exit_of=r"^Job \d+\.(?P<rank>\d+) exited with exit code (?P<code>[1-9]\d*)",
            logs=tuple(log.format(number + 1) for number in range(plan.workers)),
            first=1,
        )
    ]


def _yarn(plan: Plan) -> list[Process]:
    # The distributed shell gives containers no numbers: the scheduler does.
    env = {**plan.passed_on(), **plan.variables("worker")}
    passed_on = [part for name in sorted(env) for part in ("-shell_env", f"{name}={env[name]}")]
    shell = "org.apache.hadoop.yarn.applications.distributedshell.Client"
    command = (
        "yarn",
        shell,
        "-jar",
        os.environ.get(
            "YARN_DISTRIBUTED_SHELL_JAR", "hadoop-yarn-applications-distributedshell.jar"
        ),
        "-num_containers",
        str(plan.workers),
        *passed_on,
        "-shell_command",
        shlex.join(plan.command),
    )
    return [Process("yarn", command)]


def exports(env: Mapping[str, str]) -> str:
    """The start of a script that sets variables."""
    return "".join(
        f"export {name}={shlex.quote(value)}; " for name, value in sorted(env.items())
    ).rstrip()


LAUNCHERS: dict[str, Callable[[Plan], list[Process]]] = {
    "local": _local,
    "ssh": _ssh,
    "mpi": _mpi,
    "slurm": _slurm,
    "sge": _sge,
    "yarn": _yarn,
}


_MANIFEST = """\
# kubectl apply -f this file; the image must contain mixnet and the program.
apiVersion: v1
kind: Service
metadata:
  name: {name}
spec:
  clusterIP: None  # names for the pods
  publishNotReadyAddresses: true
  selector:
    job-name: {name}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completions: {workers}
  parallelism: {workers}
  completionMode: Indexed
  backoffLimit: 0  # one pod fails: the job does
  template:
    spec:
      subdomain: {name}
      restartPolicy: Never
      containers:
        - name: worker
          image: {image}
          command: {command}
          env:
            - name: RANK
              valueFrom:
                fieldRef:
                  fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']
{variables}
"""


def manifest(plan: Plan, name: str = "mixnet", image: str = "mixnet:latest") -> str:
    """A job of Kubernetes: the worker of rank 0 starts the scheduler, and the service gives it a name."""
    import json

    env = {
        "WORLD_SIZE": str(plan.workers),
        "MASTER_ADDR": f"{name}-0.{name}",
        "MASTER_PORT": str(plan.port or 9091),
        **plan.for_all,
        **plan.for_workers,
    }
    lines = [
        f"            - name: {key}\n              value: {json.dumps(value)}"
        for key, value in env.items()
    ]
    image = os.environ.get("MIXNET_IMAGE", image)
    return _MANIFEST.format(
        name=name,
        workers=plan.workers,
        image=image,
        command=json.dumps(list(plan.command)),
        variables="\n".join(lines),
    )


def copying(plan: Plan) -> list[tuple[str, ...]]:
    """Command lines that bring the working folder to all machines, for ``--sync-dst-dir``."""
    if not plan.folder or plan.launcher not in ("ssh", "mpi"):
        return []
    folder = f"{Path.cwd()}/"
    commands: list[tuple[str, ...]] = []
    for host in dict.fromkeys(plan.hosts):
        name, _, port = host.partition(":")
        shell = shlex.join((*SSH, *(("-p", port) if port else ())))
        commands.append(("rsync", "-az", "-e", shell, folder, f"{name}:{plan.folder}/"))
    return commands
