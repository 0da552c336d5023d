"""The layout is tested like behaviour: imports point down, importing is light, names are documented."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mixnet as mx
from tests.architecture.syntax import nodes

PACKAGE = Path(mx.__file__).parent
ROOT = PACKAGE.parent
# Later folders and modules may import earlier ones.
LAYERS = [
    {
        "attribute",
        "array_like",
        "base",
        "config",
        "context",
        "dtype",
        "files",
        "libinfo",
        "name",
        "private_jax",
        "process",
        "registry",
        "units",
        "util",
    },
    {"ops"},
    {"graph"},
    {"passes"},
    {"engine"},
    {"runtime"},
    {"distributed"},
    {"autograd"},
    {"ndarray"},
    {"random"},
    {"numpy"},
    {"numpy_extension"},
    {"symbol"},
    {"initializer", "lr_scheduler", "metric", "operator", "recordio", "io"},
    {"optimizer", "image"},
    {"kvstore"},
    {"export"},
    {"onnx"},
    {"gluon"},
    {"horovod", "visualization", "profiler", "stages", "notebook"},
    {"legacy"},
    {"checkpoint"},
    {"callback", "monitor", "model", "module", "rnn"},
    {"contrib"},
    {"widgets"},
    {"tools"},
    {"test_utils"},
    {"__main__"},
]
# `mx.io.ImageRecordIter` is an image thing under an io name: found on first use.
EXCEPTIONS = {"io/image_iterators.py": {"image"}}
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
# Symbol files are written as whole files by the writer of parameter files; the engine stands apart.
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    names = set()
    for node in nodes(path.read_text()):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mixnet"):
            assert node.level == 0, "imports are absolute"
            parts = node.module.split(".")
            names |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {a.name.split(".")[1] for a in node.names if a.name.startswith("mixnet.")}
    return names


def test_imports_point_down() -> None:
    upwards = [
        f"{path.relative_to(PACKAGE)} may not import {other}"
        for path in MODULES
        for other in imported_rooms(path)
        - {room_of(path)}
        - EXCEPTIONS.get(path.relative_to(PACKAGE).as_posix(), set())
        if LEVEL[other] > LEVEL[room_of(path)]
    ]
    assert upwards == []


def test_the_engine_imports_neither_jax_nor_graphs() -> None:
    engine = [path for path in MODULES if room_of(path) == "engine"]
    assert engine and [path.name for path in engine if "jax" in path.read_text()] == []


def private_names(path: Path) -> list[str]:
    """What a module takes of JAX that JAX does not promise."""
    modules = set()
    for node in nodes(path.read_text()):
        if isinstance(node, ast.ImportFrom):
            modules |= {node.module or "", *(f"{node.module}.{a.name}" for a in node.names)}
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and node.attr in ("create_cpp_call", "_src"):
            modules.add(f"jax._src ({node.attr})")
    private = ("jax._src", "jax.extend", "jaxlib._jax", "jaxlib.xla_client")
    return [name for name in modules if name.startswith(private)]


def test_private_jax_has_one_room() -> None:
    elsewhere = [
        f"{name} of {path.relative_to(PACKAGE)} belongs into mixnet/private_jax, one function for "
        "each fact"
        for path in MODULES
        if room_of(path) != "private_jax"
        for name in private_names(path)
    ]
    assert elsewhere == []
    assert any(private_names(path) for path in MODULES)


@pytest.mark.parametrize("code", ["import collections", "import random", "import mixnet"])
def test_python_in_the_folder_of_the_package_says_what_is_wrong(code: str) -> None:
    """There ``operator.py`` and ``random.py`` would be taken for modules of the standard library."""
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=PACKAGE, capture_output=True, text=True, timeout=240
    )
    assert process.returncode
    assert "Start it in another folder, or as python -P" in process.stderr.splitlines()[-1]


_BEYOND_JAX = """
import sys, jax
before = set(sys.modules)
import mixnet
print(len(set(sys.modules) - before))
heavy = ["asyncio", "anywidget", "ipywidgets", "matplotlib", "PIL", "cv2", "sklearn", "requests",
         "onnx", "zmq", "IPython"]
print([each for each in heavy if each in sys.modules])
later = ["gluon", "module", "stages", "image", "io", "kvstore", "rnn", "test_utils", "visualization"]
print([each for each in later if f"mixnet.{each}" in sys.modules])
for name in dir(mixnet):
    getattr(mixnet, name)  # whatever order they come in
assert mixnet.mod is mixnet.module and mixnet.viz is mixnet.visualization and callable(mixnet.stages)
"""


def test_importing_loads_what_every_program_needs() -> None:
    process = subprocess.run(
        [sys.executable, "-c", _BEYOND_JAX], capture_output=True, text=True, check=True, timeout=240
    )
    count, heavy, later = process.stdout.splitlines()
    assert int(count) < 528, (
        "modules beyond those of JAX; python -X importtime shows what imports them"
    )
    assert heavy == "[]"
    assert later == "[]"


def _public() -> list:
    results = []
    for path in MODULES:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        module = sys.modules.get(name)
        for key, value in vars(module).items() if module else ():
            if key.startswith("_") or getattr(value, "__module__", "") != name:
                continue
            if inspect.isfunction(value) or inspect.isclass(value):
                results.append((f"{name}.{key}", value))
    return results


def test_every_public_function_and_class_has_a_docstring() -> None:
    assert [name for name, value in _public() if not inspect.getdoc(value)] == []


def test_every_operator_has_a_docstring() -> None:
    bare = {op.name for op in mx.ops.OPERATORS.values() if not op.__doc__}
    assert {name for name in bare if not name.startswith("test_")} == set()


def test_text_files_speak_of_the_project_alone() -> None:
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    ).stdout.split()
    bad = re.compile(r"(?<![\w./])/(work|root|home)/|\bTO" + r"DO\b")
    for name in names:
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".ipynb", ".yaml"} and path.is_file():
            assert not bad.search(path.read_text()), name


# Subfolders and modules of large folders, in order: each imports only those before it.
PARTS = {
    "ops": [
        "generators",
        "schema",
        "operator",
        "tracing",
        "parameters",
        "computed",
        "row_gradient",
        "op",
        "registry",
        "reason",
        "derive",
        "namespace",
        "array",
        "control",
        "update",
        "math",
        "random",
        "vision",
        "nn",
        "numpy",
        "sparse",
        "backward",
        "quantized",
        "lowering",
    ],
    "runtime": [
        "value",
        "devices",
        "compile",
        "interpret",
        "programs",
        "record",
        "trace",
        "features",
        "forked",
    ],
}


def _part_of(module: str, folder: str) -> str | None:
    parts = module.split(".")
    return parts[2] if len(parts) > 2 and parts[1] == folder else None


@pytest.mark.parametrize("folder", PARTS)
def test_parts_of_a_folder_import_only_earlier_ones(folder: str) -> None:
    order = {part: place for place, part in enumerate(PARTS[folder])}
    assert {p.stem for p in (PACKAGE / folder).iterdir() if p.stem[0] != "_"} == set(order)
    upwards = []
    for path in (PACKAGE / folder).rglob("*.py"):
        own = path.relative_to(PACKAGE / folder).parts[0].removesuffix(".py")
        if own == "__init__":
            continue
        for node in nodes(path.read_text()):
            if not isinstance(node, ast.ImportFrom) or node.module is None:
                continue
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            others = {_part_of(name, folder) for name in names} & order.keys()
            upwards += [f"{path.name} imports {o}" for o in others if order[o] > order[own]]
    assert upwards == []
