"""Build the operator reference: ``python docs/reference/build_operators.py`` writes
``docs/reference/operators/``.

Everything on the pages comes from the registry. A test fails when they are not what it gives.
"""

from __future__ import annotations

import importlib
import inspect
import operator
import re
import sys
from collections import defaultdict
from pathlib import Path

from docstrings import to_markdown

import mixnet as mx
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
INTERNAL = (
    "array-view",
    "sparse-stored_values",
)  # modules whose operators are recorded, not called


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
        facts.append("behaves differently in training")
    if not op.differentiable:
        facts.append("has no gradient")
    if op.measure is not None:
        facts.append("has a shape that depends on values")
    if facts:
        lines += ["", f"It {', '.join(facts)}."]
    lines += ["", "Called as: " + ", ".join(f"`{each}`" for each in found) + "."]
    return "\n".join(lines) + "\n"


def topic_of(op: Op) -> str:
    """The page of an operator: ``nn-convolution`` for those of ``mixnet/ops/nn/convolution.py``."""
    return op.function.__module__.removeprefix("mixnet.ops.").replace(".", "-")


def anchors(ops: list[Op]) -> dict[Op, str]:
    """The anchor of each operator's heading on its page, as MyST makes it; ``ops`` in the order
    of the page.
    """
    made: dict[Op, str] = {}
    for op in ops:
        slug = re.sub(r"[^\w-]", "", op.name.lower())
        repeated = sum(re.sub(r"-\d+$", "", each) == slug for each in made.values())
        made[op] = f"{slug}-{repeated}" if repeated else slug
    return made


def summary(op: Op) -> str:
    """The first sentence of an operator's documentation, for a row of a table."""
    paragraph = " ".join(to_markdown(op.__doc__).split("\n\n")[0].split())
    sentence = re.split(r"(?<=[\w)`])[.:;](?= |$)", paragraph)[0]
    return sentence.rstrip(".").replace("|", "\\|")


def exists(place: str) -> bool:
    """Whether users find a function there: ``mx.np.add`` does exist, ``mx.np.add_scalar`` does not."""
    try:
        operator.attrgetter(place.removeprefix("mx."))(mx)
    except AttributeError:
        return False
    return True


def a_to_z(topics: dict[str, list[Op]]) -> str:
    """The page of all names that users can call, under their first letters."""
    rows: dict[tuple[str, str], tuple[list[str], Op]] = {}
    for topic, ops in topics.items():
        links = {op: f"{topic}.md#{anchor}" for op, anchor in anchors(ops).items()}
        for name, op in OPERATORS.items():
            if op not in links:
                continue
            for place in places(name):
                space, _, public = place.rpartition(".")
                if not public.startswith("_") and exists(place):
                    spaces = rows.setdefault((public, links[op]), ([], op))[0]
                    spaces += [space] if space not in spaces else []
    lines = [
        "# Operators from A to Z",
        "",
        "Every name that can be called, with a link to its signature. Names that begin with an "
        "underscore are only on the [pages by topic](index.md).",
    ]
    letter = ""
    for (public, link), (spaces, op) in sorted(
        rows.items(), key=lambda row: (row[0][0].lower(), row[0])
    ):
        if public[0].upper() != letter:
            letter = public[0].upper()
            lines += ["", f"## {letter}", "", "| name | in | what it does |", "| --- | --- | --- |"]
        where = ", ".join(f"`{space}`" for space in spaces)
        lines.append(f"| [`{public}`]({link}) | {where} | {summary(op)} |")
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """The text of every page by file name."""
    topics: dict[str, list[Op]] = defaultdict(list)
    for op in dict.fromkeys(OPERATORS.values()):
        module = op.function.__module__
        if module.startswith("mixnet.ops."):
            topics[topic_of(op)].append(op)
    topics = {topic: sorted(ops, key=lambda op: op.name.lower()) for topic, ops in topics.items()}
    made = {"a-to-z.md": a_to_z(topics)}
    index = [
        "# Operators",
        "",
        "Every operator, by topic; built from the registry by `python "
        "docs/reference/build_operators.py`. The same names [from A to Z, with search](a-to-z.md).",
        "[Left out](../../from-mxnet.md#left-out) lists what MXNet has and mixnet leaves out.",
        "",
        "| topic | operators |",
        "| --- | --- |",
    ]
    for topic, ops in sorted(topics.items()):
        about = inspect.cleandoc(importlib.import_module(ops[0].function.__module__).__doc__ or "")
        body = "\n".join(entry(op) for op in ops)
        made[f"{topic}.md"] = f"# {about.splitlines()[0].rstrip('.')}\n\n{body}"
        count = f"{len(ops)} internal" if topic in INTERNAL else f"{len(ops)}"
        index.append(f"| [{about.splitlines()[0].rstrip('.')}]({topic}.md) | {count} |")
    index += ["", "```{toctree}", ":hidden:", "", "a-to-z", *sorted(topics), "```"]
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
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"{len(made)} pages in {FOLDER}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
