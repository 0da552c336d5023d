"""EngineTimeline: when each task ran, on which thread, and what it waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

from mixnet import engine
from mixnet.base import AttributeTypeError, AttributeValueError, MXNetError
from mixnet.engine.timeline import now, timeline
from mixnet.ndarray import waitall
from mixnet.units import how_many, time_text
from mixnet.widgets.magics import cell_magic, run_cell
from mixnet.widgets.timeline.data import Row, Run, columns
from mixnet.widgets.timeline.picture import picture
from mixnet.widgets.view import View
from mixnet.widgets.why.question import Payload
from mixnet.widgets.why.still import tasks_by_key

MOST = 50_000
"""Operations of one view."""

_NEEDED = ("name", "thread", "resource", "pushed", "ready", "started", "ended", "reads", "writes")
_STATE = {"selected": None, "hops": 1, "critical": True, "replay": None, "query": ""}


class EngineTimeline(View):
    """Threads as lanes; operations as bars: queued for variables, waiting for a thread, running.

    As a scope it shows what is pushed inside, and waits for it at the end::

        with mx.widgets.EngineTimeline() as timeline:
            train_one_epoch()
        timeline

    Selecting an operation shows its own dependencies only: which versions of which variables it
    read and wrote, and what it waited for. The replay goes through the run event by event.

    Args:
        rows: of ``mx.engine.timeline`` (``to_dict()["rows"]``); none for a scope.
        first: number of the first operation that is shown, in the order of pushing.
        most: how many are shown, at most 50,000; the view says how many there are.

    Raises:
        AttributeTypeError: something in ``rows`` is not a row of a timeline.

    Source: the payload ``mixnet.engine/1`` has ``runs``, with columns each, see
    :func:`mixnet.widgets.timeline.data.columns`.
    """

    schema = "mixnet.engine/1"
    bundle = "timeline"
    sight = (
        "Look for gaps between bars: there a [lane] has no work. Red frames mark the "
        "[longest chain]: more threads would not shorten it."
    )

    def __init__(self, rows: Iterable[Row] | None = None, first: int = 0, most: int = MOST):
        if not 0 < most <= MOST or first < 0:
            raise AttributeValueError(
                f"first, most: expected first >= 0 and 0 < most <= {MOST:,}, got {first}, {most}."
            )
        self._first, self._most = first, most
        self._began: int | None = None
        self._was_on = self._clean = False
        super().__init__({"runs": [self._run(rows or [], "engine")]}, dict(_STATE))

    def _run(self, rows: Iterable[Row], name: str) -> Run:
        return columns(_checked(rows), name, self._first, self._most)

    # ---- as a scope -----------------------------------------------------------------------------

    def __enter__(self) -> Self:
        if self._began is not None:
            raise MXNetError("This timeline is already running; use a new one for an inner scope.")
        waitall()
        self._was_on, self._began = timeline.on, now()
        self._clean = not self._was_on and not timeline.to_dict()["rows"]
        timeline.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            waitall()
        except Exception:
            if error is None:
                raise
        finally:
            timeline.on = self._was_on
            began, self._began = self._began, None
            rows = [row for row in timeline.to_dict()["rows"] if row["pushed"] >= began]
            if self._clean:  # nobody else records: nothing is kept twice
                timeline.clear()
            self.payload = {"runs": [self._run(rows, engine_name())]}

    @classmethod
    def compare(cls, function: Callable[[], Any], warm: bool = True, most: int = MOST) -> Self:
        """The same function under the naive and the threaded engine, with one time axis.

        Args:
            function: called without arguments, once under each engine.
            warm: call it once more before, so that compiling is in neither picture.
            most: operations of each that are shown.

        Raises:
            BaseException: what the function raised.
        """
        runs = []
        for kind in ("NaiveEngine", "ThreadedEnginePerDevice"):
            with engine.using(kind):
                if warm:
                    function()
                    waitall()
                with cls(most=most) as one:
                    function()
                runs += one.payload["runs"]
        view = cls(most=most)
        view.payload = {"runs": runs}
        return view

    # ---- what is seen ---------------------------------------------------------------------------

    @property
    def selected(self) -> dict[str, Any] | None:
        """The operation that was clicked: its name, thread, times in seconds, variables, line, error."""
        chosen = self.state.get("selected")
        if chosen is None:
            return None
        run, index = chosen
        return operations(self.payload["runs"][run], [index])[0]

    def _subjects(self) -> list[tuple[Payload, dict[str, str]]]:
        return [(self.payload, tasks_by_key(self.payload, {}))]

    def summary(self) -> str:
        parts = []
        for run in self.payload["runs"]:
            ops = run["ops"]
            shown = len(ops["name"])
            some = "" if shown == run["of"] else f" (shown: {shown:,} from number {run['first']:,})"
            longest = sum(ops["ran"][i] for i in run["chain"])
            parts.append(
                f"{run['name']}: {how_many(run['of'], 'operation')}{some} on "
                f"{how_many(len(run['lanes']), 'thread')} in "
                f"{time_text(run['span'] / 1e9)}, longest chain {time_text(longest / 1e9)}"
                if run["of"]
                else f"{run['name']}: nothing was pushed"
            )
        return "; ".join(parts)

    def table(self) -> tuple[list[str], Iterable[list[Any]]]:
        header = ["engine", "operation", "thread", "pushed", "queued", "waited", "ran", "reads", "writes",
                  "line", "error"]  # fmt: skip
        return header, (
            [run["name"], *_cells(each)] for run in self.payload["runs"] for each in operations(run)
        )

    def svg(self) -> str:
        return picture(self.payload["runs"], self.summary())


def operations(run: Run, which: Iterable[int] | None = None) -> list[dict[str, Any]]:
    """Operations of a run (all of them) in words: times in seconds, variables as (name, version)."""
    ops, strings, deps = run["ops"], run["strings"], run["deps"]
    chosen = list(range(len(ops["name"])) if which is None else which)
    uses: dict[int, tuple[list[tuple[str, int]], ...]] = {i: ([], []) for i in chosen}
    for op, var, mode, version in zip(
        *(deps[key] for key in ("op", "var", "mode", "version")), strict=True
    ):
        if op in uses:
            uses[op][mode].append((strings[run["vars"]["name"][var]], version))

    def word(key: str, index: int) -> str | None:
        return strings[ops[key][index]] if ops[key][index] >= 0 else None

    return [
        {
            "name": word("name", i),
            "thread": run["lanes"][ops["lane"][i]]["name"],
            "resource": word("resource", i),
            **{key: ops[key][i] / 1e9 for key in ("pushed", "queued", "waited", "ran")},
            "reads": uses[i][0],
            "writes": uses[i][1],
            "source": word("source", i),
            "error": word("error", i),
        }
        for i in chosen
    ]


def _cells(op: dict[str, Any]) -> list[str]:
    def listed(pairs: Iterable[tuple[str, int]]) -> str:
        return ", ".join(f"{name} v{version}" for name, version in pairs)

    times = [time_text(op[key]) for key in ("pushed", "queued", "waited", "ran")]
    return [
        op["name"],
        op["thread"],
        *times,
        listed(op["reads"]),
        listed(op["writes"]),
        op["source"] or "",
        op["error"] or "",
    ]


def engine_name() -> str:
    """The engine in use, as a heading: ``naive engine``, ``threaded engine``."""
    from mixnet.engine.current import current

    return "naive engine" if current.naive else "threaded engine"


def _checked(rows: Iterable[Row]) -> list[Row]:
    checked = list(rows)
    for row in checked:
        missing = [key for key in _NEEDED if not isinstance(row, dict) or key not in row]
        if missing:
            raise AttributeTypeError(
                f"rows: expected rows of mx.engine.timeline.to_dict()['rows'], got {row!r:.80} without "
                f"{', '.join(missing)}."
            )
    return [{"number": i, "priority": 0, **row} for i, row in enumerate(checked)]


@cell_magic("timeline")
def _timeline(line: str, cell: str) -> EngineTimeline:
    """``%%timeline`` runs the cell and shows what the engine did, also if the cell fails."""
    if line.strip():
        raise AttributeValueError(f"%%timeline takes no arguments, got {line.strip()!r}.")
    view = EngineTimeline()
    try:
        with view:
            run_cell(cell)
    except BaseException:
        from IPython.display import display

        display(view)
        raise
    return view
