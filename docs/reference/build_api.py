"""Build the API reference: ``python docs/reference/build_api.py`` writes ``docs/reference/api/``.

``make docs`` does it too; the pages are not kept in git. Every public name of every module below has an
entry: what a module defines is described, an operator points to the reference of operators, and what
comes from elsewhere points there.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from build_operators import places, topic_of
from docstrings import summary, to_markdown

import mixnet as mx
from mixnet.ops import OPERATORS

FOLDER = Path(__file__).parent / "api"
# As users spell them, by what they are for.
GROUPS = {
    "Arrays": [
        "nd",
        "nd.contrib",
        "nd.image",
        "nd.linalg",
        "nd.random",
        "nd.sparse",
        "np",
        "np.linalg",
        "np.random",
        "npx",
        "npx.image",
        "npx.random",
        "random",
        "autograd",
    ],
    "Symbols": [
        "sym",
        "sym.contrib",
        "sym.image",
        "sym.linalg",
        "sym.random",
        "sym.sparse",
        "executor",
        "viz",
        "attribute",
        "name",
    ],
    "Gluon": [
        "gluon",
        "gluon.nn",
        "gluon.rnn",
        "gluon.loss",
        "gluon.data",
        "gluon.data.vision",
        "gluon.data.vision.transforms",
        "gluon.utils",
        "gluon.model_zoo.vision",
        "gluon.model_zoo.model_store",
        "gluon.contrib.nn",
        "gluon.contrib.cnn",
        "gluon.contrib.rnn",
        "gluon.contrib.data",
        "gluon.contrib.estimator",
    ],
    "Training": [
        "module",
        "model",
        "optimizer",
        "lr_scheduler",
        "initializer",
        "metric",
        "callback",
        "monitor",
        "kvstore",
        "distributed",
        "horovod",
        "rnn",
        "contrib.amp",
        "contrib.svrg_optimization.svrg_module",
        "contrib.text.embedding",
        "contrib.text.vocab",
        "contrib.quantization",
    ],
    "Data": ["io", "image", "recordio"],
    "Under the lid": [
        "engine",
        "runtime",
        "stages",
        "profiler",
        "widgets",
        "ops",
        "operator",
        "context",
    ],
    "Files and tests": [
        "export",
        "onnx",
        "library",
        "libinfo",
        "log",
        "registry",
        "test_utils",
        "util",
        "base",
        "error",
    ],
}
PAGES = [name for names in GROUPS.values() for name in names]
FACES = {"random": "nd.random"}  # a page whose operators are called by another page's names
SKIPPED = {"annotations"}  # of `from __future__ import annotations`


def module_of(page: str) -> Any:
    """The module that a page is about; ``mx.stages`` is a function, its module has its class too."""
    if page == "stages":
        return importlib.import_module("mixnet.stages")
    found: Any = mx
    for part in page.split("."):
        found = getattr(found, part, None) or importlib.import_module(f"{found.__name__}.{part}")
    return found


MODULES = {page: module_of(page) for page in PAGES}
OPERATOR_OF = {place: op for name, op in OPERATORS.items() for place in places(name)}


def page_of(value: Any) -> str | None:
    """The page on which a function or a class is described: that of the nearest module above it."""
    home = getattr(value, "__module__", None) or ""
    best = None
    for page, module in MODULES.items():
        name = module.__name__
        if (home + ".").startswith(name + ".") and (
            best is None or len(name) > len(MODULES[best].__name__)
        ):
            best = page
    return best


def public(page: str) -> Iterator[tuple[str, Any]]:
    """Public functions, classes and constants of a module, by name."""
    module = MODULES[page]
    for name in sorted(dir(module), key=str.lower):
        if name.startswith("_") or name in SKIPPED:
            continue
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            continue
        home = getattr(value, "__module__", None)
        if (inspect.isclass(value) or inspect.isroutine(value)) and not str(home).startswith(
            "mixnet"
        ):
            continue  # NumPy's, Python's: handed on for programs that take them from here
        yield name, value


def signature(value: Any, drop_self: bool = False) -> str:
    """Arguments with their defaults; types stand in the list of arguments."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    if drop_self and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    text = str(found.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    return re.sub(r"<(?:class '|function |module ')?([\w.]+)[^<>]*>", r"\1", text)


def types_of(value: Any) -> dict[str, str]:
    """Types of arguments as written, without ``Any``, which says nothing."""
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return {}
    kinds = {n: p.annotation for n, p in parameters.items() if p.annotation is not p.empty}
    texts = {
        n: k if isinstance(k, str) else getattr(k, "__name__", str(k)) for n, k in kinds.items()
    }
    return {n: text.strip("'") for n, text in texts.items() if "Any" not in text}


def directive(kind: str, name: str, arguments: str, body: str, level: int = 3) -> str:
    """An entry of the Python domain."""
    fence = ":" * level
    return f"{fence}{{py:{kind}}} {name}{arguments}\n\n{body.strip()}\n{fence}\n"


def function_entry(page: str, name: str, value: Any) -> str:
    """A function with its arguments."""
    return directive(
        "function",
        f"mixnet.{page}.{name}",
        signature(value),
        to_markdown(value.__doc__, types_of(value)),
    )


def class_entry(page: str, name: str, value: type) -> str:
    """A class with what it defines itself; what it inherits is listed."""
    try:
        known = {**types_of(value.__init__), **types_of(value)}  # type: ignore[misc]
    except AttributeError:
        known = types_of(value)
    parts = [to_markdown(value.__doc__, known)]
    first = (
        to_markdown(vars(value)["__init__"].__doc__)
        if getattr(vars(value).get("__init__"), "__doc__", None)
        else ""
    )
    if first.strip() and value.__doc__ != vars(value)["__init__"].__doc__:
        parts.append(first)
    operators = []
    for key, member in sorted(vars(value).items()):
        if key.startswith("_"):
            continue
        plain = (
            inspect.unwrap(getattr(member, "__func__", member))
            if callable(getattr(member, "__func__", member))
            else member
        )
        if isinstance(member, property):
            parts.append(
                directive("property", key, "", to_markdown(inspect.getdoc(getattr(value, key))))
            )
        elif inspect.isfunction(plain):
            if (
                plain.__qualname__ == plain.__name__
                and plain.__name__ == key
                and f"mx.nd.{key}" in OPERATOR_OF
            ):
                operators.append(key)
                continue
            entry = directive(
                "method",
                key,
                signature(plain, not isinstance(member, staticmethod)),
                to_markdown(inspect.getdoc(getattr(value, key)), types_of(plain)),
            )
            parts.append(entry)
    if operators:
        links = ", ".join(operator_link(f"mx.nd.{key}", key) for key in operators)
        parts.append(f"Operators as methods: {links}.")
    bases = [b for b in value.__mro__[1:] if b.__module__.startswith("mixnet")]
    known_names = set(vars(value))
    for base in bases:
        names = [
            key for key in sorted(vars(base))
            if not key.startswith("_") and key not in known_names and callable(getattr(base, key, None))
            and f"mx.nd.{key}" not in OPERATOR_OF
        ]  # fmt: skip
        known_names |= set(names)
        if names:
            parts.append(f"From `{base.__name__}`: {', '.join(f'`{k}`' for k in names)}.")
    return directive("class", f"mixnet.{page}.{name}", signature(value), "\n\n".join(parts), 4)


def operator_link(place: str, text: str) -> str:
    """A link to the entry of an operator."""
    op = OPERATOR_OF[place]
    topic = topic_of(op)
    if not op.function.__module__.startswith("mixnet.ops."):
        return f"`{text}`"
    return f"[`{text}`](../operators/{topic}.md#{anchor(op.name)})"


def anchor(heading: str) -> str:
    """How a heading is called in links."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def page_text(page: str) -> str:
    """The text of a module's page."""
    module = MODULES[page]
    about = to_markdown(module.__doc__)
    functions, classes, operators, constants, others = [], [], [], [], []
    for name, value in public(page):
        place = f"mx.{FACES.get(page, page)}.{name}"
        if not inspect.isclass(value) and not inspect.isroutine(value):
            constants.append(f"`{name}`")
        elif inspect.isroutine(value) and is_operator(value) and place in OPERATOR_OF:
            operators.append(f"| {operator_link(place, name)} | {summary(value.__doc__)} |")
        elif (home := page_of(value)) is not None and home != page:
            if home not in ("base", "util") and getattr(MODULES[home], name, None) is value:
                others.append(f"[`{name}`]({home}.md)")
        elif inspect.isclass(value):
            classes.append(class_entry(page, name, value))
        else:
            functions.append(function_entry(page, name, value))
    parts = [f"# mx.{page}", about, f"`import mixnet as mx`, then `mx.{page}`."]
    if classes:
        parts += ["## Classes", *classes]
    if functions:
        parts += ["## Functions", *functions]
    if operators:
        parts += [
            "## Operators",
            "| name | what it computes |\n| --- | --- |\n" + "\n".join(operators),
        ]
    if others:
        parts.append(f"Also here: {', '.join(others)}.")
    if constants:
        parts.append(f"Constants and tables: {', '.join(constants)}.")
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def is_operator(value: Any) -> bool:
    """Whether a function was made from the registry."""
    return "__signature__" in getattr(value, "__dict__", {}) and "**kwargs" in str(
        inspect.signature(value)
    )


def about(page: str) -> str:
    """What a module is for, without its own name in front."""
    text = re.sub(r"^`?mx\.[\w.]+`?: ", "", summary(MODULES[page].__doc__))
    return text[:1].upper() + text[1:]


def index_text() -> str:
    """The page that lists the pages."""
    parts = [
        "# API",
        "Every public name of every module, built from the code. Operators have [pages of "
        "their own](../operators/index.md).",
    ]
    for group, pages in GROUPS.items():
        rows = [f"| [`mx.{page}`]({page}.md) | {about(page)} |" for page in pages]
        parts += [f"## {group}", "| module | |\n| --- | --- |\n" + "\n".join(rows)]
    parts.append("```{toctree}\n:hidden:\n\n" + "\n".join(PAGES) + "\n```")
    return "\n\n".join(parts) + "\n"


def write(folder: Path = FOLDER) -> None:
    """Write the pages that changed; files of pages that are gone are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {f"{page}.md": page_text(page) for page in PAGES} | {"index.md": index_text()}
    for path in folder.glob("*.md"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
    print(f"{len(PAGES)} pages in {FOLDER}")
    sys.exit(0)
