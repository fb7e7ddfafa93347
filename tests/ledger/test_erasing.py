"""What forgotten words leave of proposals and schedules, and that nothing is done after a restore before a look."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from bot.audit.events import Actor
from bot.kernel.erasing import Words
from bot.ledger import erasing
from bot.ledger.model import Proposal, State, Verdict
from bot.scheduler import erasing as of_scheduler
from bot.storage.database import Database, Tx
from bot.storage.redaction import Redactor
from tests.ledger.test_service import BOSS, Desk, desk
from tests.scheduler.test_service import ADA, Office, office

__all__ = ["desk", "office"]

OPERATOR = Actor("system", "operator")
SECRET = "The code is 4711."


def cut(text: str) -> Sequence[tuple[int, int]]:
    at = text.find(SECRET)
    return [] if at < 0 else [(at, at + len(SECRET))]


WORDS = Words(
    lambda text: "4711" in text, cut, cut, frozenset(), frozenset(), {}, False, frozenset(), {}
)  # fmt: skip


async def hold(of: Desk) -> int:
    return await of.database.write(lambda tx: erasing.hold(tx, of.recorder, of.clock.now()))


async def release(of: Desk, *which: Proposal) -> int:
    ids = {each.id for each in which}
    return len(await of.database.write(lambda tx: erasing.release(tx, of.recorder, ids, OPERATOR, of.clock.now())))


async def redacted(database: Database, redactor: Redactor, now: datetime) -> int:
    def unit(tx: Tx) -> int:
        found = redactor(tx.connection, WORDS, now)
        for each in found.statements:
            tx.execute(each)
        return sum(count for _, count in found.erased.counts)

    return await database.write(unit)


async def test_what_was_approved_before_a_restore_is_done_only_after_a_look(desk: Desk) -> None:
    approved, asked, done = await desk.propose("a"), await desk.propose("b"), await desk.propose("c")
    await desk.vote(done, BOSS)
    await desk.execute()
    await desk.vote(approved, BOSS)
    assert await hold(desk) == 2
    assert await hold(desk) == 0
    assert await desk.execute() == []
    # A yes counts, and is not acted on either.
    await desk.vote(await desk.now(asked), BOSS)
    assert await desk.execute() == []
    assert [each.id for each in await desk.database.read(erasing.held)] == [approved.id, asked.id]
    assert await release(desk, approved, done) == 1
    assert [each.id for each in await desk.execute()] == [approved.id]
    assert (await desk.now(asked)).state is State.APPROVED_UNCHANGED
    assert (await desk.audited()).count("proposal_held") == 3


async def test_silence_ends_a_held_proposal_too(desk: Desk) -> None:
    made = await desk.propose()
    await hold(desk)
    desk.clock.advance(timedelta(days=60))
    await desk.database.write(lambda tx: desk.ledger.expire(tx, desk.clock.now()))
    assert (await desk.now(made)).state is State.AUTO_NO_RESPONSE
    assert await desk.database.read(erasing.held) == []


@pytest.mark.parametrize("approved", [False, True])
async def test_a_proposal_that_tells_forgotten_words_is_withdrawn_and_tells_them_no_more(
    desk: Desk, *, approved: bool
) -> None:
    made = await desk.propose(payload={"text": f"Hello. {SECRET} Bye."}, reason=f"Ada asked. {SECRET}")
    other = await desk.propose("other")
    if approved:
        await desk.vote(made, BOSS)
    assert await redacted(desk.database, erasing.redact, desk.clock.now()) == 1
    after = await desk.now(made)
    assert after.state is State.WITHDRAWN
    assert "4711" not in f"{after.proposed} {after.final} {after.reason}"
    assert "Hello." in str(after.final["text"])
    assert after.hash == erasing.GONE
    assert (await desk.now(other)).state is State.PROPOSED
    assert await desk.execute() == []


async def test_what_was_done_stays_done_and_its_words_go(desk: Desk) -> None:
    made = await desk.propose(payload={"text": SECRET})
    await desk.vote(made, BOSS, Verdict.APPROVE)
    await desk.execute()
    assert await redacted(desk.database, erasing.redact, desk.clock.now()) == 1
    after = await desk.now(made)
    assert after.state is State.EXECUTED
    assert "4711" not in str(after.final)


async def test_schedules_that_tell_forgotten_words_lose_them(office: Office) -> None:
    job = await office.make(text=f"Ring the bank. {SECRET}")
    other = await office.make()
    assert await redacted(office.database, of_scheduler.redact, office.clock.now()) == 1
    after = await office.named(ADA, job.id)
    assert "4711" not in f"{after.title} {after.payload}"
    assert "Ring the bank." in f"{after.title} {after.payload}"
    assert (await office.named(ADA, other.id)).title == "stand up"
