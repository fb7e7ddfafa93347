"""How long the event loop is held up, measured from inside.

A callback that ticks every `TICK` seconds finds out how late it is: that is what everything else in the loop had to
wait. Beside the wait, the loop thread's own processor time in it is kept: on a machine that is shared, a late tick
with little time of our own was the machine's doing. Of the worst ticks the longest callback is named.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import time
from asyncio.events import Handle
from collections.abc import Callable
from pathlib import Path
from typing import Any

TICK = 0.01
KEEP_WORST = 10
NAMED_FROM = 0.05
WRITE_EVERY = 500
"""Ticks between two writings of the report: what is measured must survive a kill."""


class Watch:
    def __init__(self, report: Path) -> None:
        self._report = report
        self._late: list[float] = []
        self._own = 0.0
        self._callback = 0.0
        self._worst: list[tuple[float, str]] = []
        self._calls = 0
        self._longest: tuple[float, str] = (0.0, "")
        self._due = 0.0
        self._cpu = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self) -> None:
        """Start ticking in the running loop."""
        self._time_callbacks()
        self._loop = asyncio.get_running_loop()
        self._due = self._loop.time() + TICK
        self._cpu = time.thread_time()
        self._loop.call_at(self._due, self._tick)

    def write(self) -> None:
        ordered = sorted(self._late)
        found = {
            "ticks": len(ordered),
            "max_ms": round(1000 * ordered[-1], 1) if ordered else 0.0,
            "p999_ms": round(1000 * ordered[int(len(ordered) * 0.999)], 1) if ordered else 0.0,
            "p99_ms": round(1000 * ordered[int(len(ordered) * 0.99)], 1) if ordered else 0.0,
            "own_max_ms": round(1000 * self._own, 1),
            "callback_max_ms": round(1000 * self._callback, 1),
            "over_100_ms": sum(1 for late in ordered if late > 0.1),
            "worst": [[round(1000 * late, 1), what] for late, what in sorted(self._worst, reverse=True)],
        }
        self._report.write_text(json.dumps(found), encoding="utf-8")

    def _tick(self) -> None:
        if self._loop is None:
            return
        now, cpu = self._loop.time(), time.thread_time()
        late, own = max(0.0, now - self._due), cpu - self._cpu
        self._late.append(late)
        self._own = max(self._own, own)
        if late > NAMED_FROM:
            took, what = self._longest
            about = f"{1000 * own:.0f} ms own, {self._calls} callbacks, longest {1000 * took:.0f} ms: {what}"
            heapq.heappush(self._worst, (late, about))
            if len(self._worst) > KEEP_WORST:
                heapq.heappop(self._worst)
        self._due, self._cpu = now + TICK, cpu
        self._calls, self._longest = 0, (0.0, "")
        self._loop.call_at(self._due, self._tick)
        if len(self._late) % WRITE_EVERY == 0:
            self.write()

    def _time_callbacks(self) -> None:
        original: Callable[[Any], None] = Handle._run

        def run(handle: Any) -> None:
            began, cpu = time.perf_counter(), time.thread_time()
            original(handle)
            took = time.perf_counter() - began
            self._callback = max(self._callback, time.thread_time() - cpu)
            self._calls += 1
            if took > self._longest[0]:
                self._longest = (took, _named(handle))

        setattr(Handle, "_run", run)  # noqa: B010 - its type is private


def _named(handle: Any) -> str:
    callback = getattr(handle, "_callback", None)
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        coroutine = owner.get_coro()
        return f"task {owner.get_name()} ({getattr(coroutine, '__qualname__', coroutine)})"
    return str(getattr(callback, "__qualname__", callback))
