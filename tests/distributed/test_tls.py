"""Jobs with certificates, and processes without one or with that of another job."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mixnet.distributed import Job, JobError
from mixnet.distributed.addresses import free_port
from mixnet.distributed.job import EXIT_NOT_JOINED
from mixnet.distributed.tls import SETTINGS, Wire, context
from tests import processes
from tests.distributed.launching import ROOT
from tests.threads import in_threads
from tests.waiting import join, until

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")

_SYNC = (
    "import mixnet as mx\n"
    "store = mx.kv.create('dist_sync')\n"
    "store.init(0, mx.nd.ones(3)); store.push(0, mx.nd.ones(3)); out = mx.nd.zeros(3)\n"
    "store.pull(0, out=out); print('sum', out.asnumpy().tolist(), flush=True)\n"
)
_ASYNC = (
    "import mixnet as mx\n"
    "store = mx.kv.create('dist_async')\n"
    "store.init(0, mx.nd.zeros(300_000)); store.set_optimizer(mx.optimizer.Test())\n"
    "store.push(0, mx.nd.ones(300_000)); store.barrier(); out = mx.nd.zeros(300_000)\n"
    "store.pull(0, out=out); print('least', out.asnumpy().min(), flush=True)\n"
)


def _openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)


def _authority(folder: Path) -> dict[str, str]:
    """The settings for a new authority and a certificate that it has signed."""
    folder.mkdir()
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    ca, ca_key, cert, key, request = (
        folder / name for name in ("ca", "ca-key", "cert", "key", "request")
    )
    _openssl("req", "-x509", *curve, "-keyout", ca_key, "-out", ca, "-subj", "/CN=job", "-days", 2)
    _openssl("req", *curve, "-keyout", key, "-out", request, "-subj", "/CN=worker")
    _openssl("x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial",
             "-out", cert, "-days", 2)  # fmt: skip
    key.chmod(0o600)
    return dict(zip(SETTINGS, map(str, (cert, key, ca)), strict=True))


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return _authority(tmp_path_factory.mktemp("tls") / "ours")


def _run(
    program: str, envs: list[dict[str, str]], servers: int, folder: Path, seconds: str = "20"
) -> list[tuple[int, str, str]]:
    """Exit code and output of a scheduler, servers and workers with these variables."""
    plain = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("DMLC_", "MIXNET_TLS"))
    }
    env = {**plain, "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": str(free_port()),
           "DMLC_NUM_WORKER": "2", "DMLC_NUM_SERVER": str(servers), "MIXNET_JOIN_SECONDS": seconds,
           "MIXNET_SERVER_FOLDER": str(folder / "servers")}  # fmt: skip
    roles = [{"DMLC_ROLE": "scheduler"}, *[{"DMLC_ROLE": "server"}] * servers]
    roles += [{"DMLC_ROLE": "worker", "DMLC_WORKER_ID": str(i)} for i in range(2)]
    started = [
        processes.Popen([sys.executable, "-c", program], env={**env, **role, **tls}, cwd=ROOT,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for role, tls in zip(roles, envs, strict=True)
    ]  # fmt: skip
    outputs = [process.communicate(timeout=90) for process in started]
    return [(p.returncode, *each) for p, each in zip(started, outputs, strict=True)]


def test_a_job_with_certificates_runs(certificates: dict[str, str], tmp_path: Path) -> None:
    """Stores of both kinds: workers sum among themselves, and push to a server."""
    ends = _run(_SYNC + _ASYNC, [certificates] * 4, 1, tmp_path, seconds="60")
    assert [code for code, _, _ in ends] == [0] * 4, ends
    for _, out, _ in ends[-2:]:
        assert out == "sum [2.0, 2.0, 2.0]\nleast 2.0\n"


@pytest.mark.parametrize("kind", ["none", "of another job", "only here"])
def test_a_worker_without_a_certificate_of_the_job_is_refused(
    kind: str, certificates: dict[str, str], tmp_path: Path
) -> None:
    tls = {"none": {}, "of another job": None, "only here": certificates}[kind]
    if tls is None:
        tls = _authority(tmp_path / "theirs")
    others = {} if kind == "only here" else certificates
    begin = time.monotonic()
    scheduler, rank_0, rank_1 = _run(_SYNC, [others, others, tls], 0, tmp_path, "8")
    assert time.monotonic() - begin < 75
    assert rank_1[0] == EXIT_NOT_JOINED and "JobError: rank 1 on" in rank_1[2]
    assert "MIXNET_TLS_CERT, MIXNET_TLS_KEY, MIXNET_TLS_CA have to name" in rank_1[2]
    assert rank_0[0] == EXIT_NOT_JOINED and "rank 1 had not come" in rank_0[2]
    if kind != "only here":
        assert "refused a connection from 127.0.0.1" in scheduler[2]


def test_a_scheduler_of_another_job_is_refused(
    certificates: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mixnet.distributed.member import Member

    for name, value in _authority(tmp_path / "theirs").items():
        monkeypatch.setenv(name, value)
    settings = context(is_server=True)
    assert settings is not None
    for name, value in certificates.items():
        monkeypatch.setenv(name, value)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)

        def serve() -> None:
            with pytest.raises(OSError):
                settings.wrap_socket(server.accept()[0], server_side=True)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(JobError, match=r"rank 1 on .* cannot trust the scheduler at 127.0.0.1:\d+: "
                           r"its certificate is not of this job"):  # fmt: skip
            Member(Job(2, "127.0.0.1", server.getsockname()[1], 1))
        join(thread)


def test_wrong_settings_are_errors(
    certificates: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    assert context(is_server=False) is None
    monkeypatch.setenv("MIXNET_TLS_CERT", certificates["MIXNET_TLS_CERT"])
    with pytest.raises(JobError, match=r"^MIXNET_TLS_KEY, MIXNET_TLS_CA is not set"):
        context(is_server=False)
    for name, value in certificates.items():
        monkeypatch.setenv(name, value)
    assert context(is_server=False) is not None
    key = tmp_path / "key"
    key.write_bytes(Path(certificates["MIXNET_TLS_KEY"]).read_bytes())
    key.chmod(0o644)
    monkeypatch.setenv("MIXNET_TLS_KEY", str(key))
    with pytest.raises(JobError, match="other users can read this key; run chmod 600"):
        context(is_server=False)
    key.write_text("nothing")
    key.chmod(0o600)
    with pytest.raises(JobError, match="The files are not a certificate, its key and a CA"):
        context(is_server=False)
    monkeypatch.setenv("MIXNET_TLS_CA", str(tmp_path / "missing"))
    with pytest.raises(JobError, match="No such file"):
        context(is_server=False)


def test_lines_of_several_threads_are_not_interleaved() -> None:
    ends = socket.socketpair()
    reader, writer = map(Wire, ends)
    sent = [f"{number} {'x' * 3000}\n".encode() for number in range(400)]
    threads = [
        threading.Thread(target=lambda part=part: [writer.send(each) for each in sent[part::4]])
        for part in range(4)
    ]
    for thread in threads:
        thread.start()
    assert sorted(reader.readline() for _ in sent) == sorted(sent)
    join(*threads)
    with pytest.raises(TimeoutError):
        reader.readline(0.01)
    writer.close()
    assert reader.readline() == b""
    reader.close()


def test_a_thread_that_waits_to_send_holds_no_lock() -> None:
    reader, writer = map(Wire, socket.socketpair())
    long, short = b"x" * (1 << 22) + b"\n", b"y\n"
    threads = [threading.Thread(target=writer.send, args=(each,)) for each in (long, short)]
    threads[0].start()
    until(lambda: writer._is_sending)
    threads[1].start()
    until(lambda: writer._queued == len(long) + len(short))
    assert all(thread.is_alive() for thread in threads)  # no peer reads
    for lock in (writer._using, writer._lock):
        assert lock.acquire(timeout=5)
        lock.release()
    reader.send(b"z\n")
    assert writer.readline(5) == b"z\n"
    assert reader.readline(20) == long and reader.readline(20) == short
    join(*threads)


def test_ctrl_c_does_not_truncate_a_message() -> None:
    reader, writer = map(Wire, socket.socketpair())
    long = b"x" * (1 << 22) + b"\n"
    main = threading.main_thread().ident
    assert main is not None

    def press() -> None:
        until(lambda: writer._is_sending)
        signal.pthread_kill(main, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        threading.Thread(target=press).start()
        writer.send(long)
    thread = threading.Thread(target=writer.send, args=(b"y\n",))
    thread.start()
    assert reader.readline(20) == long and reader.readline(20) == b"y\n"
    join(thread)


def test_ctrl_c_before_a_message_is_sent_lets_others_send() -> None:
    reader, writer = map(Wire, socket.socketpair())
    lock = writer._lock

    class Pressed:
        """The lock; Ctrl-C comes as the thread that is to send has released it."""

        def __enter__(self) -> bool:
            return lock.__enter__()

        def __exit__(self, *_: object) -> None:
            lock.__exit__(None, None, None)
            writer._lock = lock
            raise KeyboardInterrupt

    writer._lock = Pressed()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        writer.send(b"x\n")
    in_threads(1, lambda _: writer.send(b"y\n"), 60)
    assert reader.readline(20) == b"x\n" and reader.readline(20) == b"y\n"
