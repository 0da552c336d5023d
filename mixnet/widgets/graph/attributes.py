"""Names of operations in the program: attribute paths of the blocks that created them."""

from __future__ import annotations

import re
from collections import Counter

from mixnet.widgets.graph.rows import Pictured, twin


def program_names(pictured: Pictured) -> dict[str, str]:
    """For rows of a network, by name: ``conv1`` of ``self.conv1``, ``conv1.act``, ``conv1.weight``.

    Where a block made several operations itself, the operation is added (``attention.softmax0``). Gradients
    are called as what they are of, with ``∇`` before it. Other rows that stand in no block are left out.
    """
    occurrences = Counter(row["path"] for row in pictured.rows if row["part"] == "forward")
    network_prefix = pictured.blocks.get((), ("", ""))[1]
    names: dict[str, str] = {}
    for row in pictured.rows:
        path = row["path"]
        if row["part"] == "backward" or (
            not path and not row["name"].startswith(network_prefix or "/")
        ):
            continue
        # If there is a loss, the network itself is a block under its own name.
        is_whole = (
            bool(network_prefix) and pictured.blocks.get(path[:1], ("", ""))[1] == network_prefix
        )
        parts = list(path[1:] if is_whole else path)
        if row["op"] is None or occurrences[path] > 1:
            prefix = pictured.blocks.get(path, ("", ""))[1] or "_".join(
                [network_prefix.rstrip("_"), *path, ""]
            )
            parts += filter(None, [_tail(row["name"], prefix)])
        if parts:
            names[row["name"]] = ".".join(parts)
    known = {row["name"] for row in pictured.rows if row["part"] != "backward"}
    for row in pictured.rows:
        base_name = twin(row["name"])
        if row["part"] == "backward" and base_name in known:
            names[row["name"]] = f"∇ {names.get(base_name, base_name)}"
    return names


def _tail(name: str, prefix: str) -> str:
    """The name without what its block's names begin with."""
    base_name = name.rpartition("/")[2].removeprefix(prefix.lstrip("_"))
    return re.sub(r"^fwd(_|$)|_fwd$", "", base_name).strip("_")
