"""Write what common operators do into the package: ``python -m mixnet.tools.store_traces [PROGRAM...]``

Each program runs in a process of its own, and the calls of its operators are added to those that are known.
Then every call is traced, for further shapes, too; what these traces have in common is stored if it gives
the trace for one more shape. Without programs, the known calls are traced again whose operators have
changed, or all for another version of JAX and after a change of the comparison (``--all``).
"""

from __future__ import annotations

import argparse
import ast
import atexit
import itertools
import os
import pickle
import pkgutil
import re
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from mixnet.ops.operator import Operator
from mixnet.ops.registry import find
from mixnet.ops.schema.stream import STREAM_SPEC
from mixnet.ops.tracing import shape_free, stored, traced
from mixnet.ops.tracing.comparison import compared
from mixnet.ops.tracing.inlined import inlined
from mixnet.ops.tracing.proof import changed, doubled, far, near, sizes_among, tripled
from mixnet.ops.tracing.template import Call, Template
from mixnet.passes.differentiate import BackwardOp

Calls = dict[bytes, tuple[str, str, tuple[Any, ...], list[Any]]]
"""For each family of calls: the kind of its entry, the operator's name, what else decides, and examples.

An example is a shape of the arrays for a form, and a whole call for templates.
"""

_MOST_EXAMPLES = 6

_TO = "MIXNET_STORE_TRACES"  # the file to which a process of a program writes


def known_calls() -> tuple[Calls, Path]:
    """The calls whose traces are stored, and the file that has them."""
    path = stored.FOLDER / "calls.pickle"
    calls: Calls = pickle.loads(path.read_bytes()) if path.exists() else {}
    return calls, path


def calls_here() -> Calls:
    """The calls of this process that other processes may know, by their keys."""
    families: list[tuple[str, Any, list[Any]]] = [
        (shape_free.KIND, key, [shape]) for key, shape in shape_free.known_calls()
    ]
    families += [
        (traced.KIND, key, each.known_calls())
        for key, each in traced.families()
        if not isinstance(key[1], Call)
    ]
    calls: Calls = {}
    for kind, (op, *rest), examples in families:
        name, key = stored.name_of(op), stored.key_of(kind, op, *rest)
        if examples and name is not None and key is not None and operator_of(name) is op:
            calls[key] = (kind, name, tuple(rest), examples[:_MOST_EXAMPLES])
    return calls


def add(calls: Calls, more: Calls) -> None:
    """Add calls, and to families that are known more examples."""
    for key, (kind, name, rest, examples) in more.items():
        known = calls.setdefault(key, (kind, name, rest, []))[3]
        known += [each for each in examples if each not in known]
        del known[_MOST_EXAMPLES if kind == traced.KIND else 1 :]


def operator_of(name: str) -> Operator:
    """The operator that ``stored.name_of`` gave this name."""
    gradient = re.fullmatch(r"([\w.]+):(\w+)\((.+)\)", name)
    if gradient is None:
        return find(name)
    module, kind, inner = gradient.groups()
    operator: Operator = pkgutil.resolve_name(f"{module}:{kind}")(operator_of(inner))
    return operator


Entries = dict[bytes, tuple[set[str], bytes]]
"""By keys, the paths of the source files of each entry and its content."""


def current_entries() -> Entries:
    """The entries in the file for this version of JAX whose source files have not changed since."""
    file = stored.file_here()
    sources = list(file.sources)
    changed = {i for i, name in enumerate(sources) if not stored.is_unchanged(file, name)}
    entries: Entries = {}
    for key in file.all_keys():
        entry = file.entry(key)
        if entry is not None and changed.isdisjoint(entry[0]):
            entries[key] = {sources[i] for i in entry[0]}, entry[1]
    return entries


def entries_of(calls: Calls, known: Entries | None = None) -> Entries:
    """The entries for these calls, by key; calls of which too little is known have none.

    Args:
        calls: the calls.
        known: entries that need not be made again.
    """
    entries: Entries = {}
    for key, (kind, name, rest, examples) in calls.items():
        if known and key in known:
            entries[key] = known[key]
            continue
        op = operator_of(name)
        traced.clear()
        content: Any
        with SourcesRead() as sources:
            if kind == shape_free.KIND:
                content = (shape_free.confirmed_form((op, *rest), examples[0]),)
            else:
                content = templates_of(op, rest[1], examples) or None
        written = None if content is None else stored.content_of(content)
        if written is not None:
            entries[key] = sources.names(), written
    return entries


class SourcesRead:
    """Scope that notes the source files of the package on which what runs in it depends.

    They are those of the functions that are called, and those from which these import what they read.
    """

    def __init__(self) -> None:
        self._codes: set[CodeType] = set()

    def __enter__(self) -> SourcesRead:
        sys.setprofile(lambda frame, event, _: self._codes.add(frame.f_code))
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)

    def names(self) -> set[str]:
        """Their paths in the package."""
        root = f"{stored.SOURCES}{os.sep}"
        names: set[str] = set()
        for code in self._codes:
            if code.co_filename.startswith(root):
                path = code.co_filename.removeprefix(root)
                if not path.startswith(_TRACING):
                    names.add(path)
                    imported = _imported(path)
                    names.update(imported[each] for each in code.co_names if each in imported)
        return names


_TRACING = (f"ops{os.sep}tracing{os.sep}", f"tools{os.sep}")
"""What compares traces and writes them says nothing about an operator."""


@cache
def _imported(path: str) -> dict[str, str]:
    """The names that a source file imports from others of the package, with the paths of these."""
    names: dict[str, str] = {}
    for node in ast.walk(ast.parse((stored.SOURCES / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mixnet."):
            folder = str(node.module).removeprefix("mixnet.").replace(".", os.sep)
            for each in node.names:
                for candidate in (f"{folder}.py", f"{folder}{os.sep}{each.name}.py"):
                    if (stored.SOURCES / candidate).exists():
                        names[each.asname or each.name] = candidate
    return names


def templates_of(op: Operator, scalars: int, examples: Sequence[Call]) -> list[Template]:
    """Templates that give the traces of these calls.

    There is none for a call whose operator does not take other extents, or whose traces have too little
    in common.

    Args:
        op: the operator.
        scalars: how many numbers are inputs too.
        examples: calls of one family.
    """
    templates: list[Template] = []
    for call in examples:
        if all(each.at(call) is None for each in templates):
            template = template_of(op, scalars, call)
            if template is not None:
                templates.append(template)
    return templates


def with_inferred_shapes(op: Operator, scalars: int, call: Call) -> Call:
    """The call with the shapes that follow from its first input: of parameters, states and heads.

    Args:
        op: the operator, or the gradient of one.
        scalars: how many numbers are inputs too.
        call: with shapes that need not fit together.

    Raises:
        Exception: what the operator raises for such a first input.
    """
    forward, statics, heads = op, call.statics, 0
    if type(op) is BackwardOp:
        forward, statics = op.forward, call.statics[0]
        heads = len(call.statics[1])
    names = forward.argument_names(statics)
    inputs = list(call.inputs[heads:])
    shapes = forward.infer_input_shapes(statics, {names[0]: inputs[0][0]})
    for place, name in enumerate(names):
        if name in shapes:
            inputs[place] = (tuple(shapes[name]), inputs[place][1])
    if forward.takes_key:
        inputs[-1] = STREAM_SPEC
    if not heads:
        return Call(call.statics, tuple(inputs))
    results = traced.trace(forward, Call(statics, tuple(inputs)), scalars).out_avals
    of_heads = [(results[i].shape, np.dtype(results[i].dtype)) for i in call.statics[1]]
    return Call(call.statics, (*of_heads, *inputs))


def template_of(op: Operator, scalars: int, call: Call) -> Template | None:
    """The template of calls like one; None if there is none.

    Args:
        op: the operator.
        scalars: how many numbers are inputs too.
        call: the example.
    """
    # Padding in the gradient of a convolution follows from the size of its kernel by no formula of
    # extents: then there is a template for each size.
    nothing: frozenset[int] = frozenset()
    for sizes, derive, (change, prove) in itertools.product(
        dict.fromkeys((nothing, sizes_among(call.statics))),
        (False, True),
        ((far, near), (doubled, tripled)),
    ):
        try:
            other, proof = changed(call, change, sizes), changed(call, prove, sizes)
            if derive:
                other, proof = (with_inferred_shapes(op, scalars, each) for each in (other, proof))
            template = compared(
                call, traced.trace(op, call, scalars), other, traced.trace(op, other, scalars)
            )
            expected = inlined(traced.trace(op, proof, scalars))
        except Exception:  # shapes that it refuses
            continue
        program = None if template is None else template.at(proof)
        if template is not None and program is not None and str(program) == str(expected):
            template.is_sure = template.is_proved = True
            return template
    return None


def _run(program: str) -> None:
    """Run a program in this process, and write its calls at its end."""
    path = Path(os.environ[_TO])
    stored.use(stored.NONE)  # what is filled in is not among the calls
    atexit.register(lambda: path.write_bytes(pickle.dumps(calls_here())))
    import mixnet

    mixnet.as_mxnet()
    sys.argv = [program]
    runpy.run_path(program, run_name="__main__")


def calls_of(program: str) -> Calls:
    """The calls of a program, which runs in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "calls")
        command = [sys.executable, "-m", "mixnet.tools.store_traces", os.path.abspath(program)]
        environment = {**os.environ, _TO: str(path), "MIXNET_CACHE_DIR": "off"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1000
        )
        if not path.exists():
            print(done.stderr, file=sys.stderr)
            return {}
        calls: Calls = pickle.loads(path.read_bytes())
    return calls


def main() -> None:
    """Add the calls of programs, and write the file of this version of JAX."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", help="Python files that use mxnet or mixnet")
    parser.add_argument(
        "--all", action="store_true", help="trace all calls again, not only those of changed files"
    )
    options = parser.parse_args()
    if _TO in os.environ:
        _run(options.programs[0])
        return
    stored.use(stored.NONE)
    calls, path = known_calls()
    for program in options.programs:
        before = len(calls)
        add(calls, calls_of(program))
        print(f"{program}: {len(calls) - before} more calls", flush=True)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(pickle.dumps(dict(sorted(calls.items())), protocol=5))
    entries = entries_of(calls, None if options.all else current_entries())
    path = stored.write(entries)
    print(f"{path}: {len(entries)} entries of {len(calls)} calls, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
