"""Grouping: which nodes XLA computes together, on programs written by hand and compiled here."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from mixnet.stages import hlo
from mixnet.stages.fusion import Group, groups, nodes_of, scope_in
from tests.stages.test_hlo import TEXT


def compiled(function, *arrays) -> hlo.Program:
    return hlo.parse(jax.jit(function).lower(*arrays).compile().as_text())


def test_groups_of_a_program_written_by_hand() -> None:
    actual = groups(hlo.parse(TEXT), ["double", "loop", "lib"])
    assert [(each.kind, each.hlo_name, each.nodes) for each in actual] == [
        ("kernel", "fusion", ("double",)),  # one multiplication, wrapped
        ("loop", "while.1", ("loop",)),
        ("library call", "call", ("loop",)),  # has no name of its own: that of what it reads
    ]
    assert [each.inferred for each in actual] == [False, False, True]
    assert [each.reads for each in actual] == [(), (0,), (1,)]
    assert [each.inputs for each in actual] == [(0,), (), (0,)]
    assert actual[0].bytes_in == actual[0].bytes_out == 24
    assert set(actual[0].instructions) == {"fusion", "param_0", "constant.1", "b", "mul.1"}
    assert actual[0].to_dict()["nodes"] == ["double"]


def test_a_scope_matches_a_component_of_a_name() -> None:
    scopes = {"dense0", "dense0_backward"}
    assert scope_in("jit(f)/dense0/dot_general", scopes) == "dense0"
    assert scope_in("jit(f)/dense0_backward/transpose(jvp())/mul", scopes) == "dense0_backward"
    assert scope_in("jit(f)/dense01/mul", scopes) is None
    assert scope_in("", scopes) is None


def by_node(result: list[Group]) -> dict[str, list[Group]]:
    return {node: [g for g in result if node in g.nodes] for g in result for node in g.nodes}


def test_a_chain_of_elementwise_operations_is_one_fusion() -> None:
    def function(x):
        for i, step in enumerate((jnp.sin, jnp.tanh, jnp.cos, lambda v: v * v + 1)):
            with jax.named_scope(f"step{i}"):
                x = step(x)
        return x

    (group,) = groups(compiled(function, jnp.ones((8, 8))), [f"step{i}" for i in range(4)])
    assert group.kind == "fusion" and set(group.nodes) == {f"step{i}" for i in range(4)}
    assert group.bytes_in == group.bytes_out == 256 and group.inputs == (0,)


def test_a_convolution_is_a_library_call_and_what_follows_is_fused() -> None:
    def function(x, w, b):
        with jax.named_scope("conv"):
            y = jax.lax.conv_general_dilated(
                x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
        with jax.named_scope("bias"):
            y = y + b
        with jax.named_scope("relu"):
            return jnp.maximum(y, 0)

    program = compiled(function, jnp.ones((4, 16, 16, 8)), jnp.ones((3, 3, 8, 16)), jnp.ones(16))
    actual = groups(program, ["conv", "bias", "relu"])
    of = by_node(actual)
    assert any(each.kind == "library call" for each in of["conv"])
    (last,) = of["relu"]
    assert "bias" in last.nodes  # wherever the convolution went, these two run as one


def test_a_loop_has_its_groups_inside() -> None:
    def function(x, w):
        with jax.named_scope("rnn"):
            return jax.lax.fori_loop(0, 3, lambda i, h: jnp.tanh(h @ w + x), x)

    actual = groups(compiled(function, jnp.ones((64, 64)), jnp.ones((64, 64))), ["rnn"])
    loops = [each for each in actual if each.kind == "loop"]
    assert len(loops) == 1 and loops[0].nodes == ("rnn",)
    inside = [each for each in actual if each.parent == loops[0].id]
    assert any("rnn" in each.nodes for each in inside)
    assert loops[0].parent is None or actual[loops[0].parent].kind == "call"


def test_ids_are_places_and_what_is_read_was_made() -> None:
    def function(x, w):
        with jax.named_scope("a"):
            y = x @ w
        with jax.named_scope("b"):
            z = jnp.tanh(y) @ w
        return z.sum(0), y

    program = compiled(function, jnp.ones((64, 64)), jnp.ones((64, 64)))
    actual = groups(program, ["a", "b"])
    assert [each.id for each in actual] == list(range(len(actual)))
    names = [each.hlo_name for each in actual]
    assert len(set(names)) == len(names) and set(names) <= set(program.instructions)
    for each in actual:
        for number in each.reads:
            assert number != each.id and actual[number].parent == each.parent


def test_nodes_of_instructions_are_unique_and_in_order() -> None:
    program = hlo.parse(TEXT)
    rows = [program.instructions[name] for name in ("while.1", "mul.1", "fusion", "constant.1")]
    assert nodes_of(rows, {"double", "loop"}) == ("loop", "double")
