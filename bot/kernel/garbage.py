"""Keeping garbage collections short. A full one holds up the event loop for all objects that it looks at."""

from __future__ import annotations

import gc
from datetime import timedelta

from bot.kernel.clock import Clock

AGAIN_AFTER = (timedelta(minutes=1), timedelta(minutes=9), timedelta(hours=2))


async def set_aside(clock: Clock) -> None:
    """Let collections pass over what is there now: modules, classes, and what first uses have loaded and cached by the
    end of each of these waits. It stays for the life of the daemon anyway. A few times and no more: what is set aside
    is never looked at again, garbage or not."""
    gc.freeze()
    for wait in AGAIN_AFTER:
        await clock.sleep(wait)
        gc.collect(1)  # not the oldest: that would be what is to be spared
        gc.freeze()
