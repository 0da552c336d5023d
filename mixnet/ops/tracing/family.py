"""Families of calls: an operator that was traced for two shapes need not be traced for a third.

A network calls ``BatchNorm`` with as many shapes as it has stages, and tracing its gradient takes
milliseconds each time. Two traces for shapes of one pattern show which numbers of the program follow from
the extents; for other shapes of the pattern they are filled in.
"""

from __future__ import annotations

from math import log

from mixnet.ops.tracing.comparison import compared
from mixnet.ops.tracing.template import Extents, Pattern, Template
from mixnet.private_jax.jaxprs import ClosedJaxpr

_MOST_TRACES = 7
"""Traces that are compared with each other before a family learns nothing more."""


class Family:
    """The calls of one operator whose shapes have one pattern."""

    def __init__(self, pattern: Pattern):
        self._pattern = pattern
        self._traces: list[tuple[Extents, ClosedJaxpr]] = []
        self._is_compared = True  # the last trace, with others
        self._templates: list[Template] = []

    def at(self, extents: Extents) -> ClosedJaxpr | None:
        """The jaxpr for these extents, without tracing; None if it is not known."""
        if not self._is_compared:
            # Only now, since most operators never meet a third shape.
            self._is_compared = True
            self._compare()
        for template in reversed(self._templates):
            jaxpr = template.at(extents)
            if jaxpr is not None:
                return jaxpr
        return None

    def know(self, templates: list[Template]) -> None:
        """Take over templates from elsewhere."""
        self._templates += templates

    def templates(self) -> list[Template]:
        """What is known of all the family's shapes."""
        if not self._is_compared:
            self._is_compared = True
            self._compare()
        return self._templates

    def known_extents(self) -> list[Extents]:
        """The extents for which there are traces."""
        return [extents for extents, _ in self._traces]

    def learn(self, extents: Extents, jaxpr: ClosedJaxpr) -> None:
        """Take note of a trace."""
        if len(self._traces) < _MOST_TRACES:
            self._traces.append((extents, jaxpr))
            self._is_compared = len(self._traces) < 2

    def _compare(self) -> None:
        """Compare the last trace with one of which most extents differ, else with one of which one does."""
        *others, last = self._traces

        def difference(other: tuple[Extents, ClosedJaxpr]) -> tuple[int, float]:
            ratios = [abs(log(a / b)) for a, b in zip(last[0], other[0], strict=True)]
            return sum(ratio > 0 for ratio in ratios), sum(ratios)

        others.sort(key=difference)
        farthest = others.pop()
        partners = [farthest, *[each for each in others if difference(each)[0] == 1][-1:]]
        for partner in partners:
            template = compared(self._pattern, partner, last)
            if template is not None:
                self._templates.append(template)
                return
