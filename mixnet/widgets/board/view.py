"""TrainingBoard: curves of a running training, with pause, step and stop."""

from __future__ import annotations

import contextvars
import inspect
import math
import threading
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np

from mixnet.base import AttributeTypeError, AttributeValueError, MXNetError
from mixnet.ndarray.ndarray import NDArray
from mixnet.units import count_text, digits, how_many
from mixnet.widgets.board.control import Control, StopTraining
from mixnet.widgets.board.data import check_image, held
from mixnet.widgets.board.others import curves_of_others, other_run, same_step
from mixnet.widgets.board.picture import picture
from mixnet.widgets.board.sender import IDLE, Sender
from mixnet.widgets.board.store import Store
from mixnet.widgets.view import View

MOST_IN_SUMMARY = 8  # curves with their last value; ``widgets/src/board.js`` has the same number


class TrainingBoard(View):
    """Loss, metrics, throughput, histograms, images and memory of a training run.

    A click reaches Python only while no cell runs, so train in the board's thread::

        board = mx.widgets.TrainingBoard("LeNet")


        def train(board):
            for x, y in batches:
                with mx.autograd.record():
                    loss = loss_function(net(x), y)
                loss.backward()
                trainer.step(len(x))
                board.log(loss=loss)
                board.checkpoint()


        board.attach(trainer)
        board.start(train)

    ``log`` waits for nothing: arrays are held and read when they have been computed. The page gets at most
    ``rate`` updates a second, and always the last one. Long curves are thinned to 400 points with
    their extremes, the newest 200 values are stored unchanged. Programs that are compiled and values that are
    not finite are marked.

    Args:
        title: heading.
        rate: updates a second, at most 20.

    Raises:
        AttributeValueError: another rate.
    """

    schema = "mixnet.train/1"
    bundle = "board"
    sight = (
        "Look at the loss [curve]: it falls while the network learns. A mark shows the [step] "
        "of an event, such as a compilation."
    )
    _data: Store | None = None  # a stored board has a payload alone

    def __init__(self, title: str = "training", rate: float = 10):
        if not 0 < rate <= 20:
            raise AttributeValueError(
                f"rate: expected 0 < rate <= 20 updates a second, got {rate}."
            )
        self._drawing = threading.RLock()
        super().__init__({}, {"at": None, "recent": False, "log": False})
        self._title = title
        self._control = Control()
        self._data = Store()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        # The thread itself counts as ended once a join of it has been interrupted (before Python 3.13).
        self._ended = threading.Event()
        self._ended.set()
        self._attached: Any = None
        self._batch_size: int | None = None
        self._learning_rate: float | None = None
        self._loop: int | None = None  # the thread that logs
        self._others: list[dict[str, Any]] = []
        self._sender = Sender(self, rate)
        self._refresh()

    # ---- what the loop says ---------------------------------------------------------------------

    def log(self, step: int | None = None, **values: object) -> None:
        """Add a point to each named curve.

        Args:
            step: its place; by default one after the last.
            values: numbers, or arrays of any shape, whose mean is taken once they are computed.

        Raises:
            AttributeTypeError: a value is neither.
        """
        data = self._of_live()
        snapshots = {name: held(value, name) for name, value in values.items()}
        self._loop = threading.get_ident()
        data.log(step, snapshots)
        self._sender.wake()

    def histogram(self, name: str, array: object) -> None:
        """Show a histogram of an array's values; the latest for each name.

        Args:
            name: of a layer or parameter.
            array: NDArray or what NumPy takes; read once it is computed.
        """
        self._of_live().histogram(name, _snapshot(array, name))
        self._sender.wake()

    def image(self, name: str, array: object) -> None:
        """Show an image; the latest twelve are stored.

        Args:
            name: its caption.
            array: ``(height, width)``, ``(height, width, channels)`` or ``(channels, height,
                width)`` with 1 or 3 channels; uint8 as it is, other dtypes scaled to their
                extremes.

        Raises:
            AttributeValueError: another shape.
        """
        picture = _snapshot(array, name)
        check_image(name, picture.shape)
        self._of_live().image(name, picture)
        self._sender.wake()

    def event(self, text: str) -> None:
        """Add a line to the list of events, with the current step.

        Args:
            text: shown beside the mark.
        """
        self._of_live().event("note", text)
        self._sender.wake()

    def checkpoint(self) -> None:
        """Respond to the buttons: wait while paused. Call it once per step.

        Raises:
            StopTraining: the stop button was pressed; :meth:`start` catches it, a loop of your own may.
        """
        if not (self._control.paused or self._control.stopping):
            return
        self._of_live().hold()
        try:
            # Only once the loop waits: a page that is updated earlier would show "running".
            self._control.obey(self._sender.wake)
        finally:
            self._of_live().clock()  # waiting is no part of the throughput
            self._sender.wake()

    # ---- who trains -----------------------------------------------------------------------------

    def start(self, function: Callable[[Self], Any]) -> Self:
        """Run ``function(board)`` in a thread; returns the board at once.

        Raises:
            AttributeTypeError: it is no function, or does not take the board.
            MXNetError: one runs already.
        """
        _check_training(function)
        if self.running:
            raise MXNetError("This board is already training; call stop() or wait() first.")
        self._of_live().clock()
        self._control.reset()
        self._error = None
        self._ended.clear()
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run, args=(self._train, function), name="mixnet training", daemon=True
        )
        try:
            self._thread.start()
        except BaseException:
            if self._thread.ident is None:  # it will not end, as it has not begun
                self._ended.set()
            raise
        return self

    def _train(self, function: Callable[[Self], Any]) -> None:
        try:
            self._run(function)
        finally:
            self._ended.set()
        self._sender.finish()

    def _run(self, function: Callable[[Self], Any]) -> None:
        data = self._of_live()
        try:
            try:
                function(self)
            except StopTraining:
                pass
            finally:
                data.drain(wait=True, computed=self._sender.wake)
        except BaseException as error:
            self._failed(error)
        if self._control.stopped:
            data.event("stop", "stopped")
        data.sample(self._batch_size, at_once=True)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the training to end, for at most ``timeout`` seconds; returns whether it has ended.

        Raises:
            BaseException: what the training raised.
        """
        if self._thread is not None:
            if not self._ended.wait(timeout):
                return False
            self._thread.join()
        if self._live is not None:
            # What the thread sent last belongs to the cell that started it: a client without a page, which
            # runs a notebook cell by cell, listens to this one only.
            self._live.send_state("payload")
            self._renew_picture()
        if self._error is not None:
            raise self._error
        return True

    @property
    def steps(self) -> int:
        """The step of the last :meth:`log`."""
        return self._of_live().step

    @property
    def running(self) -> bool:
        """Whether the board's thread is training."""
        return not self._ended.is_set()

    def pause(self) -> None:
        """Pause the loop at its next checkpoint."""
        self._of_live()
        self._control.pause()
        self._sender.wake()

    def resume(self) -> None:
        """Resume the loop."""
        self._of_live()
        self._control.resume()
        self._sender.wake()

    def step(self) -> None:
        """Run the loop to its next checkpoint, and pause there."""
        self._of_live()
        self._control.step()
        self._sender.wake()

    def stop(self) -> None:
        """End the loop at its next checkpoint."""
        self._of_live()
        self._control.stop()
        self._sender.wake()

    def attach(self, trainer: object, batch_size: int | None = None) -> Self:
        """Let the board show and change a learning rate.

        Args:
            trainer: a ``gluon.Trainer``, an optimizer, a ``Module`` with one.
            batch_size: samples of a step; the throughput is then that of samples.

        Raises:
            AttributeTypeError: it has no learning rate.
        """
        parts = (getattr(trainer, name, None) for name in ("_optimizer", "trainer"))
        subject = next((p for p in (trainer, *parts) if hasattr(p, "set_learning_rate")), None)
        if subject is None:
            raise AttributeTypeError(
                f"trainer: expected a Trainer, an optimizer or a Module after init_optimizer, got "
                f"{type(trainer).__name__}."
            )
        self._attached = subject
        self._batch_size = batch_size or self._batch_size
        self._sender.wake()
        return self

    def compare(self, *boards: TrainingBoard) -> Self:
        """Draw the current curves of other runs beside these.

        Args:
            boards: live or loaded ones; their titles distinguish the curves. Without any, none is
                drawn.

        Raises:
            AttributeTypeError: one is not a board.
        """
        self._of_live()
        for each in boards:
            if not isinstance(each, TrainingBoard):
                raise AttributeTypeError(
                    f"compare: expected TrainingBoards, got {type(each).__name__}."
                )
        self._others = [other_run(each.payload) for each in boards]
        self._sender.wake()
        return self

    @property
    def learning_rate(self) -> float | None:
        """That of the attached trainer, else the number that was set. Assign to change it from
        the next step on.

        Raises:
            AttributeValueError: the value is not a positive number.
            UserWarning: a schedule decides.
        """
        return (
            self._learning_rate if self._attached is None else float(self._attached.learning_rate)
        )

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not 0 < value < math.inf
        ):
            raise AttributeValueError(f"learning_rate: expected a positive number, got {value!r}.")
        if self._attached is not None:
            self._attached.set_learning_rate(float(value))
        self._learning_rate = float(value)
        self._of_live().event("rate", f"learning rate {digits(value)}")
        self._sender.wake()

    def handler(self) -> Any:
        """An event handler for ``Estimator.fit``: losses of batches, metrics of epochs; obeys the buttons."""
        from mixnet.widgets.board.hooks import BoardHandler

        return BoardHandler(self)

    def callback(self) -> Callable[[Any], None]:
        """A ``batch_end_callback`` for ``Module.fit``: its metrics; obeys the buttons.

        ``fit`` ends with :class:`StopTraining` when the stop button is pressed.
        """
        from mixnet.widgets.board.hooks import BoardCallback

        return BoardCallback(self)

    # ---- the page -------------------------------------------------------------------------------

    def message(self, content: dict[str, Any]) -> None:
        """A button or the slider of the page."""
        if self._data is None:
            return
        actions = {
            "pause": self.pause, "resume": self.resume, "step": self.step, "stop": self.stop,
        }  # fmt: skip
        if content.get("do") in actions:
            actions[content["do"]]()
        elif "learning_rate" in content:
            try:
                self.learning_rate = content["learning_rate"]
            except (AttributeValueError, UserWarning) as error:
                self.event(str(error))

    @property
    def status(self) -> str:
        """``run``, ``pause``, ``nan`` (something was not finite), ``stop``, ``error``, ``done``
        or ``new``.
        """
        if self._data is None:
            return str(self._payload["status"])
        if self._error is not None:
            return "error"
        data = self._data
        if self.running and self._control.waiting:
            return "pause"
        if data.bad is not None:
            return "nan"
        if self.running:
            return "run"
        if self._control.stopped:
            return "stop"
        if not data.times:
            return "new"
        # Another thread's loop ends when it says nothing any more; one's own has ended if one can ask.
        ours = self._loop == threading.get_ident()
        return "done" if ours or self._thread is not None or data.silence() > IDLE else "run"

    @property
    def payload(self) -> dict[str, Any]:
        """The data that is drawn, as far as it has been computed."""
        return self._refresh()

    @payload.setter
    def payload(self, payload: dict[str, Any]) -> None:
        raise MXNetError("A board's payload cannot be set; use log().")

    @property
    def widget(self) -> Any:
        """The anywidget that shows this board; see :class:`View`."""
        self._refresh()
        return super().widget

    def _refresh(self, wait: bool | None = None) -> dict[str, Any]:
        """The payload, computed again. One thread after the other: a payload is never replaced by
        what another began before it.
        """
        data = self._data
        if data is None:
            return self._payload
        with self._drawing:
            self._payload = self._payload_of(data, wait)
            return self._payload

    def _payload_of(self, data: Store, wait: bool | None) -> dict[str, Any]:
        # Only the thread of the loop waits for pending values, or any thread if there is no loop.
        if wait is None:
            wait = not self.running and self._loop in (None, threading.get_ident())
        try:
            data.drain(wait)
            drawn = data.to_dict(wait)
        except Exception as error:
            self._failed(error)
            drawn = data.to_dict(False)
        rate = self.learning_rate
        return self._with_facts(
            {
                "title": self._title,
                "status": self.status,
                "running": self.running,
                "learning_rate": rate if rate is None or math.isfinite(rate) else None,
                **drawn,
                "others": self._others,
            }
        )

    def _publish(self, wait: bool | None = None) -> None:
        """Send what there is to the page, if there is one."""
        self._of_live().sample(self._batch_size)
        with self._drawing:
            payload = self._refresh(wait)
            if self._live is not None:
                self._live.payload = payload

    def _weight(self) -> int:
        """About how many bytes an update has."""
        p = self._payload
        points = sum(2 * len(each["step"]) + 3 * len(each["value"]) for each in p["series"])
        return 10 * points + sum(len(each["src"]) for each in p["images"])

    def _failed(self, error: BaseException) -> None:
        """Something that was logged could not be computed: shown, and raised by ``wait``."""
        if self._error is None:
            self._error = error
            self._of_live().event("error", f"{type(error).__name__}: {error}")

    def _of_live(self) -> Store:
        if self._data is None:
            raise MXNetError(
                "This board was loaded and can only be viewed; create another one for training."
            )
        return self._data

    def summary(self) -> str:
        p = self.payload
        bad = p["nan"]
        word = (
            f"{bad['name']} not finite since step {bad['step']}"
            if p["status"] == "nan"
            else p["status"]
        )
        at = "" if p["status"] == "nan" and bad["step"] == p["step"] else f", step {p['step']:,}"
        text = f"{p['title']}: {word}{at}"
        shown = [
            f"{s['name']} {_number_text(s['recent']['value'][-1])}"
            for s in p["series"]
            if s["recent"]["value"] and (p["status"] != "nan" or s["name"] != bad["name"])
        ]
        if len(shown) > MOST_IN_SUMMARY:
            rest = len(shown) - MOST_IN_SUMMARY
            shown = [*shown[:MOST_IN_SUMMARY], how_many(rest, "more curve")]
        if p["throughput"]["value"]:
            shown.append(f"{count_text(p['throughput']['value'][-1])} {p['throughput']['unit']}")
        return "; ".join([", ".join([text, *shown]), *self._others_in_words()])

    def _others_in_words(self) -> Iterable[str]:
        """The first curve that other runs share with this one, at the same step."""
        p = self._payload
        names = {series["name"] for series in p["series"]}
        for run in p.get("others", ()):
            curve = next((each for each in run["series"] if each["name"] in names), None)
            at = None if curve is None else same_step(curve, p["step"])
            if curve is not None and at is not None:
                yield f"{run['title']} at this step: {curve['name']} {_number_text(at[1])}"

    def table(self) -> tuple[list[str], Iterable[list[Any]]]:
        rows = []
        for series in self.payload["series"]:
            known = [
                v for v in [*series["low"], *series["value"], *series["high"]] if v is not None
            ]
            last, step = series["recent"]["value"][-1], series["recent"]["step"][-1]
            least, most = (min(known), max(known)) if known else (None, None)
            rows.append(
                [series["name"], step, _number_text(last), _number_text(least), _number_text(most)]
            )
        for curve in curves_of_others(self.payload):
            at = same_step(curve, self.payload["step"])
            known = [v for v in curve["value"] if v is not None]
            least, most = (min(known), max(known)) if known else (None, None)
            if at is not None:
                rows.append(
                    [curve["name"], at[0], *(_number_text(v) for v in (at[1], least, most))]
                )
        return ["curve", "last step", "last value", "least", "largest"], rows or [
            ["", "", "", "", ""]
        ]

    def svg(self) -> str:
        return picture(self.payload, self.summary())


def _check_training(function: object) -> None:
    """Refuse what cannot be called with a board.

    Raises:
        AttributeTypeError: it is no function, or does not take one argument.
    """
    if not callable(function):
        raise AttributeTypeError(
            f"TrainingBoard.start: expected a function of the board, got {function!r:.60}. Pass the function "
            "itself, without calling it: board.start(train)."
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C, without a signature
        return
    try:
        signature.bind(None)
    except TypeError:
        name = getattr(function, "__name__", type(function).__name__)
        raise AttributeTypeError(
            f"TrainingBoard.start: {name}{signature} is called with the board: define it as "
            f"def {name}(board), or pass lambda board: {name}(...)."
        ) from None


def _number_text(value: float | None) -> str:
    return "not finite" if value is None else digits(value)


def _snapshot(array: object, name: str) -> Any:
    """An array as it is now, not computed yet if it is an NDArray."""
    if isinstance(array, NDArray):
        return held(array, name)[0]
    data = np.array(array)
    if data.dtype.kind not in "biuf":
        raise AttributeTypeError(f"{name}: expected an array of numbers, got dtype {data.dtype}.")
    return data
