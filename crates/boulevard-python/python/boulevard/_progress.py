"""Progress of a fit: a line on standard error, and scikit-learn's callbacks where the installed version has them."""

import math
import sys
import time
from typing import Any, Protocol


class Listener(Protocol):
    """Is told about every stage, and how it ended."""

    def __call__(self, stage: str, done: int, total: int | None, violation: float | None, tolerance: float | None) -> bool:
        """A report; a true answer stops the fit."""
        ...

    def finish(self, status: int, steps: int, gap: float, way: str | None = None) -> None:
        """The end."""
        ...


#: Seconds between lines of one stage where lines cannot be renewed.
LINE_EVERY = 10.0


class Line:
    """Shows progress: one line that renews itself in a terminal or notebook; otherwise one per stage, and every ten seconds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.start = time.monotonic()
        self.stage: str | None = None
        self.said = self.start
        self.first: tuple[float, float] | None = None
        self.width = 0
        self.live = _is_live(sys.stderr)

    def __call__(self, stage: str, done: int, total: int | None, violation: float | None, tolerance: float | None) -> bool:
        now = time.monotonic()
        if stage != self.stage:
            self.first = None
        elif not self.live and now - self.said < LINE_EVERY:
            return False
        self.stage, self.said = stage, now
        text = f"{self.name}: {stage}"
        if done or total is not None or violation is not None:
            text += f" {done:,}"
        if total is not None:
            text += f" of {total:,}"
        if violation is not None:
            text += f", violation {violation:.2g}"
            if tolerance is not None:
                text += f" (goal {tolerance:.2g})"
                text += self._left(violation, tolerance, now)
        self._write(f"{text}, {time.monotonic() - self.start:.1f} s", last=not self.live)
        return False

    def _left(self, violation: float, tolerance: float, now: float) -> str:
        """How long it will go on, if the violation goes on falling as it did; nothing until it has halved."""
        if self.first is None:
            self.first = (violation, now)
        first, since = self.first
        if not (0 < tolerance < violation <= first / 2):
            return ""
        seconds = (now - since) * math.log(violation / tolerance) / math.log(first / violation)
        return f", about {seconds:.0f} s left" if seconds >= 1 else ""

    def finish(self, status: int, steps: int, gap: float, way: str | None = None) -> None:
        """Says how it ended, and by which way of the solver and why."""
        ends = {0: "converged", 1: "iteration limit", 2: "time limit", 3: "interrupted", 4: "rounding left no step"}
        text = f"{self.name}: {ends.get(status, 'done')} after {steps:,} steps, {time.monotonic() - self.start:.2f} s, gap {gap:.2g}"
        self._write(f"{text}; {way}" if way else text, last=True)

    def _write(self, text: str, last: bool) -> None:
        if self.live:
            blank = " " * max(0, self.width - len(text))
            self.width = 0 if last else len(text)
            text = "\r" + text + blank
        sys.stderr.write(text + ("\n" if last else ""))
        sys.stderr.flush()


def _is_live(stream: Any) -> bool:
    # Notebooks honor \r although they are no terminals.
    return bool(getattr(stream, "isatty", lambda: False)()) or type(stream).__module__.startswith("ipykernel")


class Callbacks:
    """Hands progress to the callbacks of ``set_callbacks``: every report is a subtask; a true answer stops the fit."""

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self.estimator = estimator
        self.data = {"X": X, "y": y}
        self.context = estimator._init_callback_context(max_subtasks=None)
        self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def __call__(self, stage: str, done: int, total: int | None, violation: float | None, tolerance: float | None) -> bool:
        part = self.context.subcontext(task_name=stage)
        part.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return bool(part.call_on_fit_task_end(estimator=self.estimator, **self.data))

    def finish(self, status: int, steps: int, gap: float, way: str | None = None) -> None:
        """Ends the root task."""
        self.context.call_on_fit_task_end(estimator=self.estimator, **self.data)


class Several:
    """Several listeners as one."""

    def __init__(self, listeners: list[Listener]) -> None:
        self.listeners = listeners

    def __call__(self, stage: str, done: int, total: int | None, violation: float | None, tolerance: float | None) -> bool:
        answers = [listener(stage, done, total, violation, tolerance) for listener in self.listeners]
        return any(answers)

    def finish(self, status: int, steps: int, gap: float, way: str | None = None) -> None:
        """Tells all of them."""
        for listener in self.listeners:
            listener.finish(status, steps, gap, way)
