"""What the notebooks of the course share: data that ships with scikit-learn, pictures, checks of exercises.

The notebooks import it from their own folder. Nothing here is needed to use mixnet.
"""

from __future__ import annotations

import functools
import html
import io
import linecache
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

LIVE = "live"
"""Marks an output, in its metadata, that is shown while a notebook runs and not stored."""


class Digits(NamedTuple):
    """Handwritten digits: pictures ``(samples, 1, 8, 8)`` from 0 to 1, labels ``(samples,)``; all float32."""

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


def digits(held_out: float = 0.2, seed: int = 1) -> Digits:
    """1,797 digits of 8 by 8 pixels (Boğaziçi University), split into training and test data.

    Args:
        held_out: the fraction of test data, from 0 to 1.
        seed: of the random split.
    """
    from sklearn.datasets import load_digits

    data = load_digits()
    pictures = (data.images / 16).astype("float32")[:, None]
    labels = data.target.astype("float32")
    order = np.random.default_rng(seed).permutation(len(pictures))
    kept = round(len(order) * held_out)
    test, train = order[:kept], order[kept:]
    return Digits(pictures[train], labels[train], pictures[test], labels[test])


def photograph(name: str = "china", thin: int = 2) -> np.ndarray:
    """One of scikit-learn's two photographs: ``(height, width, 3)``, float32 from 0 to 1.

    Args:
        name: ``china`` or ``flower``.
        thin: take every ``thin``-th pixel; 1 gives 427 by 640.
    """
    from sklearn.datasets import load_sample_image

    return load_sample_image(f"{name}.jpg")[::thin, ::thin].astype("float32") / 255


def show(pictures: Any, titles: Any = None, columns: int = 10, size: float = 0.9) -> None:
    """Show pictures side by side: grey ``(height, width)`` or colour ``(height, width, 3)``.

    Args:
        pictures: arrays; axes of length 1 are removed. Colours are floats from 0 to 1 or integers from 0 to
            255. Grey runs from a picture's smallest value to its largest: from white to black up to 32
            pixels, as on paper; from black to white in larger pictures, as in photographs.
        titles: a text above each.
        columns: pictures in a row.
        size: width of one, in inches.
    """
    import matplotlib.pyplot as plt
    from IPython.display import Image, display

    pictures = [np.squeeze(_array(each)) for each in pictures]
    columns = min(columns, len(pictures))
    rows = -(-len(pictures) // columns)
    tall = size * max(each.shape[0] / each.shape[1] for each in pictures)
    extra = 0.0 if titles is None else 0.28
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(columns * size, rows * (tall + extra)),
        squeeze=False,
        layout="compressed",  # pictures keep their shape, and titles their place
        gridspec_kw={"wspace": 0.03, "hspace": 0.03},
    )
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03)
    for axis in axes.ravel():
        axis.axis("off")
    for i, (axis, picture) in enumerate(zip(axes.ravel(), pictures, strict=False)):
        # Small pictures are drawn in black on white, as on paper; photographs are light.
        paper = picture.ndim == 2 and max(picture.shape) <= 32
        scale = 255 if picture.dtype.kind in "iu" else 1
        shown = picture if picture.ndim == 2 else np.clip(picture / scale, 0, 1)
        axis.imshow(shown, cmap="gray_r" if paper else "gray")
        if titles is not None:
            axis.set_title(titles[i], fontsize=9)
    data = io.BytesIO()
    figure.savefig(data, format="jpeg", dpi=100, pil_kwargs={"quality": 85})
    plt.close(figure)
    words = ", ".join(map(str, titles)) if titles is not None else f"{len(pictures)} picture(s)"
    display(Image(data.getvalue(), format="jpeg", alt=words))


def show_page(path: str | os.PathLike[str], height: int = 860) -> None:
    """Show an HTML file that needs no other file in a frame.

    ``notebooks/run.py`` removes the frame from a notebook that it saves.

    Args:
        path: of the file.
        height: of the frame, in pixels.
    """
    from IPython.display import display

    text = Path(path).read_text(encoding="utf-8")
    name, size = Path(path).name, len(text.encode()) / 1000
    frame = (
        f'<iframe srcdoc="{html.escape(text)}" title="{name}" height="{height}" '
        'style="width:100%;border:0"></iframe>'
    )
    display({"text/html": frame, "text/plain": name}, raw=True, metadata={LIVE: True})
    print(f"{name}, {size:.0f} kB: any browser opens it.")


def beside(*views: Any) -> None:
    """Show views of ``mixnet.widgets`` in one row, or below each other on a narrow page."""
    from IPython.display import display

    bundles = [each._repr_mimebundle_()[0] for each in views]
    cells = "".join(
        f'<div style="flex:1 1 320px;min-width:0">{each["text/html"]}</div>' for each in bundles
    )
    row = f'<div style="display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start">{cells}</div>'
    words = "\n".join(each["text/plain"] for each in bundles)
    display({"text/html": row, "text/plain": words}, raw=True)


class NotYet(Exception):
    """An answer is not right yet; the text says why."""


class Test:
    """Assertions for checks of answers. The first one that fails ends the check."""

    def true(self, holds: Any, otherwise: str) -> None:
        """Require a condition; ``otherwise`` is the message if it does not hold."""
        if not holds:
            raise NotYet(otherwise)

    def given(self, found: Any, what: str = "the result") -> None:
        """Require an answer."""
        if found is None or found is NotImplemented or found is ...:
            raise NotYet(f"{what} is {found}: there is nothing to check so far")

    def equal(self, found: Any, expected: Any, what: str = "the result") -> None:
        """Require equality of numbers, strings, tuples or lists."""
        self.given(found, what)
        if found != expected:
            raise NotYet(f"{what} is {found!r}, expected {expected!r}")

    def close(
        self, found: Any, expected: Any, what: str = "the result", tolerance: float = 1e-4
    ) -> None:
        """Require arrays (or numbers) of the same shape and nearly equal values."""
        self.given(found, what)
        found, expected = _numbers(found), _numbers(expected)
        if found.shape != expected.shape:
            raise NotYet(f"{what} has shape {found.shape}, expected {expected.shape}")
        wrong = ~np.isclose(found, expected, tolerance, tolerance)
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            at = f" at {list(place)}" if place else ""
            raise NotYet(f"{what} is {found[place]:.6g}{at}, expected {expected[place]:.6g}")


def checks(function: Callable[..., None]) -> Callable[..., None]:
    """Turn ``function(test, *answers)`` into a check that prints whether the answers are correct, or why not.

    An unsolved exercise must not stop the notebook, so a check never raises an error::

        @course.checks
        def check_double(test, double):
            test.close(double(nd.ones(3)), [2, 2, 2], "double of ones")

        check_double(double)

    Returns:
        a function of the answers, with an optional ``name`` for messages.
    """

    @functools.wraps(function)
    def check(*answers: Any, name: str | None = None) -> None:
        name = name or getattr(answers[0], "__name__", "your answer")
        try:
            function(Test(), *answers)
        except NotYet as wrong:
            print(f"✘ {name}, not yet: {wrong}.")
        except Exception as error:
            text = f"{type(error).__name__}: {' '.join(str(error).split())}{_line(error)}"
            if _is_of_answer(error, function):
                text = f"it raises {text}"
            elif "NoneType" in text:
                text = "the result is None: there is nothing to check so far."
            else:
                text = f"checking it raises {text}"
            print(f"✘ {name}, not yet: {text}")
        else:
            print(f"✔ {name}: correct.")

    del check.__wrapped__  # type: ignore[attr-defined]  # its signature has no test
    return check


def _array(value: Any) -> np.ndarray:
    asnumpy = getattr(value, "asnumpy", None)
    return np.asarray(value if asnumpy is None else asnumpy())


def _numbers(value: Any) -> np.ndarray:
    return _array(value).astype(np.float64)


def _cells(error: BaseException) -> list[traceback.FrameSummary]:
    """The lines of cells that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if "ipykernel" in frame.filename]


def _is_of_answer(error: BaseException, check: Callable[..., None]) -> bool:
    """Whether an answer raised, not the check that uses what it returns: they are in different cells."""
    cells = {frame.filename for frame in _cells(error)}
    return cells != {check.__code__.co_filename}


def _line(error: BaseException) -> str:
    """The line of the reader's cell that raised, if a cell did."""
    cells = _cells(error)
    if not cells:
        return ""
    text = linecache.getline(cells[-1].filename, cells[-1].lineno or 0).strip()
    return f" (line {cells[-1].lineno} of a cell: {text})"
