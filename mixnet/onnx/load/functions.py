"""Operators that are defined by other operators: ONNX's own functions, and those that a file brings along.

ONNX defines many newer operators, such as ``Attention``, by a graph of older ones. Without a reader of
its own, a node is read as its definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mixnet.onnx.load.extents import is_open
from mixnet.onnx.load.table import MAIN, Call
from mixnet.onnx.package import onnx_package

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading


def definition_of(g: Reading, call: Call) -> Any:
    """The function that defines a node's operator, a ``FunctionProto``; None if there is none.

    Args:
        g: the graph.
        call: the node.
    """
    node = call.node
    local = g.functions.get((node.domain, node.op_type))
    return _standard(g, call) if local is None else local


def is_of_onnx(node: Any) -> bool:
    """Whether ONNX itself has an operator of that domain and name, in any version."""
    defs = onnx_package().defs
    return bool(defs.has(node.op_type, domain="" if node.domain in MAIN else node.domain))


def _schema(node: Any, sets: Mapping[str, int], opset: int) -> Any:
    """ONNX's declaration of an operator; None if those versions of the domains do not have it.

    Args:
        node: with the operator.
        sets: versions of other domains.
        opset: the version of the main one.
    """
    defs = onnx_package().defs
    main = node.domain in MAIN
    try:
        return defs.get_schema(
            node.op_type,
            opset if main else sets.get(node.domain, 1),
            "" if main else node.domain,
        )
    except defs.SchemaError:
        return None


def _standard(g: Reading, call: Call) -> Any:
    """ONNX's definition of an operator in the file's operator set."""
    onnx, node = onnx_package(), call.node
    schema = _schema(node, g.sets, g.opset)
    if schema is None:
        return None
    content = b""
    if schema.has_context_dependent_function:
        types = [_type_of(g, each) for each in call.inputs]
        content = schema.get_context_dependent_function_with_opset_version(
            _version(schema.context_dependent_function_opset_versions, g.opset),
            node.SerializeToString(),
            types,
        )
    elif schema.has_function:
        content = schema.get_function_with_opset_version(
            _version(schema.function_opset_versions, g.opset)
        )
    if not content:
        return None
    function = onnx.FunctionProto()
    function.ParseFromString(content)
    return function


def _version(versions: list[int], opset: int) -> int:
    """The newest definition that the file's operator set can have."""
    return max([each for each in versions if each <= opset], default=min(versions))


def _type_of(g: Reading, value: object) -> bytes:
    """The type of an input as bytes of a ``TypeProto``, which definitions depend on."""
    helper = onnx_package().helper
    if value is None:
        return bytes(onnx_package().TypeProto().SerializeToString())
    shape = () if g.is_scalar(value) else g.shape(value)
    shape = tuple(None if is_open(each) else each for each in shape)
    kind = helper.np_dtype_to_tensor_dtype(g.dtype(value))
    return bytes(helper.make_tensor_type_proto(kind, shape).SerializeToString())


def read_definition(g: Reading, call: Call, function: Any) -> list[Any]:
    """The outputs of a node, read as the nodes of its definition.

    Args:
        g: the graph.
        call: the node.
        function: from :func:`definition_of`.
    """
    sets = {each.domain: each.version for each in function.opset_import}
    inner = g.within(sets.get("", sets.get("ai.onnx", g.opset)), sets)
    for place, name in enumerate(function.input):
        inner.values[name] = call.input(place)
    attributes = _defaults(g, call.node)
    attributes.update({each.name: each for each in function.attribute_proto})
    attributes.update({each.name: each for each in call.node.attribute})
    for node in function.node:
        inner.node(_with_attributes(node, attributes))
    return [  # an output that the call leaves out may have no node
        inner.read(name, "an output") if outer_name else None
        for name, outer_name in zip(function.output, call.node.output, strict=False)
    ]


def _defaults(g: Reading, node: object) -> dict[str, Any]:
    """The defaults of an operator's attributes, where ONNX has the operator."""
    schema = _schema(node, g.sets, g.opset)
    if schema is None:
        return {}
    values = {name: each.default_value for name, each in schema.attributes.items()}
    return {name: each for name, each in values.items() if each.name}


def _with_attributes(node: Any, attributes: dict[str, Any]) -> Any:
    """A node of a definition whose references to attributes of the call are replaced by these."""
    bound = type(node)()
    bound.CopyFrom(node)
    del bound.attribute[:]
    for each in node.attribute:
        value = each
        if each.ref_attr_name:
            value = attributes.get(each.ref_attr_name)
        if value is None:  # the call leaves it out, and the definition has no default
            continue
        copied = bound.attribute.add()
        copied.CopyFrom(value)
        copied.name = each.name
        for graph in ([copied.g] if copied.HasField("g") else []) + list(copied.graphs):
            inner = [_with_attributes(n, attributes) for n in graph.node]
            del graph.node[:]
            graph.node.extend(inner)
    return bound
