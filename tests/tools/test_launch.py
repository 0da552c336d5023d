"""``mixnet-launch``: the commands that it runs, and how it watches processes."""

from __future__ import annotations

import io
import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mixnet.tools.launch import main
from mixnet.tools.launch.launchers import processes
from mixnet.tools.launch.output import Output
from mixnet.tools.launch.plan import LaunchError, Plan, Process, own_address, read_hosts
from mixnet.tools.launch.preflight import _judged, _script, check
from mixnet.tools.launch.supervise import Supervisor
from tests.waiting import until


@pytest.fixture
def hosts(tmp_path: Path) -> str:
    path = tmp_path / "hosts"
    path.write_text("# machines\n127.0.0.2\nuser@127.0.0.3:2222  slots=2\n\n")
    return str(path)


def dry(capsys: pytest.CaptureFixture, *arguments: str) -> list[str]:
    """The lines of a dry run."""
    assert main([*arguments, "--dry-run", "python", "train.py", "--lr", "0.1 0.2"]) == 0
    return capsys.readouterr().out.splitlines()


# ---- what would be run --------------------------------------------------------------------------


def test_local_processes_are_started(capsys: pytest.CaptureFixture) -> None:
    options = (
        "--env",
        "A:1",
        "--env-worker",
        "B:2",
        "--env-server",
        "C:x y",
        "--env-scheduler",
        "D:4",
    )
    lines = dry(capsys, "-n", "2", "-s", "1", "--launcher", "local", *options)
    assert len(lines) == 4
    scheduler, server, first, second = lines
    assert (
        "DMLC_ROLE=scheduler" in scheduler and "D=4" in scheduler and "import mixnet" in scheduler
    )
    assert "DMLC_ROLE=server" in server and "C='x y'" in server and "B=2" not in server
    for rank, line in enumerate((first, second)):
        for part in ("A=1", "B=2", "DMLC_ROLE=worker", "DMLC_NUM_WORKER=2", "DMLC_NUM_SERVER=1",
                     "DMLC_PS_ROOT_URI=127.0.0.1", f"DMLC_WORKER_ID={rank}"):  # fmt: skip
            assert part in line.split(" python ")[0].split() or part in line
        assert line.endswith("python train.py --lr '0.1 0.2'") and "D=4" not in line
    # As in MXNet, ssh without machines is this machine.
    assert len(dry(capsys, "-n", "3")) == 4


def test_ssh_runs_a_script_on_each_host(
    capsys: pytest.CaptureFixture, hosts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_DATA", "/data/a b")
    lines = dry(capsys, "-n", "3", "-H", hosts, "--env", "MY_DATA", "--sync-dst-dir", "/tmp/job")
    copy = [line for line in lines if line.startswith("rsync")]
    assert len(copy) == 2 and "127.0.0.2:/tmp/job/" in copy[0] and "-p 2222" in copy[1]
    workers = [line for line in lines if line.startswith("ssh")]
    assert [line.split(" 'sh -c")[0].split()[-1] for line in workers] == [
        "127.0.0.2",
        "user@127.0.0.3",
        "user@127.0.0.3",
    ]
    assert "BatchMode=yes" in workers[0] and "StrictHostKeyChecking=yes" in workers[0]
    assert "-p 2222" in workers[1] and "DMLC_WORKER_ID=2" in workers[2]
    assert (
        "cd /tmp/job" in workers[0]
        and "/data/a b" in workers[0]
        and "setsid python train.py" in workers[0]
    )


def test_the_script_for_ssh_runs_the_program_and_ends_it(hosts: str, tmp_path: Path) -> None:
    """What ssh would run, run by the shell: its standard input stands for the connection."""
    from mixnet.tools.launch.launchers import _watched

    plan = Plan(("sh", "-c", 'echo "it is $X"; exit 3'), 1, folder=str(tmp_path))
    command = ["sh", "-c", _watched(plan, {"X": "a b"})]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as shell:
        assert shell.stdout is not None
        # The connection stays open until the program has ended.
        assert shell.stdout.read() == "it is a b\n"
        assert shell.wait(60) == 3
    plan = Plan(("sleep", "60"), 1, folder=str(tmp_path))
    begin = time.monotonic()
    with subprocess.Popen(
        ["sh", "-c", _watched(plan, {"X": "1"})], stdin=subprocess.PIPE
    ) as started:
        time.sleep(0.5)
        assert started.poll() is None
        assert started.stdin is not None
        started.stdin.close()  # the launcher is gone
        assert started.wait(40) == 143 and time.monotonic() - begin < 40  # not the program's minute


def test_other_launchers_have_their_command_lines(
    capsys: pytest.CaptureFixture, hosts: str
) -> None:
    (mpi,) = [
        line
        for line in dry(capsys, "-n", "4", "--launcher", "mpi", "-H", hosts)
        if "mpirun" in line
    ]
    assert "mpirun -n 4 --tag-output --host 127.0.0.2,127.0.0.3,127.0.0.3" in mpi
    assert (
        "-x DMLC_NUM_WORKER" in mpi and "DMLC_NUM_WORKER=4" in mpi and "DMLC_WORKER_ID" not in mpi
    )
    (slurm,) = [line for line in dry(capsys, "-n", "4", "--launcher", "slurm") if "srun" in line]
    assert "srun --ntasks 4 --kill-on-bad-exit=1 --label" in slurm and "DMLC_WORKER_ID" not in slurm
    slurm = dry(capsys, "-n", "4", "--launcher", "slurm", "-H", hosts)[-1]
    assert "--nodelist 127.0.0.2,127.0.0.3 python" in slurm
    (sge,) = [line for line in dry(capsys, "-n", "4", "--launcher", "sge") if "qsub" in line]
    assert "-t 1-4" in sge and "DMLC_WORKER_ID=$((SGE_TASK_ID-1))" in sge and "-sync y" in sge
    (yarn,) = [
        line for line in dry(capsys, "-n", "4", "--launcher", "yarn") if "-num_containers" in line
    ]
    assert "-num_containers 4" in yarn and "-shell_env DMLC_ROLE=worker" in yarn
    manifest = "\n".join(dry(capsys, "-n", "4", "--launcher", "k8s", "--env", "A:b"))
    for part in ("completions: 4", "completionMode: Indexed", '["python", "train.py", "--lr", "0.1 0.2"]',
                 "value: \"mixnet-0.mixnet\"", "name: WORLD_SIZE", "name: A", "clusterIP: None"):  # fmt: skip
        assert part in manifest


_QSUB = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
log=$2
for task in 1 2; do
    file=$(echo "$log" | sed "s/[$]TASK_ID/$task/")
    { echo "task $task begins"; [ $task = 1 ] || printf 'my reason'; } > "$file"
done
sleep 0.5
echo 'Job 3.1 exited with exit code 75.'
echo 'Job 3.2 exited with exit code 7.'
echo 'Your job-array 3.1-2:1 ("mixnet") has been submitted'
exit 75
"""


def test_output_of_sge_tasks_is_shown_with_their_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qsub = tmp_path / "qsub"
    qsub.write_text(_QSUB)
    qsub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    workers = [each for each in processes(Plan(("x",), 2, launcher="sge")) if each.is_worker]
    scheduler = shell("scheduler", "sleep 60", is_worker=False)
    assert Supervisor(out).run([scheduler, *workers]) == 7
    text = out.getvalue()
    assert "[rank 0] task 1 begins\n" in text and "[rank 1] task 2 begins\n" in text
    assert text.endswith(
        "mixnet-launch: rank 1 failed first (exit code 7). Its last lines:\n"
        "    task 2 begins\n    my reason\n"
    ), text


def test_hosts_and_addresses_are_read(hosts: str, tmp_path: Path) -> None:
    assert read_hosts(hosts) == ("127.0.0.2", "user@127.0.0.3:2222", "user@127.0.0.3:2222")
    assert own_address(["127.0.0.2"]).startswith("127.0.0.")
    assert own_address(["no-such-host.invalid"]) == "127.0.0.1"
    own = own_address(())
    for host in (own, f"{own}:2222", f"user@{own}:2222"):  # the port is that of its SSH server
        assert own_address([host]) == own
    empty = tmp_path / "empty"
    empty.write_text("# none\n")
    with pytest.raises(LaunchError, match="names no machine"):
        read_hosts(str(empty))
    with pytest.raises(LaunchError, match="cannot be read"):
        read_hosts(str(tmp_path / "none"))


def test_mistakes_are_errors(capsys: pytest.CaptureFixture) -> None:
    for arguments in (["-n", "2"], ["python", "x.py"], ["-n", "0", "python", "x.py"]):
        with pytest.raises(SystemExit):
            main(arguments)
    assert main(["-n", "2", "--env-worker", "A", "python", "x.py"]) == 68
    assert "expected NAME:VALUE" in capsys.readouterr().err
    assert main(["-n", "1", "no-such-program-here"]) == 68
    assert "no-such-program-here: No such file" in capsys.readouterr().err
    assert main(["-n", "1", "no-such.py"]) == 68
    assert "Start it with Python: python no-such.py" in capsys.readouterr().err
    for option, text in (
        ("--env=A=3", "--env A=3: expected the NAME of a variable"),
        ("--env=9A:3", "--env 9A:3: expected NAME:VALUE"),
        ("--env-server=:3", "--env-server :3: expected NAME:VALUE"),
    ):
        assert main(["-n", "1", option, "true"]) == 68
        assert text in capsys.readouterr().err
    for option in ("--max-restarts=-3", "--num-servers=-1", "--max-restarts=x"):
        with pytest.raises(SystemExit):
            main(["-n", "1", option, "true"])
        assert "expected a whole number of 0 or more" in capsys.readouterr().err


def test_hosts_are_checked_before_anything_starts(hosts: str) -> None:
    plan = Plan(("python", "x.py"), 2, hosts=("no-such-host.invalid",), launcher="ssh")
    with pytest.raises(LaunchError, match=r"no-such-host.invalid: the name has no address"):
        check(plan)
    import jax

    from mixnet.libinfo import _PACKAGE_VERSION as version

    same = f"{version} {jax.__version__}"
    assert _judged("h", plan, 0, same, "") == ""
    assert "Install the same versions" in _judged("h", plan, 0, f"{version} 0.0.1", "")
    assert "cannot be reached by ssh: Connection refused" in _judged(
        "h", plan, 255, "", "Connection refused"
    )
    assert "firewall" in _judged(
        "h", plan, 1, "", "ConnectionRefusedError: [Errno 111] Connection refused"
    )
    assert "No module named 'mixnet'" in _judged("h", plan, 1, "", "E: No module named 'mixnet'")


def test_hosts_are_checked_with_the_folder_and_the_variables_of_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ssh would run, run by the shell, in another folder."""
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\necho with $A and $B\n")
    python.chmod(0o755)

    def run(plan: Plan) -> subprocess.CompletedProcess[str]:
        command = ["sh", "-c", _script(plan)]
        return subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=60)

    monkeypatch.chdir(tmp_path)
    plan = Plan(("bin/python3", "x.py"), 2, for_all={"A": "a b"}, for_workers={"B": "c"})
    assert run(plan).stdout == "with a b and c\n"
    by_path = {"PATH": f"{python.parent}:{os.environ['PATH']}"}
    assert run(replace(plan, command=("x",), for_all=by_path)).stdout == "with and c\n"
    copied = replace(plan, command=(str(python),), folder=str(tmp_path / "copied later"))
    assert run(copied).stdout == "with a b and c\n"
    missing_folder = tmp_path / "missing_folder"
    missing_folder.mkdir()
    monkeypatch.chdir(missing_folder)
    missing_folder.rename(tmp_path / "elsewhere")
    monkeypatch.setattr(os, "getcwd", lambda: str(missing_folder))
    missing = _judged("h", plan, run(plan).returncode, "", "")
    assert f"there is no folder {missing_folder}" in missing and "--sync-dst-dir" in missing


def _may_log_in() -> bool:
    """Whether this process's user has a name and a shell, which that of a container may lack."""
    import pwd

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_shell).name not in ("nologin", "false")
    except KeyError:
        return False


@pytest.mark.skipif(
    shutil.which("sshd") is None, reason="sshd is missing: apt-get install openssh-server"
)
def test_ssh_starts_the_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """A real login on this machine, with keys of its own."""
    from mixnet.distributed.addresses import free_port
    from mixnet.tools.launch import launchers

    if not _may_log_in():
        pytest.skip("this user has no shell to log in to")
    port, sshd = free_port(), shutil.which("sshd")
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name],
            check=True,
            timeout=60,
        )
    (tmp_path / "known").write_text(f"[127.0.0.1]:{port} {(tmp_path / 'host.pub').read_text()}")
    (tmp_path / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nAuthorizedKeysFile "
        f"{tmp_path}/user.pub\n"
        f"StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\n"
    )
    log_path = tmp_path / "log"
    log = log_path.open("a")
    if os.getuid() == 0:  # only then it needs this folder
        os.makedirs("/run/sshd", exist_ok=True)
    server = subprocess.Popen([sshd, "-D", "-e", "-f", tmp_path / "config"], stderr=log)
    options = ("-i", str(tmp_path / "user"), "-o", f"UserKnownHostsFile={tmp_path}/known")
    monkeypatch.setattr(launchers, "SSH", (*launchers.SSH, *options))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    try:
        end = time.monotonic() + 120
        while subprocess.run(
            [*launchers.SSH, "-p", str(port), "127.0.0.1", "true"], stderr=log, timeout=60
        ).returncode:
            assert server.poll() is None and time.monotonic() < end, log_path.read_text()
            time.sleep(0.1)
        (tmp_path / "hosts").write_text(f"127.0.0.1:{port}\n")
        program = tmp_path / "program.py"
        program.write_text(
            "import os, mixnet as mx; kv = mx.kv.create('dist_sync'); v = mx.nd.ones(2); kv.init(0, v); "
            "kv.push(0, v); kv.pull(0, out=v); print(kv.rank, v.asnumpy(), os.environ['SSH_CONNECTION'][:9])"
        )
        code = main(["-n", "2", "-H", str(tmp_path / "hosts"), sys.executable, str(program)])
        out = capsys.readouterr().out
        assert code == 0, out
        assert "[rank 0] 0 [2. 2.] 127.0.0.1" in out and "[rank 1] 1 [2. 2.] 127.0.0.1" in out
    finally:
        server.terminate()
        server.wait(10)
        log.close()


@pytest.mark.skipif(
    shutil.which("mpirun") is None, reason="mpirun is missing: apt-get install openmpi-bin"
)
def test_mpi_starts_the_processes(tmp_path: Path) -> None:
    """Without the launcher: mpirun assigns the ranks, and rank 0 starts the scheduler."""
    program = tmp_path / "program.py"
    program.write_text(
        "import mixnet as mx; kv = mx.kv.create('dist_sync'); v = mx.nd.ones(2); kv.init(0, v); "
        "kv.push(0, v); kv.pull(0, out=v); print('rank %d has %s\\n' % (kv.rank, v.asnumpy()), end='')"
    )
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = ["mpirun", "-n", "2", "--oversubscribe", sys.executable, str(program)]
    process = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[2]
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "rank 0 has [2. 2.]" in process.stdout and "rank 1 has [2. 2.]" in process.stdout


_CONSOLE_SCRIPT = "import sys\nfrom mixnet.tools.launch import main\nsys.exit(main())\n"


@pytest.mark.parametrize("way", ["module", "console script"])
def test_the_launcher_starts_without_jax(way: str, tmp_path: Path) -> None:
    script = tmp_path / "mixnet-launch"
    script.write_text(_CONSOLE_SCRIPT)
    program = ["-m", "mixnet.tools.launch"] if way == "module" else [str(script)]
    command = [sys.executable, "-X", "importtime", *program]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    for options, code, text in (
        (["-n", "1", "--dry-run", "python", "x.py", "-m"], 0, "DMLC_ROLE=worker"),
        (["--help"], 0, "usage: mixnet-launch"),
        (["-n", "1", "--launcher", "local", "sh", "-c", "exit 7"], 7, "rank 0 failed first"),
        (["-n", "1", "-H", str(tmp_path / "none"), "true"], 68, ""),
    ):
        done = subprocess.run(
            [*command, *options], env=env, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == code and text in done.stdout, done.stdout + done.stderr
        imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert "mixnet.tools.launch.command_line" in imported
        assert not imported & {"jax", "jaxlib", "mixnet.ndarray", "mixnet.ops"}


# ---- looking after processes --------------------------------------------------------------------


def shell(name: str, text: str, is_worker: bool = True) -> Process:
    return Process(name, ("sh", "-c", text), {"X": "1"}, is_worker)


def once(condition: str) -> str:
    """Shell code that waits until a command succeeds."""
    return f"until {condition}; do sleep 0.02; done"


def test_ctrl_c_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(plan: Plan) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mixnet.tools.launch.command_line.check", interrupted)
    assert main(["-n", "2", "true"]) == 130
    assert capsys.readouterr().err == "mixnet-launch: ended by SIGINT; no process was started.\n"


def test_output_carries_names_and_others_end_with_the_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mixnet.tools.launch.supervise.OTHERS", 60.0)
    monkeypatch.setattr("mixnet.tools.launch.supervise.TERM", 60.0)
    out = io.StringIO()
    begin = time.monotonic()
    server = shell("server 0", "sleep 0.4; echo bye", is_worker=False)
    workers = [shell(f"rank {i}", f"echo one $X {i}; echo two >&2") for i in range(2)]
    assert Supervisor(out).run([server, *workers]) == 0
    lines = out.getvalue().splitlines()
    assert {"[rank 0] one 1 0", "[rank 1] one 1 1", "[rank 1] two", "[server 0] bye"} <= set(lines)
    assert time.monotonic() - begin < 40  # TERM, and more, if they did not end by themselves


def test_output_written_in_one_call_is_not_interleaved() -> None:
    out = io.StringIO()
    text = "".join(f"line {i}\\n" for i in range(40))
    workers = [
        shell(f"rank {i}", f"for i in 1 2 3 4 5; do printf '{text}'; done; printf end")
        for i in range(3)
    ]
    assert Supervisor(out).run(workers) == 0
    lines = [line.split("] ") for line in out.getvalue().splitlines()]
    assert len(lines) == 3 * (5 * 40 + 1) and sum(text == "end" for _, text in lines) == 3
    pairs = itertools.pairwise(lines)
    parted = [(a, b) for a, b in pairs if a[0] != b[0] and a[1] not in ("line 39", "end")]
    assert not parted, parted


def test_the_first_process_to_fail_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("mixnet.tools.launch.supervise.GRACE", 60.0)
    out, ends = io.StringIO(), once(f"[ -e {tmp_path}/lost ]")
    workers = [
        shell(
            "rank 0", f"touch {tmp_path}/lost; echo because of rank 1; exit 75"
        ),  # lost another one
        shell("rank 1", f"echo my reason; {ends}; sleep 0.2; exit 7"),
        shell("rank 2", f"trap '' TERM; {ends}; sleep 0.1; exit 75"),
    ]
    assert Supervisor(out).run(workers) == 7
    assert out.getvalue().endswith(
        "mixnet-launch: rank 1 failed first (exit code 7). Its last lines:\n    my reason\n"
    )


def test_lines_of_workers_started_by_one_command_are_assigned_to_ranks() -> None:
    """As mpirun prints them: it tags every piece that a worker writes, also in the middle of a line."""
    (mpi,) = [each for each in processes(Plan(("x",), 2, launcher="mpi")) if each.is_worker]
    written = (
        b"[1,1]<stdout>:rank[1,0]<stdout>:a whole line",
        b"[1,1]<stderr>:Error[1,1]<stderr>:",
        b"a word of mpirun",
        b"[1,1]<stdout>:  of [1,1]<stdout>:two[1,1]<stdout>:",
        b"[prterun-node-7@1,12]<stdout>:no end",
        b"[1,0]<stdout>:unfinished [1,1]<stdout>:",
    )
    output = Output(mpi)
    assert [*output.lines(written), *output.rest()] == [
        ("rank 0", "a whole line"),
        ("rank 1", "Error"),
        ("mpirun", "a word of mpirun"),
        ("rank 1", "rank  of two"),
        ("rank 12", "no end"),
        ("rank 1", ""),
        ("rank 0", "unfinished "),
    ]


def test_the_first_failure_among_workers_of_one_command_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (srun,) = [each for each in processes(Plan(("x",), 2, launcher="slurm")) if each.is_worker]
    text = "mixnet scheduler: rank 1 (process 8 on node2) failed: ValueError: mine."
    scheduler = shell("scheduler", f"sleep 0.2; echo '{text}'; exit 1", is_worker=False)
    printed = (
        "0: because of rank 1",
        "1: my reason",
        "srun: error: node1: task 0: Exited with exit code 75",
        "srun: error: node2: task 1: Exited with exit code 7",
    )
    shown = "".join(f"echo '{line}'; " for line in printed)
    monkeypatch.setattr("mixnet.tools.launch.supervise.GRACE", 60.0)
    monkeypatch.setattr("mixnet.tools.launch.supervise.NAMES", 60.0)
    for seconds in ("0", "0.5"):  # it may end before and after the scheduler
        out = io.StringIO()
        tasks = replace(srun, command=("sh", "-c", f"{shown} sleep {seconds}; exit 75"))
        assert Supervisor(out).run([scheduler, tasks]) == 7
        assert "[rank 1] my reason\n" in out.getvalue()
        assert out.getvalue().endswith(
            "mixnet-launch: rank 1 failed first (exit code 7). Its last lines:\n    my reason\n"
        )


def test_all_that_ended_processes_printed_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Supervisor._read

    def read_late(supervisor: Supervisor, running: Any) -> None:
        time.sleep(0.3)
        read(supervisor, running)

    monkeypatch.setattr(Supervisor, "_read", read_late)
    (srun,) = [each for each in processes(Plan(("x",), 2, launcher="slurm")) if each.is_worker]
    text = "mixnet scheduler: rank 1 (process 8 on node2) failed: ValueError: mine."
    scheduler = shell("scheduler", f"echo '{text}'; exit 1", is_worker=False)
    printed = "srun: error: node2: task 1: Exited with exit code 7"
    tasks = replace(srun, command=("sh", "-c", f"echo '1: my reason'; echo '{printed}'; exit 75"))
    out = io.StringIO()
    assert Supervisor(out).run([scheduler, tasks]) == 7
    assert out.getvalue().endswith(
        "mixnet-launch: rank 1 failed first (exit code 7). Its last lines:\n    my reason\n"
    )


def test_a_lost_worker_that_did_not_end_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As where its machine cannot be reached any more: ssh waits."""
    monkeypatch.setattr("mixnet.tools.launch.supervise.GRACE", 0.5)
    text = "mixnet scheduler: rank 1 (process 8 on node2) has ended."
    has_printed = once(f"[ -e {tmp_path}/printed ]")
    scheduler = shell("scheduler", f"{has_printed}; echo '{text}'; exit 1", is_worker=False)
    workers = [
        shell("rank 0", f"{has_printed}; echo because of rank 1; exit 75"),
        shell("rank 1", f"echo mine; touch {tmp_path}/printed; sleep 60"),
    ]
    out = io.StringIO()
    assert Supervisor(out).run([scheduler, workers[0], replace(workers[1], host="node2")]) == 75
    assert out.getvalue().endswith(
        "mixnet-launch: rank 1 on node2 failed first (the others lost it; was it stopped, its "
        "machine switched off, or the network cut?). Its last lines:\n    mine\n"
    )


def test_a_stopped_worker_ends_with_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("mixnet.tools.launch.supervise.GRACE", 60.0)
    monkeypatch.setattr("mixnet.tools.launch.supervise.TERM", 60.0)
    text = "mixnet scheduler: rank 1 (process 8 on node2) has not answered for 15 s: it has been stopped."
    scheduler = shell("scheduler", f"echo '{text}'; exit 1", is_worker=False)
    number = f"{tmp_path}/number"
    stopped = shell(
        "rank 1", f"trap 'echo saved; exit 3' TERM; echo $$ >{number}; kill -STOP $$; sleep 60"
    )
    is_stopped = once(f"grep -qs 'State:.T' /proc/$(cat {number} 2>&1)/status")
    out = io.StringIO()
    begin = time.monotonic()
    assert (
        Supervisor(out).run([scheduler, shell("rank 0", f"{is_stopped}; exit 75"), stopped]) == 75
    )
    assert time.monotonic() - begin < 40  # neither GRACE nor TERM
    assert "[rank 1] saved\n" in out.getvalue()
    assert "mixnet-launch: rank 1 failed first (the others lost it" in out.getvalue()


def test_workers_save_before_the_scheduler_ends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """JAX aborts a worker whose scheduler has ended."""
    monkeypatch.setattr("mixnet.tools.launch.supervise.TERM", 60.0)
    monkeypatch.setattr("mixnet.tools.launch.supervise.GRACE", 0.1)
    saving, ended = tmp_path / "saving", tmp_path / "ended"
    scheduler = shell(
        "scheduler", f"trap 'touch {ended}; exit 0' TERM; while :; do sleep 0.02; done"
    )
    save = f"touch {saving}; sleep 0.5; [ -e {ended} ] || echo saved; exit 3"
    worker = shell("rank 0", f"trap '{save}' TERM; touch {saving}; while :; do sleep 0.02; done")
    failing = shell("rank 1", f"{once(f'[ -e {saving} ]')}; exit 7")
    out = io.StringIO()
    assert Supervisor(out).run([replace(scheduler, is_worker=False), worker, failing]) == 7
    assert "[rank 0] saved\n" in out.getvalue() and ended.exists()


def test_a_program_over_ssh_can_print_until_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection is not ended before: closing its standard input is enough."""
    monkeypatch.setattr("mixnet.tools.launch.supervise.TERM", 60.0)
    monkeypatch.setattr("mixnet.tools.launch.supervise.GRACE", 0.1)
    ssh = replace(shell("rank 0", "cat; sleep 0.2; echo saved; exit 3"), holds_stdin=True)
    out = io.StringIO()
    assert Supervisor(out).run([ssh, shell("rank 1", "exit 7")]) == 7
    assert "[rank 0] saved\n" in out.getvalue()


def test_all_end_when_one_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixnet.tools.launch.supervise.GRACE", 0.3)
    monkeypatch.setattr("mixnet.tools.launch.supervise.TERM", 1.0)
    out = io.StringIO()
    begin = time.monotonic()
    stubborn = shell("rank 1", "trap '' TERM; while :; do sleep 0.1; done")
    assert Supervisor(out).run([shell("rank 0", "kill -9 $$"), stubborn]) == 128 + 9
    assert "rank 0 failed first (killed by SIGKILL)" in out.getvalue()
    assert time.monotonic() - begin < 60  # it ends only when it is killed


def test_a_job_starts_again_after_a_worker_that_was_ended_by_a_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """As srun ends tasks when one of them fails."""
    monkeypatch.setattr("mixnet.tools.launch.supervise.OTHERS", 0.1)
    script = f"[ -e {tmp_path}/again ] && exit 0; touch {tmp_path}/again; kill -TERM $$"
    options = ("-n", "1", "--launcher", "local", "--max-restarts", "1")
    assert main([*options, "sh", "-c", script]) == 0
    out = capsys.readouterr().out
    assert "rank 0 failed first (killed by SIGTERM)" in out and "start 2 of 2" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_interrupts_end_everything(number: signal.Signals) -> None:
    out = io.StringIO()
    begin = time.monotonic()
    supervisor = Supervisor(out)
    before = signal.signal(number, signal.default_int_handler)  # whatever this process inherited

    def interrupt() -> None:
        until(lambda: len(supervisor.running) == 2)
        os.kill(os.getpid(), number)

    threading.Thread(target=interrupt).start()
    try:
        code = supervisor.run([shell(f"rank {i}", "sleep 60 & wait") for i in range(2)])
    finally:
        signal.signal(number, before)
    assert code == 128 + number
    assert time.monotonic() - begin < 40 and all(each.code for each in supervisor.running)
    assert f"ended by {number.name}, and all processes with it" in out.getvalue()


def test_a_launcher_under_nohup_goes_on_without_its_terminal() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        code = Supervisor(io.StringIO()).run([shell("rank 0", f"kill -HUP {os.getpid()}")])
        assert code == 0 and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
