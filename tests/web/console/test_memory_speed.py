"""The pages of memories over 50,000 of them: measured, and the plans of what they ask.

`python -m pytest tests/web/console/test_memory_speed.py -m slow -s` prints the times.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from tests.memory.desk import Desk
from tests.memory.many import fill
from tests.web.console.site import Browser, serving

CLAIMS = 50_000
ROUNDS = 20
LIMIT = 100
"""Milliseconds of a page, 95th percentile, on two cores that do nothing else."""


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_no_page_over_50_000_memories_takes_a_tenth_of_a_second(desk: Desk) -> None:
    ids = await fill(desk, CLAIMS)
    async with serving(desk) as site:
        slowest: dict[str, tuple[float, float]] = {}
        for who in ("ada", "boss"):
            browser = await site.enter(who)
            page = await browser.go("/memories")
            mine = page.all(".says a")[0].get("href")
            older = page.all("a.more")[0].get("href")
            review = await browser.go("/memories/review")
            waits = review.all("a.more")[0].get("href")
            paths = {
                "the list": "/memories",
                "its second page": older,
                "far back": f"{older.split('before=')[0]}before={CLAIMS // 10}",
                "a kind": "/memories?kind=preference",
                "a rare status": "/memories?status=disputed",
                "all filters": "/memories?kind=fact&department=sales&domain=finance&person=ada&status=superseded",
                "nobody's": "/memories?person=guest",
                "words": "/memories?q=cash+plan&order=newest",
                "a word of none": "/memories?q=zebra&order=newest",
                "as of a day": f"/memories?known={desk.now.date()}",
                "what waits": "/memories/review",
                "its second page of it": waits,
                "how many wait": "/memories/waiting",
                "one": mine,
                "whether one changed": f"{mine}/changed?version=1",
            }
            for name, path in paths.items():
                await browser.go(path)
                took = [await _milliseconds(browser, path) for _ in range(ROUNDS)]
                p95 = tuple(sorted(each)[int(ROUNDS * 0.95) - 1] for each in zip(*took, strict=True))
                slowest[name] = max(slowest.get(name, (0, 0)), (p95[0], p95[1]))
        print("\np95 in ms, of the processor and by the clock")
        for name, (worked, waited) in slowest.items():
            print(f"{name:24}{worked:7.1f}{waited:7.1f}")
        assert {name for name, (worked, _) in slowest.items() if worked > LIMIT} == set()
        assert len(ids) == CLAIMS


async def _milliseconds(browser: Browser, path: str) -> tuple[float, float]:
    """What a page takes of the processor, the asking included, and by the clock. A machine that does other things shows
    in the second."""
    began, worked = time.perf_counter(), time.process_time()
    answer = await browser.go(path)
    assert answer.status in (200, 204), (path, answer.status)
    return 1_000 * (time.process_time() - worked), 1_000 * (time.perf_counter() - began)


GROWING = {"claim", "evidence", "claim_event", "claim_event_text", "claim_shown", "message", "turn"}
WAITING = re.compile(r"SCAN claim USING INDEX ix_claim_(pending|asked|disputed)$")
"""Indexes that hold nothing but what waits."""
BY_KEY = re.compile(r"SCAN claim$")
"""Pages of the list follow the key of the table backwards until they are full."""


@contextmanager
def statements() -> Iterator[dict[str, Any]]:
    heard: dict[str, Any] = {}

    def listen(_c: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, many: bool) -> None:
        heard[statement] = parameters[0] if many else parameters

    sa.event.listen(sa.Engine, "before_cursor_execute", listen)
    try:
        yield heard
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", listen)


async def _scans(desk: Desk, browser: Browser, path: str) -> list[str]:
    """What a page reads from end to end of tables that grow."""
    with statements() as heard:
        assert (await browser.go(path)).status == 200

    def explain(connection: sa.Connection) -> list[str]:
        plans = []
        for statement, parameters in heard.items():
            if statement.lstrip().upper().startswith("SELECT"):
                rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters or ())
                plans += [row.detail for row in rows]
        return plans

    found = await desk.rooms.database.read(explain)
    scans = [each for each in found if each.split()[0] == "SCAN" and each.split()[1] in GROWING]
    return [each for each in scans if not WAITING.match(each)]


async def test_pages_find_what_they_show_along_an_index(desk: Desk) -> None:
    ids = await fill(desk, 600)
    async with serving(desk) as site:
        browser = await site.enter("boss")
        page = await browser.go("/memories")
        mine = page.all(".says a")[0].get("href")
        for path in (mine, f"{mine}/changed?version=0", "/memories/review", "/memories/waiting"):
            assert await _scans(desk, browser, path) == [], path
        for path in ("/memories", "/memories?before=300", "/memories?kind=fact&q=cash&order=newest"):
            assert [each for each in await _scans(desk, browser, path) if not BY_KEY.match(each)] == [], path
        assert len(ids) == 600
