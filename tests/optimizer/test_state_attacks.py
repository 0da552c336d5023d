"""Malicious files are refused, whatever else they contain."""

from __future__ import annotations

import json
import pickle
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

import numpy as onp
import pytest

import mixnet as mx
from mixnet.base import FileFormatError
from mixnet.optimizer import pickle_reader, state_file
from mixnet.optimizer.state_file import dumps, loads
from tests import processes
from tests.traced_memory import peak

FLOAT = b"cnumpy\ndtype\n\x8c\x02f4\x89\x88\x87R"  # dtype('f4'), with its state missing
END = b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff"
EMPTY = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R"
ARRAY = b"cmxnet.ndarray.ndarray\nNDArray\nN\x85R"
OLD = b"ccopyreg\n_reconstructor\n"
DOUBLED = b"".join(b"(h%ch%ct\x94" % (i, i) for i in range(60))

ATTACKS = {
    "an array of objects at addresses from the file": (
        b"\x8f(cnumpy\nndarray\nK\x01\x85\x8c\x01OC\x08AAAAAAAA\x87R\x90."
    ),
    "the same by its state": EMPTY
    + b"(K\x01K\x01\x85cnumpy\ndtype\n\x8c\x01O\x85R\x89C\x08AAAAAAAAtb.",
    "a dtype with flags of objects": FLOAT + b"(K\x03\x8c\x01<" + END + b"K\x3ftb.",
    "a dtype with another size": FLOAT + b"(K\x03\x8c\x01<NNNK\x7fK\x01K\x00tb.",
    "a dtype with fields": FLOAT + b"(K\x03\x8c\x01|N\x8c\x01a\x85}NNNK\x00tb.",
    "a dtype of objects": b"cnumpy\ndtype\n\x8c\x01O\x89\x88\x87R.",
    "a dtype of text": b"cnumpy\ndtype\n\x8c\x04U999\x89\x88\x87R.",
    "fewer bytes than the shape": EMPTY + b"(K\x01M\xe8\x03\x85" + FLOAT + b"\x89C\x04AAAAtb.",
    "a shape of -1": EMPTY + b"(K\x01J\xff\xff\xff\xff\x85" + FLOAT + b"\x89C\x04AAAAtb.",
    "a scalar of too few bytes": b"cnumpy.core.multiarray\nscalar\n" + FLOAT + b"C\x01A\x86R.",
    "an array in an array": ARRAY + b"}\x8c\x06handle" + ARRAY + b"sb.",
    "an array without content": ARRAY + b".",
    "an array with content twice": b"]"
    + ARRAY
    + b"\x94}\x8c\x06handleC\x00sbh\x00}\x8c\x06handleC\x00sba.",
    "tuples in tuples": b")" + b"\x85" * 200_000 + b".",
    "two million tuples": b")" + b"\x85" * 2_000_000 + b".",
    "tuples as a key": b"})" + b"\x85" * 100_000 + b"Ns.",
    "tuples in a set": b"\x8f()" + b"\x85" * 100_000 + b"\x90.",
    "tuples as the state of a dtype": FLOAT + b")" + b"\x85" * 100_000 + b"b.",
    "tuples as a state of a dtype": FLOAT + b"(K\x03)" + b"\x85" * 100_000 + b"NNNNNNtb.",
    "lists in lists": b"]" * 100_000 + b"a" * 99_999 + b".",
    "a list in itself": b"]\x94h\x00a.",
    "a tree without end": b")\x94" + DOUBLED + b".",
    "a tree without end as a key": b"})\x94" + DOUBLED + b"Ns.",
    "a tree without end as a dtype": b")\x94" + DOUBLED + b"0cnumpy\ndtype\nh\x3b\x85R.",
    "the defaults of a function": OLD + b"N}\x8c\x0c__defaults__)s\x86b.",
    "an attribute of a class": b"cmxnet.optimizer.optimizer\nSGD\n}\x8c\x06updateNsb.",
    "an attribute of a type": b"cbuiltins\nbytearray\n}\x8c\x01aNsb.",
    "a value in place of a method": b"cmxnet.optimizer.optimizer\nSGD\n)\x81}\x8c\x06updateNsb.",
    "the call of a class": b"cmxnet.optimizer.optimizer\nSGD\n)R.",
    "the call of a value": b"K\x01)R.",
    "a class as a value": b"}K\x00cmxnet.optimizer.optimizer\nSGD\ns.",
    "a state that is a class": b"cmxnet.optimizer.optimizer\nSGD\n)\x81cbuiltins\ndict\nb.",
    "an object of a base": OLD + b"cmxnet.optimizer.optimizer\nSGD\ncbuiltins\nbytes\nC\x01a\x87R.",
    "an object of no optimizer": OLD + b"cbuiltins\nbytes\ncbuiltins\nobject\nN\x87R.",
    "a function of NumPy": b"cnumpy\nload\n\x8c\x01x\x85R.",
    "an attribute of a name": b"\x8c\x06mixnet\x8c\x02os\x93.",
    "a dotted name": b"\x8c\x19mxnet.optimizer.optimizer\x8c\x0cSGD.__init__\x93)R.",
    "the extensions of a process": b"\x82\x01.",
    "an instance of old": b"(ios\nsystem\n.",
    "a set without end": b"cbuiltins\nset\ncbuiltins\nrange\nJ\xff\xff\xff\x7f\x85R\x85R.",
    "two gigabytes of zeros": b"cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R.",
    "a string that says it is long": b"\x8e" + struct.pack("<Q", 1 << 60) + b"x.",
    "a long integer": pickle.dumps(1 << 100_000),
    "a number in text": b"I" + b"9" * 100_000 + b"\n.",
    "no stop": b"N",
    "nothing on the stack": b".",
    "an end without a beginning": b"t.",
}

RUN = """
import json, sys
from mixnet.base import FileFormatError
from mixnet.optimizer.state_file import loads
for number, attack in enumerate(json.load(sys.stdin)):
    try:
        found = loads(bytes.fromhex(attack))
        print(number, "loaded", type(found).__name__, flush=True)
    except FileFormatError as error:
        assert len(str(error)) < 1000
        print(number, "refused", flush=True)
"""


def test_attacks_are_refused() -> None:
    """They are loaded in another process, which a successful attack would end."""
    inputs = json.dumps([(b"\x80\x04" + each).hex() for each in ATTACKS.values()])
    process = processes.run(
        [sys.executable, "-c", RUN],
        input=inputs,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    answers = dict(line.split(" ", 1) for line in process.stdout.splitlines())
    assert [name for i, name in enumerate(ATTACKS) if answers.get(str(i)) != "refused"] == []
    assert process.returncode == 0, process.stderr


def test_nothing_of_the_process_changes() -> None:
    before = {name: getattr(state_file, name) for name in ("_trees", "_dtype", "loads")}
    defaults = {name: each.__defaults__ for name, each in before.items()}
    for attack in ATTACKS.values():
        with pytest.raises(FileFormatError):
            loads(b"\x80\x04" + attack[:100_000])
    assert {name: each.__defaults__ for name, each in before.items()} == defaults
    assert onp.dtype("f4").itemsize == 4
    assert callable(mx.optimizer.SGD.update)


MILLION = 1_000_000


def _megabyte() -> bytes:
    return b"B" + struct.pack("<I", MILLION) + b"x" * MILLION + b"\x94"


def _many_arrays_of_one_content() -> bytes:
    content = mx.nd.ones((250_000,))._to_bytes()
    handle = b"}\x8c\x06handleB" + struct.pack("<I", len(content)) + content + b"s\x94"
    return b"](" + handle + (ARRAY + b"h\x00b") * 5000 + b"e."


GREEDY: dict[str, Callable[[], bytes]] = {
    "sets": lambda: b"](" + b"\x8f" * MILLION + b"e.",
    "dicts": lambda: b"](" + b"}" * MILLION + b"e.",
    "numbers": lambda: b"](" + b"M\xff\xff" * MILLION + b"e.",
    "references": lambda: b"N" + b"\x94" * MILLION + b".",
    "marks": lambda: b"(" * MILLION + b".",
    "bytearrays of a megabyte": lambda: (
        _megabyte() + b"](" + b"cbuiltins\nbytearray\nh\x00\x85R" * 5000 + b"e."
    ),
    "sets of a megabyte": lambda: (
        _megabyte() + b"](" + b"cbuiltins\nset\n(h\x00l\x85R" * 1000 + b"e."
    ),
    "arrays of one content": _many_arrays_of_one_content,
    "arrays": lambda: b"](" + ARRAY * 100_000 + b"e.",
    "text": lambda: (
        b"X" + struct.pack("<I", MILLION) + b"a" * (MILLION - 4) + "\U0001f600".encode() + b"."
    ),
}


@pytest.mark.parametrize("name", GREEDY)
def test_a_file_takes_no_more_than_ten_times_its_size(name: str) -> None:
    attack = GREEDY[name]()

    def load() -> None:
        with suppress(FileFormatError):
            loads(b"\x80\x04" + attack)

    assert peak(load) < 10 * len(attack) + pickle_reader._ROOM * 1.2


def test_a_large_file_takes_little_more_than_its_size() -> None:
    content = dumps({i: (mx.nd.ones((250_000,)), mx.nd.ones((250_000,))) for i in range(4)})
    assert peak(lambda: loads(content)) < 5 * len(content)


def test_many_small_arrays_need_little_memory() -> None:
    actual = loads(dumps({i: (mx.nd.ones((10,)), mx.nd.ones((1,))) for i in range(4000)}))
    assert len(actual) == 4000


class Listening(mx.lr_scheduler.LRScheduler):
    """A custom scheduler that checks its state."""

    heard: ClassVar[list[Any]] = []

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.heard.append(state)
        vars(self).update(state)


class Bare(mx.lr_scheduler.LRScheduler):
    """A custom scheduler without attributes."""

    def __init__(self) -> None:
        pass

    def __call__(self, num_update: int) -> float:
        return 0.5


def test_custom_classes_see_only_complete_files() -> None:
    content = dumps(({}, mx.optimizer.SGD(lr_scheduler=Listening(0.5))))
    for broken in (content[:-1] + b"0.", content[:-1], content[:-1] + b"\x81."):
        with pytest.raises(FileFormatError):
            loads(broken)
    assert Listening.heard == []
    # One that is dropped again: its arguments were never checked.
    aside = dumps(Listening(0.5))[:-1] + b"0N."
    assert loads(aside) is None
    assert Listening.heard == []
    actual = loads(content)[1]
    assert [state["base_lr"] for state in Listening.heard] == [0.5]
    assert actual.lr_scheduler.base_lr == 0.5
    assert type(loads(dumps(({}, mx.optimizer.SGD(lr_scheduler=Bare()))))[1].lr_scheduler) is Bare


@pytest.mark.parametrize("protocol", range(6))
def test_values_of_every_kind_and_protocol_are_loaded(protocol: int) -> None:
    values = {
        "arrays": [onp.arange(6.0).reshape(2, 3), onp.asfortranarray(onp.ones((2, 3), "int8"))],
        "none": [onp.zeros((0, 3)), onp.array(3), onp.array([True, False])],
        "scalars": [onp.float32(0.5), onp.int64(-3), onp.bool_(True), onp.float16(1)],
        "half": [mx.dtype.bfloat16.type(1.5), onp.ones(3, mx.dtype.bfloat16)],
        "dtypes": [onp.dtype("float32"), onp.dtype("bool"), onp.dtype("uint8")],
        "numbers": [0, -1, 1 << 40, 2.5, 1j, True, None],
        "text": ["", "\u00e9\U0001f600", b"\xff\x00", bytearray(b"\xff")],
        # No strings: their order differs between processes, and between a set and its copy.
        "sets": [{1, 2}, frozenset({3, 4}), set()],
        1: (1, (2, [3, {4: ()}])),
    }
    actual = loads(pickle.dumps(values, protocol))
    assert repr(actual) == repr(values)
    assert [each.flags.f_contiguous for each in actual["arrays"]] == [False, True]
    for array in [*actual["arrays"], *actual["none"]]:
        array[...] = 1  # not a view of the file


def test_states_that_are_not_bytes_are_errors() -> None:
    for states in (None, "text", {}):
        with pytest.raises(TypeError, match="states must be bytes, not a"):
            mx.optimizer.get_updater(mx.optimizer.SGD()).set_states(states)  # type: ignore[arg-type]
    content = dumps({0: None})
    assert loads(bytearray(content)) == loads(memoryview(content)) == {0: None}  # type: ignore[arg-type]


def test_big_endian_numbers_are_refused() -> None:
    with pytest.raises(FileFormatError, match="little-endian"):
        loads(pickle.dumps(onp.ones(3, ">f4")))


def test_names_of_older_versions_are_loaded() -> None:
    for name in (b"cmxnet.optimizer\nSGD\n", b"cmxnet.optimizer.optimizer\nSGD\n"):
        assert type(loads(b"\x80\x02" + name + b")\x81}b.")) is mx.optimizer.SGD
    content = mx.nd.ones((2,))._to_bytes()
    state = b"}X\x06\x00\x00\x00handleB" + struct.pack("<I", len(content)) + content + b"sb."
    actual = loads(b"\x80\x03cmxnet.ndarray\nNDArray\nN\x85R" + state)
    assert actual.asnumpy().tolist() == [1, 1]


def test_an_array_of_another_storage_is_refused() -> None:
    sparse = mx.nd.ones((2, 3)).tostype("row_sparse")._to_bytes()
    state = b"}\x8c\x06handleB" + struct.pack("<I", len(sparse)) + sparse + b"sb."
    with pytest.raises(FileFormatError, match="RowSparseNDArray, not a NDArray"):
        loads(b"\x80\x04" + ARRAY + state)
