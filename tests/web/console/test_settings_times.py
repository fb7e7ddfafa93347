"""How long settings take after some years: processor time of the server and of the test's own browser."""

from __future__ import annotations

import random
import time
from datetime import timedelta

import pytest

from bot.llm.budget import Purpose
from bot.llm.tables import spend
from bot.storage.database import Tx
from bot.tasks.tables import task
from tests.memory.desk import Desk
from tests.web.console.site import Site

CALLS, A_DAY, TASKS = 150_000, 400, 300_000
MOST = 0.100
"""Seconds of processor time of a page (p95)."""
TRIES = 20
PATHS = ("/settings", "/settings/spending?days=31", "/settings/spending?days=92", "/settings/access", "/settings/all")


async def _fill(desk: Desk) -> None:
    chance = random.Random(1)
    calls, done = [], []
    for number in range(CALLS):
        at = desk.now - timedelta(days=number / A_DAY)
        calls.append({
            "id": f"{CALLS - number:08d}", "at": at, "day": at.date().isoformat(), "session_id": "s",
            "person_id": chance.choice(("ada", "bob", "boss", None)), "turn_id": f"t{number}", "scheduled": False,
            "purpose": chance.choice(list(Purpose)).value, "model": chance.choice("abc"), "estimated": False,
            "input": chance.randint(1, 9_999), "output": 5, "cache_read": 900, "cache_written": 3, "micros": 77,
        })  # fmt: skip
    for number in range(TASKS):
        done.append({
            "id": f"k{number}", "kind": "memory.extract", "key": f"k{number}", "lane": f"l{number % 500}",
            "payload": {"turn": "t" * 24}, "state": "done", "attempts": 1, "run_at": desk.now,
            "created_at": desk.now, "ended_at": desk.now,
        })  # fmt: skip

    def unit(tx: Tx) -> None:
        tx.execute(spend.insert(), calls)
        tx.execute(task.insert(), done)

    await desk.write(unit)


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_page_after_some_years(desk: Desk, site: Site) -> None:
    await _fill(desk)
    slow: dict[str, float] = {}
    for who, paths in (("boss", PATHS), ("ada", PATHS[:-1])):
        browser = await site.enter(who)
        for path in paths:
            took: list[float] = []
            for _ in range(TRIES):
                begun = time.process_time()
                answer = await browser.go(path)
                took.append(time.process_time() - begun)
                assert answer.status == 200
            slow[f"{who} {path}"] = sorted(took)[int(TRIES * 0.95) - 1]
    for name, seconds in slow.items():
        print(f"{name}: p95 {seconds * 1_000:.1f} ms")
    assert max(slow.values()) < MOST
