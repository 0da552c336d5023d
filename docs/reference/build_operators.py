"""Build the operator reference: ``python docs/reference/build_operators.py`` writes ``docs/reference/operators/``.

Everything on the pages comes from the registry. A test fails when they are not what it gives.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections import defaultdict
from pathlib import Path

from docstrings import to_markdown

from mixnet.ops import OPERATORS, Op

FOLDER = Path(__file__).parent / "operators"
# registered prefix: where users find the function
PLACES = {
    "_contrib_": ("mx.nd.contrib", "mx.sym.contrib"),
    "_linalg_": ("mx.nd.linalg", "mx.sym.linalg"),
    "_image_": ("mx.nd.image", "mx.sym.image"),
    "_random_": ("mx.nd.random", "mx.sym.random"),
    "_sample_": ("mx.nd.random", "mx.sym.random"),
    "_sparse_": ("mx.nd.sparse", "mx.sym.sparse"),
    "_npx__image_": ("mx.npx.image",),
    "_npx_": ("mx.npx",),
    "_npi_": ("mx.np",),
    "_np_": ("mx.np",),
}
INTERNAL = ("view", "sparse")  # modules whose operators are recorded, not called


def places(name: str) -> list[str]:
    """Where a registered name is a function: ``mx.nd.contrib.box_nms``, ..."""
    for prefix, spaces in PLACES.items():
        if name.startswith(prefix):
            return [f"{space}.{name.removeprefix(prefix)}" for space in spaces]
    if name.startswith("_"):
        return [f"mx.nd._internal.{name}"]
    return [f"mx.nd.{name}", f"mx.sym.{name}"]


def entry(op: Op) -> str:
    """An operator's part of a page."""
    names = [op.name, *(n for n, each in OPERATORS.items() if each is op and n != op.name)]
    found = list(dict.fromkeys(place for name in names for place in places(name)))
    lines = [
        f"## {op.name}",
        "",
        f"`{op.signature_text()}`",
        "",
        to_markdown(op.__doc__).rstrip(),
    ]
    facts = []
    if op.states:
        written = op.states if isinstance(op.states, tuple) else "depends on the attributes"
        facts.append(f"writes {', '.join(written) if isinstance(written, tuple) else written}")
    if op.takes_key:
        facts.append("draws random numbers")
    if op.takes_training:
        facts.append("behaves otherwise in training")
    if not op.differentiable:
        facts.append("has no gradient")
    if op.measure is not None:
        facts.append("has a shape that depends on values")
    if facts:
        lines += ["", f"It {', '.join(facts)}."]
    lines += ["", "Called as: " + ", ".join(f"`{each}`" for each in found) + "."]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """The text of every page by file name."""
    topics: dict[str, list[Op]] = defaultdict(list)
    for op in dict.fromkeys(OPERATORS.values()):
        module = op.function.__module__
        if module.startswith("mixnet.ops."):
            topics[module.removeprefix("mixnet.ops.")].append(op)
    made = {}
    index = [
        "# Operators",
        "",
        "Every operator, by topic; built from the registry by `python docs/reference/build_operators.py`.",
        "What MXNet has and mixnet leaves out stands in [Left out](../../from-mxnet.md#left-out).",
        "",
        "| topic | operators |",
        "| --- | --- |",
    ]
    for topic, ops in sorted(topics.items()):
        about = inspect.cleandoc(importlib.import_module(f"mixnet.ops.{topic}").__doc__ or "")
        ordered = sorted(ops, key=lambda op: op.name.lower())
        body = "\n".join(entry(op) for op in ordered)
        made[f"{topic}.md"] = f"# {about.splitlines()[0].rstrip('.')}\n\n{body}"
        count = f"{len(ops)} internal" if topic in INTERNAL else f"{len(ops)}"
        index.append(f"| [{about.splitlines()[0].rstrip('.')}]({topic}.md) | {count} |")
    index += ["", "```{toctree}", ":hidden:", "", *sorted(topics), "```"]
    made["index.md"] = "\n".join(index) + "\n"
    return made


def main() -> int:
    """Write the pages; files of topics that are gone are removed."""
    FOLDER.mkdir(exist_ok=True)
    made = pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text)
    print(f"{len(made)} pages in {FOLDER}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
