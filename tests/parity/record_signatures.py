"""Make ``fixtures/signatures.json`` from a listing of MXNet's operator registry.

Run it with the listing, a JSON file with ``ops`` and ``alias_of``::

    python tests/parity/record_signatures.py OPS.JSON
"""

import json
import sys
from pathlib import Path

LEFT_OUT = {"backward", "runtime_internal"}
ABOUT = (
    "MXNet 1.9.1: operators that compute: aliases, inputs, the attribute that counts variadic "
    'inputs, attributes with defaults (["required"] for none), visible outputs of an instance made '
    'with the attributes in "with"'
)


def main(listing):
    ops = json.loads(Path(listing).read_text())["ops"]
    result = {}
    for name in sorted(ops):
        op = ops[name]
        if op["category"] in LEFT_OUT:
            continue
        probe = op.get("probe") or {}
        result[name] = {
            "aliases": sorted(op["aliases"]),
            "inputs": [each["name"] for each in op["inputs"]],
            "variadic": op["key_var_num_args"],
            "attrs": {
                each["name"]: ["required"] if each.get("required") else each.get("py_default")
                for each in op["attrs"]
            },
            "outputs": probe.get("visible_outputs"),
            "with": probe.get("attrs_used"),
        }
    text = json.dumps({"about": ABOUT, "ops": result}, separators=(",", ":"))
    (Path(__file__).parent / "fixtures" / "signatures.json").write_text(text + "\n")
    print(len(result), "operators")


if __name__ == "__main__":
    main(sys.argv[1])
