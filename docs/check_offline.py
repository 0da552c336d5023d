"""After a build: no page fetches anything from another machine. Links that a reader follows are no matter."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.errors import ExtensionError

_FETCHES = re.compile(
    r"""<(?:script|img|iframe|source|audio|video)\b[^>]*\bsrc=["'](?:https?:)?//[^"']+"""
    r"""|<link\b(?=[^>]*\brel=["'](?:stylesheet|preload|modulepreload|preconnect|icon))[^>]*\bhref=["'](?:https?:)?//[^"']+"""
)
_STYLES = re.compile(r"""(?:@import\s+|url\()["']?(?:https?:)?//""")


def fetches(html: str) -> list[str]:
    """What a page would fetch from elsewhere."""
    return [found.group(0) for found in _FETCHES.finditer(html)]


def check(app: object, error: Exception | None) -> None:
    """Stop the build with the pages that fetch something.

    Raises:
        ExtensionError: there are some.
    """
    if error is not None or app.builder.format != "html":  # type: ignore[attr-defined]
        return
    out = Path(app.outdir)  # type: ignore[attr-defined]
    bad = [
        f"{page.relative_to(out)}: {each}"
        for page in sorted(out.rglob("*.html"))
        for each in fetches(page.read_text(encoding="utf-8"))
    ]
    bad += [
        str(sheet.relative_to(out))
        for sheet in out.rglob("*.css")
        if _STYLES.search(sheet.read_text(encoding="utf-8"))
    ]
    if bad:
        raise ExtensionError(
            "Pages must need no network, but these fetch something: " + "; ".join(bad[:10])
        )


def setup(app: object) -> dict[str, bool]:
    """Connect the check."""
    app.connect("build-finished", check)  # type: ignore[attr-defined]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
