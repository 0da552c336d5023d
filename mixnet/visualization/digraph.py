"""A ``graphviz.Digraph`` that is drawn without Graphviz's programs, too, where these are not installed."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import graphviz

if TYPE_CHECKING:
    from mixnet.visualization.drawing import Picture


class Digraph(graphviz.Digraph):
    """A graph that Graphviz draws; without its programs, the picture is ``drawing``."""

    drawing: Picture | None = None

    def pipe(self, format: object = None, *args: object, **kwargs: object) -> Any:
        """The picture as bytes, or as text where ``encoding`` is given."""
        try:
            return super().pipe(format, *args, **kwargs)
        except graphviz.ExecutableNotFound:
            if self.drawing is None or (format or self.format) != "svg":
                raise
            encoding = kwargs.get("encoding")
            return self.drawing.svg if encoding else self.drawing.svg.encode()

    def render(self, *args: object, **kwargs: object) -> str:
        """Write the source and the picture; returns the path of the picture."""
        try:
            rendered: str = super().render(*args, **kwargs)
            return rendered
        except graphviz.ExecutableNotFound:
            if self.drawing is None:
                raise
        path = f"{self.filepath}.svg"
        warnings.warn(
            f"Graphviz's program 'dot' was not found: {path} is an SVG picture drawn without "
            f"it. Install Graphviz for its layout and for format {self.format!r}.",
            stacklevel=2,
        )
        self.drawing.save(path)
        if kwargs.get("cleanup"):
            os.unlink(self.filepath)
        return path

    def _repr_mimebundle_(self, include: object = None, exclude: object = None, **_: object) -> Any:
        try:
            return super()._repr_mimebundle_(include, exclude)
        except graphviz.ExecutableNotFound:
            return {"image/svg+xml": self._repr_svg_()}

    def _repr_svg_(self) -> str:
        svg: str = self.pipe(format="svg", encoding="utf-8")
        return svg
