"""The operator registry: an operator is a pure JAX function with a schema, declared once."""

from __future__ import annotations

import difflib
import functools
import inspect
import itertools
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import (
    AttributeTypeError,
    DTypeError,
    MXNetError,
    OperatorTypeError,
    OperatorValueError,
    ShapeError,
    did_you_mean,
)
from mixnet.ops.generators.source import KEY_DEMAND, AnswerError, Asked, Demand
from mixnet.ops.operator import Arrays, Family, FlopsRule, Operator, Statics
from mixnet.ops.schema.attributes import (
    ONE,
    REQUIRED,
    Attribute,
    Dynamic,
    attribute,
    missing,
    with_ranges,
)
from mixnet.ops.schema.dtypes import SAME, Dtypes
from mixnet.ops.schema.integer_layers import Activation, Fusion, Quantization
from mixnet.ops.schema.over_devices import Exchange, OverDevices
from mixnet.ops.schema.rewrites import NOTHING, Rewrites
from mixnet.ops.schema.shape_constraints import Constraint
from mixnet.ops.schema.storage import Storage
from mixnet.ops.schema.stream import key_at, stream_at

OPERATORS: dict[str, Op] = {}
"""Every operator by each of its names: MXNet's registered name and its aliases."""

# Keyword-only parameters that the runtime fills in; they are no attributes. A ``key`` that is
# annotated as a string or a number is an attribute.
KEY, STREAM, TRAINING = "key", "stream", "training"


# Before names that mx.nd.image, mx.nd.random, mx.np and so on have without it.
_PREFIX = re.compile(r"^_(npi_|npx_|np_|contrib_|image_|random_|sample_|linalg_)?(?=[a-zA-Z])")


class Place(typing.NamedTuple):
    """Where an input of a loop or branch stands in a body: which input, and whether as its slices."""

    number: int
    sliced: bool = False


class Op(Operator):
    """An operator: what can stand in a node of a graph.

    Args:
        name: MXNet's registered name.
        function: pure; arrays positional, attributes keyword-only. ``*data`` makes it variadic.
            A keyword-only ``key`` gets a random key, ``stream`` the stream of random numbers at the place of
            the call, ``training`` whether autograd trains.
        aliases: further names; ``np.x`` and ``npx.x`` are names in ``mx.np`` and ``mx.npx``.
        states: array parameters that the operator writes; the function returns their new values
            after its outputs. For a variadic operator a function of the attributes that gives
            the inputs' places.
        moves: function of the attributes: whether a call changes the states; by default it does.
        fraction_kept: attribute with the share of a state that stays when the call moves it. Such states
            move when backward passes the call, not when it is made; None for states written at once.
        outputs: number of outputs (states left out), or a function of the attributes.
        visible: number of outputs a caller sees, or a function of the attributes.
        output_names: suffixes of the outputs' names in a symbol, or a function of the attributes
            that lists those of all visible ones.
        arguments: function of the attributes that lists the array parameters a call needs; by
            default all, without ``bias`` where ``no_bias`` is set. A number that is an input of the
            program is a ``Dynamic`` there, None if it is not given.
        check: function of the attributes that raises for values that do not go together. It sees
            the numbers themselves, also those that are inputs of the program.
        method: whether arrays and symbols have it as a method.
        num_args: attribute in symbol files that counts variadic inputs; None where the number of
            inputs follows from the other attributes.
        one_dtype: whether all arrays must have one dtype; otherwise the function says what it takes.
        floats: whether the first array must be of floating point numbers.
        integers: names of the integer dtypes that the first array may have; all if None.
        booleans: whether the first array may be of booleans.
        differentiable: False stops gradients, as for comparisons.
        passes_gradient: whether the gradient of its one array is that of its output in the array's
            dtype, whatever the two dtypes are, as for casts.
        calls_python: whether it runs Python: by itself, for it may fail, or wait.
        runs_in_caller: with ``calls_python``: it computes and waits for nobody, so it runs in the thread that
            calls it, which costs no change of threads.
        shares: a function of the attributes: the key of an object of the user's that calls share, which
            therefore run one after the other; None where a call has its own.
        draws: how many numbers of the stream a call takes, or whether it takes one: a function of the
            attributes. By default every call of an operator with a key takes one.
        draws_apart: for operators that draw again until a number fits: whether every element has
            tries of its own, so that rounding in one of them changes no other.
        draws_as_mxnet: whether the function takes numbers of MXNet's generators in place of a key,
            see :mod:`mixnet.ops.generators.source`.
        keeps_outputs: whether its gradient reads the outputs of the very call, and never calls
            again. They come once more behind the outputs and states, for backward to find them.
        flops: floating point operations for each element of the first input, 0 for what only moves or names
            elements; by default one for each element written. ``set_flops`` says more.
        precision: what it wants its floating-point inputs in under mixed precision: ``low`` for half
            precision, ``full`` for float32, ``widest`` for the widest among them; None for what comes.
        full_where: attributes and the values with which it wants float32 under mixed precision,
            whatever ``precision`` says.
        bfloat16: what it wants instead where the half precision is bfloat16: also ``any`` for
            what comes. There ``low`` is ``full`` unless said otherwise, and so is what has no
            ``precision``. ``unlisted``: MXNet's lists leave it out.
        in_amp_lists: whether MXNet's lists of operators for mixed precision name it.
        dtypes: which arrays and outputs have a dtype of their own; by default all share one.
        rewrites: what a call amounts to, for passes that simplify graphs and fold constants.
        layout_axis: attribute with the axis of channels, for an operator that computes in any
            layout if that names another axis.
        any_layout: whether it computes images with channels last as well, and nothing beside
            them depends on the layout. Passes find that out by themselves where the function
            works element by element.
        recomputed: whether backward computes results again rather than keep them, where memory
            is to be saved: ``asked`` where that is expensive, and done only if
            ``force_mirroring`` asks for it; ``never`` where a second call may differ.
        shape_constraint: how shapes of arrays and results depend on each other, where the
            function alone does not say it; see :mod:`mixnet.ops.schema.shape_constraints`.
        shaped_by: attribute with the shape of the result, whatever the arrays are; of an
            operator without arrays extents of it may be open in a symbol.
        storage: which results and gradients are sparse where arrays are; by default it computes
            on dense copies.
        updates_rows: for an update of a weight: whether it moves only the rows of a row_sparse
            gradient, of ``any`` weight or of a ``sparse`` one alone; others move with a gradient
            of 0.
        family: the kind of layer that pictures colour it as.
        activation: the activation function that it applies to every element, or a function of
            the attributes that says which.
        fusion: its part in MXNet's fused layers, if it has one.
        quantization: the operator that stands for it on integers, if there is one.
        labels: arrays that only the gradient reads, so that predictions can do without; they are
            the last ones.
        initializers: how parameters start that a symbol makes by itself, as ``Initializer.dumps``
            says it, where that does not follow from their names.
    """

    function: Callable[..., Any]

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        aliases: Iterable[str] = (),
        states: Sequence[str] | Callable[..., Sequence[int]] = (),
        moves: Callable[..., bool] | None = None,
        fraction_kept: str | None = None,
        outputs: int | Callable[..., int] = 1,
        visible: int | Callable[..., int] | None = None,
        output_names: Sequence[str] | Callable[..., Sequence[str]] = ("output",),
        arguments: Callable[..., Sequence[str]] | None = None,
        check: Callable[..., None] | None = None,
        method: bool = False,
        num_args: str | None = "num_args",
        one_dtype: bool = False,
        floats: bool = False,
        integers: Sequence[str] | None = None,
        booleans: bool = True,
        differentiable: bool = True,
        passes_gradient: bool = False,
        calls_python: bool = False,
        runs_in_caller: bool = False,
        shares: Callable[..., Any] | None = None,
        draws: Callable[..., int] | None = None,
        draws_apart: bool = False,
        draws_as_mxnet: bool = False,
        keeps_outputs: bool = False,
        flops: int | None = None,
        precision: Literal["low", "full", "widest"] | None = None,
        full_where: Mapping[str, Sequence[str]] = {},
        bfloat16: Literal["low", "any", "full", "widest", "unlisted"] | None = None,
        in_amp_lists: bool = True,
        dtypes: Dtypes = SAME,
        rewrites: Rewrites = NOTHING,
        layout_axis: str | None = None,
        any_layout: bool = False,
        recomputed: Literal["yes", "asked", "never"] = "yes",
        shape_constraint: Constraint | None = None,
        shaped_by: str | None = None,
        storage: Storage | None = None,
        updates_rows: Literal["any", "sparse"] | None = None,
        family: Family | None = None,
        activation: Activation = None,
        fusion: Fusion | None = None,
        quantization: Quantization | None = None,
        labels: Sequence[str] = (),
        initializers: Mapping[str, str] | None = None,
    ):
        super().__init__()
        self.name = name
        self.title = _PREFIX.sub("", name)  # as people call it
        self.function = function
        self.aliases = tuple(aliases)
        self._states = states if callable(states) else None
        self._moves = moves
        self._fraction_kept = fraction_kept
        self._known_changes: dict[
            Any, dict[int, int]
        ] = {}  # asking costs more than recording an operation
        self.states: tuple[str, ...] = () if callable(states) else tuple(states)
        self._name_outputs = output_names if callable(output_names) else None
        self._output_names = () if callable(output_names) else tuple(output_names)
        self.method = method
        self.num_args = num_args
        self.one_dtype = one_dtype
        self.integers = () if floats else integers
        self.booleans = booleans
        self.differentiable = differentiable
        self.passes_gradient = passes_gradient
        self.calls_python = calls_python
        self.runs_in_caller = runs_in_caller
        self._shares = shares
        self._share_names = () if shares is None else tuple(inspect.signature(shares).parameters)
        self.draws_apart = draws_apart
        self.draws_as_mxnet = draws_as_mxnet
        self.keeps_outputs = keeps_outputs
        self.flops = flops
        self.precision = precision
        self.full_where = dict(full_where)
        self.bfloat16 = bfloat16
        self.in_amp_lists = in_amp_lists
        self.dtypes = dtypes
        self.rewrites = rewrites
        self.layout_axis = layout_axis
        self.any_layout = any_layout
        self.recomputed = recomputed
        self.shape_constraint = shape_constraint
        self.shaped_by = shaped_by
        self.storage = storage
        self.updates_rows = updates_rows
        self.family = family
        self.activation = activation
        self.fusion = fusion
        self.quantization = quantization
        self.labels = tuple(labels)
        self.initializers = dict(initializers or {})
        self._outputs, self._visible, self._arguments = outputs, visible, arguments
        self._check = check
        self._draws = draws
        self._draw_names = () if draws is None else tuple(inspect.signature(draws).parameters)
        self._known_draws: dict[Any, int] = {}
        self._infer_inputs: Callable[..., Mapping[str, Any]] | None = None
        self._infer_dtypes: Callable[..., tuple[Sequence[Any], Sequence[Any]]] | None = None
        self._gradient: Callable[..., Any] | None = None
        self.output_specs: Callable[[Statics, Sequence[Any]], list[Any]] | None = None
        self.measure: Callable[[Mapping[str, Any], Mapping[str, Any]], int] | None = None
        self.row_gradient: RowGradient | None = None
        self.check_known: Callable[..., None] | None = None
        self.checked_place = 0
        self.over_devices: OverDevices[Op] | None = None
        self.bodies: Callable[..., list[tuple[Any, list[Place]]]] | None = None
        self._bound: dict[Any, Statics] = {}
        self._read_signature()
        self.__doc__ = with_ranges(inspect.getdoc(function) or "", self.attributes.values())
        if self._states and self.variadic:
            self.states = (self.variadic,)

    def _read_signature(self) -> None:
        hints = typing.get_type_hints(self.function, include_extras=True)
        arrays, self.variadic, attributes = [], None, {}
        self.takes_key = self.takes_stream = self.takes_training = False
        optional_arrays = set()
        for each in inspect.signature(self.function).parameters.values():
            if each.kind is each.VAR_POSITIONAL:
                self.variadic = each.name
            elif each.kind is not each.KEYWORD_ONLY:
                arrays.append(each.name)
                if each.default is None:
                    optional_arrays.add(each.name)
            elif each.name == KEY and each.annotation in (each.empty, Any, "Any"):
                self.takes_key = True
            elif each.name == STREAM:
                self.takes_key = self.takes_stream = True
            elif each.name == TRAINING:
                self.takes_training = True
            else:
                default = REQUIRED if each.default is each.empty else each.default
                hint = hints.get(each.name, Any if default in (REQUIRED, None) else type(default))
                attributes[each.name] = attribute(each.name, hint, default)
        self.optional_arrays = frozenset(optional_arrays)
        self.arrays: tuple[str, ...] = tuple(arrays)
        self.attributes: dict[str, Attribute] = attributes
        self.dynamic = tuple(a.name for a in attributes.values() if a.dynamic)
        self._axes = tuple((a.name, a.axis) for a in attributes.values() if a.axis is not None)
        self._order = tuple(attributes)
        # The numbers that are inputs: names, defaults and limits.
        self._numbers = tuple(
            (a.name, a.default, a.limits) for a in attributes.values() if a.dynamic
        )

    def number_of_inputs(self, attributes: dict[str, Any]) -> int | None:
        """How many arrays a call of a variadic operator says that it has; removed from ``attributes``.

        Raises:
            OperatorValueError: it is not a positive whole number.
        """
        count = attributes.pop(self.num_args or "", None)
        if count is None:
            return None
        if not str(count).isdecimal() or not int(count):
            raise OperatorValueError(
                f"{self.title}: {self.num_args}={count!r} must be a positive whole number. It can be "
                f"omitted."
            )
        return int(count)

    # ---- what is declared beside the function -------------------------------------------------

    def infer_inputs(self, rule: Callable[..., Mapping[str, Any]]) -> Callable[..., Any]:
        """Decorator: shapes of parameters that follow from the data.

        The rule names the array parameters whose shapes it reads and the attributes it needs, and
        returns ``{parameter: shape}``. It is called once the shape of the first one is known. All
        known shapes reach a parameter ``**shapes``.
        """
        self._infer_inputs = rule
        parameters = inspect.signature(rule).parameters
        self._infer_all = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        self._infer_names = tuple(name for name in parameters if name != "shapes")
        return rule

    def infer_dtypes(
        self, rule: Callable[..., tuple[Sequence[Any], Sequence[Any]]]
    ) -> Callable[..., Any]:
        """Decorator: dtypes of inputs and outputs that follow otherwise than ``dtypes`` can say.

        The rule gets the dtype of every input, None where it is not known, and the attributes;
        it returns those of the inputs and those of the outputs, None where it does not know them
        either.
        """
        self._infer_dtypes = rule
        self.infers_dtypes = True
        return rule

    def inferred_dtypes(
        self, statics: Statics, dtypes: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """What ``infer_dtypes`` says of inputs and outputs; nothing without such a rule.

        Args:
            statics: bound attributes.
            dtypes: of the inputs, None where they are not known.
        """
        if self._infer_dtypes is None:
            return (), ()
        return self._infer_dtypes(dtypes, **self.keywords(statics))

    def infer_outputs(self, rule: Callable[..., list[Any]]) -> Callable[..., Any]:
        """Decorator: shape and dtype of every output, where a rule is quicker than tracing the function.

        The rule gets shape and dtype of every array, and the attributes.
        """

        def output_specs(statics: Statics, inputs: Sequence[Any]) -> list[Any]:
            outputs = rule(*inputs, **self.keywords(statics))
            return [*outputs, *outputs] if self.keeps_outputs else outputs

        self.output_specs = output_specs
        return rule

    def set_gradient(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: a gradient that is not the derivative, by contract.

        ``rule(heads, outputs, *arrays, **attributes)`` returns one gradient for each array, None
        for no gradient. Heads and outputs are arrays for one output, tuples for several.
        """
        self._gradient = rule
        return rule

    def set_row_gradient(self, name: str) -> Callable[[Callable[..., Any]], RowGradient]:
        """Decorator: the gradient of array ``name`` as numbers of rows and what is added to each.

        ``rule(head, *arrays, **attributes)`` returns both; rows may be named several times. It is
        asked where the gradient is to be row_sparse.
        """

        def declare(rule: Callable[..., Any]) -> RowGradient:
            self.row_gradient = RowGradient(self, name, rule)
            return self.row_gradient

        return declare

    def set_size(self, rule: Callable[..., int]) -> Callable[..., int]:
        """Decorator: how many elements the result has, where that depends on values.

        The rule names the array parameters whose values it reads, which it gets as NumPy arrays,
        and the attributes it needs. What it returns becomes the attribute ``size``, so that the
        function computes a result of known shape. A graph is cut at such an operator, see
        :func:`mixnet.passes.place_devices.place_devices`.
        """
        names = tuple(inspect.signature(rule).parameters)

        def measure(arrays: Mapping[str, Any], attributes: Mapping[str, Any]) -> int:
            values = {}
            first = arrays.get(self.arrays[0]) if self.arrays else None
            known = {
                name: None
                if attributes.get(name) is None
                else each.parse(attributes[name], self.name)
                for name, each in self.attributes.items()
            }
            if first is not None:
                self._check_axes(known, first.ndim)
            for name in names:
                array = arrays.get(name)
                values[name] = known.get(name) if array is None else array.asnumpy()
            return int(rule(**values))

        self.measure = measure
        return rule

    def set_flops(
        self, is_product: bool = False
    ) -> Callable[[Callable[..., int]], Callable[..., int]]:
        """Decorator: floating point operations of a call, a multiplication and an addition being two.

        ``rule(inputs, outputs, ...)`` gets the shapes that are read and written, and the attributes it names.

        Args:
            is_product: whether it is a product of its first two inputs, so that the gradient of each costs
                as much as the call.
        """

        def declare(rule: Callable[..., int]) -> Callable[..., int]:
            names = tuple(inspect.signature(rule).parameters)[2:]
            self.flops_rule = FlopsRule(rule, names, is_product)
            return rule

        return declare

    def set_bodies(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: the bodies that the operator runs, and the :class:`Place` of each body's inputs.

        The rule is called with the attributes; bodies and places are those of a loop or branch.
        """
        self.bodies = rule
        return rule

    def set_check_known(self, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Decorator: a check of the values of array ``name``, where they are known without waiting.

        ``rule(values, shape, **attributes)`` gets them as a NumPy array, and the shape of the first array.
        """

        def declare(rule: Callable[..., None]) -> Callable[..., None]:
            place = self.arrays.index(name)
            self.check_known = lambda values, shape, known: rule(values, shape, **known)
            self.checked_place = place
            return rule

        return declare

    def set_over_devices(
        self, own: Op, exchange: Exchange, rest: Op
    ) -> Callable[[Callable[..., Any]], OverDevices[Op]]:
        """Decorator: how the operator computes where its batch is spread over devices.

        The arguments are those of :class:`OverDevices`; the rule is its ``parties``.
        """

        def declare(parties: Callable[..., tuple[str, int] | None]) -> OverDevices[Op]:
            self.over_devices = OverDevices(own, exchange, rest, parties)
            return self.over_devices

        return declare

    # ---- facts about a call -------------------------------------------------------------------

    def bind(self, keywords: Mapping[str, Any], training: bool = False) -> tuple[Statics, tuple]:
        """Checked attributes: the static ones in order, and the numbers that are inputs.

        An operator without attributes ignores whatever it is given, as in MXNet; one that counts its inputs
        does not.

        Raises:
            AttributeTypeError: unknown or missing name.
            AttributeValueError: a value that the attribute cannot have.
        """
        key: Any = (training, *keywords, *keywords.values())
        try:
            if not self.dynamic:
                if key in self._bound:
                    return self._bound[key], ()
            elif self._check is None:
                key, scalars_given = self._without_numbers(keywords, training)
                known = self._bound.get(key)
                if known is not None:
                    return known, scalars_given
        except (TypeError, OverflowError):  # a list or an array as a value; a number without end
            key = None
        unknown = next((name for name in keywords if name not in self.attributes), None)
        if unknown is not None and (self.attributes or self.variadic):
            raise self.no_argument(unknown)
        statics: list[Any] = []
        scalars: list[float] = []
        values: dict[str, Any] = {}
        for name, each in self.attributes.items():
            value = keywords.get(name, REQUIRED)
            if value is REQUIRED:
                if each.required:
                    raise missing(self.title, name, self.usage())
                value = each.default
            else:
                value = each.parse(value, self.title)
            values[name] = value
            if each.dynamic and value is not None:
                # What stays is a mark that says how many of the scalars to take.
                if isinstance(value, tuple):
                    scalars.extend(value)
                    value = Dynamic(len(value))
                else:
                    scalars.append(float(value))
                    value = ONE
            statics.append(value)
        if self._check is not None:
            names = inspect.signature(self._check).parameters
            self._check(**{name: values[name] for name in names})
        if self.takes_training:
            statics.append(training)
        bound = tuple(statics)
        if key is not None and (not self.dynamic or self._check is None):
            self._bound[key] = bound
        return bound, tuple(scalars)

    def _without_numbers(self, keywords: Mapping[str, Any], training: bool) -> tuple[Any, tuple]:
        """The cache key of the static attributes, and the numbers that are inputs; the key is None unless
        all numbers are given as numbers of Python, in their ranges.
        """
        scalars = []
        for name, default, limits in self._numbers:
            value = keywords.get(name, default)
            kind = type(value)
            if kind is not float and kind is not int:
                if value is None and name not in keywords:
                    continue
                return None, ()
            value = float(value)
            for limit in limits:
                if not limit.allows(value):
                    return None, ()
            scalars.append(value)
        rest = [
            each
            for name, value in keywords.items()
            for each in ((name,) if name in self.dynamic else (name, value))
        ]
        return (training, *rest), tuple(scalars)

    def no_argument(self, name: str) -> AttributeTypeError:
        """The error for an argument that the operator does not have, with the nearest name."""
        hint = did_you_mean(name, [*self.attributes, *self.arrays])
        return OperatorTypeError(
            f"{self.title} has no argument {name!r}.{hint} Call it as {self.usage()}."
        )

    def keywords(self, statics: Statics, scalars: Arrays = ()) -> dict[str, Any]:
        """The function's keyword arguments (``key`` left out) from a bound call."""
        keywords = dict(zip(self._order, statics, strict=False))
        if self.dynamic:
            pending = iter(scalars)
            for name in self.dynamic:
                mark = keywords[name]
                if mark is ONE:
                    keywords[name] = next(pending, mark)
                elif type(mark) is Dynamic:
                    keywords[name] = tuple(itertools.islice(pending, mark))
        if self.takes_training:
            keywords[TRAINING] = statics[len(self._order)]
        return keywords

    def awaits_values(self, statics: Statics) -> bool:
        """Whether the shape of the result depends on values that have not been read."""
        return self.measure is not None and statics[self._order.index("size")] is None

    def rebind(self, statics: Statics, **changes: Any) -> Statics:
        """The bound attributes with some of them changed."""
        bound = list(statics)
        for name, value in changes.items():
            bound[self._order.index(name)] = value
        return tuple(bound)

    def _ask(self, rule: Any, statics: Statics, count: int) -> int:
        if type(rule) is int:
            return rule
        names = inspect.signature(rule).parameters
        known = self.keywords(statics)
        if self.variadic and self.num_args:
            known.setdefault(self.num_args, count)
        return int(rule(**{name: known[name] for name in names}))

    def num_outputs(self, statics: Statics, num_inputs: int = 0) -> int:
        """Outputs of the function, states left out."""
        return self._ask(self._outputs, statics, num_inputs)

    def num_visible(self, statics: Statics, num_inputs: int = 0) -> int:
        """Outputs that a caller sees."""
        if self._visible is None:
            return self.num_outputs(statics, num_inputs)
        return self._ask(self._visible, statics, num_inputs)

    def output_names(self, statics: Statics) -> tuple[str, ...]:
        """Suffixes of the outputs' names; a single one is numbered where there are more outputs."""
        if self._name_outputs is None:
            return self._output_names
        known = self.keywords(statics)
        names = inspect.signature(self._name_outputs).parameters
        return tuple(self._name_outputs(**{name: known[name] for name in names}))

    def argument_names(self, statics: Statics) -> tuple[str, ...]:
        """Array parameters that a call with these attributes takes."""
        known = self.keywords(statics)
        if self._arguments is not None:
            names = inspect.signature(self._arguments).parameters
            return tuple(self._arguments(**{name: known[name] for name in names}))
        if known.get("no_bias"):
            return tuple(name for name in self.arrays if name != "bias")
        return self.arrays

    def written(self, statics: Statics, num_inputs: int) -> dict[int, int]:
        """Inputs that a call writes: place of each -> index of the output with its new value."""
        first = self.num_outputs(statics, num_inputs)
        if self._states:
            known = self.keywords(statics)
            names = inspect.signature(self._states).parameters
            places = self._states(**{name: known[name] for name in names})
            return {place: first + i for i, place in enumerate(places)}
        arguments = self.argument_names(statics)
        if len(arguments) != num_inputs:
            arguments = self.arrays
        return {
            arguments.index(name): first + i
            for i, name in enumerate(self.states)
            if name in arguments
        }

    def parties(self, statics: Statics) -> tuple[str, int] | None:
        """Name of the meeting of devices that a call takes part in, and how many they are."""
        if self.over_devices is None:
            return None
        known = self.keywords(statics)
        names = inspect.signature(self.over_devices.parties).parameters
        return self.over_devices.parties(**{name: known[name] for name in names})

    def changed(self, statics: Statics, num_inputs: int) -> dict[int, int]:
        """Those of the ``written`` inputs that this call gives another value."""
        changes = self._known_changes.get((statics, num_inputs))
        if changes is None:
            changes = self.written(statics, num_inputs)
            if self._moves is not None:
                known = self.keywords(statics)
                names = inspect.signature(self._moves).parameters
                if not self._moves(**{name: known[name] for name in names}):
                    changes = {}
            self._known_changes[statics, num_inputs] = changes
        return changes

    def fraction_kept(self, statics: Statics) -> float | None:
        """Share of a state that stays when backward moves it; None if the call writes its states."""
        return (
            None
            if self._fraction_kept is None
            else float(self.keywords(statics)[self._fraction_kept])
        )

    def draws(self, statics: Statics) -> int:
        """How many numbers of the stream a call takes; 0 where it draws nothing.

        Args:
            statics: attributes, bound.
        """
        if self._draws is None:
            return int(self.takes_key)
        count = self._known_draws.get(statics)
        if count is None:
            known = self.keywords(statics)
            attributes = {name: known[name] for name in self._draw_names}
            count = self._known_draws[statics] = int(self._draws(**attributes))
        return count

    def demands(
        self, statics: Statics, known: Sequence[tuple[tuple[int, ...], np.dtype]], scalars: int
    ) -> tuple[Demand, ...]:
        """What the host draws for a call.

        Args:
            statics: attributes, bound.
            known: shape and dtype of each array; without the stream.
            scalars: how many numbers are inputs; without that of the draw.
        """
        if not self.draws_as_mxnet:
            return (KEY_DEMAND,)
        return _demands(self, statics, tuple(known), scalars)

    def shared(self, statics: Statics) -> tuple[Any, ...]:
        """Keys of the objects that calls with these attributes share with others."""
        if self._shares is None:
            return ()
        known = self.keywords(statics)
        key = self._shares(**{name: known[name] for name in self._share_names})
        return () if key is None else (key,)

    def num_residuals(self, statics: Statics, num_inputs: int = 0) -> int:
        """Outputs behind all others that only backward reads."""
        if not self.keeps_outputs:
            return 0
        return self.num_outputs(statics, num_inputs) + len(self.written(statics, num_inputs))

    def infer_input_shapes(self, statics: Statics, shapes: Mapping[str, Any]) -> dict[str, Any]:
        """Shapes of parameters that follow from the known ``shapes`` (name -> shape or None)."""
        if self._infer_inputs is None:
            return {}
        known = {**self.keywords(statics), **shapes}
        arguments = {name: known.get(name) for name in self._infer_names}
        first = self._infer_names[0]
        shape = arguments[first]
        if shape is None:
            return {}
        self._check_axes(known, len(shape))
        try:
            return dict(self._infer_inputs(**arguments, **(shapes if self._infer_all else {})))
        except (IndexError, ValueError) as error:
            if isinstance(error, MXNetError):
                raise
            settings = ", ".join(
                f"{name}={known[name]!r}" for name in self.attributes if known[name]
            )
            raise ShapeError(
                f"{self.name}: {first} of shape {tuple(shape)} has too few or too many axes"
                f"{' for ' + settings if settings else ''}. Call it as {self.signature_text()}."
            ) from error

    # ---- computing ----------------------------------------------------------------------------

    def apply(self, statics: Statics, arrays: Arrays, scalars: Arrays = ()) -> tuple[Any, ...]:
        """Outputs, then new states, of JAX arrays or tracers.

        With ``takes_key`` the last array is the stream and the last scalar the number of the draw.
        """
        arrays, scalars, key = self._with_key(arrays, scalars)
        if self._gradient is None:
            return self._call(statics, arrays, scalars, key)
        outputs = self._apply_with_gradient(statics, tuple(arrays), tuple(scalars), key)
        return (*outputs, *outputs) if self.keeps_outputs else outputs

    def _with_key(self, arrays: Arrays, scalars: Arrays) -> tuple[Arrays, Arrays, Any]:
        """The arrays and scalars of :meth:`apply` without the last, and the key that these say."""
        if not self.takes_key:
            return arrays, scalars, None
        *arrays, stream = arrays
        *scalars, draw = scalars
        if self.takes_stream:
            return arrays, scalars, stream_at(stream, draw)
        return arrays, scalars, key_at(stream, draw, self.draws_as_mxnet)

    def with_declared_gradient(
        self, statics: Statics, arrays: Arrays, scalars: Arrays = ()
    ) -> tuple[tuple[Any, ...], Callable[[Arrays], list[Any]]] | None:
        """Outputs, and gradients of the arrays from those of all outputs, by the declared rule.

        Gradients are None where there are none. None if no rule is declared, or if one needs the outputs of
        the very call.
        """
        if self._gradient is None or self.keeps_outputs:
            return None
        arrays, scalars, key = self._with_key(arrays, scalars)
        outputs = self._call(statics, arrays, scalars, key)

        def pull(heads: Arrays) -> list[Any]:
            return self._by_rule(statics, arrays, scalars, key, outputs, heads)

        return outputs, pull

    def gradient_of_call(
        self, statics: Statics, heads: Arrays, outputs: Arrays, arrays: Arrays
    ) -> tuple[Any, ...]:
        """Gradients of the arrays of a call whose outputs are known, None where there is none."""
        assert self._gradient is not None
        gradients = self._gradient(tuple(heads), tuple(outputs), *arrays, **self.keywords(statics))
        return (*gradients, *[None] * (len(arrays) - len(gradients)))

    def _call(self, statics: Statics, arrays: Arrays, scalars: Arrays, key: jax.Array) -> tuple:
        keywords = self.keywords(statics, scalars)
        if self._axes:
            self._check_axes(keywords, arrays[0].ndim)
        if self.one_dtype:
            self._check_dtypes(arrays)
        if self.integers is not None:
            self.check_first(arrays[0].dtype)
        if not self.booleans and arrays[0].dtype == np.bool_:
            raise DTypeError(
                f"{self.title} takes numbers, not booleans; cast with astype('float32')."
            )
        if self.takes_key:
            keywords[STREAM if self.takes_stream else KEY] = key
        outputs = self.function(*self._place(statics, arrays), **keywords)
        return tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)

    def check_first(self, dtype: np.dtype) -> None:
        """Refuse the dtype of the first array if it is of integers that the operator does not take."""
        if self.integers is None or dtype.kind not in "biu" or dtype.name in self.integers:
            return
        first = self.arrays[0] if self.arrays else "input 0"
        raise DTypeError(
            f"{self.title}: {first} is {dtype.name}; it must be floating point. Cast it with "
            f"astype('float32')."
        )

    def _check_dtypes(self, arrays: Arrays) -> None:
        dtypes = list(dict.fromkeys(each.dtype.name for each in arrays if each is not None))
        if len(dtypes) > 1:
            raise DTypeError(
                f"{self.title}: the arrays are {' and '.join(dtypes)}; all must have the same "
                f"dtype. Cast "
                f"those that differ with astype({dtypes[0]!r})."
            )

    def _check_axes(self, known: Mapping[str, Any], ndim: int) -> None:
        for name, axis in self._axes:
            axis.check(self.name, name, known[name], ndim)

    def _place(self, statics: Statics, arrays: Arrays) -> Arrays:
        """Arrays at their parameters' places, None where an optional one is left out."""
        if self.variadic or len(arrays) == len(self.arrays):
            return arrays
        names = self.argument_names(statics)
        if len(names) != len(arrays):
            names = self.arrays
        by_name = dict(zip(names, arrays, strict=False))
        return [by_name.get(name) for name in self.arrays]

    def _apply_with_gradient(self, statics: Statics, arrays: tuple, scalars: tuple, key: Any):
        # Scalars and key are arguments, not closed over: a custom gradient may not capture tracers.
        def forward(arrays: tuple, scalars: tuple, key: jax.Array):
            return self._call(statics, arrays, scalars, key)

        def keep(arrays: tuple, scalars: tuple, key: jax.Array):
            outputs = forward(arrays, scalars, key)
            return outputs, (arrays, scalars, key, outputs)

        def pull(residuals: tuple, heads: tuple):
            arrays, scalars, key, outputs = residuals
            gradients = self._by_rule(statics, arrays, scalars, key, outputs, heads)
            grads = tuple(_cotangent(g, a) for g, a in zip(gradients, arrays, strict=True))
            return grads, tuple(_cotangent(None, s) for s in scalars), _cotangent(None, key)

        run = jax.custom_vjp(forward)
        run.defvjp(keep, pull)
        return run(arrays, scalars, key)

    def _by_rule(
        self, statics: Statics, arrays: Arrays, scalars: Arrays, key: Any, outputs: Any, heads: Any
    ) -> list[Any]:
        """The gradient of each array that the declared rule gives, None where it gives none."""
        assert self._gradient is not None
        keywords = self.keywords(statics, scalars)
        if self.takes_key:
            keywords[STREAM if self.takes_stream else KEY] = key
        one = len(outputs) == 1
        placed = self._place(statics, arrays)
        gradients = self._gradient(
            heads[0] if one else heads, outputs[0] if one else outputs, *placed, **keywords
        )
        gradients = gradients if isinstance(gradients, (tuple, list)) else (gradients,)
        if len(placed) != len(arrays):
            gradients = [g for g, a in zip(gradients, placed, strict=False) if a is not None]
        return [*gradients, *[None] * (len(arrays) - len(gradients))]

    # ---- how it presents itself ---------------------------------------------------------------

    def signature(self, symbols: bool = False) -> inspect.Signature:
        """Signature of the operator as a function of ``mx.nd``, or of ``mx.sym``."""
        kind = inspect.Parameter
        if self.variadic:
            after: Any = kind.KEYWORD_ONLY
            parameters = [kind(name, kind.POSITIONAL_ONLY) for name in self.arrays]
            parameters.append(kind(self.variadic, kind.VAR_POSITIONAL))
        else:
            # A required attribute may follow an optional array, so every parameter has a default.
            after = kind.POSITIONAL_OR_KEYWORD
            parameters = [kind(name, after, default=None) for name in self.arrays]
        for each in self.attributes.values():
            parameters.append(kind(each.name, after, default=each.default))
        for more in ("name", "attr", "out") if symbols else ("out", "name"):
            parameters.append(kind(more, after, default=None))
        return inspect.Signature([*parameters, kind("kwargs", kind.VAR_KEYWORD)])

    def signature_text(self) -> str:
        """``FullyConnected(data, weight, bias, num_hidden, no_bias=False, flatten=True)``."""
        parts = [f"*{self.variadic}"] if self.variadic else list(self.arrays)
        for each in self.attributes.values():
            parts.append(each.name if each.required else f"{each.name}={each.default!r}")
        return f"{self.name}({', '.join(parts)})"

    def usage(self) -> str:
        """``signature_text`` with the name that people call it by, for errors."""
        return self.title + self.signature_text().removeprefix(self.name)

    def wrong_positional(self, values: Sequence[object], allowed: str) -> AttributeTypeError:
        """The error for positional values after the attributes that cannot stand there.

        Args:
            values: at least one.
            allowed: what can, as in ``"an array for the result"``.
        """
        kind = type(values[0]).__name__
        return AttributeTypeError(
            f"{self.title} got {len(values)} value(s) after its attributes, the first of type {kind}; only "
            f"{allowed} can follow. Call it as {self.usage()}."
        )

    def __repr__(self) -> str:
        return f"<operator {self.signature_text()}>"


class RowGradient(Operator):
    """The operator of a row_sparse gradient: head and inputs in, numbers of rows and rows out."""

    variadic = "head and inputs"
    forward: Op

    def __init__(self, forward: Op, array: str, rule: Callable[..., Any]):
        super().__init__()
        self.forward, self.rule = forward, rule
        self.position = forward.arrays.index(array)
        self.names = tuple(inspect.signature(rule).parameters)
        self.name = f"_rows_of_{forward.name}"

    def num_outputs(self, statics: Statics, num_inputs: int = 0) -> int:
        """Numbers of rows, and rows."""
        return 2

    def keywords(self, statics: Statics, scalars: Arrays = ()) -> dict[str, Any]:
        """The forward operator's attributes."""
        return self.forward.keywords(statics, scalars)

    def apply(self, statics: Statics, arrays: Arrays, scalars: Arrays = ()) -> tuple[Any, ...]:
        """Numbers of rows, one for each row of the second result."""
        head, *inputs = arrays
        known = {
            **self.keywords(statics, scalars),
            **dict(zip(self.forward.arrays, inputs, strict=False)),
        }
        rows, values = self.rule(head, **{name: known[name] for name in self.names[1:]})
        return rows.reshape(-1).astype(jnp.int64), values

    def __repr__(self) -> str:
        return f"<row_sparse gradient of {self.forward!r}>"


def _cotangent(gradient: Any, primal: Any) -> Any:
    """A gradient in the form JAX wants for ``primal``: zeros for none, ``float0`` for integers."""
    if primal is None:
        return None
    shape, dtype = jnp.shape(primal), jnp.result_type(primal)  # it may be a number of Python
    if not jnp.issubdtype(dtype, jnp.floating):
        return np.zeros(shape, jax.dtypes.float0)
    if gradient is None:
        return jnp.zeros(shape, dtype)
    return jnp.broadcast_to(gradient, shape).astype(dtype)


def op(name: str, **declared: Any) -> Callable[[Callable[..., Any]], Op]:
    """Decorator that declares an operator; see :class:`Op` for what can be declared.

    Raises:
        MXNetError: one of its names belongs to another operator.
    """

    def declare(function: Callable[..., Any]) -> Op:
        operator = Op(name, function, **declared)
        for each in (name, *operator.aliases):
            if each in OPERATORS:
                raise MXNetError(f"Two operators are named {each!r}; choose another name.")
            OPERATORS[each] = operator
        return operator

    return declare


def register(name: str, **declared: Any) -> Callable[[Callable[..., Any]], Op]:
    """Add an operator of your own; it then works in ``mx.nd``, ``mx.sym``, autograd and Gluon.

    Registering the same name again replaces your operator, so that a notebook cell can run twice;
    an operator of the library is never replaced.

    Example::

        @mx.ops.register("swish")
        def swish(data, *, beta: float = 1.0):
            return data * jax.nn.sigmoid(beta * data)

        mx.nd.swish(mx.nd.ones((2, 2)), beta=2.0)

    Args:
        name: its name; a Python identifier.
        declared: see :class:`Op`.

    Raises:
        MXNetError: the name is not an identifier, or is an operator of the library.
    """
    if not name.isidentifier():
        raise MXNetError(f"Operator name {name!r} is not a Python identifier, as in 'my_op'.")
    known = OPERATORS.get(name)
    if known is not None and not known.function.__module__.startswith("mixnet."):
        for each in (known.name, *known.aliases):
            del OPERATORS[each]
    return op(name, **declared)


def find(name: str) -> Op:
    """The operator of that name.

    Raises:
        MXNetError: there is none; the message has the nearest names.
    """
    try:
        return OPERATORS[name]
    except KeyError:
        near = ", ".join(difflib.get_close_matches(name, OPERATORS, 3))
        raise MXNetError(
            f"There is no operator {name!r}." + (f" Similar names: {near}." if near else "")
        ) from None


@functools.lru_cache(maxsize=1024)
def _demands(
    op: Op, statics: Statics, known: tuple[tuple[tuple[int, ...], np.dtype], ...], scalars: int
) -> tuple[Demand, ...]:
    demands = []

    def run(*inputs: Any) -> Any:
        arrays, numbers = inputs[: len(known)], inputs[len(known) :]
        try:
            return op._call(statics, arrays, numbers, cast(Any, Asked()))
        except AnswerError as answer:  # JAX would look through its traceback
            demands.append(answer.demand)
            return ()

    inputs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in known]
    inputs += [jax.ShapeDtypeStruct((), np.dtype(np.float64))] * scalars
    with jax.enable_x64(True), jax.disable_jit():
        jax.eval_shape(run, *inputs)
    return tuple(demands)
