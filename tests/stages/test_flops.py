"""Floating point operations, counted by hand."""

from __future__ import annotations

from mixnet.stages.flops import flops
from tests.each_record import each_record


@each_record(
    ("op", "attributes", "inputs", "outputs", "expected"),
    [
        # 64 filters of 3·7·7 numbers at 112·112 places: 236,027,904 operations of a ResNet's first layer.
        ("Convolution", {}, [(1, 3, 224, 224), (64, 3, 7, 7)], [(1, 64, 112, 112)], 236_027_904),
        ("Convolution", {}, [(2, 4, 5), (6, 4, 3), (6,)], [(2, 6, 3)], 2 * 6 * 3 * (2 * 12 + 1)),
        ("Convolution", {"num_group": "4"}, [(1, 4, 6, 6), (4, 1, 3, 3)], [(1, 4, 4, 4)], 64 * 18),
        ("Deconvolution", {}, [(1, 2, 4, 4), (2, 3, 2, 2)], [(1, 3, 8, 8)], 2 * 32 * 12),
        ("FullyConnected", {}, [(8, 10), (5, 10), (5,)], [(8, 5)], 40 * 21),
        ("FullyConnected", {}, [(8, 10), (5, 10)], [(8, 5)], 800),
        ("dot", {}, [(3, 4), (4, 5)], [(3, 5)], 2 * 60),
        ("dot", {"transpose_a": "True"}, [(4, 3), (4, 5)], [(3, 5)], 2 * 60),
        ("dot", {}, [(7,), (7,)], [(1,)], 14),
        ("batch_dot", {}, [(2, 3, 4), (2, 4, 5)], [(2, 3, 5)], 2 * 120),
        ("batch_dot", {"transpose_a": "True"}, [(2, 4, 3), (2, 4, 5)], [(2, 3, 5)], 2 * 120),
        ("Pooling", {"kernel": "(2, 2)"}, [(1, 3, 8, 8)], [(1, 3, 4, 4)], 48 * 4),
        (
            "Pooling",
            {"global_pool": "True", "kernel": "(1, 1)"},
            [(1, 3, 8, 8)],
            [(1, 3, 1, 1)],
            192,
        ),
        # One layer of 8 units on 5 numbers, 3 steps of 2: 4 gates of 8·(5 + 8) products a step.
        (
            "RNN",
            {"mode": "lstm", "state_size": "8", "num_layers": "1"},
            [(3, 2, 5)],
            [(3, 2, 8)],
            2 * 6 * 4 * 8 * 13,
        ),
        (
            "RNN",
            {"mode": "gru", "state_size": "4", "num_layers": "2", "bidirectional": "True"},
            [(1, 1, 6)],
            [(1, 1, 8)],
            2 * 2 * 3 * 4 * (10 + 12),
        ),
        ("Activation", {}, [(4, 5)], [(4, 5)], 20),
        ("elemwise_add", {}, [(4, 5), (4, 5)], [(4, 5)], 20),
        ("add_n", {}, [(3,), (3,), (3,)], [(3,)], 6),
        ("sum", {}, [(4, 5)], [(1,)], 20),
        ("Reshape", {}, [(4, 5)], [(20,)], 0),
        ("Embedding", {}, [(4,), (10, 3)], [(4, 3)], 0),
        (None, {}, [], [(4,)], 0),
        # Layers in int8 cost what they cost in float32; ranges of data, weight and bias cost nothing.
        ("_contrib_quantized_conv", {}, [(2, 4, 5), (6, 4, 3), *[(1,)] * 4], [(2, 6, 3)], 36 * 24),
        (
            "_contrib_quantized_fully_connected",
            {},
            [(8, 10), (5, 10), (5,), *[(1,)] * 6],
            [(8, 5)],
            40 * 21,
        ),
        ("_sg_mkldnn_conv", {}, [(2, 4, 5), (6, 4, 3), (6,)], [(2, 6, 3)], 36 * 24),
        ("_sg_mkldnn_fully_connected", {}, [(8, 10), (5, 10), (5,)], [(8, 5)], 800),
        # Gradients of data and weight cost what forward costs, each; that of the bias is a sum.
        (
            "_backward_FullyConnected",
            {},
            [(8, 5), (8, 10), (5, 10), (5,)],
            [(8, 10), (5, 10), (5,)],
            2 * 800 + 40,
        ),
        (
            "_backward_Convolution",
            {},
            [(1, 2, 4, 4), (1, 3, 6, 6), (2, 3, 3, 3)],
            [(2, 3, 3, 3)],
            2 * 32 * 27,
        ),
        (
            "Convolution_weight_gradient",
            {},
            [(1, 2, 4, 4), (1, 3, 6, 6)],
            [(2, 3, 3, 3)],
            2 * 32 * 27,
        ),
        ("_backward_Activation", {}, [(4, 5), (4, 5)], [(4, 5)], 20),
    ],
)
def test_flops_agree_with_counts_by_hand(op, attributes, inputs, outputs, expected) -> None:
    assert flops(op, attributes, inputs, outputs) == expected


def test_an_operator_without_a_cost_counts_nothing() -> None:
    assert flops("a_whole_program", {}, [(1, 64)], [(1, 10)]) == 0
