"""The description of a job in the environment."""

from __future__ import annotations

import pytest

from mixnet.distributed import Job, JobError, find_job

DMLC = {"DMLC_PS_ROOT_URI": "10.0.0.1", "DMLC_PS_ROOT_PORT": "9091", "DMLC_NUM_WORKER": "4"}


def test_without_variables_there_is_no_job() -> None:
    assert find_job({}) is None


def test_variables_of_dmlc_describe_a_job() -> None:
    assert find_job(DMLC) == Job(4, "10.0.0.1", 9091)
    full = {
        **DMLC,
        "DMLC_ROLE": "worker",
        "DMLC_WORKER_ID": "3",
        "DMLC_NUM_SERVER": "2",
        "DMLC_INTERFACE": "eth1",
    }
    assert find_job(full) == Job(4, "10.0.0.1", 9091, 3, servers=2, interface="eth1")
    assert find_job({**DMLC, "OMPI_COMM_WORLD_RANK": "2"}) == Job(4, "10.0.0.1", 9091, 2)
    server = find_job({**full, "DMLC_ROLE": "server"})
    assert server is not None and server.role == "server" and server.rank is None


def test_variables_of_other_launchers_describe_a_job() -> None:
    torchrun = {"MASTER_ADDR": "m", "MASTER_PORT": "1234", "RANK": "1", "WORLD_SIZE": "2"}
    assert find_job(torchrun) == Job(2, "m", 1234, 1, has_scheduler=False)
    assert find_job({**torchrun, "TORCHELASTIC_USE_AGENT_STORE": "True"}) == Job(
        2, "m", 1235, 1, has_scheduler=False
    )
    mpi = {
        "OMPI_COMM_WORLD_SIZE": "2",
        "OMPI_COMM_WORLD_RANK": "1",
        "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
        "PMIX_NAMESPACE": "a1",
    }
    job, same = find_job(mpi), find_job({**mpi, "OMPI_COMM_WORLD_RANK": "0"})
    other = find_job({**mpi, "PMIX_NAMESPACE": "b2"})
    assert job and same and other and (job.workers, job.rank, job.root) == (2, 1, "127.0.0.1")
    assert job.port == same.port != other.port and not job.has_scheduler


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"DMLC_PS_ROOT_URI": ""}, "DMLC_PS_ROOT_URI is missing"),
        ({"DMLC_NUM_WORKER": "x"}, "DMLC_NUM_WORKER='x': expected a whole number of 1 or more"),
        ({"DMLC_NUM_WORKER": "0"}, "a whole number of 1 or more"),
        ({"DMLC_PS_ROOT_PORT": "99999"}, "DMLC_PS_ROOT_PORT=99999: ports go from 1 to 65535"),
        ({"DMLC_ROLE": "boss"}, "use worker, server or scheduler"),
        ({"DMLC_WORKER_ID": "4"}, "number 4 in a job of 4; numbers go from 0 to 3"),
    ],
)
def test_mistakes_are_errors(change: dict, text: str) -> None:
    with pytest.raises(JobError, match=text):
        find_job({**DMLC, **change})


def test_missing_variables_are_named() -> None:
    with pytest.raises(JobError, match=r"DMLC_NUM_WORKER is missing.*mixnet-launch"):
        find_job({"DMLC_PS_ROOT_URI": "h"})
