"""The table of settings lists all settings that the package reads, and so does the page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mixnet as mx
from mixnet import config

ROOT = Path(mx.__file__).parents[1]


def test_the_page_is_what_the_table_gives() -> None:
    sys.path.insert(0, str(ROOT / "docs" / "reference"))
    try:
        from build_settings import PAGE, page
    finally:
        sys.path.pop(0)
    assert PAGE.read_text() == page(), "run python docs/reference/build_settings.py"


def test_every_setting_is_read_somewhere_and_every_read_is_a_setting() -> None:
    read: set[str] = set()
    for path in (ROOT / "mixnet").rglob("*.py"):
        read |= set(re.findall(r"config\.get\(\s*\"(\w+)\"", path.read_text()))
    assert read == set(config.SETTINGS)


def test_a_setting_of_the_wrong_type_names_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXNET_CPU_WORKER_NTHREADS", "many")
    with pytest.raises(mx.MXNetError, match="MXNET_CPU_WORKER_NTHREADS='many' is not a valid int"):
        config.get("MXNET_CPU_WORKER_NTHREADS")


@pytest.mark.parametrize(
    "variable, expected",
    [("MXNET_EXEC_ENABLE_INPLACE", 0), ("MXNET_ELIMINATE_COMMON_EXPR", 262144)],
)
def test_switches_do_what_they_say(variable: str, expected: int) -> None:
    code = (
        "import mixnet as mx\n"
        "x = mx.nd.ones((256, 256)); x.wait_to_read(); mx.runtime.reset_counters()\n"
        "x += 1; x.wait_to_read(); print(mx.runtime.counters()['donated_bytes'])\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "MIXNET_INTERPRET": "0", variable: "0"},
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    assert int(process.stdout) == expected
