"""How long Today, Approvals and Schedule take in a company of some years."""

from __future__ import annotations

import random
import time
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from bot.kernel.ids import new_id
from bot.ledger.model import State, digest
from bot.ledger.tables import TRIGGERS, proposal, proposal_event, proposal_vote
from bot.scheduler.tables import job, occurrence
from bot.storage.database import Tx
from tests.ledger.workshop import mail
from tests.memory.many import fill
from tests.web.console.site import Site

MEMORIES, PROPOSALS, WAITING, JOBS, RUNS = 50_000, 10_000, 20, 300, 300
MOST = 0.150
"""Seconds of the processor for a page (p95), with the reading of it by the test; waiting for other programs does not
count."""
ENDS = (State.EXECUTED, State.EXECUTED, State.EXECUTED, State.REJECTED, State.AUTO_NO_RESPONSE)
TRIES = 30


Row = dict[str, Any]


def _one(chance: random.Random, number: int, now: datetime) -> tuple[Row, list[Row], Row | None]:
    """A proposal as it stands, its events, and the word that decided it."""
    content, waits = mail(f"Your order {number} has left our house.", to=f"c{number}@outside.example"), number < WAITING
    at = now - timedelta(minutes=PROPOSALS - number)
    state = State.PROPOSED if waits else chance.choice(ENDS)
    became = {
        State.EXECUTED: {"decided": State.APPROVED_UNCHANGED, "executing": State.EXECUTING, "executed": State.EXECUTED},
        State.REJECTED: {"decided": State.REJECTED},
        State.AUTO_NO_RESPONSE: {"expired": State.AUTO_NO_RESPONSE},
    }.get(state, {})
    steps = [("made", State.PROPOSED), ("shown", State.PROPOSED), *became.items()]
    by_person = "decided" in became
    of = {
        "id": new_id(at), "action": "send_email", "proposed": content, "final": content, "hash": digest(content),
        "key": f"k{number}", "asked_by": chance.choice(("ada", "bob", "boss")), "approvers": ["boss"],
        "two_persons": False, "rests_on": [], "reason": "orders are confirmed", "tainted": False,
        "version": len(steps), "confidence": chance.random(), "state": state.value, "made_at": at,
        "expires_at": now + timedelta(days=1) if waits else at, "decided_by": "boss" if by_person else None,
        "decided_at": at if by_person else None, "ended_at": None if waits else at,
    }  # fmt: skip
    events = [
        {"proposal_id": of["id"], "version": version, "op": op, "action": "send_email", "after": after.value,
         "actor_kind": "system", "actor": "ledger", "hash": of["hash"], "confidence": of["confidence"], "at": at}
        for version, (op, after) in enumerate(steps, 1)
    ]  # fmt: skip
    verdict = "reject" if state is State.REJECTED else "approve"
    vote = {"proposal_id": of["id"], "person_id": "boss", "verdict": verdict, "hash": of["hash"], "at": at}
    return of, events, vote | {"channel": "web"} if by_person else None


async def _ledger(site: Site) -> None:
    """Written past the ledger: the guards of its table stand aside meanwhile."""
    chance = random.Random(3)
    made = [_one(chance, number, site.desk.now) for number in range(PROPOSALS)]

    def unit(tx: Tx) -> None:
        guards = [name for name, (when, _) in TRIGGERS.items() if " ON proposal WHEN " in when]
        kept = [
            tx.execute(sa.text("SELECT sql FROM sqlite_master WHERE name = :name"), {"name": name}).scalar_one()
            for name in guards
        ]
        for name in guards:
            tx.execute(sa.text(f"DROP TRIGGER {name}"))
        tx.execute(proposal.insert(), [of for of, _, _ in made])
        tx.execute(proposal_event.insert(), [each for _, events, _ in made for each in events])
        tx.execute(proposal_vote.insert(), [vote for _, _, vote in made if vote is not None])
        for text in kept:
            tx.execute(sa.text(text))

    await site.desk.write(unit)


async def _schedules(site: Site) -> None:
    now = site.desk.now
    rows, runs = [], []
    for number in range(JOBS):
        owner = ("ada", "bob", "boss")[number % 3] if number < 120 else f"p{number}"
        of = {
            "id": new_id(now), "kind": "reminder", "title": f"Look at {number}", "rule": "cron",
            "rule_text": f"{number % 60} {7 + number % 12} * * 1-5", "zone": "Europe/London", "owner": owner,
            "payload": {"text": f"Look at {number}"}, "grace_seconds": 3_600, "state": "active",
            "next_at": now + timedelta(hours=1 + number % 24), "made_at": now, "changed_at": now, "version": 1,
        }  # fmt: skip
        rows.append(of)
        runs += [
            {"job_id": of["id"], "at": now - timedelta(days=day, minutes=number), "run": "done", "delivery": "sent",
             "fence": 1, "attempts": 1, "started_at": now, "ended_at": now}
            for day in range(RUNS)
        ]  # fmt: skip

    def unit(tx: Tx) -> None:
        tx.execute(job.insert(), rows)
        tx.execute(occurrence.insert(), runs)

    await site.desk.write(unit)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_pages_over_fifty_thousand_memories(site: Site) -> None:
    await fill(site.desk, MEMORIES)
    await _ledger(site)
    await _schedules(site)
    await site.desk.write(lambda tx: tx.execute(sa.text("ANALYZE")))
    one = await site.desk.rooms.database.read(lambda c: c.execute(sa.select(proposal.c.id).limit(1)).scalar())
    of = await site.desk.rooms.database.read(lambda c: c.execute(sa.select(job.c.id).limit(1)).scalar())
    paths = ("/", "/approvals", "/approvals?shelf=asked", "/approvals?shelf=decided", f"/approvals/{one}",
             "/approvals/classes", "/approvals/classes/send_email", "/schedule", "/schedule/list",
             "/schedule/list?of=everybody", f"/schedule/{of}")  # fmt: skip
    worst: dict[str, float] = {}
    for who in ("boss", "ada"):
        browser = await site.enter(who)
        for path in paths:
            statuses, took = set(), []
            for _ in range(TRIES):
                begun = time.process_time()
                statuses.add((await browser.go(path)).status)
                took.append(time.process_time() - begun)
            assert statuses <= {200, 403, 404}
            if statuses == {200}:
                worst[f"{who} {path}"] = sorted(took)[int(TRIES * 0.95)]
                print(f"{who} {path}: p95 {worst[f'{who} {path}'] * 1_000:.0f} ms")
    assert max(worst.values()) < MOST, worst
