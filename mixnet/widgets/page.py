"""Pages that need neither a kernel nor a network: the data of views beside their pictures, and the scripts
that bring them to life in a browser."""

from __future__ import annotations

import base64
import functools
import html
import json
import math
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mixnet.units import how_many

STATIC = Path(__file__).parent / "static"
_WIDTH = re.compile(r'<svg[^>]* width="([\d.]+)"')
_LEAST = 0.75  # the smallest scale of a picture: below it, its text cannot be read
_BUNDLE = re.compile(r'class="mx-static" data-bundle="(\w+)"')


@functools.cache
def static(name: str) -> str:
    """The text of a file in ``static``: a view's script, the style sheet, or the script of pages."""
    return (STATIC / name).read_text(encoding="utf-8")


def pack(data: object) -> str:
    """JSON, deflated, in base64: what a script element of a page holds."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).encode()
    return base64.b64encode(zlib.compress(text, 9)).decode()


def unpack(text: str) -> Any:
    """The inverse of :func:`pack`."""
    return json.loads(zlib.decompress(base64.b64decode(text)))


def figure(
    bundle: str, payload: dict[str, Any], state: dict[str, Any], svg: str, caption: str, below: str,
    place: str | None = None, first: str = "",
) -> str:  # fmt: skip
    """A view as HTML: data, picture, and what opens below it: a table, answers. A widget that
    knows its ``place`` takes theirs. ``first`` says what to look at first.

    Where scripts are taken out (a notebook that is not trusted) the picture and the table stay; where
    :func:`scripts` are on the page the picture becomes the view.
    """
    source = base64.b64encode(svg.encode()).decode()
    sight = f"<br>First sight: {html.escape(first)}" if first else ""
    where = "" if place is None else f' data-place="{place}"'
    width = _WIDTH.search(svg)
    least = math.floor(_LEAST * float(width[1])) if width else 0
    image = (
        f'<img alt="{html.escape(caption)}" src="data:image/svg+xml;base64,{source}" '
        f'style="max-width:100%;min-width:{least}px">'
    )
    return (
        f'<div class="mx-static" data-bundle="{bundle}"{where}>'
        f'<script type="application/x-mixnet">{pack({"payload": payload, "state": state})}</script>'
        f'<figure style="margin:0">{_sideways(image, "picture")}'
        f'<figcaption style="font-size:90%">{html.escape(caption)}{sight}</figcaption>'
        f"{below}</figure></div>"
    )


def _sideways(content: str, label: str) -> str:
    """Content that may be wider than the page: it scrolls by itself, also by keys. The style is in the
    element, as notebooks take style sheets out.
    """
    return (
        f'<div class="mx-sideways" style="overflow-x:auto" tabindex="0" role="group" aria-label="{label}">'
        f"{content}</div>"
    )


def table_html(header: Iterable[str], rows: Iterable[Iterable[Any]], most: int = 200) -> str:
    """A table that opens; beyond ``most`` rows it says how many there are."""
    listed = [[_cell(str(each)) for each in row] for row in rows]
    # The corner above names of rows says nothing, so it is no heading.
    head = "".join(f"<th>{html.escape(each)}</th>" if each else "<td></td>" for each in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{each}</td>" for each in row) + "</tr>" for row in listed[:most]
    )
    more = f"<p>{most} of {how_many(len(listed), 'row')}</p>" if len(listed) > most else ""
    table = (
        f'<table cellpadding="3" style="text-align:left"><thead><tr>{head}</tr></thead>'
        f'<tbody valign="top">{body}</tbody></table>'
    )
    return f"<details><summary>Table</summary>{_sideways(table, 'table')}{more}</details>"


def _cell(text: str) -> str:
    """The text of a cell; a short one, a number with its unit say, stays on one line."""
    return html.escape(text if len(text) > 24 else text.replace(" ", "\u00a0"))


def answers_html(answers: Iterable[Any]) -> str:
    """A list of answers that opens, by question; nothing if there is none.

    Args:
        answers: with ``ask``, ``of``, ``text`` and ``more``, see :class:`mixnet.widgets.why.question.Answer`.
    """
    by_question: dict[str, list[str]] = {}
    for each in answers:
        of = f"<b>{html.escape(each.of)}</b>: " if each.of else ""
        text = html.escape(" ".join([each.text, *each.more]))
        by_question.setdefault(each.ask, []).append(f"<li>{of}{text}</li>")
    return "".join(
        f"<details><summary>{html.escape(ask)}</summary><ul>{''.join(rows)}</ul></details>"
        for ask, rows in by_question.items()
    )


def bundles_in(page: str) -> list[str]:
    """The bundles that the views in a page need."""
    return sorted(set(_BUNDLE.findall(page)))


def scripts(bundles: Iterable[str]) -> str:
    """Style sheet and scripts that bring the views of a page to life; once per page."""
    style = f"<style>{static('mx.css')}</style>"
    texts = {name: static(f"{name}.js") for name in bundles}
    if not texts:
        return ""
    data = json.dumps(texts).replace("<", "\\u003c")
    return (
        f'{style}<script type="application/json" id="mx-bundles">{data}</script>'
        f'<script type="module">{static("page.js")}</script>'
    )


def page(title: str, body: str) -> str:
    """A whole page."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<title>{html.escape(title)}</title></head>"
        '<body style="font-family:system-ui,sans-serif;overflow-wrap:break-word"><main><h1 '
        f'style="font-size:1.1rem">{html.escape(title)}</h1>'
        f"{body}</main>{scripts(bundles_in(body))}</body></html>"
    )
