"""Ask MXNet 1.9.1 which shapes and dtypes follow around operators, and store its answers.

Run it with an interpreter that has mxnet 1.9.1; it needs nothing of mixnet::

    PYTHON tests/parity/record_operator_inference.py

The calls are those that ``record_edges.py`` stored for the operators below; beside each output is a variable
``o0``, ``o1``, ... that is added to it. ``fixtures/operator_inference.json`` has the calls, and for each
question what ``infer_shape_partial`` or ``infer_type_partial`` gives, or ``raises``.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.parity.record_edges import is_numpys, text
from tests.parity.record_unknown_dtypes import answer as dtypes_answer
from tests.parity.record_unknown_dtypes import questions_of as questions_on_dtypes
from tests.parity.record_unknown_shapes import answer, questions_of, write_answers

FIXTURES = Path(__file__).parent / "fixtures"
FIXTURE = FIXTURES / "operator_inference.json"
OF_SHAPES = (
    "_contrib_calibrate_entropy", "_contrib_dequantize", "_contrib_quantize", "_contrib_quantize_v2",
    "_contrib_quantized_concat", "_contrib_requantize", "_linalg_trmm", "_linalg_trsm", "_np_dot",
    "_npi_cholesky", "_npi_concatenate", "_npi_hstack", "_npi_matmul", "_npi_polyval", "_npi_tensordot",
    "_npi_tensordot_int_axes", "_npi_vstack", "_random_pdf_dirichlet", "_random_pdf_exponential",
    "_random_pdf_gamma", "_random_pdf_generalized_negative_binomial", "_random_pdf_negative_binomial",
    "_random_pdf_normal", "_random_pdf_poisson", "_random_pdf_uniform", "all_finite", "multi_all_finite",
    "multi_sum_sq", "size_array", "_histogram", "_contrib_box_encode",
)  # fmt: skip
OF_DTYPES = (
    "_adamw_update", "_contrib_allclose", "_contrib_index_array", "_histogram", "_image_to_tensor",
    "_npi_add", "_npi_diag_indices_from", "_npi_eig", "_npi_eigh", "_npi_eigvals", "_npi_eigvalsh",
    "_npi_insert_slice", "_npi_mod", "_npi_multiply", "_npi_percentile", "_npi_pinv_scalar_rcond",
    "_npi_power", "_npi_share_memory", "_npi_solve", "_npi_subtract", "_npi_tensorinv", "_npi_tensorsolve",
    "_npi_true_divide", "_npi_where_lscalar", "_npi_where_rscalar", "_npi_where_scalar2", "multi_sum_sq",
)  # fmt: skip


def symbol_of(mx: Any, call: Any) -> Any:
    """The operator with a variable beside each output."""
    count = len(call["inputs"])
    nodes = [{"op": "null", "name": f"i{place}", "inputs": []} for place in range(count)]
    attributes = {key: text(value) for key, value in call["attributes"].items()}
    if call["variadic"]:
        attributes["num_args"] = str(count)
    inputs = [[place, 0, 0] for place in range(count)]
    nodes.append({"op": call["op"], "name": "y", "attrs": attributes, "inputs": inputs})
    arguments, heads = list(range(count)), []
    for place in range(len(call["outputs"])):
        arguments.append(len(nodes))
        nodes.append({"op": "null", "name": f"o{place}", "inputs": []})
        heads.append([len(nodes), 0, 0])
        operands = [[count, place, 0], [len(nodes) - 1, 0, 0]]
        nodes.append({"op": "elemwise_add", "name": f"s{place}", "inputs": operands})
    graph = {"nodes": nodes, "arg_nodes": arguments, "heads": heads}
    return mx.sym.load_json(json.dumps({**graph, "attrs": {"mxnet_version": ["int", 10901]}}))


def shape_questions(call: Any) -> list[dict[str, Any]]:
    """Half of the questions with partly known shapes; -1 is an unknown extent for NumPy's operators."""
    unknown = -1 if is_numpys(call["op"]) else 0
    questions = questions_of(call["inputs"], call["outputs"], every=True)[::2]
    return [
        {name: [extent or unknown for extent in shape] for name, shape in each.items()}
        for each in questions
    ]


def main() -> None:
    """Write the fixture."""
    import mxnet as mx

    rows = []
    for stored in json.loads((FIXTURES / "edges.json").read_text()):
        name = stored["op"]
        if stored["kind"] != "plain" or name not in (*OF_SHAPES, *OF_DTYPES):
            continue
        call = {key: stored[key] for key in ("op", "attributes", "variadic")}
        call["inputs"] = [each["shape"] for each in stored["inputs"]]
        call["outputs"] = [each[1] for each in stored["says"]["outputs"]]
        mx.util.set_np_shape(is_numpys(name))
        symbol = symbol_of(mx, call)
        questions = shape_questions(call) if name in OF_SHAPES else []
        of_dtypes = (
            questions_on_dtypes(len(call["inputs"]), len(call["outputs"]))
            if name in OF_DTYPES
            else []
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shapes = [[each, answer(symbol, each, mx.MXNetError)] for each in questions]
            dtypes = [[each, dtypes_answer(symbol, each, mx.MXNetError)] for each in of_dtypes]
        rows.append({"call": call, "asked": shapes, "dtypes": dtypes})
    write_answers(FIXTURE, rows)


if __name__ == "__main__":
    main()
