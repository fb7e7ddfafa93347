"""How long a page of the audit takes over a million rows."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from bot.audit.recorder import Recorder, read_head
from bot.audit.tables import audit
from bot.kernel.ids import PersonId, SessionId
from bot.kernel.scope import PersonScope
from bot.people.model import Handle, Origin, Role
from bot.sessions import trail
from bot.sessions.tables import place, presence, session
from bot.sessions.trail import Wanted
from bot.storage.database import Database, Tx
from tests.clock import FakeClock
from tests.people.test_model import person
from tests.sessions.rooms import Rooms

ROWS, PEOPLE, SESSIONS = 1_000_000, 200, 4_000
MOST = 0.100
"""Seconds of processor time of a page (p95)."""
KINDS = ("message_received", "turn_started", "turn_finished", "memory_snapshot", "delivery_sent", "tool_called")
RARE = "content_viewed"


def _rows(rng: random.Random, start: int) -> Iterator[dict[str, Any]]:
    payload = '{"attempt":1,"messages":["' + "x" * 24 + '"],"more":"' + "y" * 120 + '"}'
    for number in range(1, ROWS + 1):
        of = int(SESSIONS * rng.random() ** 2)
        kind = RARE if number % 50_000 == 1 else rng.choice(KINDS)
        by_person = kind == "message_received"
        administrative = number % 97 == 0
        yield {
            "id": number,
            "at": start + number * 1_000_000,
            "type": "auth_login" if administrative else kind,
            "actor_kind": "person" if by_person or administrative else "model",
            "actor": f"p{1 + of % (PEOPLE - 2)}" if by_person or administrative else "m",
            "session_id": None if administrative else f"s{of}",
            "turn_id": f"t{number // 6}",
            "payload": payload,
            "previous": "",
            "hash": "h" * 64,
        }


async def fill(rooms: Rooms) -> None:
    """Everybody is alone in sessions of their own; every tenth session is a room of nine. `p199` said one word, long
    ago; `p0` is a principal."""
    rng = random.Random(1)
    now = rooms.clock.now()
    everyone = [
        person(
            f"p{number}",
            Role.PRINCIPAL if number == 0 else Role.MEMBER,
            handles=[Handle("test", str(number), Origin.SETTINGS)],
        )
        for number in range(PEOPLE)
    ]
    await rooms.add_people(*everyone)
    head = rooms.recorder.head.id

    def unit(tx: Tx) -> None:
        keys = {"channel": "test", "kind": "group", "title": "", "audience": "room", "because": "", "changed_at": now}
        tx.execute(place.insert(), [{"key": f"r{n}", **keys} for n in range(SESSIONS)])
        given = {"channel": "test", "opened_at": now}
        tx.execute(session.insert(), [{"id": f"s{n}", "place_key": f"r{n}", **given} for n in range(SESSIONS)])
        there = [(n, 1 + n % (PEOPLE - 2)) for n in range(SESSIONS)]
        there += [(n, (n + 7 * more) % (PEOPLE - 1)) for n in range(0, SESSIONS, 10) for more in range(1, 9)]
        rows = [{"place_key": f"r{n}", "address": str(p), "since": now - timedelta(1)} for n, p in sorted(set(there))]
        tx.execute(presence.insert(), rows)

    await rooms.write(unit)
    start = int(now.timestamp() * 1_000_000)
    rows = [{**row, "id": row["id"] + head} for row in _rows(rng, start)]
    raw = sa.table(audit.name, *(sa.column(name) for name in rows[0]))
    for first in range(0, ROWS, 50_000):
        batch = rows[first : first + 50_000]
        await rooms.write(lambda tx, batch=batch: tx.execute(raw.insert(), batch))  # type: ignore[misc]
    await rooms.write(lambda tx: tx.execute(sa.text("ANALYZE")))
    rooms.recorder._head = rooms.recorder._next = await rooms.database.read(read_head)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_page_over_a_million_rows(database: Database, recorder: Recorder, clock: FakeClock) -> None:
    rooms = Rooms(database, recorder, clock)
    await fill(rooms)
    middle = clock.now() + timedelta(seconds=ROWS // 2)
    wishes = {
        "everything": Wanted(),
        "a type": Wanted(types=("turn_started",)),
        "a rare type": Wanted(types=(RARE,)),
        "several types": Wanted(types=("turn_started", RARE)),
        "a person": Wanted(actor=PersonId("p7")),
        "a session": Wanted(session=SessionId("s7")),
        "a time": Wanted(since=middle, until=middle + timedelta(hours=1)),
    }
    worst: dict[str, float] = {}
    for who in ("p0", "p7", "p199"):
        scope = PersonScope(PersonId(who))
        for name, wanted in wishes.items():
            took: list[float] = []
            before: int | None = None
            for _ in range(40):
                begun = time.process_time()
                found = await database.read(
                    lambda c, wanted=wanted, before=before, scope=scope: trail.page(c, scope, wanted, before)  # type: ignore[misc]
                )
                took.append(time.process_time() - begun)
                before = found.older
            worst[f"{who}, {name}"] = sorted(took)[int(len(took) * 0.95)]
    for name, seconds in worst.items():
        print(f"{name}: p95 {seconds * 1_000:.1f} ms")
    assert max(worst.values()) < MOST
