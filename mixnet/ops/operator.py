"""The operator of a node: the base class of registered operators, gradients, copies and whole graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mixnet.ops.schema.dtypes import SAME, Dtypes
from mixnet.ops.schema.rewrites import NOTHING, Rewrites

if TYPE_CHECKING:
    from mixnet.ops.schema.attributes import Attribute
    from mixnet.ops.schema.integer_layers import Activation, Fusion, Quantization
    from mixnet.ops.schema.over_devices import OverDevices
    from mixnet.ops.schema.shape_constraints import Constraint
    from mixnet.ops.schema.storage import Storage

Arrays = Sequence[Any]
Statics = tuple[Any, ...]
Family = Literal["layer", "activation", "normalization", "pooling", "reshaping"]
"""Kinds of layers that pictures of networks distinguish."""


class FlopsRule(NamedTuple):
    """How floating point operations follow from shapes and attributes; see ``Op.set_flops``."""

    count: Callable[..., int]
    attributes: tuple[str, ...]
    is_product: bool


class Operator:
    """What a node can compute, and all that graphs, passes and the runtime ask of it.

    As it stands here it has one output, no attributes, no states, no gradient and no randomness. A subclass
    has a ``name`` and ``apply``, and says what is otherwise; :class:`mixnet.ops.op.Op`
    documents the facts.
    """

    name: str
    title: str
    """The name without a prefix, as users write it; for operators of the registry."""
    arrays: tuple[str, ...] = ()
    attributes: Mapping[str, Attribute] = {}
    states: tuple[str, ...] = ()
    optional_arrays: Set[str] = frozenset()
    labels: tuple[str, ...] = ()
    """The arrays, the last ones, that only the gradient reads."""
    variadic: str | None = None
    num_args: str | None = "num_args"

    differentiable: bool = False
    passes_gradient: bool = False
    takes_key: bool = False
    key: int | None = None
    """Index of the random stream among the inputs, for an operator that stands for a graph."""
    draws_per_element: bool = False
    draws_on_numpy: str | None = None
    takes_training: bool = False
    calls_python: bool = False
    runs_in_caller: bool = False
    keeps_outputs: bool = False
    starts_gradients: bool = False
    """Whether backward calls its gradient even if none arrives at its outputs, as that of a loss."""

    function: Callable[..., Any] | None = None
    output_specs: Callable[[Any, Sequence[Any]], list[Any]] | None = None
    """Shape and dtype of every output from those of the inputs, where tracing is not needed for it."""
    dataflow: Callable[..., tuple[Any, ...]] | None = None
    """``apply`` for those who ask what depends on what, where ``apply`` also says in which order
    to compute.
    """
    program: Any = None
    """Its primitive steps, a :class:`mixnet.ops.tracing.dataflow.Program`, where they are known already."""
    graph: Any = None
    """The :class:`mixnet.graph.graph.Graph` that it stands for."""
    forward: Operator | None = None
    """The operator whose gradient it is."""
    is_numpys: bool = False
    """Whether it is an operator of ``mx.np`` or ``mx.npx``: those promote dtypes."""
    is_known_by_name: bool = False
    """Whether its name stands for it in every process, as those of the library's registry do."""
    is_known_by_forward: bool = False
    """Whether its class and ``forward`` say what it computes."""
    run_on_host: Callable[[Sequence[Any]], list[Any]] | None = None
    """Computes a call from NumPy arrays, for an operator that no JAX program can compute."""
    row_gradient: Any = None
    storage: Storage | None = None
    dtypes: Dtypes = SAME
    rewrites: Rewrites = NOTHING
    flops: int | None = None
    """Floating point operations for each element of the first input; None for one for each
    element written.
    """
    flops_rule: FlopsRule | None = None
    precision: str | None = None
    """Precision of its inputs under mixed precision: ``low``, ``full``, ``widest``; None for any."""
    full_where: Mapping[str, Sequence[str]] = {}
    """Attributes and the values with which it wants float32 under mixed precision."""
    bfloat16: str | None = None
    """What it wants beside bfloat16, where that is something else."""
    shape_constraint: Constraint | None = None
    """How shapes of arrays and results depend on each other, for inference that goes back."""
    measure: Callable[[Mapping[str, Any], Mapping[str, Any]], int] | None = None
    """The number of elements of the result from values, where the shape depends on them."""
    runs_at_once: Callable[..., bool] | None = None
    """Whether a call has results of open shapes and runs where it is called; see ``Op.set_runs_at_once``."""
    turns_by_value = False
    shaped_by: str | None = None
    family: Family | None = None
    activation: Activation = None
    fusion: Fusion | None = None
    quantization: Quantization | None = None
    layout_axis: str | None = None
    any_layout: bool = False
    recomputed: Literal["yes", "asked", "never"] = "yes"
    over_devices: OverDevices | None = None
    bodies: Callable[..., list[tuple[Any, list[Any]]]] | None = None
    file_form: Callable[..., list[Any] | None] | None = None
    """Operators of MXNet's that compute the same, for files; see ``Op.set_file_form``."""

    calls: dict[Any, Any]

    def __init__(self) -> None:
        self.calls = {}  # the runtime's memo: (statics, input specs) -> call

    # ---- computing ------------------------------------------------------------------------------

    def apply(self, statics: Statics, arrays: Arrays, scalars: Arrays = ()) -> tuple[Any, ...]:
        """Outputs, then new states, then residuals, of JAX arrays or tracers."""
        raise NotImplementedError(f"{self!r} does not run within a program.")

    def with_declared_gradient(
        self, statics: Statics, arrays: Arrays, scalars: Arrays = ()
    ) -> tuple[tuple[Any, ...], Callable[[Arrays], list[Any]]] | None:
        """Outputs, and gradients of the arrays from those of all outputs; None without a declared rule."""
        return None

    def differentiated_in_prediction(self, statics: Statics) -> tuple[Operator, Statics]:
        """The operator, and its attributes, whose gradient ``backward(train_mode=False)`` takes of a call."""
        return self, statics

    def run_values(self, statics: Statics, values: Sequence[Any]) -> list[Any] | None:
        """Outputs of a call that runs between programs; None for what is recorded as others are."""
        return None

    def drawn_on_numpy(self, statics: Statics, scalars: Sequence[Any], count: int, key: Any) -> Any:
        """The next numbers of a call that draws with NumPy, of an operator with ``draws_on_numpy``."""
        raise NotImplementedError(f"{self!r} does not draw with NumPy.")

    # ---- attributes ------------------------------------------------------------------------------

    def bind(self, keywords: Mapping[str, Any], training: bool = False) -> tuple[Statics, tuple]:
        """Checked attributes: the static ones in order, and the numbers that are inputs."""
        raise NotImplementedError(f"{self!r} takes no attributes by name.")

    def rebind(self, statics: Statics, **changes: Any) -> Statics:
        """The bound attributes with some of them changed."""
        raise NotImplementedError(f"{self!r} takes no attributes by name.")

    # ---- facts about a call ---------------------------------------------------------------------

    def keywords(self, statics: Statics, scalars: Arrays = ()) -> dict[str, Any]:
        """Attributes by name."""
        return {}

    def written_in_backward(self, statics: Statics, num_inputs: int = 0) -> dict[int, int]:
        """States that the gradient of a call writes: place of each -> index of its new value."""
        return {}

    def has_gradient(self, output: int) -> bool:
        """Whether a gradient of this output goes on to the inputs."""
        return self.differentiable

    def num_outputs(self, statics: Statics, num_inputs: int = 0) -> int:
        """Outputs, without states and residuals."""
        return 1

    def num_visible(self, statics: Statics, num_inputs: int = 0) -> int:
        """Outputs that a caller sees."""
        return self.num_outputs(statics, num_inputs)

    def num_residuals(self, statics: Statics, num_inputs: int = 0) -> int:
        """Outputs behind all others that only backward reads."""
        return 0

    def output_names(self, statics: Statics) -> tuple[str, ...]:
        """Suffixes of the outputs' names."""
        return ("output",)

    def argument_names(self, statics: Statics) -> tuple[str, ...]:
        """Array parameters that a call takes."""
        return self.arrays

    def infer_input_shapes(self, statics: Statics, shapes: Mapping[str, Any]) -> dict[str, Any]:
        """Shapes of parameters that follow from the known ones."""
        return {}

    infers_dtypes = False
    """Whether a rule of its own says dtypes, even where those of no input are known."""

    def inferred_dtypes(
        self, statics: Statics, dtypes: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Dtypes of inputs and outputs that a rule of its own gives, see ``Op.infer_dtypes``;
        nothing without one.
        """
        return (), ()

    def written(self, statics: Statics, num_inputs: int) -> dict[int, int]:
        """Inputs that a call writes: place of each -> index of the output with its new value."""
        return {}

    def changed(self, statics: Statics, num_inputs: int) -> dict[int, int]:
        """Those of the ``written`` inputs that this call gives another value."""
        return self.written(statics, num_inputs)

    def fraction_kept(self, statics: Statics) -> float | None:
        """Share of a state that stays when backward moves it; None if states are written at once."""
        return None

    def has_stream(self, statics: Statics, scalars: Sequence[float]) -> bool:
        """Whether a call has the stream of random numbers as its last array, and the number of its draw
        as its last scalar; a symbol's calls get them when it is bound.
        """
        return self.takes_key

    def draws(self, statics: Statics) -> int:
        """How many numbers of the stream of random numbers a call takes."""
        return int(self.takes_key)

    def demands(self, statics: Statics, known: Any, scalars: Sequence[float]) -> Any:
        """What the host draws for a call."""
        return ()

    def shared(self, statics: Statics) -> tuple[Any, ...]:
        """Keys of the objects that calls with these attributes share with others."""
        return ()

    def parties(self, statics: Statics) -> tuple[str, int] | None:
        """Name of the meeting of devices that a call takes part in, and how many they are."""
        return None

    # ---- its gradient ---------------------------------------------------------------------------

    def backward_node(self, node: Any, heads: Sequence[Any], wrt: Sequence[int]) -> Any:
        """The node with the gradients of the inputs ``wrt``; None to have the function differentiated."""
        return None

    def names_rows(self, position: int) -> bool:
        """Whether the gradient of an input can be row-sparse."""
        return self.row_gradient is not None and self.row_gradient.position == position

    def rows_node(
        self, node: Any, heads: Sequence[Any], rows: Sequence[int]
    ) -> tuple[Any, list[int]] | None:
        """One node with the row gradients of several inputs, and how many pairs each has; None
        for one by one.
        """
        return None


def is_own(op: Operator) -> bool:
    """Whether the operator was declared outside of mixnet.

    Its errors are its author's to read, and its function may do what those of mixnet do not.
    """
    return op.function is not None and not op.function.__module__.startswith("mixnet.")
