"""Record the results of small programs in MXNet 1.9.1.

Run it with an interpreter that has mxnet 1.9.1; it needs nothing of mixnet::

    PYTHON tests/parity/record_programs.py

``fixtures/programs.json`` has areas, each with what runs ``before`` its programs and the
expressions that are ``asked``, in their
order, with what MXNet said of each: values, or the classes of the exception. A new program is a
    new key there. What
differs between two runs is left out.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as onp

FIXTURE = Path(__file__).parent / "fixtures" / "programs.json"
CLASSES = (
    "MXNetError", "ValueError", "TypeError", "IndexError", "AttributeError", "NotImplementedError",
    "AssertionError", "KeyError", "RuntimeError",
)  # fmt: skip
RAISES = "raises "


def answers(package: Any, before: list[str], questions: list[str]) -> dict[str, str]:
    """What a library says of each expression.

    Args:
        package: mxnet, or mixnet.
        before: statements that run first.
        asked: expressions; they see what the ones before them did.
    """
    scope = {
        "mx": package, "nd": package.nd, "np": package.np, "npx": package.npx, "sym": package.sym,
        "gluon": package.gluon, "autograd": package.autograd, "onp": onp,
    }  # fmt: skip
    for seeded in (package.random, onp.random, random):
        seeded.seed(0)
    texts = {}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        exec("\n".join(before), scope)
        for each in questions:
            try:
                texts[each] = _as_text(eval(each, scope))
            except Exception as error:
                names = [cls.__name__ for cls in type(error).__mro__ if cls.__name__ in CLASSES]
                texts[each] = RAISES + " ".join(names or ["Exception"])
            with contextlib.suppress(Exception):  # already raised
                package.nd.waitall()
    return texts


def _as_text(value: Any) -> str:
    """A value as text: arrays by dtype, storage type, shape and their first elements."""
    text = repr(_plain(value)).replace("mixnet", "mxnet")
    return re.sub(r"<([\w.]*?)(\w+) object at 0x\w+>", r"<\2 object>", text)


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if hasattr(value, "asnumpy"):
        host = value.asnumpy()
        first = [float(f"{each:.4g}") for each in host.reshape(-1)[:12].tolist()]
        return [host.dtype.name, getattr(value, "stype", ""), list(value.shape), first]
    if isinstance(value, (float, onp.floating)):
        return float(f"{value:.4g}")
    return value


def main() -> None:
    """Write the fixture."""
    import mxnet

    areas = json.loads(FIXTURE.read_text())
    for area in areas.values():
        questions = list(area["asked"])
        first, second = (answers(mxnet, area["before"], questions) for _ in range(2))
        area["asked"] = {each: first[each] for each in questions if first[each] == second[each]}
    FIXTURE.write_text(json.dumps(areas, indent=0) + "\n")
    print(f"{sum(len(each['asked']) for each in areas.values())} answers in {FIXTURE}")


if __name__ == "__main__":
    main()
