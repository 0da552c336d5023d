"""Errors that every layer raises, and small facts other people's programs import from here."""

from __future__ import annotations


class MXNetError(RuntimeError):
    """Base of all errors of the library; the name is MXNet's."""


class ShapeError(MXNetError, ValueError):
    """Shapes do not fit together."""


class AttributeValueError(MXNetError, ValueError):
    """An operator attribute has a value that the operator does not take."""


class AttributeTypeError(MXNetError, TypeError):
    """An operator attribute is missing, unknown or of the wrong type."""


class DTypeError(MXNetError, TypeError):
    """A dtype is unknown, or the operator does not take it."""


class ContextError(MXNetError, ValueError):
    """A device does not exist, or arrays live on different devices."""


class FileFormatError(MXNetError, ValueError):
    """A file is truncated, corrupted or of another kind."""


class TraceError(MXNetError):
    """A value was asked for while a graph is being traced."""


class GradientError(MXNetError):
    """Autograd was used in a way that has no gradient."""
