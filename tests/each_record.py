"""One test for many short records that names each that fails: a test of its own costs pytest milliseconds."""

from __future__ import annotations

import fnmatch
import functools
import inspect
import os
import traceback
from collections.abc import Callable, Iterable
from typing import Any, cast

import pytest

from tests import isolation

CHOSEN = os.environ.get("MIXNET_TEST_RECORDS", "*")
"""The records that run: a pattern of their names."""
LONGEST_MESSAGE = 2000

Test = Callable[..., None]


def each_record(
    names: str,
    records: Iterable[Any],
    ids: Callable[[Any], str] | Iterable[str] = str,
    *,
    by: Callable[..., str] | None = None,
) -> Callable[[Test], Test]:
    """Like ``pytest.mark.parametrize``, but one test, or one for each value of ``by``, runs all records.

    Each record starts in the state that a test starts in. The test fails after the last record, with the
    names and the messages of all records that failed.
    """
    parameters = [name.strip() for name in names.split(",")]
    records = list(records)
    labels = [ids(record) for record in records] if callable(ids) else list(ids)
    rows = [record if len(parameters) > 1 else (record,) for record in records]
    areas: dict[str, list[tuple[str, Any]]] = {}
    for label, row in zip(labels, rows, strict=True):
        arguments = dict(zip(parameters, row, strict=True))
        areas.setdefault(by(*row) if by else "", []).append((label, arguments))

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(area: str = "", **fixtures: Any) -> None:
            _run(
                [
                    (label, functools.partial(test, **fixtures, **arguments))
                    for label, arguments in areas.get(area, ())
                ]
            )

        # pytest passes what the signature names.
        signature = inspect.signature(test)
        fixtures = [each for name, each in signature.parameters.items() if name not in parameters]
        result = cast(Any, run)
        if by is None:
            result.__signature__ = signature.replace(parameters=fixtures)
            return cast(Test, result)
        area = inspect.Parameter("area", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        result.__signature__ = signature.replace(parameters=[area, *fixtures])
        return cast(Test, pytest.mark.parametrize("area", areas)(result))

    return decorate


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
