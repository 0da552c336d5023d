"""What follows from the parameters of an operator's function: arrays, attributes, and how it is called."""

from __future__ import annotations

import functools
import inspect
import itertools
import re
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from mixnet.base import AttributeTypeError, OperatorTypeError, OperatorValueError, did_you_mean
from mixnet.ops.operator import Arrays, Operator, Statics
from mixnet.ops.schema.attributes import (
    ONE,
    REQUIRED,
    Attribute,
    Dynamic,
    attribute,
    missing,
)
from mixnet.ops.schema.docstrings import about_arrays, with_arguments, with_attributes
from mixnet.ops.schema.dtypes import NONE_AS_DTYPE

# Keyword-only parameters that the runtime fills in; they are no attributes. A ``key`` that is
# annotated as a string or a number is an attribute.
KEY, TRAINING = "key", "training"


# Before names that mx.nd.image, mx.nd.random, mx.np and so on have without it.
_PREFIX = re.compile(r"^_(npi_|npx_|np_|contrib_|image_|random_|sample_|linalg_)?(?=[a-zA-Z])")


def as_called(message: str) -> str:
    """An operator's message with the name as users write it: ``flip:``, not ``_npi_flip:``."""
    return _PREFIX.sub("", message) if re.match(r"\w+:", message) else message


def _is_note(name: str) -> bool:
    """Whether a keyword is a remark about a node, such as ``__layout__``, which no operator reads."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def kinds(values: Iterable[object]) -> list[type]:
    """The types of values and of what tuples among them hold, for keys of caches.

    1, True and 1.0 are equal, and so are (1,) and (1.0,), but not all of them are accepted.
    """
    types: list[type] = []
    for value in values:
        kind = type(value)
        types.append(kind)
        if kind is tuple:
            types += kinds(value)  # type: ignore[arg-type]
    return types


@functools.lru_cache(maxsize=4096)
def _names(rule: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(rule).parameters)


class Parametrized(Operator):
    """An operator with the parameters of a function: arrays first, then attributes.

    Args:
        name: MXNet's registered name.
        function: what computes it; see :class:`mixnet.ops.op.Op`.
        num_args: attribute that counts variadic inputs, if there is one.
        check: function of the attributes that raises for values that do not go together.
        states: arrays that the operator writes.
    """

    function: Callable[..., Any]

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        num_args: str | None,
        check: Callable[..., None] | None,
        states: Collection[str] = (),
    ):
        super().__init__()
        self.name = name
        self.is_numpys = name.startswith("_np")
        self.title = _PREFIX.sub("", name)  # as people call it
        self.function = function
        self.num_args = num_args
        self._check = check
        self._bound: dict[Any, Statics] = {}
        self._read_signature()
        text = with_attributes(inspect.getdoc(function) or "", self.attributes.values())
        arrays = about_arrays(self.arrays, self.variadic, states)
        self.__doc__ = with_arguments(text, arrays)

    def _read_signature(self) -> None:
        hints = typing.get_type_hints(self.function, include_extras=True)
        arrays, self.variadic, attributes = [], None, {}
        self.takes_key = self.takes_training = False
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

    def read_no_dtype(self, attributes: dict[str, Any], numpys: bool = False) -> None:
        """Replace a ``dtype=None`` of a call, which is not a dtype that was left out.

        To NumPy, and so to functions of ``mx.nd`` and ``mx.sym``, it is float64; functions of ``mx.np``
        use their default.
        """
        if numpys or self.is_numpys:
            del attributes["dtype"]
        elif "dtype" in self.attributes:
            attributes["dtype"] = NONE_AS_DTYPE

    # ---- attributes of a call -------------------------------------------------------------------

    def bind(self, keywords: Mapping[str, Any], training: bool = False) -> tuple[Statics, tuple]:
        """Checked attributes: the static ones in order, and the numbers that are inputs.

        An operator without attributes ignores whatever it is given, as in MXNet; one that counts its inputs
        does not. All ignore notes such as ``__layout__``.

        Raises:
            AttributeTypeError: unknown or missing name.
            AttributeValueError: a value that the attribute cannot have.
        """
        key: tuple[Any, ...] | None = None
        try:
            if not self.dynamic:
                key = (training, *keywords, *keywords.values(), *kinds(keywords.values()))
                if key in self._bound:
                    return self._bound[key], ()
            else:
                key, numbers = self._without_numbers(keywords, training)
                known = self._bound.get(key)
                if known is not None:
                    if self._check is not None:
                        bound_again = self.keywords(known, numbers)
                        self._check(**{name: bound_again[name] for name in _names(self._check)})
                    return known, numbers
        except (TypeError, OverflowError):  # a list or an array as a value; a number without end
            key = None
        surplus = (name for name in keywords if name not in self.attributes)
        unknown = next((name for name in surplus if not _is_note(name)), None)
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
            self._check(**{name: values[name] for name in _names(self._check)})
        if self.takes_training:
            statics.append(training)
        bound = tuple(statics)
        if key is not None:
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
        dynamic = self.dynamic
        static = [value for name, value in keywords.items() if name not in dynamic]
        return (training, *keywords, *static, *kinds(static)), tuple(scalars)

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

    def has_stream(self, statics: Statics, scalars: Sequence[float]) -> bool:
        """Whether a call has the stream of random numbers; its scalars then include that of the draw."""
        if not self.takes_key:
            return False
        marks = [each for each in statics if type(each) is Dynamic]
        return len(scalars) > sum(1 if mark is ONE else mark for mark in marks)

    def rebind(self, statics: Statics, **changes: Any) -> Statics:
        """The bound attributes with some of them changed."""
        bound = list(statics)
        for name, value in changes.items():
            bound[self._order.index(name)] = value
        return tuple(bound)

    def answer(self, rule: Callable[..., Any], statics: Statics, num_inputs: int = 0) -> Any:
        """What a rule says about a call; it is given the attributes that it names.

        Args:
            rule: its parameters are names of attributes.
            statics: bound attributes.
            num_inputs: of a variadic operator, where the rule names ``num_args``.
        """
        known = self.keywords(statics)
        if self.variadic and self.num_args:
            known.setdefault(self.num_args, num_inputs)
        return rule(**{name: known[name] for name in _names(rule)})

    def _check_axes(self, known: Mapping[str, Any], ndim: int) -> None:
        for name, axis in self._axes:
            axis.check(self.name, name, known[name], ndim)

    # ---- how it presents itself ---------------------------------------------------------------

    def signature(self, symbols: bool = False) -> inspect.Signature:
        """Signature of the operator as a function of ``mx.nd``, or of ``mx.sym``."""
        kind = inspect.Parameter
        # A required attribute may follow an optional array, so every parameter has a default.
        after = kind.KEYWORD_ONLY if self.variadic else kind.POSITIONAL_OR_KEYWORD
        if self.variadic:
            parameters = [kind(name, kind.POSITIONAL_ONLY) for name in self.arrays]
            parameters.append(kind(self.variadic, kind.VAR_POSITIONAL))
        else:
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

    def no_argument(self, name: str) -> AttributeTypeError:
        """The error for an argument that the operator does not have, with the nearest name."""
        hint = did_you_mean(name, [*self.attributes, *self.arrays])
        return OperatorTypeError(
            f"{self.title} has no argument {name!r}.{hint} Call it as {self.usage()}."
        )

    def check_given_once(self, by_position: Iterable[str], by_name: Mapping[str, object]) -> None:
        """Raise AttributeTypeError for an argument that is given by position and by name."""
        for name in by_position:
            if name in by_name:
                raise AttributeTypeError(
                    f"{self.title}: {name} is given twice, by position and as {name}={by_name[name]!r:.60}."
                )

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
