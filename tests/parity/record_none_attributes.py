"""Ask MXNet 1.9.1 which attributes of its operators may be None, and store its answers.

Run it where mixnet runs, with an interpreter that has mxnet 1.9.1::

    python -m tests.parity.record_none_attributes PYTHON

It takes the calls of ``tests/ops/records`` and gives each attribute that has another kind of value as None.
``fixtures/none_attributes.json`` has ``{operator: {attribute: whether MXNet computes}}``. Left out are dtypes
and texts, which functions of ``mx.nd`` and ``mx.sym`` read before the operator does, and what ends
the process.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.parity.record_edges import ask, in_mxnet_on_cpus, input_of

FIXTURE = Path(__file__).parent / "fixtures" / "none_attributes.json"
READ_BEFORE = ("a dtype", "a string", "hashable")


def questions() -> list[dict[str, Any]]:
    """A call for each attribute, in which it is None."""
    from mixnet.ops import OPERATORS
    from tests.ops.records import RECORDS

    rows = {}
    for record in RECORDS:
        op = OPERATORS[record.op]
        inputs = [
            input_of(record, place, tuple(shape)) for place, shape in enumerate(record.shapes)
        ]
        for each in op.attributes.values():
            if each.optional or each.kind in READ_BEFORE or (record.op, each.name) in rows:
                continue
            rows[record.op, each.name] = {
                "op": record.op, "attributes": {**record.attrs, each.name: None}, "kind": each.name,
                "inputs": inputs, "variadic": bool(op.variadic) and op.num_args == "num_args",
                "gradient": False,
            }  # fmt: skip
    return json.loads(json.dumps(list(rows.values()), default=lambda value: value.item()))


def main(python: str) -> None:
    """Write the fixture."""
    requests = questions()
    computes: dict[str, dict[str, bool]] = {}
    for request, answer in zip(requests, ask(python, requests), strict=True):
        if answer != "crashes" and in_mxnet_on_cpus(answer):
            computes.setdefault(request["op"], {})[request["kind"]] = isinstance(answer, dict)
    lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in computes.items()]
    FIXTURE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(lines)} operators in {FIXTURE}")


if __name__ == "__main__":
    main(*sys.argv[1:])
