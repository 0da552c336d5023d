"""What can be declared of an operator, and what that says of a call."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, Literal

from mixnet.base import MXNetError, OperatorTypeError, ShapeError
from mixnet.ops.computed import Computed
from mixnet.ops.operator import Family, FlopsRule, Operator, Statics
from mixnet.ops.row_gradient import RowGradient
from mixnet.ops.schema.dtypes import SAME, Dtypes
from mixnet.ops.schema.integer_layers import Activation, Fusion, Quantization
from mixnet.ops.schema.over_devices import Exchange, OverDevices
from mixnet.ops.schema.rewrites import NOTHING, Rewrites
from mixnet.ops.schema.shape_constraints import Constraint
from mixnet.ops.schema.storage import Storage


class Place(typing.NamedTuple):
    """Where an input of a loop or branch stands in a body: which input, and whether as its slices."""

    number: int
    sliced: bool = False


class Step(typing.NamedTuple):
    """One of several operators that compute the same as another one.

    Its inputs are the result of the step before, or the first input, and those numbered in ``others``.
    """

    operator: str
    attributes: dict[str, Any]
    others: tuple[int, ...] = ()


@dataclass(kw_only=True, eq=False, repr=False)
class Facts:
    """What is declared of an operator, beside rules that depend on the call (:class:`Op`).

    Args:
        aliases: further names; ``np.x`` and ``npx.x`` are names in ``mx.np`` and ``mx.npx``.
        method: whether arrays and symbols have it as a method.
        one_dtype: whether all arrays, but those whose dtype ``dtypes`` declares, must have the same dtype;
            otherwise the function decides what it accepts.
        floats: whether the first array must be of a floating-point dtype.
        integers: names of the integer dtypes that the first array may have; None for all.
        booleans: whether the first array may be boolean.
        differentiable: False stops gradients, as for comparisons.
        is_loss: whether its gradient is the same whatever gradient of its output arrives.
        passes_gradient: whether the gradient of its only array is that of its output, cast to the dtype of
            the array, as for casts.
        calls_python: whether it runs Python code, which can fail or block; a call is then a task of its own.
        runs_in_caller: with ``calls_python``: it never blocks, so it runs in the calling thread, which saves
            a change of threads.
        draws_per_element: for operators that draw until a number is accepted: whether each element has
            attempts of its own, so that rounding in one element does not change the others.
        draws_as_mxnet: whether the function accepts numbers of MXNet's generators in place of a key, see
            :mod:`mixnet.ops.generators.source`.
        draws_by_value: whether the values of its numbers decide how much MXNet draws. They are NumPy's where
            the function is asked what it draws.
        draws_on_numpy: attribute with the shape of the result, for an operator whose calls without arrays can
            be divided into calls for parts of the shape. These compute with NumPy if their numbers and
            draws are NumPy's.
        turns_by_value: for loops and branches: whether values decide which bodies run, and how often.
        keeps_outputs: whether its gradient reads the outputs of this very call, which must not be computed
            again. They are repeated after outputs and states, where backward finds them.
        in_prediction: attributes with which ``backward(train_mode=False)`` differentiates a call.
        states_in_backward: whether its gradient writes its states, too. The rule of ``set_gradient`` then
            returns their new values in the place of their gradients. Needs ``keeps_outputs``.
        flops: floating-point operations for each element of the first input, 0 for operators that only move
            or name elements; by default one for each element written. ``set_flops`` can say more.
        precision: the dtype of its floating-point inputs under mixed precision: ``low`` for half precision,
            ``full`` for float32, ``widest`` for the widest among them, None for whatever it is given.
        full_where: attributes with the values for which it takes float32 under mixed precision, whatever
            ``precision`` says.
        bfloat16: replaces ``precision`` where the half precision is bfloat16; may also be ``any``, for
            whatever it is given, or ``unlisted``, if MXNet's lists omit it. MXNet's lists for bfloat16 name
            operators without it as ``widest``, if that is their precision, or else as ``full``.
        in_amp_lists: whether MXNet's lists of operators for mixed precision name it.
        dtypes: arrays and outputs whose dtype differs from the others; by default all share one.
        rewrites: simpler equivalents of a call, for passes that simplify graphs and fold constants.
        layout_axis: attribute with the axis of the channels, for an operator that computes in any layout if
            that attribute is changed.
        any_layout: whether it also computes images with channels last, so that nothing but the order of axes
            changes. Passes find this out themselves if the function works element by element.
        recomputed: whether backward may compute its results again to save memory: ``yes``; ``asked`` if that
            is expensive, so only where ``force_mirroring`` is set; ``never`` if a second call may differ.
        shape_constraint: how the shapes of arrays and results determine each other, where the function alone
            cannot tell; see :mod:`mixnet.ops.schema.shape_constraints`.
        shaped_by: attribute with the shape of the result, independent of the arrays. In a symbol, extents of
            an operator without arrays may be unknown.
        storage: which results and gradients are sparse if arrays are; by default it computes on dense copies.
        updates_rows: for an update of a weight: whether it changes only the rows of a row_sparse gradient,
            for ``any`` weight or only for a ``sparse`` one. For other updates, the gradient of
            the other rows is 0.
        family: the kind of layer, by which pictures colour it.
        activation: the activation function that it applies to each element, or a function of the attributes
            that returns it.
        fusion: its role in MXNet's fused layers, if it has one.
        quantization: its counterpart on integers, if there is one.
        labels: the last arrays, if only the gradient reads them, so that predictions do not need them.
        initializers: how parameters that a symbol creates itself are initialized, as ``Initializer.dumps``
            writes it, where that does not follow from their names.
    """

    aliases: tuple[str, ...] = ()
    method: bool = False
    one_dtype: bool = False
    floats: InitVar[bool] = False
    integers: Sequence[str] | None = None
    booleans: bool = True
    differentiable: bool = True
    is_loss: bool = False
    passes_gradient: bool = False
    calls_python: bool = False
    runs_in_caller: bool = False
    draws_per_element: bool = False
    draws_as_mxnet: bool = False
    draws_by_value: bool = False
    draws_on_numpy: str | None = None
    turns_by_value: bool = False
    keeps_outputs: bool = False
    in_prediction: Mapping[str, Any] = field(default_factory=dict)
    states_in_backward: bool = False
    flops: int | None = None
    precision: str | None = None
    full_where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    bfloat16: str | None = None
    in_amp_lists: bool = True
    dtypes: Dtypes = SAME
    rewrites: Rewrites = NOTHING
    layout_axis: str | None = None
    any_layout: bool = False
    recomputed: Literal["yes", "asked", "never"] = "yes"
    shape_constraint: Constraint | None = None
    shaped_by: str | None = None
    storage: Storage | None = None
    updates_rows: Literal["any", "sparse"] | None = None
    family: Family | None = None
    activation: Activation = None
    fusion: Fusion | None = None
    quantization: Quantization | None = None
    labels: tuple[str, ...] = ()
    initializers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self, floats: bool) -> None:
        # Declarations list them, too.
        self.aliases, self.labels = tuple(self.aliases), tuple(self.labels)
        if floats:
            self.integers = ()


class Op(Facts, Computed):
    """A declared operator: a pure function of JAX arrays, and what graphs, passes and the runtime ask of it.

    Args:
        name: MXNet's registered name.
        function: pure. Arrays are positional parameters, attributes keyword-only ones; ``*data`` makes the
            operator variadic. A keyword-only ``key`` receives a random key, ``training`` whether autograd
            is in training mode.
        states: array parameters that the operator writes. The function returns their new values after its
            outputs. For a variadic operator: a function of the attributes that returns the positions of
            these inputs.
        moves: function of the attributes: whether a call changes the states. By default it does.
        fraction_kept: attribute with the share of a state that remains when a call updates it. Such states
            are updated when backward passes the call, not when it is made. None: they are written at once.
        outputs: number of outputs without states, or a function of the attributes that returns it.
        visible: number of outputs that a caller sees, or a function of the attributes that returns it.
        output_names: suffixes of the outputs' names in a symbol, or a function of the attributes that lists
            those of all visible outputs.
        arguments: function of the attributes that lists the array parameters a call needs. By default all,
            without ``bias`` if ``no_bias`` is set. It sees a number that is an input of the program as
            ``Dynamic``, or as None if it was not given.
        check: function of the attributes that raises an error for values that contradict each other. It
            sees the numbers themselves, including those that are inputs of the program.
        num_args: attribute that counts variadic inputs in symbol files; None if the number of inputs
            follows from the other attributes.
        shares: function of the attributes that returns a key of the user's object that a call works with, or
            None. Calls with equal keys run one after another.
        draws: function of the attributes that returns how many numbers of the random stream a call takes, or
            whether it takes one. By default every call of an operator with a key takes one.
        facts: the other things that can be declared; see :class:`Facts`.
    """

    _infer_inputs: Callable[..., Mapping[str, Any]] | None = None
    _infer_dtypes: Callable[..., tuple[Sequence[Any], Sequence[Any]]] | None = None
    row_gradient: RowGradient | None = None
    check_known: Callable[..., None] | None = None
    checked_place: int = 0

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        states: Sequence[str] | Callable[..., Sequence[int]] = (),
        moves: Callable[..., bool] | None = None,
        fraction_kept: str | None = None,
        outputs: int | Callable[..., int] = 1,
        visible: int | Callable[..., int] | None = None,
        output_names: Sequence[str] | Callable[..., Sequence[str]] = ("output",),
        arguments: Callable[..., Sequence[str]] | None = None,
        check: Callable[..., None] | None = None,
        num_args: str | None = "num_args",
        shares: Callable[..., Any] | None = None,
        draws: Callable[..., int] | None = None,
        **facts: Any,
    ):
        Computed.__init__(self, name, function, num_args, check, () if callable(states) else states)
        Facts.__init__(self, **facts)
        self._states = states if callable(states) else None
        self.states: tuple[str, ...] = () if callable(states) else tuple(states)
        if self._states and self.variadic:
            self.states = (self.variadic,)
        self._moves = moves
        self._fraction_kept = fraction_kept
        self._outputs, self._visible, self._arguments = outputs, visible, arguments
        self._name_outputs = output_names if callable(output_names) else None
        self._output_names = () if callable(output_names) else tuple(output_names)
        self._shares, self._draws = shares, draws
        # Python may return any gradient, whatever arrives.
        self.starts_gradients = self.is_loss or (self.calls_python and self.differentiable)
        self.counts_inputs = not self.variadic and (
            arguments is not None or "no_bias" in self.attributes
        )
        # What rules answered: asking costs more than recording an operation.
        self._known_changes: dict[Any, dict[int, int]] = {}
        self._known_draws: dict[Any, int] = {}
        self._known_counts: dict[Statics, int] = {}

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
        self.infers_dtypes = True
        return self.infer_dtypes_of_known(rule)

    def infer_dtypes_of_known(
        self, rule: Callable[..., tuple[Sequence[Any], Sequence[Any]]]
    ) -> Callable[..., Any]:
        """Decorator like ``infer_dtypes``, for a rule that needs the dtype of an input.

        Where none is known, shape inference assumes one, as for operators without such a rule.
        """
        self._infer_dtypes = rule
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
            if self.dtypes.accepts:
                self._check_accepted(statics, [dtype for _shape, dtype in inputs])
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

    def differentiated_in_prediction(self, statics: Statics) -> tuple[Operator, Statics]:
        """This operator with the attributes that ``in_prediction`` declares."""
        return self, self.rebind(statics, **self.in_prediction) if self.in_prediction else statics

    def set_row_gradient(
        self, name: str, has_zero_rows: bool = False
    ) -> Callable[[Callable[..., Any]], RowGradient]:
        """Decorator: the gradient of array ``name`` as numbers of rows and what is added to each.

        ``rule(head, *arrays, **attributes)`` returns both; rows may be named several times. It is
        asked where the gradient is to be row_sparse. ``has_zero_rows``: some rows are there although the
        gradient is 0.
        """

        def declare(rule: Callable[..., Any]) -> RowGradient:
            self.row_gradient = RowGradient(self, name, rule, has_zero_rows)
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

    def set_runs_at_once(self, rule: Callable[..., bool]) -> Callable[..., bool]:
        """Decorator: whether a call runs in Python, where it is called, as only that gives the shapes.

        The rule names the attributes it needs. A graph is cut at such a call, as at an operator with a size.
        """
        self.runs_at_once = rule
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

    def set_file_form(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: operators of MXNet that compute the same, for symbol files.

        The rule is called with the attributes; it returns a :class:`Step` for each operator, or None where
        MXNet has no operators for them.
        """
        self.file_form = rule
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

    def awaits_values(self, statics: Statics) -> bool:
        """Whether the shape of the result depends on values that have not been read."""
        if self.runs_at_once is not None:
            return bool(self.answer(self.runs_at_once, statics))
        return self.measure is not None and statics[self._order.index("size")] is None

    def _ask(self, rule: Any, statics: Statics, count: int) -> int:
        if type(rule) is int:
            return rule
        return int(self.answer(rule, statics, count))

    def num_outputs(self, statics: Statics, num_inputs: int = 0) -> int:
        """Outputs of the function, states left out."""
        return self._ask(self._outputs, statics, num_inputs)

    def num_visible(self, statics: Statics, num_inputs: int = 0) -> int:
        """Outputs that a caller sees."""
        if self._visible is None:
            return self.num_outputs(statics, num_inputs)
        return self._ask(self._visible, statics, num_inputs)

    @property
    def has_one_output(self) -> bool:
        """Whether a caller sees one output, whatever the attributes are."""
        return (self._outputs if self._visible is None else self._visible) == 1

    def output_names(self, statics: Statics) -> tuple[str, ...]:
        """Suffixes of the outputs' names; a single one is numbered where there are more outputs."""
        if self._name_outputs is None:
            return self._output_names
        return tuple(self.answer(self._name_outputs, statics))

    def argument_names(self, statics: Statics) -> tuple[str, ...]:
        """Array parameters that a call with these attributes takes."""
        if self._arguments is not None:
            return tuple(self.answer(self._arguments, statics))
        if self.keywords(statics).get("no_bias"):
            return tuple(name for name in self.arrays if name != "bias")
        return self.arrays

    def check_count(self, statics: Statics, count: int) -> None:
        """Refuse more arrays than a call with these attributes takes.

        Raises:
            OperatorTypeError: there are more.
        """
        num_arguments = self._num_arguments(statics)
        if count > num_arguments:
            raise OperatorTypeError(
                f"{self.title}: with these attributes it takes {num_arguments} array(s), "
                f"{', '.join(self.argument_names(statics))}; {count} were given. Call it as {self.usage()}."
            )

    def lacks_arrays(self, statics: Statics, count: int) -> bool:
        """Whether a call with these attributes takes more arrays."""
        return self.counts_inputs and count < self._num_arguments(statics)

    def _num_arguments(self, statics: Statics) -> int:
        number = self._known_counts.get(statics)
        if number is None:
            number = self._known_counts[statics] = len(self.argument_names(statics))
        return number

    def written(self, statics: Statics, num_inputs: int) -> dict[int, int]:
        """Inputs that a call writes: place of each -> index of the output with its new value."""
        first = self.num_outputs(statics, num_inputs)
        if self._states:
            places = self.answer(self._states, statics)
            return {place: first + i for i, place in enumerate(places)}
        arguments = self.argument_names(statics)
        if len(arguments) != num_inputs:
            arguments = self.arrays
        return {
            arguments.index(name): first + i
            for i, name in enumerate(self.states)
            if name in arguments
        }

    def written_in_backward(self, statics: Statics, num_inputs: int = 0) -> dict[int, int]:
        """Those of the ``written`` inputs that the gradient of a call writes, too."""
        return self.written(statics, num_inputs) if self.states_in_backward else {}

    def parties(self, statics: Statics) -> tuple[str, int] | None:
        """Name of the meeting of devices that a call takes part in, and how many they are."""
        if self.over_devices is None:
            return None
        parties: tuple[str, int] | None = self.answer(self.over_devices.parties, statics)
        return parties

    def changed(self, statics: Statics, num_inputs: int) -> dict[int, int]:
        """Those of the ``written`` inputs that this call gives another value."""
        changes = self._known_changes.get((statics, num_inputs))
        if changes is None:
            changes = self.written(statics, num_inputs)
            if self._moves is not None and not self.answer(self._moves, statics):
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
            count = self._known_draws[statics] = int(self.answer(self._draws, statics))
        return count

    def shared(self, statics: Statics) -> tuple[Any, ...]:
        """Keys of the objects that calls with these attributes share with others."""
        if self._shares is None:
            return ()
        key = self.answer(self._shares, statics)
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
