"""Block: a part of a network, composed of parameters and other blocks."""

from __future__ import annotations

import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from mixnet import initializer
from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    MXNetError,
    NotDefinedError,
    UnknownAttributeError,
    unknown_argument,
)
from mixnet.gluon.block.arguments import no_block, refused
from mixnet.gluon.block.model_file import load_model, save_model
from mixnet.gluon.block.rename import Names, renamed
from mixnet.gluon.block.scope import _BlockScope
from mixnet.gluon.block.summary import summarize
from mixnet.gluon.parameter import Parameter, ParameterDict, fill
from mixnet.gluon.utils import HookHandle
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.params_file import load, save
from mixnet.numpy.ndarray import ndarray as np_ndarray
from mixnet.process.docstrings import inherit_arguments
from mixnet.process.source import user_source, warn_user
from mixnet.process.subroutine import checked_function
from mixnet.process.tracebacks import shortened
from mixnet.runtime.record.files import Saving
from mixnet.runtime.value.undo import all_or_nothing
from mixnet.util import is_np_array, set_module

if TYPE_CHECKING:
    from mixnet.context import Context
    from mixnet.dtype import DTypeLike
    from mixnet.initializer.initializer import Initializer

_LAYERS = f"{__name__.partition('.')[0]}."


def indented(text: str, spaces: int = 2) -> str:
    """The text with all lines except the first indented."""
    return text.replace("\n", "\n" + " " * spaces)


_WITHOUT_BLOCKS = frozenset(
    {
        "_children",
        "_reg_params",
        "_forward_hooks",
        "_forward_pre_hooks",
        "_mx_made_at",
        "_mx_formats",
    }
)
"""A block's own containers, which hold no blocks, or its children."""


@set_module("mixnet.gluon.block")
class Block:
    """Base of all layers and networks: override ``forward``.

    Blocks and parameters that are set as attributes become its children.

    Args:
        prefix: prefix of its parameters' names; by default the class name with a counter.
        params: parameters to share: those of another block, ``other.params`` or
            ``other.collect_params()``.
        unknown: any other argument is an error, which suggests the closest name.
    """

    _mx_is_layer = True
    """Whether a summary lists the block itself, not only its children."""
    _active = False
    """Whether the block is hybridized."""
    _cached_graph: Any = ()
    """The variables and the symbol of a composed block."""
    _mx_formats: tuple[Any, Any] = (None, None)
    """The structures of its inputs and outputs when it was composed."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        inherit_arguments(cls)

    def __init__(
        self, prefix: str | None = None, params: ParameterDict | None = None, **unknown: object
    ):
        if unknown:
            raise unknown_argument(self, next(iter(unknown)))
        if prefix is not None and not isinstance(prefix, str):
            raise AttributeTypeError(_no_prefix(type(self).__name__, prefix))
        self._mx_made_at = user_source(making=self)
        self._empty_prefix = prefix == ""
        self._prefix, self._params = _BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._scope = _BlockScope(self)
        self._children: OrderedDict[str, Block] = OrderedDict()
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self._forward_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()

    def _alias(self) -> str:
        return type(self).__name__.lower()

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute; blocks and parameters become children.

        Raises:
            TypeError: a block or a parameter would be replaced by an object of another class.
            CheckError: a parameter would be replaced.
        """
        before = self.__dict__.get(name)
        if isinstance(value, (Parameter, Block)) and "_forward_pre_hooks" not in self.__dict__:
            title = type(self).__name__
            raise UnknownAttributeError(
                f"{title}.{name} is set before the block is initialized: call super().__init__() "
                f"first in "
                f"{title}.__init__."
            )
        if isinstance(before, (Parameter, Block)) and not isinstance(value, type(before)):
            raise AttributeTypeError(
                f"{type(self).__name__}.{name} is a {type(before)}; it cannot become a "
                f"{type(value)}. Use another name, or make a new {type(self).__name__}."
            )
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            if name in self._reg_params:
                raise CheckError(
                    f"{type(self).__name__}.{name} is already a parameter. To share parameters, "
                    f"pass params=other.params."
                )
            self._reg_params[name] = value
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        rows = [
            f"  ({name}): {indented(repr(each))}"
            for name, each in self.__dict__.items()
            if isinstance(each, Block)
        ]
        return f"{type(self).__name__}(\n" + "\n".join(rows) + "\n)"

    # ---- names, children, parameters ----------------------------------------------------------

    @property
    def prefix(self) -> str:
        """The prefix of its parameters' names."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without its last underscore."""
        return self._name

    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without its children's."""
        return self._params

    def name_scope(self) -> _BlockScope:
        """Scope in which new blocks are named as parts of this one."""
        return self._scope

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Add a child block, under ``name`` or its index.

        Raises:
            ValueError: it is not a block.
        """
        if not isinstance(block, Block):
            raise AttributeValueError(no_block(self, block))
        self._children[str(len(self._children)) if name is None else name] = block

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Its parameters and its children's.

        Args:
            select: regular expression that matches names from the beginning.
        """
        self._check_container_with_block()
        parameters = ParameterDict(self._params.prefix)
        try:
            pattern = re.compile(select or "")
        except re.error as error:
            raise AttributeValueError(
                f"collect_params: {select!r} is not a regular expression: {error}. '.*weight' is one."
            ) from None
        collected = ParameterDict()
        collected._params.update((n, p) for n, p in self._params.items() if pattern.match(n))
        parameters.update(collected)
        for child in self._children.values():
            parameters.update(child.collect_params(select=select))
        return parameters

    def _check_container_with_block(self) -> None:
        # Copies of what is walked through: another thread may call the block for the first time.
        children = set(self._children.values())

        def hidden(value: object) -> bool:
            if isinstance(value, (list, tuple)):
                return any(hidden(each) for each in value)
            if isinstance(value, dict):
                return any(hidden(each) for each in list(value.values()))
            return isinstance(value, Block) and value not in children

        for name, value in list(self.__dict__.items()):
            if (
                isinstance(value, (list, tuple, dict))
                and name not in _WITHOUT_BLOCKS
                and not name.startswith("__")
                and hidden(value)
            ):
                warn_user(
                    f'"{type(self).__name__}.{name}" is an unregistered container with Blocks: '
                    f"Blocks in a list, tuple or dict are not children, and their parameters are "
                    f"not found. Call register_child() for each, or put them into nn.Sequential or "
                    f"nn.HybridSequential."
                )

    def _mx_walk(self) -> list[Block]:
        """The block and all its descendants, each once."""
        blocks: dict[Block, None] = {}
        waiting: list[Block] = [self]
        while waiting:
            block = waiting.pop()
            if block not in blocks:
                blocks[block] = None
                waiting += reversed(block._children.values())
        return list(blocks)

    def _mx_all_parameters(self) -> dict[str, Parameter]:
        """Parameters by name, with those that blocks hold but that are not in their dicts (shared ones)."""
        parameters = {each.name: each for each in self.collect_params().values()}
        for block in self._mx_walk():
            parameters.update({each.name: each for each in block._reg_params.values()})
        return parameters

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Parameters by their path in the structure, such as ``features.0.weight``."""
        dot = prefix + "." if prefix else ""
        parameters = {dot + name: each for name, each in self._reg_params.items()}
        for name, child in self._children.items():
            parameters.update(child._collect_params_with_prefix(dot + name))
        return parameters

    def initialize(
        self,
        init: Initializer | str | None = initializer.Uniform(),
        ctx: Context | Sequence[Context] | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initialize all parameters.

        Args:
            init: default initializer; small uniform numbers by default.
            ctx: a context or a list; the current one by default.
            verbose: log each.
            force_reinit: initialize again if they have values.
        """
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of all parameters."""
        parameters = [each for block in self._mx_walk() for each in block._params.values()]
        all_or_nothing(partial(self._mx_cast_all, dtype), parameters)

    def _mx_cast_all(self, dtype: DTypeLike) -> None:
        for child in self._children.values():
            child.cast(dtype)
        for each in self._params.values():
            each.cast(dtype)

    def zero_grad(self) -> None:
        """Set all gradients to 0."""
        self.collect_params().zero_grad()

    def apply(self, fn: Callable[[Block], Any]) -> Block:
        """Call ``fn`` on all children, then on itself."""
        checked_function("apply", "fn", fn, "def change(block)")
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridize all hybridizable children.

        Args:
            active: False to run them as imperative code again.
            kwargs: see ``HybridBlock.hybridize``.
        """
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    # ---- files --------------------------------------------------------------------------------

    def save_parameters(
        self, filename: str, deduplicate: bool = False, wait: bool = True
    ) -> Saving | None:
        """Write the values to a ``.params`` or safetensors file, named by their position in the structure.

        Args:
            filename: path, ending in ``.safetensors`` for that format; the file is written atomically.
            deduplicate: write a shared parameter once, under the last of its names.
            wait: return when the file is complete; otherwise return a handle to wait on immediately.
        """
        params = self._collect_params_with_prefix()
        if deduplicate:
            names = {each: name for name, each in params.items()}
            params = {name: each for each, name in names.items()}
        return save(filename, {name: each._reduce() for name, each in params.items()}, wait)

    def load_parameters(
        self,
        filename: str,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
        names: Names | None = None,
    ) -> None:
        """Read values written by ``save_parameters``, ``export`` or ``ParameterDict.save``, or a
        safetensors file.

        The format is detected from the file's content. Nothing changes unless all values match.

        Args:
            filename: path.
            ctx: context of parameters that do not exist yet.
            allow_missing: leave parameters that the file does not have.
            ignore_extra: ignore values that the network does not have.
            cast_dtype: cast if dtypes differ.
            dtype_source: ``current`` or ``saved``: the dtype of a parameter afterwards.
            names: for weights of other libraries: a function from the file's name of an array to
                the name in this network (as written by ``save_parameters``), None to skip the
                array; or a dict from regular expressions to replacements, tried in order, None
                to skip matching arrays.

        Raises:
            CheckError: names are missing, or a shape or dtype differs.
            ValueError: names are unknown.
            FileFormatError: the file is truncated or corrupted.
        """
        loaded = load(filename)
        params = self._collect_params_with_prefix()
        if not isinstance(loaded, dict):
            if not loaded and not params:
                return
            raise CheckError(f"{filename} holds arrays without names, not parameters.")
        if names is not None:
            loaded = renamed(loaded, names, f"file '{filename}'")
        elif loaded and not any("." in name for name in loaded):
            # a file without structure has the names of collect_params(), with or without the prefix
            self.collect_params().load(
                filename, ctx, allow_missing, ignore_extra, self.prefix, cast_dtype, dtype_source
            )
            return
        fill(
            params,
            loaded,
            ctx,
            allow_missing,
            ignore_extra,
            cast_dtype,
            dtype_source,
            f"file '{filename}'",
            AttributeValueError,
        )

    def save_params(self, filename: str) -> None:
        """Like ``collect_params().save``; deprecated, use :meth:`save_parameters`.

        Args:
            filename: path.
        """
        warnings.warn(
            "save_params is deprecated: call save_parameters, or export for a SymbolBlock.",
            stacklevel=2,
        )
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_params(
        self,
        filename: str,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> None:
        """Like :meth:`load_parameters`; deprecated, use that.

        Args:
            filename: path.
            ctx: context of parameters that do not exist yet.
            allow_missing: leave parameters that the file does not have.
            ignore_extra: ignore values that the network does not have.
        """
        warnings.warn("load_params is deprecated: call load_parameters.", stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> None:
        """Write ``prefix-model.json`` (the nesting of blocks) and ``prefix-model.params``.

        Args:
            prefix: start of both paths.
        """
        save_model(self, prefix)

    def load(self, prefix: str) -> None:
        """Load files written by :meth:`save` into a network with the same structure.

        Args:
            prefix: start of both paths.
        """
        load_model(self, prefix)

    # ---- calling ------------------------------------------------------------------------------

    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs, output)`` after every forward."""
        checked_function("register_forward_hook", "hook", hook, "def hook(block, inputs, output)")
        handle = HookHandle()
        handle.attach(self._forward_hooks, hook)
        return handle

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs)`` before every forward."""
        checked_function("register_forward_pre_hook", "hook", hook, "def hook(block, inputs)")
        handle = HookHandle()
        handle.attach(self._forward_pre_hooks, hook)
        return handle

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """Call ``callback(name, operator, array)`` for every result in hybridized children.

        Args:
            callback: gets the name of the result, the operator's name, and the array.
            monitor_all: also for the operators' inputs.
        """
        checked_function(
            "register_op_hook", "callback", callback, "def hook(name, operator, array)"
        )
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def __call__(self, *args: Any) -> Any:
        """Run forward and the hooks.

        Args:
            args: arrays, or nested lists of them.
        """
        if self._forward_pre_hooks:
            for hook in list(self._forward_pre_hooks.values()):
                hook(self, args)
        try:
            output = self._mx_run(*args)
        except MXNetError as error:
            error.__traceback__ = shortened(error)
            _name_layer(error, self)
            raise
        except TypeError:
            problem = refused(self, self.forward, args)
            if problem is None:
                raise
            raise problem from None
        if self._forward_hooks:
            for hook in list(self._forward_hooks.values()):
                hook(self, args, output)
        if is_np_array():
            _check_numpy(output)
        return output

    def _mx_run(self, *args: object) -> Any:
        return self.forward(*args)

    if TYPE_CHECKING:  # overridden with the inputs that a program has
        forward: Callable[..., Any]
    else:

        def forward(self, *args: Any) -> Any:
            """Outputs from inputs; to be overridden.

            Args:
                args: arrays, or nested lists of them.
            """
            raise NotDefinedError(f"{type(self).__name__} does not define forward(self, x).")

    def summary(self, *inputs: object) -> None:
        """Print a table of layers, output shapes and numbers of parameters for these inputs.

        Args:
            inputs: arrays as for a call; parameters must be initialized.

        Raises:
            CheckError: the network is hybridized already.
        """
        summarize(self, inputs)


def _name_layer(error: MXNetError, block: Block) -> None:
    """Let an error name the layer that raised it, where no line of the program does.

    Several layers of a container are called by one line. What a program defines has lines of its own.
    """
    if "_layer" in vars(error):
        return  # raised in a block within this one
    vars(error)["_layer"] = block.name
    text = repr(block)
    if type(block).__module__.startswith(_LAYERS) and "\n" not in text:  # no container
        place = "" if block._mx_made_at is None else f", made in {block._mx_made_at}"
        error.add_note(f"In layer {block.name}: {text}{place}")


def _no_prefix(title: str, value: object) -> str:
    """The hint for a value in the place of a block's prefix."""
    if isinstance(value, NDArray):
        return (
            f"{title}: prefix must be a string, not an array of shape {value.shape}. Make the block "
            f"first, then call it with the data: net = {title}(); net(x)."
        )
    hint = " Add it with net.add(...)." if isinstance(value, Block) else ""
    return f"{title}: prefix must be a string, not {value!r:.60}.{hint}"


def _check_numpy(output: object) -> None:
    if isinstance(output, (list, tuple)):
        for each in output:
            _check_numpy(each)
    elif isinstance(output, NDArray) and not isinstance(output, np_ndarray):
        raise AttributeTypeError(
            f"Under npx.set_np() a Block returns mx.np.ndarrays; this one returned a "
            f"{type(output)}. Use mx.np and mx.npx in its forward, or x.as_np_ndarray()."
        )
