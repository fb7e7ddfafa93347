"""Backoff: pure, so that the waiting is tested without waiting."""

from __future__ import annotations

import random
from datetime import timedelta

from bot.kernel.values import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential with full jitter on the upper half: attempt n waits in [d/2, d], d = first * factor**(n-1)."""

    first: timedelta = timedelta(seconds=1)
    factor: float = 2.0
    cap: timedelta = timedelta(minutes=5)

    def delay(self, attempt: int, retry_after: timedelta | None = None, roll: float | None = None) -> timedelta:
        """Wait before attempt `attempt` + 1 (attempts count from 1).

        `retry_after` of the other side is honoured up to `cap`: a header of a year must not stop a channel.
        `roll` in [0, 1) replaces the random draw.
        """
        if retry_after is not None:
            return min(max(retry_after, timedelta()), self.cap)
        exponent = min(attempt - 1, 60)
        full = min(self.first * (self.factor**exponent), self.cap)
        return full * (0.5 + 0.5 * (random.random() if roll is None else roll))  # noqa: S311 - jitter, not a secret
