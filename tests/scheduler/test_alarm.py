"""The clock of the scheduler, with its library."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import timedelta

from bot.kernel.clock import SystemClock
from bot.scheduler.alarm import ApAlarm

IDLE = """
import sys
from bot.scheduler.alarm import ApAlarm
alarm = ApAlarm(print)
alarm.set(None)
alarm.stop()
sys.exit("apscheduler" in sys.modules)
"""


async def test_it_rings_at_the_last_instant_that_was_set_and_at_once_for_a_past_one() -> None:
    rang = asyncio.Event()
    alarm = ApAlarm(rang.set)
    try:
        alarm.set(SystemClock().now() + timedelta(hours=1))
        alarm.set(None)
        for at in (timedelta(milliseconds=10), timedelta(hours=-1)):
            alarm.set(SystemClock().now() + at)
            async with asyncio.timeout(20):
                await rang.wait()
            rang.clear()
    finally:
        alarm.stop()


def test_where_nothing_is_scheduled_its_library_is_not_loaded() -> None:
    assert subprocess.run([sys.executable, "-c", IDLE], check=False).returncode == 0
