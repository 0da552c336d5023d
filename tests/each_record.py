"""One test for many short records that names each that fails, since every pytest test costs milliseconds."""

from __future__ import annotations

import fnmatch
import functools
import inspect
import os
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, cast

import pytest

from tests import isolation

CHOSEN = os.environ.get("MIXNET_TEST_RECORDS", "*")
"""The records that run: a pattern of their names."""
LONGEST_MESSAGE = 2000

Test = Callable[..., None]
_DECORATED: dict[Test, tuple[Test, list[tuple[str, dict[str, Any]]]]] = {}
"""Tests with records: what they call, and their records, for decorators above them."""


def each_record(
    names: str | Iterable[str],
    records: Iterable[Any],
    ids: Callable[[Any], str] | Iterable[str] | None = None,
    *,
    by: Callable[..., str] | None = None,
) -> Callable[[Test], Test]:
    """Like ``pytest.mark.parametrize``, but one test, or one for each value of ``by``, runs all records.

    Each record starts in the state that a test starts in; the fixtures are those of the test. It fails after
    the last record, with the names and the messages of all records that failed. Several decorators run all
    combinations.
    """
    parameters = (
        [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    )
    records = list(records)
    ids = ids or _label
    labels = _distinct([ids(record) for record in records] if callable(ids) else list(ids))
    rows = [record if len(parameters) > 1 else (record,) for record in records]
    areas: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for label, row in zip(labels, rows, strict=True):
        arguments = dict(zip(parameters, row, strict=True))
        areas.setdefault(by(*row) if by else "", []).append((label, arguments))

    def decorate(test: Test) -> Test:
        original, inner = _DECORATED.get(test, (test, [("", {})]))
        every = {area: _pairs(outer, inner) for area, outer in areas.items()}

        @functools.wraps(test)
        def run(area: str = "", **fixtures: Any) -> None:
            _run(
                [
                    (label, functools.partial(original, **fixtures, **arguments))
                    for label, arguments in every.get(area, ())
                ]
            )

        # pytest passes what the signature names.
        signature = inspect.signature(test)
        fixtures = [each for name, each in signature.parameters.items() if name not in parameters]
        result = cast(Any, run)
        if by is None:
            result.__signature__ = signature.replace(parameters=fixtures)
            _DECORATED[result] = original, every.get("", [])
            return cast(Test, result)
        area = inspect.Parameter("area", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        result.__signature__ = signature.replace(parameters=[area, *fixtures])
        return cast(Test, pytest.mark.parametrize("area", areas)(result))

    return decorate


def _pairs(
    outer: list[tuple[str, dict[str, Any]]], inner: list[tuple[str, dict[str, Any]]]
) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("-".join(filter(None, (name, other))), {**arguments, **others})
        for name, arguments in outer
        for other, others in inner
    ]


def _label(record: Any) -> str:
    """Short text for a record that has no name; an array must not be read for it."""
    if isinstance(record, tuple):
        return "-".join(map(_label, record))
    if isinstance(record, str | int | float | complex | None):
        return " ".join(str(record).split())[:60]
    name = str(getattr(record, "__name__", type(record).__name__))
    return f"line {record.__code__.co_firstlineno}" if name == "<lambda>" else name


def _distinct(labels: list[str]) -> list[str]:
    counts = Counter(labels)
    return [f"{each} {i}" if counts[each] > 1 else each for i, each in enumerate(labels)]


def _run(checks: list[tuple[str, Callable[[], None]]]) -> None:
    chosen = [(label, check) for label, check in checks if fnmatch.fnmatchcase(label, CHOSEN)]
    if checks and not chosen:
        pytest.skip(f"MIXNET_TEST_RECORDS={CHOSEN} names none of these records")
    assert chosen, "there are no records"
    failures = []
    for label, check in chosen:
        isolation.begin()
        for step in (check, isolation.end):
            try:
                step()
            except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
                failures.append(f"{label}\n{_described(error)}")
    if failures:
        pytest.fail(
            f"{len(failures)} failures in {len(chosen)} records:\n\n" + "\n\n".join(failures),
            pytrace=False,
        )


def _described(error: BaseException) -> str:
    """The line of the test, the class and the message, which has the values of both sides."""
    if isinstance(error, pytest.skip.Exception):
        return f"  a record cannot be skipped, but left out of the records: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__ and "/tests/" in frame.filename]
    places = [f"  {frame.filename}:{frame.lineno}: {frame.line}" for frame in own]
    message = f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE].replace("\n", "\n  ")
    return "\n".join([*places, f"  {message}"])
