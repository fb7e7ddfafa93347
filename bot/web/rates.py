"""How often somebody may try: a sliding window of each key's tries, for a bounded number of keys."""

from __future__ import annotations

from collections import OrderedDict, deque

from bot.kernel.clock import Clock

KEYS = 1_000
"""Remembered at a time; the one unused for longest is forgotten."""


class Rates:
    """At most `most` tries in `window` seconds."""

    def __init__(self, most: int, window: float, clock: Clock) -> None:
        self._most = most
        self._window = window
        self._clock = clock
        self._tries: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, key: str) -> int:
        """Seconds until this key may try again; 0: now."""
        tries, now = self._tries.get(key), self._clock.monotonic()
        while tries and now - tries[0] >= self._window:
            tries.popleft()
        if tries is None or len(tries) < self._most:
            return 0
        return max(1, round(self._window - (now - tries[0])))

    def count(self, key: str) -> None:
        tries = self._tries.setdefault(key, deque(maxlen=self._most))
        tries.append(self._clock.monotonic())
        self._tries.move_to_end(key)
        if len(self._tries) > KEYS:
            self._tries.popitem(last=False)
