"""How long the event loop is held up, measured from inside the daemon.

A callback that ticks every `TICK` seconds finds out how late it is: that is what everything else in the loop had to
wait. Beside the wait, the loop thread's own processor time in it is kept: on a machine that is shared, a late tick
with little time of our own was the machine's doing. Every callback is timed too: no timer can come in between, so the
longest in own time is the longest that the daemon itself holds anybody up. A thread looks now and then what a callback
that takes long is at; of the worst it is kept.

`tests.soak.loop` reads what is written here.
"""

from __future__ import annotations

import asyncio
import gc
import heapq
import json
import sys
import threading
import time
from asyncio.events import Handle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

TICK = 0.01
KEEP_WORST = 10
NAMED_FROM = 0.03
LOOK = 0.02
"""Seconds between two looks at what is being done."""
WRITE_EVERY = 200
"""Ticks between two writings of the report: what is measured must survive a kill."""
ROOT = str(Path(__file__).resolve().parents[2])


class Watch:
    def __init__(self, report: Path) -> None:
        self._report = report
        self._late: Counter[int] = Counter()
        self._own: Counter[int] = Counter()
        self._pieces: Counter[int] = Counter()
        self._garbage: Counter[int] = Counter()
        """All by milliseconds, rounded down."""
        self._worst: list[tuple[int, int, str]] = []
        """Own time and wall time in milliseconds, and what it was."""
        self._objects = 0
        """That the last full collection left for the next to look at, at most so far."""
        self._passes: list[tuple[int, int, str]] = []
        """Own time and lateness of ticks, and what ran before them."""
        self._calls = 0
        self._longest: tuple[float, str] = (0.0, "")
        self._ticks = 0
        self._due = 0.0
        self._cpu = 0.0
        self._began: float | None = None
        """When the callback began that runs now."""
        self._seen = ""
        self._collecting = 0.0
        self._collected = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self) -> None:
        """Start ticking in the running loop."""
        self._time_callbacks()
        gc.callbacks.append(self._garbage_collected)
        main = threading.get_ident()
        threading.Thread(target=self._look, args=(main,), name="soak-watch", daemon=True).start()
        self._loop = asyncio.get_running_loop()
        self._due = self._loop.time() + TICK
        self._cpu = time.thread_time()
        self._loop.call_at(self._due, self._tick)

    def write(self) -> None:
        found = {
            "late": self._late,
            "own": self._own,
            "pieces": self._pieces,
            "garbage": self._garbage,
            "objects": self._objects,
            "worst": sorted(self._worst, reverse=True),
            "passes": sorted(self._passes, reverse=True),
        }
        self._report.write_text(json.dumps(found), encoding="utf-8")

    def _tick(self) -> None:
        if self._loop is None:
            return
        now, cpu = self._loop.time(), time.thread_time()
        late, own = int(1000 * max(0.0, now - self._due)), int(1000 * (cpu - self._cpu))
        self._late[late] += 1
        self._own[own] += 1
        if own > 1000 * NAMED_FROM:
            took, what = self._longest
            about = f"{self._calls} callbacks, the longest {1000 * took:.0f} ms: {what}"
            _keep(self._passes, (own, late, about))
        self._calls, self._longest = 0, (0.0, "")
        self._due, self._cpu = now + TICK, cpu
        self._loop.call_at(self._due, self._tick)
        self._ticks += 1
        if self._ticks % WRITE_EVERY == 0:
            self.write()

    def _time_callbacks(self) -> None:
        original: Callable[[Any], None] = Handle._run

        def run(handle: Any) -> None:
            self._seen, self._collected = "", 0.0
            began, cpu = time.perf_counter(), time.thread_time()
            self._began = began
            original(handle)
            self._began = None
            own, wall = time.thread_time() - cpu, time.perf_counter() - began
            self._pieces[int(1000 * own)] += 1
            self._calls += 1
            if own > self._longest[0]:
                self._longest = (own, _named(handle) if own > LOOK / 4 else "")
            if own > NAMED_FROM:
                self._name(handle, own, wall)

        setattr(Handle, "_run", run)  # noqa: B010 - its type is private

    def _name(self, handle: Any, own: float, wall: float) -> None:
        what = _named(handle)
        if self._collected > 0.005:
            what += f", of it {1000 * self._collected:.0f} ms of collecting garbage"
        if self._seen:
            what += f", at {self._seen}"
        _keep(self._worst, (int(1000 * own), int(1000 * wall), what))

    def _look(self, thread: int) -> None:
        while True:
            time.sleep(LOOK)
            began = self._began
            if began is not None and time.perf_counter() - began > LOOK:
                self._seen = _where(sys._current_frames().get(thread))

    def _garbage_collected(self, phase: str, info: Any) -> None:
        if phase == "start":
            self._collecting = time.thread_time()
            return
        took = time.thread_time() - self._collecting
        self._collected += took
        self._garbage[int(1000 * took)] += 1
        if info["generation"] == 2:
            self._objects = max(self._objects, len(gc.get_objects()))


def _keep(worst: list[tuple[int, int, str]], one: tuple[int, int, str]) -> None:
    heapq.heappush(worst, one)
    if len(worst) > KEEP_WORST:
        heapq.heappop(worst)


def _where(frame: FrameType | None) -> str:
    """The innermost calls of ours, innermost first."""
    found: list[str] = []
    while frame is not None and len(found) < 4:
        file = frame.f_code.co_filename
        if file.startswith(ROOT) and "/.venv/" not in file and "/tests/soak/" not in file:
            found.append(f"{file.removeprefix(ROOT + '/')}:{frame.f_lineno} {frame.f_code.co_name}")
        elif not found:
            found.append(f"{Path(file).name}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(found)


def _named(handle: Any) -> str:
    callback = getattr(handle, "_callback", None)
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        coroutine = owner.get_coro()
        return f"task {owner.get_name()} ({getattr(coroutine, '__qualname__', coroutine)})"
    return str(getattr(callback, "__qualname__", callback))
