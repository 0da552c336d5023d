"""Parsing the text of optimized programs: one written by hand, one for a GPU, and compiled ones."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from mixnet.stages import hlo
from mixnet.stages.hlo import shape_bytes
from tests.each_record import each_record

TEXT = """HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{1,0}}

%fused_computation (param_0: f32[2,3]) -> f32[2,3] {
  %param_0 = f32[2,3]{1,0} parameter(0)
  %constant.1 = f32[] constant(2), metadata={op_name="jit(f)/double/mul"}
  %b = f32[2,3]{1,0} broadcast(%constant.1), dimensions={}
  ROOT %mul.1 = f32[2,3]{1,0} multiply(%param_0, %b), metadata={op_name="jit(f)/double/mul" stack_frame_id=3}
}

%body (arg: (s32[], f32[2,3])) -> (s32[], f32[2,3]) {
  %arg = (s32[], f32[2,3]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%arg), index=0
  %v = f32[2,3]{1,0} get-tuple-element(%arg), index=1
  ROOT %t = (s32[], /*index=1*/f32[2,3]{1,0}) tuple(%i, %v)
}

%cond (arg.1: (s32[], f32[2,3])) -> pred[] {
  %arg.1 = (s32[], f32[2,3]{1,0}) parameter(0)
  ROOT %go = pred[] constant(false)
}

ENTRY %main.5 (x.1: f32[2,3]) -> f32[2,3] {
  %x.1 = f32[2,3]{1,0} parameter(0), metadata={op_name="arrays[0]"}
  %fusion = f32[2,3]{1,0} fusion(%x.1), kind=kLoop, calls=%fused_computation, metadata={op_name="jit(f)/double/mul"}
  %zero = s32[] constant(0)
  %start = (s32[], f32[2,3]{1,0}) tuple(%zero, %fusion)
  %while.1 = (s32[], f32[2,3]{1,0}) while(%start), condition=%cond, body=%body, metadata={op_name="jit(f)/loop/while"}
  %out = f32[2,3]{1,0} get-tuple-element(%while.1), index=1
  ROOT %call = f32[2,3]{1,0} custom-call(%out, %x.1), custom_call_target="lib$(\\"call)", api_version=API_VERSION_STATUS_RETURNING, backend_config={"a":{"b":"f(x)"}}
}
"""  # noqa: E501


def test_every_field_of_a_program_written_by_hand() -> None:
    program = hlo.parse(TEXT)
    assert program.name == "jit_f" and program.entry == "main.5"
    assert list(program.computations) == ["fused_computation", "body", "cond", "main.5"]
    fusion = program.instructions["fusion"]
    assert (fusion.opcode, fusion.kind, fusion.calls) == ("fusion", "kLoop", ("fused_computation",))
    assert fusion.operands == ("x.1",) and fusion.nbytes == 24
    assert fusion.op_name == "jit(f)/double/mul" and not fusion.is_root
    loop = program.instructions["while.1"]
    assert loop.opcode == "while" and set(loop.calls) == {"body", "cond"} and loop.nbytes == 28
    call = program.instructions["call"]
    assert call.is_root and call.operands == ("out", "x.1") and call.opcode == "custom-call"
    assert fusion.target == "" and call.target == 'lib$(\\"call)'
    assert program.instructions["t"].shape == "(s32[], f32[2,3]{1,0})"
    assert program.instructions["x.1"].number == 0 and fusion.number == -1
    assert program.instructions["zero"].operands == ()
    assert program.within == {"fused_computation": "fusion", "body": "while.1", "cond": "while.1"}
    inside = [each.name for each in program.inside(loop)]
    assert set(inside) == {"arg", "i", "v", "t", "arg.1", "go"}


def test_a_parsed_program_is_plain_data() -> None:
    data = hlo.parse(TEXT).to_dict()
    rows = {row["name"]: row for each in data["computations"] for row in each["instructions"]}
    assert rows["mul.1"] == {
        "name": "mul.1", "opcode": "multiply", "shape": "f32[2,3]{1,0}", "bytes": 24,
        "operands": ["param_0", "b"], "calls": [], "within": "fusion", "kind": "", "target": "",
        "op_name": "jit(f)/double/mul", "root": True,
    }  # fmt: skip
    assert rows["fusion"]["within"] is None


@each_record(
    ("shape", "size"),
    [
        ("f32[2,3]{1,0}", 24), ("f64[]", 8), ("pred[7]", 7), ("bf16[4]", 8), ("s4[3]", 2),
        ("c64[2]", 16), ("u8[0]", 0), ("(f32[2], (s32[], pred[3]))", 15), ("token[]", 0),
        ("f8e4m3fn[5]", 5), ("f32[<=4,2]{1,0:T(8,128)}", 32),
    ],
)  # fmt: skip
def test_shapes_have_their_number_of_bytes(shape: str, size: int) -> None:
    assert shape_bytes(shape) == size


def test_a_text_without_an_entry_is_an_error() -> None:
    with pytest.raises(ValueError, match="ENTRY"):
        hlo.parse("HloModule nothing\n")


def test_a_compiled_program_is_parsed_completely() -> None:
    def function(x, w):
        def step(carry, _):
            return jnp.tanh(carry @ w), carry.sum()

        last, sums = jax.lax.scan(step, x, None, length=5)
        branch = jax.lax.cond(sums[0] > 0, jnp.sin, jnp.cos, last)
        return jnp.linalg.cholesky(branch @ branch.T + jnp.eye(4)), sums

    compiled = jax.jit(function).lower(jnp.ones((4, 8)), jnp.ones((8, 8))).compile()
    text = compiled.as_text()
    program = hlo.parse(text)
    written = [row for row in text.splitlines() if row.startswith("  ") and " = " in row]
    assert len(program.instructions) == len(written)
    for each in program.instructions.values():
        assert all(name in program.instructions for name in each.operands)
        assert all(name in program.computations for name in each.calls)
    opcodes = {each.opcode for each in program.instructions.values()}
    assert {"while", "conditional", "custom-call", "parameter"} <= opcodes
    (result,) = [each for each in program.computations[program.entry] if each.is_root]
    assert result.nbytes == 4 * 4 * 4 + 5 * 4
