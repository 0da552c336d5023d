"""Why this layout? Answered from the pass choose_layout."""

from __future__ import annotations

from collections.abc import Iterator

from mixnet.widgets.why.question import Payload, question

METHODS = {
    "onednn": (
        "oneDNN computes it, which is fastest with channels last; it is used where the "
        "convolutions of a program are large enough to be worth recompiling in each process"
    ),
    "grouped": "its channels are in groups, which mixnet's own lowering computes group by group",
    "dot": "its kernel is 1×1 without padding, so with channels last it is one matrix product",
    "xla": "XLA computes it, which on CPUs is faster with channels last",
}
"""Ways to compute a convolution, and why the pass chose them."""


@question("mixnet.look/1", "layout", "Why this layout?")
def layout(payload: Payload) -> Iterator[tuple[str, list[str]]]:
    """For each row that runs as another operator, by row number."""
    for row, (op, method, moved) in payload.get("lowered", {}).items():
        if not op.endswith("_channels_last"):
            continue
        text = (
            f"It runs with channels last: {METHODS[method]}."
            if method in METHODS
            else "It runs with channels last, like the operation before it: a transpose here would cost more."
        )
        sentences = [f"{text} The pass choose_layout did this; MIXNET_LAYOUT=off disables it."]
        if moved:
            sentences.append(
                "A chain of such operations starts or ends here, so an array is transposed: that is "
                "the copy next to it."
            )
        yield row, sentences
