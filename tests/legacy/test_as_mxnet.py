"""Programs written for MXNet run as they are, with one copy of every module."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mixnet
from mixnet.legacy import as_mxnet as alias
from tests.legacy.restored import taken_back

PROGRAM = """
import sys
import mxnet as mx
import mxnet.executor_manager
from mxnet.gluon.block import HybridBlock
from mxnet.gluon.model_zoo import vision
import mixnet


def child(queue):
    import mxnet
    queue.put(mxnet.nd.ones(2).asnumpy().tolist())


if __name__ == "__main__":
    import multiprocessing
    import subprocess

    assert mx is mixnet and vision is mixnet.gluon.model_zoo.vision
    assert HybridBlock is mixnet.gluon.HybridBlock
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    process = spawn.Process(target=child, args=(queue,))
    process.start()
    import numpy as np
    from collections import Iterable

    assert np.float is float and isinstance([], Iterable)
    print(sys.argv[1:], __file__, queue.get())
    process.join()
    code = "import mxnet.gluon; print(mxnet.__name__)"
    print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
"""
ROOT = str(Path(mixnet.__file__).parents[1])


def run(
    *arguments: str, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    paths = [ROOT, variables.pop("PYTHONPATH", ""), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, **variables, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd=cwd,
        timeout=120,
    )


@pytest.fixture
def named() -> Iterator[None]:
    """Registers the name ``mxnet`` in this process and removes it afterwards."""
    path, finders = list(sys.path), list(sys.meta_path)
    with taken_back():
        alias.as_mxnet()
        yield
    sys.path[:], sys.meta_path[:] = path, finders
    for name in [each for each in sys.modules if each.partition(".")[0] == "mxnet"]:
        del sys.modules[name]


def test_a_program_runs_as_it_is(tmp_path: Path) -> None:
    program = tmp_path / "old.py"
    program.write_text(PROGRAM)
    ran = run("-m", "mixnet", str(program), "--epochs", "3")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [f"['--epochs', '3'] {program} [1.0, 1.0]", "mixnet"]


def test_the_folder_does_the_same_from_the_outside() -> None:
    ran = run("-c", "import mxnet.gluon.nn as nn; print(nn.__name__)", PYTHONPATH=alias.STAND_IN)
    assert ran.stdout == "mixnet.gluon.nn\n", ran.stderr


def test_modules_named_mxnet_are_those_of_mixnet(named: None) -> None:
    import mxnet
    import mxnet.gluon.block
    import mxnet.ndarray.gen_op
    from mxnet.gluon.nn import Dense

    assert mxnet is mixnet and mxnet.gluon.block is mixnet.gluon.block
    assert Dense is mixnet.gluon.nn.Dense
    assert mxnet.gluon.block.__spec__.name == "mixnet.gluon.block"
    assert sys.modules["mxnet.ndarray.gen_op"] is mixnet.ndarray.op
    alias.as_mxnet()  # once more changes nothing
    assert sum(isinstance(each, alias._Alias) for each in sys.meta_path) == 1


def test_pickles_of_mxnet_find_their_classes(named: None) -> None:
    assert pickle.loads(b"cmxnet.gluon.loss\nL2Loss\n.") is mixnet.gluon.loss.L2Loss


def test_names_that_mxnet_lacks_do_not_exist(named: None) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'mxnet\.nothing'"):
        import mxnet.nothing  # noqa: F401


def test_mxnet_itself_must_not_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    real = type(sys)("mxnet")
    real.__file__ = "/somewhere/mxnet/__init__.py"
    monkeypatch.setitem(sys.modules, "mxnet", real)
    with pytest.raises(ImportError, match="imported already, from /somewhere/mxnet"):
        alias.as_mxnet()


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [(["nowhere.py"], 2, "there is no program 'nowhere.py'"), (["-c"], 2, "needs a module or code"),
     ([], 2, "usage: python -m mixnet"), (["--help"], 0, "usage: python -m mixnet")],
)  # fmt: skip
def test_the_command_line_prints_and_returns_a_code(arguments, code, text, capsys) -> None:
    from mixnet.__main__ import main

    assert main(arguments) == code
    printed = capsys.readouterr()
    assert text in printed.out + printed.err


def test_the_command_line_runs_code_and_modules(tmp_path: Path) -> None:
    (tmp_path / "package.py").write_text("import sys, mxnet; print(mxnet.__name__, sys.argv[1:])")
    code = "import mxnet, sys; print(mxnet.__name__, sys.argv)"
    assert run("-m", "mixnet", "-c", code, "x").stdout == "mixnet ['-c', 'x']\n"
    ran = run("-m", "mixnet", "-m", "package", "y", PYTHONPATH=str(tmp_path))
    assert ran.stdout == "mixnet ['y']\n", ran.stderr


def test_a_program_finds_itself_as_under_python(tmp_path: Path) -> None:
    """Its file, path and names, its classes in pickles, and the text of an error that ends it."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "seen.py").write_text("""
import os, pickle, sys
class Own: pass
print(__file__, sys.argv, sys.path[0], sorted(name for name in globals() if name[0] == "_"))
print(pickle.loads(pickle.dumps(Own())).__class__ is Own, __spec__, type(__loader__).__name__)
os.chdir("/")
print(open(os.path.join(os.path.dirname(__file__), "seen.py")).readline())
def fail():
    return {}["nothing"]
fail()
""")
    for program in ("folder/seen.py", "folder/../folder/seen.py"):
        alone = run(program, "a", cwd=tmp_path)
        ran = run("-m", "mixnet", program, "a", cwd=tmp_path)
        assert alone.returncode == ran.returncode == 1
        assert (ran.stdout, ran.stderr) == (alone.stdout, alone.stderr)
        assert "KeyError: 'nothing'" in ran.stderr


def test_modules_that_mxnet_loads_are_there() -> None:
    code = "import mxnet, multiprocessing, urllib; print(multiprocessing.pool, urllib.request)"
    ran = run("-m", "mixnet", "-c", code)
    assert ran.returncode == 0, ran.stderr


def test_loaded_modules_are_registered_under_the_name() -> None:
    """Libraries look them up to learn which frameworks are in use."""
    code = """
import sys
import mxnet as mx
assert sys.modules["mxnet.ndarray"] is sys.modules["mixnet.ndarray"]
assert "mxnet.gluon" not in sys.modules
mx.gluon
assert sys.modules["mxnet.gluon.block"] is sys.modules["mixnet.gluon.block"]
from mxnet.gluon import block
assert block.__spec__.name == "mixnet.gluon.block"
"""
    ran = run("-c", code, PYTHONPATH=alias.STAND_IN)
    assert ran.returncode == 0, ran.stderr
