"""``Block.save`` and ``Block.load``: the nesting of blocks and their parameters, in two files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mixnet.base import AttributeValueError, CheckError, FileFormatError
from mixnet.files.reading import text_of
from mixnet.files.whole_file import write_whole
from mixnet.gluon.parameter import fill
from mixnet.graph.symbol_json import parse
from mixnet.ndarray.params_file import load

if TYPE_CHECKING:
    from mixnet.gluon.block.block import Block


def save_model(block: Block, prefix: str) -> None:
    """Write ``prefix-model.json`` and ``prefix-model.params``."""
    counts: dict[str, int] = {}
    named: dict[int, str] = {}

    def unique(each: Block) -> str:
        if id(each) not in named:
            kind = type(each).__name__.lower()
            named[id(each)] = f"{kind}{counts.get(kind, 0)}"
            counts[kind] = counts.get(kind, 0) + 1
        return named[id(each)]

    def described(each: Block) -> dict[str, Any]:
        description: dict[str, Any] = {"orig_name": each.name}
        graph = each._cached_graph
        if graph:
            description["in_format"], description["out_format"] = each._mx_formats
            description["inputs"] = [variable.tojson() for variable in graph[0]]
            description["symbol"] = graph[1].tojson()
            description["hybridized"] = True
        else:
            description["hybridized"] = False
        description["children"] = {child.name: name for name, child in each._children.items()}
        for child in each._children.values():
            description[unique(child)] = described(child)
        return description

    model = {unique(block): described(block)}
    write_whole(f"{prefix}-model.json", json.dumps(model).encode())
    block.save_parameters(f"{prefix}-model.params")


def _fill(block: Block, path: str, places: Mapping[str, str]) -> None:
    loaded = load(path)
    if not isinstance(loaded, dict):
        raise CheckError(f"{path} holds arrays without names, not parameters.")
    values = {places.get(name, name): array for name, array in loaded.items()}
    params = block._collect_params_with_prefix()
    fill(
        params, values, None, False, False, False, "current", f"file '{path}'", AttributeValueError
    )


def load_model(block: Block, prefix: str) -> None:
    """Load these files into a block with the same structure.

    Raises:
        MissingFileError: there are no such files.
        FileFormatError: they are damaged, or have another format.
        CheckError: the block has another structure.
    """
    path = f"{prefix}-model.json"
    content = parse(text_of(path), path, "a file of Block.save")
    if not isinstance(content, dict) or len(content) != 1:
        raise FileFormatError(f"{path} is JSON, but not a file of Block.save: it has no block.")
    (described,) = content.values()
    names: list[tuple[Block, str]] = []
    places: dict[str, str] = {}  # parameter of the file -> parameter of the block

    def restore(each: Block, data: object, own: str, saved: str) -> None:
        if not isinstance(data, dict) or not isinstance(data.get("orig_name"), str):
            raise FileFormatError(f"{path}: the entry of {each.name} has no 'orig_name'.")
        names.append((each, data["orig_name"]))
        parts = [part for part in data.values() if isinstance(part, dict) and "children" in part]
        children = list(each._children.values())
        if len(parts) != len(children):
            raise CheckError(
                f"{prefix}-model.json: {data['orig_name']} has {len(parts)} children, but "
                f"{each.name} has {len(children)}. Build the network as it was when it was saved."
            )
        keys = list(dict(data.get("children") or {}).values())
        keys = keys if len(keys) == len(children) else list(each._children)
        for name in each._reg_params:
            places[saved + name] = own + name
        for (key, child), part, before in zip(each._children.items(), parts, keys, strict=True):
            restore(child, part, f"{own}{key}.", f"{saved}{before}.")

    restore(block, described, "", "")
    if all(own == saved for saved, own in places.items()):
        block.load_parameters(f"{prefix}-model.params")
    else:  # the names of the children have changed since it was saved
        _fill(block, f"{prefix}-model.params", places)
    for each, name in names:
        each._name = name
