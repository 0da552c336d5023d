"""Symbol: a composed computation, bound to arrays later."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.attribute import HIDDEN, hidden, node_attributes
from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    IndexingError,
    IndexTypeError,
    MXNetError,
    NotImplementedForSymbol,
    OperatorTypeError,
    UnknownAttributeError,
    did_you_mean,
)
from mixnet.dtype import CODES, as_dtype
from mixnet.files.reading import text_of
from mixnet.files.whole_file import write_whole
from mixnet.graph.draws import note_copies
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node, keep_place
from mixnet.graph.symbol_json import from_json, to_json, versions
from mixnet.ndarray.params_file import STORAGE
from mixnet.ops.op import Op
from mixnet.ops.registry import find
from mixnet.ops.schema.attributes import to_text
from mixnet.passes.differentiate import differentiate
from mixnet.passes.infer_shape import Inference, Question, infer
from mixnet.passes.lower_precision import remove_casts
from mixnet.process.lazy import names_of_one_file
from mixnet.symbol.attribute_order import listed
from mixnet.symbol.inference_arguments import (
    arguments_printed,
    check_shapes,
    is_whole,
    warn_of_unknown,
)
from mixnet.util import is_np_shape

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike
    from mixnet.ndarray.ndarray import NDArray


class Symbol:
    """One or several outputs of a graph.

    Make one with ``mx.sym.Variable``, by operators on symbols, or ``mx.sym.load``.
    """

    __slots__ = ("_graph", "_heads")
    __array_ufunc__ = None  # NumPy's numbers and arrays leave operators to the symbol

    if TYPE_CHECKING:
        # Installed by operators.py and binding.py; here for readers and type checkers.
        def __add__(self, other: object) -> Symbol: ...
        def __sub__(self, other: object) -> Symbol: ...
        def __mul__(self, other: object) -> Symbol: ...
        def __truediv__(self, other: object) -> Symbol: ...
        def __mod__(self, other: object) -> Symbol: ...
        def __pow__(self, other: object) -> Symbol: ...
        def __radd__(self, other: object) -> Symbol: ...
        def __rsub__(self, other: object) -> Symbol: ...
        def __rmul__(self, other: object) -> Symbol: ...
        def __rtruediv__(self, other: object) -> Symbol: ...
        def __rmod__(self, other: object) -> Symbol: ...
        def __rpow__(self, other: object) -> Symbol: ...
        def __lt__(self, other: object) -> Symbol: ...
        def __le__(self, other: object) -> Symbol: ...
        def __gt__(self, other: object) -> Symbol: ...
        def __ge__(self, other: object) -> Symbol: ...
        def __neg__(self) -> Symbol: ...
        def __abs__(self) -> Symbol: ...
        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, handle: Sequence[Entry] | None):
        # None is how pickles of MXNet's symbols begin; __setstate__ then reads the graph.
        self._heads = tuple(handle or ())
        self._graph: Graph | None = None

    @property
    def graph(self) -> Graph:
        """The graph below the outputs."""
        if self._graph is None:
            self._graph = Graph(self._heads)
        return self._graph

    # ---- names --------------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """Name of the node; None for a group."""
        nodes = {entry.node for entry in self._heads}
        return next(iter(nodes)).name if len(nodes) == 1 else None

    def list_arguments(self) -> list[str]:
        """Names of the variables in the order in which the graph reaches them."""
        return [node.name for node in self.graph.arguments]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the variables that operators write, such as BatchNorm's moving mean."""
        return [node.name for node in self.graph.written_variables]

    def list_inputs(self) -> list[str]:
        """Names of all variables."""
        return [node.name for node in self.graph.nodes if node.is_variable]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return [output_name(entry) for entry in self._heads]

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return len(self._heads)

    def __len__(self) -> int:
        return len(self._heads)

    def __iter__(self) -> Iterator[Symbol]:
        return (type(self)((entry,)) for entry in self._heads)

    def __getitem__(self, index: int | str | slice) -> Symbol:
        if isinstance(index, slice):
            count = len(self._heads)
            stop = count if index.stop is None else index.stop
            if any(place >= count for place in range(index.start or 0, stop, index.step or 1)):
                raise IndexingError(
                    f"outputs {index.start}:{index.stop} of a symbol with {count} output(s); slice_axis "
                    f"takes parts of an array."
                )
            return Symbol(self._heads[index])
        if isinstance(index, str):
            names = self.list_outputs()
            if names.count(index) != 1:
                raise AttributeValueError(
                    f"There is no single output {index!r}; the outputs are {', '.join(names[-8:])}."
                )
            return Symbol((self._heads[names.index(index)],))
        if not isinstance(index, (int, np.integer)):
            raise IndexTypeError(
                f"symbol[{index!r}]: outputs are indexed by whole numbers, names and slices."
            )
        if not -len(self._heads) <= index < len(self._heads):
            raise IndexingError(f"output {index} of a symbol with {len(self._heads)} output(s)")
        return Symbol((self._heads[index],))

    def get_internals(self) -> Symbol:
        """A group of every output of every node, for picking features by name."""
        entries = []
        for node in self.graph.nodes:
            count = 1 if node.op is None else node.op.num_visible(node.statics, len(node.inputs))
            entries += [Entry(node, i) for i in range(count)]
        return Symbol(entries)

    def get_children(self) -> Symbol | None:
        """A group of the inputs of the nodes, those of each node once; None for a variable."""
        nodes = dict.fromkeys(head.node for head in self._heads)
        inputs = [entry for node in nodes for entry in node.inputs]
        return Symbol(inputs) if inputs else None

    # ---- attributes ---------------------------------------------------------------------------

    def attr(self, key: str) -> str | None:
        """An attribute as text, None if it is not set; ``'name'`` is the name.

        Raises:
            AttributeError: the key is not a string.
        """
        if not isinstance(key, str):
            raise UnknownAttributeError(f"attr({key!r}): give the name of an attribute.")
        if key == "name":
            return self.name
        return self.list_attr().get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """Attributes of the node.

        Raises:
            DeprecationWarning: ``recursive``, which ``attr_dict()`` has replaced.
        """
        if recursive:
            raise DeprecationWarning("list_attr(recursive=True) is attr_dict() now.")
        return _with_plain(self._heads[0].node.attrs)

    def _set_attr(self, **kwargs: str) -> None:
        """Set attributes of the node.

        Raises:
            AttributeValueError: a value is not a string.
        """
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise AttributeValueError(
                    f"Set Attr only accepts string values: {key}={value!r}; give {str(value)!r}."
                )
        node = self._heads[0].node
        node.name = kwargs.pop("name", node.name)
        # a copy: nodes made from this one by composition have the same dict
        node.attrs = {**node.attrs, **{hidden(key): value for key, value in kwargs.items()}}

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Attributes of all nodes by name; nodes of one name have one dict, with the attributes of all."""
        attributes: dict[str, dict[str, str]] = {}
        for node in self.graph.nodes:
            if node.attrs:
                attributes.setdefault(node.name, {}).update(_with_plain(node.attrs))
        return attributes

    # ---- composition --------------------------------------------------------------------------

    def __call__(self, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> Symbol:
        """A copy of the graph with symbols in place of variables, by position or by name.

        Args:
            args: symbols for the variables, in the order of ``list_inputs()``.
            kwargs: symbols for variables by name.
        """
        variables = [n for n in self.graph.nodes if n.is_variable]
        if args and kwargs:
            raise AttributeTypeError(
                "compose: give the symbols in the order of list_inputs(), or by name, not both."
            )
        for value in (*args, *kwargs.values()):
            if not isinstance(value, Symbol):
                raise AttributeTypeError(f"Compose expects symbols, not {value!r}.")
        substitutes = dict(zip(variables, args, strict=False))
        by_name = {node.name: node for node in variables}
        for key, value in kwargs.items():
            if key not in by_name:
                raise OperatorTypeError(
                    f"compose: there is no variable {key!r}; the symbol has {', '.join(by_name)}."
                )
            substitutes[by_name[key]] = value
        return self._copied(substitutes, name)

    def _compose(self, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> None:
        """Like calling the symbol, but in place; see ``__call__``."""
        composed = self(*args, name=name, **kwargs)
        self._graph, self._heads = composed._graph, composed._heads

    def _copied(self, substitutes: Mapping[Node, Symbol], name: str | None = None) -> Symbol:
        """The symbol with nodes of its own, so that attributes set on one are not the other's.

        Args:
            substitutes: symbols in place of variables.
            name: of the node of the first output.
        """
        replaced: dict[Node, Entry | Node] = {}

        def moved(entry: Entry) -> Entry:
            now = replaced[entry.node]
            return now if isinstance(now, Entry) else Entry(now, entry.index)

        first = self._heads[0].node if self._heads else None
        for node in self.graph.nodes:
            if node in substitutes:
                replaced[node] = substitutes[node]._entry()
            else:
                copied = node.replaced(tuple(moved(entry) for entry in node.inputs))
                if name and node is first:
                    copied.name = name
                replaced[node] = copied
        note_copies([each for each in replaced.values() if isinstance(each, Node)])
        return type(self)([moved(entry) for entry in self._heads])

    def _entry(self) -> Entry:
        if len(self._heads) != 1:
            raise MXNetError(
                f"A symbol with {len(self._heads)} outputs is used where one is needed; pick one "
                f"with symbol[i]: {', '.join(self.list_outputs()[:6])}."
            )
        return self._heads[0]

    # ---- inference ----------------------------------------------------------------------------

    def _known_by_name(
        self, method: str, facts: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Known facts about variables, by name, from positional or keyword arguments."""
        if args and kwargs:
            raise AttributeValueError(
                f"{method}: pass the {facts} in the order of list_arguments() or by name, not both."
            )
        known = {*self.list_arguments(), *self.list_auxiliary_states()}
        for key in kwargs:
            if key not in known:
                raise OperatorTypeError(
                    f"{method}: there is no variable {key!r}; the symbol has "
                    f"{', '.join(sorted(known))}.{did_you_mean(key, known)}"
                )
        by_position = zip(self.list_arguments(), args, strict=False)
        return {**{n: value for n, value in by_position if value is not None}, **kwargs}

    def _inferred(
        self, question: Question, shapes: Mapping[str, Any], dtypes: Any = None
    ) -> Inference:
        return infer(self.graph, shapes, dtypes, zero_is_known=is_np_shape(), question=question)

    @property
    def handle(self) -> ctypes.c_void_p:
        """A number that identifies this object while it exists; see ``NDArray.handle``."""
        return ctypes.c_void_p(id(self))

    def infer_shape_partial(
        self, *args: object, **kwargs: object
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Like ``infer_shape``, with its arguments, and with ``()`` and 0 for unknown shapes and dimensions.

        Under numpy shapes, which may be ``()`` and have extents 0, unknown is None and -1.
        """
        check_shapes(args, kwargs)
        return self._inferred_shapes(args, kwargs)[0]

    def _inferred_shapes(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[list[Any], list[Any], list[Any]], bool]:
        """Shapes of arguments, outputs and states, and whether those of arguments and outputs are known."""
        shapes = self._known_by_name("infer_shape", "shapes", args, kwargs)
        if not is_np_shape():
            shapes = {n: s for n, s in shapes.items() if not isinstance(s, tuple) or s}
        shapes_inferred = self._inferred("shapes", shapes).shapes
        unknown = None if is_np_shape() else ()

        def shape_of(entry: Entry) -> Any:
            return shapes_inferred.get(entry, unknown)

        results = (
            [shape_of(Entry(node)) for node in self.graph.arguments],
            [shape_of(entry) for entry in self._heads],
            [shape_of(Entry(node)) for node in self.graph.written_variables],
        )
        # The shape of an output that was inferred may be (); that of an argument is unknown then.
        outputs = (s or (1,) for e in self._heads if (s := shapes_inferred.get(e)) is not None)
        are_outputs_known = [is_whole(shape) for shape in outputs] == [True] * len(self._heads)
        return results, are_outputs_known and all(map(is_whole, results[0]))

    def infer_shape(self, *args: object, **kwargs: object) -> tuple[Any, Any, Any]:
        """Shapes of arguments, outputs and auxiliary states from those of some arguments.

        Args:
            args: shapes in the order of ``list_arguments()``, None for unknown.
            kwargs: shapes by name.

        Returns:
            Three lists of shapes; three times None, with a warning, if something stays unknown.

        Raises:
            ShapeError: shapes contradict each other; names the node. Like MXNet, it prints the arguments.
            AttributeTypeError: a shape is no tuple.
        """
        with arguments_printed("infer_shape", args, kwargs):
            check_shapes(args, kwargs)
            shapes, is_complete = self._inferred_shapes(args, kwargs)
        if is_complete:
            return shapes
        warn_of_unknown("shapes", self.list_arguments(), shapes[0], is_whole)
        return None, None, None

    def _shapes(self, *args: object, **kwargs: object) -> tuple[Any, Any, Any]:
        """Like ``infer_shape``, without printing and warning."""
        shapes, is_complete = self._inferred_shapes(args, kwargs)
        return shapes if is_complete else (None, None, None)

    def _dtypes_of(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        by_name = self._known_by_name("infer_type", "dtypes", args, kwargs)
        # As NumPy reads it, None is float64.
        return {n: as_dtype("float64" if d is None else d) for n, d in by_name.items()}

    def infer_type_partial(self, *args: object, **kwargs: object) -> tuple[Any, Any, Any]:
        """Like ``infer_type``, with its arguments, and with None for dtypes that cannot be inferred."""
        dtypes = self._dtypes_of(args, kwargs)
        dtypes_inferred = self._inferred("dtypes", {}, dtypes).dtypes

        def type_of(entry: Entry) -> Any:
            return dtypes_inferred[entry].type if entry in dtypes_inferred else None

        return (
            [type_of(Entry(node)) for node in self.graph.arguments],
            [type_of(entry) for entry in self._heads],
            [type_of(Entry(node)) for node in self.graph.written_variables],
        )

    def infer_type(self, *args: object, **kwargs: object) -> tuple[Any, Any, Any]:
        """Dtypes of arguments, outputs and auxiliary states from some (``args``, or ``kwargs`` by name).

        Returns:
            Three lists of dtypes; three times None, with a warning, if one stays unknown.

        Raises:
            MXNetError: dtypes contradict each other, or nothing has that name. Like MXNet, it prints
                the arguments.
        """
        with arguments_printed("infer_type", args, kwargs):
            types = self._types(*args, **kwargs)
        if types[0] is None:
            known, _, _ = self.infer_type_partial(*args, **kwargs)
            warn_of_unknown("dtypes", self.list_arguments(), known, lambda each: each is not None)
        return types

    def _types(self, *args: object, **kwargs: object) -> tuple[Any, Any, Any]:
        """Like ``infer_type``, without printing and warning."""
        dtypes = self._dtypes_of(args, kwargs)
        dtypes_inferred = self._inferred("dtypes", {}, dtypes).dtypes
        groups = (
            [Entry(node) for node in self.graph.arguments],
            list(self._heads),
            [Entry(node) for node in self.graph.written_variables],
        )
        if any(entry not in dtypes_inferred for entry in (*groups[0], *groups[1])):
            return None, None, None
        arguments, outputs, states = (
            [dtypes_inferred[e].type for e in group if e in dtypes_inferred] for group in groups
        )
        return arguments, outputs, states

    # ---- files --------------------------------------------------------------------------------

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The text of a symbol file as MXNet writes it, without casts of AMP if ``remove_amp_cast``."""
        return to_json(remove_casts(self.graph) if remove_amp_cast else self.graph)

    def save(self, fname: str | os.PathLike[str], remove_amp_cast: bool = True) -> None:
        """Write a symbol file to the path ``fname``, atomically; see ``tojson`` for ``remove_amp_cast``."""
        write_whole(fname, self.tojson(remove_amp_cast).encode())

    def debug_str(self) -> str:
        """The graph as text: some lines for each node."""
        if len(self._heads) == 1 and not self._heads[0].node.inputs:
            node = self._heads[0].node
            kind = "Variable:" if node.is_variable else "AtomicFunctor  Op:"
            return f"{kind}{node.name if node.is_variable else node.op.name}\n"
        lines = ["Symbol Outputs:"]
        lines += [
            f"\toutput[{i}]={each.node.name}({each.index})" for i, each in enumerate(self._heads)
        ]
        for node in self.graph.nodes:
            if node.is_variable:
                lines.append(f"Variable:{node.name}")
                continue
            lines += ["-" * 20, f"Op:{node.op.name}, Name={node.name}", "Inputs:"]
            lines += [
                f"\targ[{i}]={e.node.name}({e.index})" + f" version={version}" * e.node.is_variable
                for i, (e, version) in enumerate(zip(node.inputs, versions(node), strict=True))
            ]
            if node.attrs:
                lines += ["Attrs:", *[f"\t{k}={v}" for k, v in sorted(node.attrs.items())]]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Plain data of the graph, see ``Graph.to_dict``."""
        return self.graph.to_dict()

    def __repr__(self) -> str:
        kind = type(self).__name__
        if self.name is not None:
            return f"<{kind} {self.name}>"
        return f"<{kind} group [{', '.join(entry.node.name for entry in self._heads)}]>"

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From MXNet's pickled state: ``{"handle": text of a symbol file}``."""
        self._heads = load_json(state["handle"])._heads
        self._graph = None

    def optimize_for(
        self,
        backend: str,
        args: Sequence[NDArray] | Mapping[str, NDArray] | None = None,
        aux: Sequence[NDArray] | Mapping[str, NDArray] | None = None,
        ctx: Any = None,
        shape_dict: Any = None,
        type_dict: Any = None,
        stype_dict: Any = None,
        skip_infer: bool = False,
        **kwargs: object,
    ) -> Symbol:
        """The symbol with parts computed by a backend, for prediction.

        Args:
            backend: ``XLA``, which returns the symbol unchanged and optimizes when a program is
                compiled, as do MXNet's own ``MKLDNN`` and ``default``; ``ONNXRuntime``;
                ``OpenVINO``; ``TensorRT``; or one of ``mx.library.register_backend``.
            args: parameters by name: the parts hold them, and the symbol no longer reads them.
                Without them, every call passes them.
            aux: states by name, in the same way.
            ctx: device; not read.
            shape_dict: shapes by name; not read.
            type_dict: dtypes by name; not read.
            stype_dict: storage types by name; not read.
            skip_infer: not read.
            kwargs: options of the backend.

        Raises:
            MXNetError: there is no such backend, or what it needs is not installed.
        """
        from mixnet.symbol.backend import optimized  # which makes symbols

        return optimized(self, backend, args, aux, ctx, kwargs)

    def get_backend_symbol(self, backend: str) -> Symbol:
        """The symbol with parts computed by a backend, without parameters; see :meth:`optimize_for`."""
        return self.optimize_for(backend)

    def __copy__(self) -> Symbol:
        return self._copied({})

    def __deepcopy__(self, memo: object) -> Symbol:
        return self._copied({})

    def __reduce__(self) -> tuple[Any, ...]:
        return load_json, (self.tojson(remove_amp_cast=False),)

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol(self.__bool__, "bool")

    # ---- gradient -----------------------------------------------------------------------------

    def gradient(self, wrt: Sequence[str] | None = None) -> Symbol:
        """The gradient graph: one output per variable in ``wrt``, by default all arguments.

        The gradient of output ``x`` is an input, the variable ``x_grad``.
        """
        by_name = {node.name: node for node in self.graph.arguments}
        names = list(by_name) if wrt is None else list(wrt)
        for name in names:
            if name not in by_name:
                raise MXNetError(f"gradient: no argument {name!r}; there are {', '.join(by_name)}.")
        starts = [Entry(Node(None, name=f"{name}_grad")) for name in self.list_outputs()]
        variables = [Entry(by_name[name]) for name in names]
        gradients = differentiate(self._heads, starts, variables)
        zeros = find("zeros_like")
        return Symbol(
            [
                entry or Entry(Node(zeros, (), (), (variable,), f"{variable.node.name}_no_grad"))
                for entry, variable in zip(gradients, variables, strict=True)
            ]
        )


def _with_plain(attrs: Mapping[str, str]) -> dict[str, str]:
    """Attributes as MXNet lists them: its own ones under both of their names."""
    both: dict[str, str] = {}
    for key in listed(attrs):
        both[key] = attrs[key]
        plain = key.strip("_")
        if plain in HIDDEN and key == hidden(plain):
            both[plain] = attrs[key]
    return both


def output_name(entry: Entry) -> str:
    """Name of an output ``entry``: ``fc1_output``, ``split0_output1``, a variable's own."""
    node = entry.node
    if node.op is None:
        return node.name
    count = node.op.num_visible(node.statics, len(node.inputs))
    names = node.op.output_names(node.statics) if isinstance(node.op, Op) else ("output",)
    if len(names) > 1:
        return f"{node.name}_{names[entry.index]}"
    if count == 1:
        return f"{node.name}_{names[0]}"
    return f"{node.name}_{names[0].removesuffix('0')}{entry.index}"


def Variable(
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: int | Sequence[int] | None = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: DTypeLike = None,
    init: Any = None,
    stype: Any = None,
    profiler_scope: Any = None,
    **kwargs: str,
) -> Symbol:
    """A variable: an input, a parameter or a label.

    Args:
        name: its name.
        attr: attributes, strings.
        shape: shape if known; 0 for an unknown extent.
        lr_mult: factor of the learning rate.
        wd_mult: factor of the weight decay.
        dtype: dtype if known.
        init: an initializer, or its ``dumps()``.
        stype: storage type of the array that is bound: ``default``, ``row_sparse`` or ``csr``.
        profiler_scope: accepted for compatibility.
        kwargs: further attributes named ``__like_this__``.
    """
    if not isinstance(name, str):
        raise AttributeTypeError(f"Variable: name must be a string, not {type(name).__name__}.")
    if not isinstance(attr, Mapping | None):
        raise AttributeTypeError(f"Variable {name!r}: attr must be a dict, not {attr!r}.")
    for key, setting in (attr or {}).items():
        if not isinstance(setting, str):
            raise AttributeValueError(
                f"Variable {name!r}: attribute {key}={setting!r} must be a string; give {str(setting)!r}."
            )
    attrs = node_attributes(attr)
    if stype is not None and stype not in STORAGE:
        raise AttributeValueError(
            f"Variable {name!r}: stype={stype!r} is not one of {', '.join(STORAGE)}."
        )
    for key, value in (
        ("shape", shape),
        ("lr_mult", lr_mult),
        ("wd_mult", wd_mult),
    ):
        if value is not None:
            attrs[f"__{key}__"] = to_text(value)
    if dtype is not None:
        attrs["__dtype__"] = str(CODES[as_dtype(dtype)])
    if init is not None:
        attrs["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        attrs["__storage_type__"] = str(STORAGE.get(stype, stype))
    for key, text in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise AttributeValueError(
                f"Variable: attribute {key!r} must be named as '__{key}__', or given in attr."
            )
        attrs[key] = str(text)
    node = Node(None, name=name, attrs=attrs)
    keep_place(node, 0)
    return Symbol((Entry(node),))


def Group(symbols: Sequence[Symbol], create_fn: Callable[[list[Entry]], Symbol] = Symbol) -> Symbol:
    """A symbol with the outputs of all ``symbols``, of the class ``create_fn``."""
    listed = symbols if isinstance(symbols, (list, tuple)) else []
    if not listed or any(not isinstance(each, Symbol) for each in listed):
        raise AttributeTypeError(f"Group takes a non-empty list of symbols, not {symbols!r:.80}.")
    return create_fn([entry for each in symbols for entry in each._heads])


def load(fname: str | os.PathLike[str]) -> Symbol:
    """Load a symbol from the file ``fname``.

    Raises:
        FileFormatError: it is truncated, corrupted or no symbol file.
        MissingFileError: there is no such file.
    """
    return Symbol(from_json(text_of(fname), os.fspath(fname)).heads)


def load_json(json_str: str) -> Symbol:
    """Load a symbol from ``json_str``, the text of a symbol file."""
    if not isinstance(json_str, str):
        raise AttributeTypeError(f"load_json takes text, not {type(json_str).__name__}.")
    return Symbol(from_json(json_str).heads)


# Everything in MXNet's file ``mx.sym.symbol`` except the class is in other files here.
__getattr__ = names_of_one_file(
    __name__,
    ("create", "operators"),
    "Group Symbol Variable arange eye full histogram hypot linspace load load_json maximum minimum ones pow "
    "power split_v2 var zeros",
)
var = Variable
