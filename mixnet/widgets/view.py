"""The base of all views: one payload, and three forms (live, page, static picture with table)."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

from mixnet.base import AttributeValueError, MXNetError
from mixnet.files.whole_file import write_whole
from mixnet.widgets import live, page
from mixnet.widgets.failure import error_line
from mixnet.widgets.sight import plain, sight
from mixnet.widgets.why.question import Payload, answered
from mixnet.widgets.why.still import printed

_VIEWS: dict[str, type[View]] = {}


class View(ABC):
    """A picture of plain data.

    A view is a function of its ``payload`` (a dict that JSON takes, with its ``schema``) and of its ``state``
    (what the reader chose). Subclasses build the payload from live objects in ``__init__`` and say how it is
    drawn; nothing but the payload may be used for drawing, so that a stored view can be drawn again.

    Subclasses set ``schema`` and ``bundle`` (the script in ``static``), and ``sight``: one
    sentence on what to look at first, with words of :data:`mixnet.widgets.sight.MEANINGS` in
    brackets. They define :meth:`svg`, :meth:`table` and :meth:`summary`.
    """

    schema: ClassVar[str]
    bundle: ClassVar[str]
    sight: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: object):
        super().__init_subclass__(**kwargs)
        if "schema" in cls.__dict__:
            _VIEWS[cls.schema] = cls

    def __init__(self, payload: dict[str, Any], state: dict[str, Any] | None = None):
        self._payload = self._with_facts(payload)
        self._state: dict[str, Any] = dict(state or {})
        self._live: Any = None
        self._place = live.new_place()
        self._shown = False  # in an output whose stored picture can be renewed
        self._watchers: list[Callable[[dict[str, Any]], None]] = []

    def _with_facts(self, payload: dict[str, Any]) -> dict[str, Any]:
        """The payload with its common entries: the schema, what to look at first, and answers."""
        first = {"sight": sight(self.sight)} if self.sight else {}
        return answered({"schema": self.schema, **first, **payload})

    @staticmethod
    def of(payload: dict[str, Any], state: dict[str, Any] | None = None) -> View:
        """The view of a stored payload, selected by its schema.

        Args:
            state: choices of the reader, as :attr:`state` has them.

        Raises:
            AttributeValueError: no view has this schema.
        """
        schema = payload.get("schema")
        if schema not in _VIEWS:
            raise AttributeValueError(f"schema: expected one of {sorted(_VIEWS)}, got {schema!r}.")
        view = _VIEWS[schema].__new__(_VIEWS[schema])
        View.__init__(view, payload, state)
        return view

    # What subclasses define.

    @abstractmethod
    def svg(self) -> str:
        """The picture, as the text of an SVG file."""

    @abstractmethod
    def table(self) -> tuple[list[str], Iterable[Iterable[Any]]]:
        """The same as a table: header, rows."""

    @abstractmethod
    def summary(self) -> str:
        """The same in one line of text."""

    def message(self, content: dict[str, Any]) -> None:  # noqa: B027 - most views send none
        """An event sent from the page (``model.send``); called in the kernel's thread.

        Args:
            content: what the script sent.
        """

    def _complete(self) -> None:  # noqa: B027 - most views have all of their data at once
        """Compute what the payload still lacks."""

    # What they get.

    @property
    def payload(self) -> dict[str, Any]:
        """The data that is drawn."""
        self._complete()
        return self._payload

    @payload.setter
    def payload(self, payload: dict[str, Any]) -> None:
        self._payload = self._with_facts(payload)
        if self._live is not None:
            self._live.payload = self._payload
        self._renew_picture()

    @property
    def state(self) -> dict[str, Any]:
        """The reader's choices: selection, open parts, sliders. Assign a dict to change them."""
        return dict(self._state if self._live is None else self._live.state)

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._state = dict(state)
        if self._live is not None:
            self._live.state = self._state

    def choose(self, **changes: object) -> None:
        """Change some entries of :attr:`state`.

        Args:
            changes: entries of :attr:`state`.
        """
        self.state = {**self.state, **changes}

    def watch(self, function: Callable[[dict[str, Any]], None]) -> None:
        """Call ``function(state)`` whenever the reader chooses something (live views only)."""
        self._watchers.append(function)

    @property
    def widget(self) -> Any:
        """The anywidget that shows this view; made at first use.

        Raises:
            MXNetError: anywidget is not installed.
        """
        if self._live is None:
            if not live.available():
                raise MXNetError(
                    "Live widgets need anywidget: pip install 'mixnet[widgets]'. "
                    "Without it views are shown as pictures with tables."
                )
            self._live = live.live_class(self.bundle)(
                payload=self._payload, state=self._state, place=self._place
            )
            self._live.observe(self._chosen, "state")
            self._live.on_msg(lambda _widget, content, _buffers: self._receive(content))
        return self._live

    def _receive(self, content: dict[str, Any]) -> None:
        """Handle an event of the page, which shows the error if there is one.

        Raises:
            Exception: the error again, for the log of the notebook.
        """
        try:
            self.message(content)
        except Exception as error:
            self._live.send({"failed": error_line(error)})
            raise

    def _chosen(self, change: Any) -> None:
        self._state = dict(change["new"])
        for function in self._watchers:
            function(dict(self._state))

    def html(self) -> str:
        """The view as part of a page: picture, table and data."""
        return self._html(None)

    def _html(self, place: str | None) -> str:
        table = page.table_html(*self.table())
        first = plain(self.payload.get("sight", {}).get("text", ""))
        answers = page.answers_html(self._printed_answers())
        return page.figure(
            self.bundle, self.payload, self.state, self.svg(), self.summary(), table + answers, place, first
        )  # fmt: skip

    def _printed_answers(self) -> list[Any]:
        """The answers that stand below the picture, for readers of a page whose scripts are taken out."""
        return printed(self._subjects()) if "why" in self.payload else []

    def _subjects(self) -> list[tuple[Payload, dict[str, str]]]:
        """Payloads with answers, and the names of what these are about by key, the most important first."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """The payload."""
        return self.payload

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The payload as JSON; written to ``path`` if given."""
        text = json.dumps(self.payload, separators=(",", ":"), allow_nan=False)
        return _written(path, text)

    def to_svg(self, path: str | os.PathLike[str] | None = None) -> str:
        """The picture as SVG; written to ``path`` if given."""
        return _written(path, self.svg())

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """A page that needs neither kernel nor network, and stays interactive; written to
        ``path`` if given.
        """
        return _written(path, page.page(self.summary(), self.html()))

    def to_png(self, path: str | os.PathLike[str] | None = None, scale: float = 2.0) -> bytes:
        """The picture as PNG, ``scale`` pixels for each pixel of the SVG; written to ``path`` if given.

        Raises:
            MXNetError: resvg_py is not installed.
        """
        try:
            import resvg_py
        except ImportError:
            raise MXNetError(
                "to_png needs resvg_py: pip install 'mixnet[widgets]'; to_svg works without."
            ) from None
        data = resvg_py.svg_to_bytes(svg_string=self.svg(), zoom=scale, font_dirs=_font_dirs())
        if path is not None:
            write_whole(path, data)
        return data

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Any:
        if not live.available():
            return {"text/plain": self.summary(), "text/html": self.html()}, {}
        widget = self.widget  # before its place is shown: it has to be there to find it
        data = {"text/plain": self.summary(), "text/html": self._html(self._place)}
        if live.finds_its_place():
            return data, {}
        bundle = widget._repr_mimebundle_()
        more, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**more, **data}, metadata

    def _ipython_display_(self) -> None:
        """Show the view in an output that can be renewed, so that its stored picture follows the data."""
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        self._shown = live.finds_its_place()
        name = {"display_id": self._place} if self._shown else {}
        display(data, metadata=metadata, raw=True, **name)

    def _renew_picture(self) -> None:
        """Bring the pictures of this view that are in outputs up to date; the live view stays as it is."""
        if not self._shown:
            return
        from IPython.display import update_display

        data, metadata = self._repr_mimebundle_()
        update_display(data, metadata=metadata, raw=True, display_id=self._place)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"


def _written(path: str | os.PathLike[str] | None, text: str) -> str:
    if path is not None:
        write_whole(path, text.encode())
    return text


def _font_dirs() -> list[str]:
    """Matplotlib's fonts, for machines without any (a container, say)."""
    import importlib.util

    spec = importlib.util.find_spec("matplotlib")
    if spec is None or spec.origin is None:
        return []
    return [str(Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf")]
