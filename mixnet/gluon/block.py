"""Block: a part of a network, made of parameters and other blocks."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from mixnet import initializer
from mixnet.base import MXNetError
from mixnet.gluon.parameter import Parameter, ParameterDict, fill
from mixnet.name import current as current_names
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.params_file import load, save
from mixnet.runtime.files import Saving
from mixnet.source import user_source


class _Scope:
    """Where new blocks get their names: inside a block they count by kind."""

    _current = threading.local()

    def __init__(self, block: Block):
        self._block = block
        self._counter: dict[str, int] = {}
        self._before: list[_Scope | None] = []

    @staticmethod
    def name(prefix: str | None, params: ParameterDict | None, hint: str):
        """Prefix and parameters of a new block."""
        scope: _Scope | None = getattr(_Scope._current, "value", None)
        if scope is None:
            if prefix is None:
                prefix = current_names().get(None, hint) + "_"
            shared = (
                ParameterDict(prefix) if params is None else ParameterDict(params.prefix, params)
            )
            return prefix, shared
        if prefix is None:
            count = scope._counter.get(hint, 0)
            prefix = f"{hint}{count}_"
            scope._counter[hint] = count + 1
        if params is None:
            parent = scope._block.params
            own = ParameterDict(parent.prefix + prefix, parent._shared)
        else:
            own = ParameterDict(params.prefix, params)
        return scope._block.prefix + prefix, own

    def __enter__(self) -> _Scope:
        if self._block._empty_prefix:
            return self
        self._before.append(getattr(_Scope._current, "value", None))
        _Scope._current.value = self
        return self

    def __exit__(self, *_: object) -> None:
        if not self._block._empty_prefix:
            _Scope._current.value = self._before.pop()


class HookHandle:
    """Removes a hook with ``detach``."""

    def __init__(self, hooks: list[Callable[..., Any]], hook: Callable[..., Any]):
        self._hooks, self._hook = hooks, hook

    def detach(self) -> None:
        """Remove the hook."""
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)


class Block:
    """Base of all layers and networks: override ``forward``.

    Blocks and parameters that are set as attributes become its children.

    Args:
        prefix: text before the names of its parameters; counted by class by default.
        params: parameters to share.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None):
        self._made_at = user_source(making=self)
        self._empty_prefix = prefix == ""
        self._prefix, self._params = _Scope.name(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._scope = _Scope(self)
        self._children: OrderedDict[str, Block] = OrderedDict()
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: list[Callable[..., Any]] = []
        self._forward_pre_hooks: list[Callable[..., Any]] = []

    def _alias(self) -> str:
        return type(self).__name__.lower()

    def __setattr__(self, name: str, value: Any) -> None:
        before = self.__dict__.get(name)
        if isinstance(before, (Parameter, Block)) and not isinstance(value, type(before)):
            if not isinstance(value, (Parameter, Block)):
                raise TypeError(
                    f"{type(self).__name__}.{name} is a {type(before).__name__}; it cannot become "
                    f"a {type(value).__name__}."
                )
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            self._reg_params[name] = value
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        rows = [
            f"  ({name}): " + repr(child).replace("\n", "\n  ")
            for name, child in self._children.items()
        ]
        return f"{type(self).__name__}(\n" + "\n".join(rows) + "\n)"

    # ---- names, children, parameters ----------------------------------------------------------

    @property
    def prefix(self) -> str:
        """Text before the names of its parameters."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without its last underscore."""
        return self._name

    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without its children's."""
        return self._params

    def name_scope(self) -> _Scope:
        """Scope in which new blocks are named as parts of this one."""
        return self._scope

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make a block a child, under ``name`` or its number."""
        self._children[str(len(self._children)) if name is None else name] = block

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Its parameters and its children's; ``select`` is a regular expression for names."""
        found = ParameterDict(self._params.prefix)
        pattern = re.compile(select or "")
        for block in self._walk():
            for table in (block._params, {p.name: p for p in block._reg_params.values()}):
                found._params.update({n: p for n, p in table.items() if pattern.match(n)})
        return found

    def _walk(self) -> list[Block]:
        blocks = [self]
        for child in self._children.values():
            blocks += [each for each in child._walk() if each not in blocks]
        return blocks

    def _structured(self, prefix: str = "") -> dict[str, Parameter]:
        """Parameters by their place in the structure, as ``features.0.weight``."""
        dot = prefix + "." if prefix else ""
        found = {dot + name: each for name, each in self._reg_params.items()}
        for name, child in self._children.items():
            found.update(child._structured(dot + name))
        return found

    def initialize(
        self,
        init: Any = None,
        ctx: Any = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Give all parameters their first values.

        Args:
            init: initializer of parameters without one of their own; small uniform numbers.
            ctx: a context or a list; the current one by default.
            force_reinit: start anew if they have values.
        """
        default = initializer.Uniform() if init is None else init
        self.collect_params().initialize(default, ctx, verbose, force_reinit)

    def save_parameters(
        self, filename: str, deduplicate: bool = False, wait: bool = True
    ) -> Saving | None:
        """Write the values to a ``.params`` file, named by their place in the structure.

        Args:
            filename: path; the file is complete or not there.
            deduplicate: write a shared parameter once.
            wait: return when the file is complete; else at once, with a handle to wait on.
        """
        params = self._structured()
        if deduplicate:
            first = {each: name for name, each in reversed(params.items())}
            params = {name: each for name, each in params.items() if first[each] == name}
        arrays = {name: each.list_data()[0] for name, each in params.items()}
        return save(filename, arrays, wait)

    def load_parameters(
        self,
        filename: str,
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read values that ``save_parameters`` or ``export`` wrote.

        Args:
            filename: path.
            ctx: where parameters that are not made yet go.
            allow_missing: leave parameters that the file does not have.
            ignore_extra: leave out values that the network does not have.
            cast_dtype: cast the file's values to the parameters' dtypes.

        Raises:
            MXNetError: names are missing or unknown.
            ShapeError: a shape differs.
            FileFormatError: the file is truncated or corrupted.
        """
        loaded = load(filename)
        if not isinstance(loaded, dict):
            raise MXNetError(f"{filename} holds a list of arrays without names, not parameters.")
        params = self._structured()
        if loaded and not any("." in name for name in loaded) and any("." in n for n in params):
            loaded = {n.removeprefix("arg:").removeprefix("aux:"): v for n, v in loaded.items()}
            params = dict(self.collect_params().items())
        fill(params, loaded, ctx, allow_missing, ignore_extra, cast_dtype, filename)

    def cast(self, dtype: Any) -> None:
        """Change the dtype of all parameters."""
        for child in self._children.values():
            child.cast(dtype)
        for each in self._reg_params.values():
            each.cast(dtype)

    def zero_grad(self) -> None:
        """Set all gradients to 0."""
        self.collect_params().zero_grad()

    def apply(self, fn: Callable[[Block], Any]) -> Block:
        """Call ``fn`` on all children, then on itself."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridize the children that can be."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    # ---- calling ------------------------------------------------------------------------------

    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs, output)`` after every forward."""
        self._forward_hooks.append(hook)
        return HookHandle(self._forward_hooks, hook)

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs)`` before every forward."""
        self._forward_pre_hooks.append(hook)
        return HookHandle(self._forward_pre_hooks, hook)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run forward and the hooks."""
        for hook in self._forward_pre_hooks:
            hook(self, args)
        output = self.forward(*args, **kwargs)
        for hook in self._forward_hooks:
            hook(self, args, output)
        return output

    def forward(self, *args: Any) -> Any:
        """Outputs from inputs; to be overridden."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward(self, x).")

    def summary(self, *inputs: NDArray) -> None:
        """Print a table of layers, output shapes and numbers of parameters for these inputs."""
        rows: list[tuple[str, str, int]] = []
        handles = []

        def watch(block: Block, _: Any, output: Any) -> None:
            first = output[0] if isinstance(output, (list, tuple)) else output
            count = sum(_size(p) for p in block._reg_params.values())
            rows.append((f"{type(block).__name__} ({block.name})", str(first.shape), count))

        for block in self._walk():
            handles.append(block.register_forward_hook(watch))
        try:
            self(*inputs)
        finally:
            for handle in handles:
                handle.detach()
        parameters = list(self.collect_params().values())
        learned = sum(_size(p) for p in parameters if p.grad_req != "null")
        total = sum(_size(p) for p in parameters)
        line = "-" * 80
        print(
            line, f"{'Layer (type)':>34} {'Output Shape':>28} {'Param #':>15}", "=" * 80, sep="\n"
        )
        print(f"{'Input':>34} {', '.join(str(i.shape) for i in inputs):>28} {0:>15}")
        for name, shape, count in rows:
            print(f"{name:>34} {shape:>28} {count:>15}")
        print("=" * 80, f"Parameters in all: {total}, of which learned: {learned}", line, sep="\n")


def _size(parameter: Parameter) -> int:
    size = 1
    for extent in parameter.shape or (0,):
        size *= extent
    return size
