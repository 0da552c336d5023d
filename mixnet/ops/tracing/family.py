"""Families of calls: an operator that was traced for two shapes need not be traced for a third.

A network calls ``BatchNorm`` with as many shapes as it has stages, and tracing its gradient takes
milliseconds each time. Two traces for shapes of one pattern show which numbers of the program follow from
the extents; for other shapes of the pattern, these numbers are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log

from mixnet.ops.tracing.comparison import are_equal, compared
from mixnet.ops.tracing.proof import is_proved
from mixnet.ops.tracing.template import Call, Template
from mixnet.private_jax.jaxprs import ClosedJaxpr

_MOST_TRACES = 12
"""The most traces that are compared before a family stops learning."""

_MOST_PARTNERS = 2
"""The most traces with which the last one is compared, besides the nearest."""


class Family:
    """The calls of one operator that differ only in extents."""

    def __init__(self) -> None:
        self._traces: list[tuple[Call, ClosedJaxpr]] = []
        self._is_compared = True  # whether the last trace was compared with the others
        self._templates: list[Template] = []
        # A template that the next trace has to confirm, and its program for that call.
        self._unsure: tuple[Template, ClosedJaxpr] | None = None
        self._earlier: dict[Call, ClosedJaxpr] = {}  # traces of an earlier process
        self._stored: list[Template] = []  # templates that need not be written again
        self.has_learned = False  # what no earlier process had written

    def at(self, call: Call, trace: Callable[[Call], ClosedJaxpr]) -> ClosedJaxpr | None:
        """The jaxpr for a call, without tracing it; None if it is not known.

        Args:
            call: the call.
            trace: returns the jaxpr of another call, which proves a template before its first use.
        """
        if call in self._earlier:
            return self._earlier[call]
        if not self._is_compared:
            # Compared only now, since most operators never see a third shape.
            self._is_compared = True
            self._compare()
        for template in reversed(list(self._templates)):
            jaxpr = template.at(call)
            if jaxpr is None:
                continue
            if template.is_sure and not template.is_proved:
                self._prove(template, call, trace)
            if template not in self._templates:
                continue
            if template.is_sure:
                return jaxpr
            self._unsure = (template, jaxpr)
        return None

    def _prove(self, template: Template, call: Call, trace: Callable[[Call], ClosedJaxpr]) -> None:
        """Drop a template that holds by chance; if no other call can show that, the next trace must."""
        proved = is_proved(template, call, trace)
        template.is_proved = True
        if proved is None:
            template.is_sure = False
        elif proved:
            self.has_learned = True
        else:
            self._templates.remove(template)

    def know(self, templates: list[Template]) -> None:
        """Add templates that were proved when they were stored."""
        for each in templates:
            each.is_proved = True
        self._templates += templates
        self._stored += templates

    def recall(self, templates: list[Template], traces: list[tuple[Call, ClosedJaxpr]]) -> None:
        """Add what :meth:`learned` gave in an earlier process.

        Args:
            templates: proved ones.
            traces: calls with their traces.
        """
        self._templates += templates
        self._earlier.update(traces)
        self._traces = traces + self._traces
        self._is_compared = bool(templates) or len(self._traces) < 2

    def learned(self) -> tuple[list[Template], list[tuple[Call, ClosedJaxpr]]]:
        """Templates that were proved, and the traces of calls that neither they nor stored ones give."""
        proved = [each for each in self._templates if each.is_sure and each.is_proved]
        traces = [
            (call, jaxpr)
            for call, jaxpr in self._traces
            if all(each.at(call) is None for each in proved)
        ]
        return [each for each in proved if each not in self._stored], traces

    def known_calls(self) -> list[Call]:
        """The calls for which there are traces."""
        return [call for call, _ in self._traces]

    def learn(self, call: Call, jaxpr: ClosedJaxpr) -> None:
        """Add a trace."""
        if self._unsure is not None:
            template, expected = self._unsure
            self._unsure = None
            template.is_sure = are_equal(call, expected, jaxpr)
            if not template.is_sure:
                self._templates.remove(template)
        if len(self._traces) < _MOST_TRACES:
            self.has_learned = True
            self._traces.append((call, jaxpr))
            self._is_compared = len(self._traces) < 2

    def _compare(self) -> None:
        """Compare the last trace with those that differ most, then with the one that differs least."""
        *others, (last, jaxpr) = self._traces

        def difference(other: tuple[Call, ClosedJaxpr]) -> tuple[int, float]:
            ratios = [
                abs(log(a / b))
                for (one, _), (two, _) in zip(last.inputs, other[0].inputs, strict=True)
                for a, b in zip(one, two, strict=True)
            ]
            return sum(ratio > 0 for ratio in ratios), sum(ratios)

        others.sort(key=difference, reverse=True)
        partners = others[:_MOST_PARTNERS] + others[_MOST_PARTNERS:][-1:]
        for call, other in partners:
            template = compared(call, other, last, jaxpr)
            if template is not None:
                self._templates.append(template)
                return
