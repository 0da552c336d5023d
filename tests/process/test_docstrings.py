"""``help`` of an overriding method shows the arguments that the base class describes."""

from __future__ import annotations

import inspect

import mixnet as mx
from mixnet.process.docstrings import complete_arguments, inherit_arguments


def _described(*, key: str, value: float, **more: object) -> None:
    """Do it.

    Raises:
        ValueError: never.
    """


BASE = """Do something.

    Args:
        key, other: a name
            of two lines.
        absent: not a parameter.
        value: a number.
        more: the rest.

    Returns:
        key: nothing.
    """


def test_arguments_come_before_other_sections() -> None:
    assert complete_arguments(_described, BASE)  # type: ignore[arg-type]
    assert _described.__doc__ == (
        "Do it.\n\nArgs:\n    key, other: a name\n        of two lines.\n    value: a number.\n"
        "    more: the rest.\n\nRaises:\n    ValueError: never."
    )
    assert not complete_arguments(_described, BASE)  # type: ignore[arg-type]  # it has some now


def test_modules_describe_what_base_module_does() -> None:
    own, base = (inspect.getdoc(kind.forward) or "" for kind in (mx.mod.Module, mx.mod.BaseModule))
    for text in (own, base):
        assert "data_batch: " in text and "is_train: " in text
    assert own.splitlines()[0] != base.splitlines()[0]


def test_docstrings_of_programs_are_unchanged() -> None:
    class Program(mx.mod.BaseModule):
        def forward(self, data_batch: object, is_train: bool | None = None) -> None:
            """My forward."""

    inherit_arguments(Program)
    assert Program.forward.__doc__ == "My forward."
