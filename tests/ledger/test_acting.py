"""Actions of our own tables, answers to all, and taking things back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
import sqlalchemy as sa

from bot.company import store as company
from bot.gateway.operations import Delete, Send
from bot.kernel.errors import PermanentError
from bot.kernel.ids import ClaimId
from bot.ledger.acting.handed import CreateSchedule, Forget, PromoteMemory
from bot.ledger.acting.telling import mail_address
from bot.ledger.model import Failure, Payload, Proposal, Severity, State
from bot.storage.database import Tx
from tests.ledger.workshop import BOSS, Workshop, mail, message

PROFILE = {"field": "goals", "lines": ["Grow"], "audience": "company", "replaces": 0}


async def _reverse(shop: Workshop, of: Proposal) -> str | None:
    now = shop.clock.now()
    left, refusal = await shop.database.write(
        lambda tx: shop.ledger.reverse(tx, of.id, BOSS, Severity.SERIOUS, "wrong", now)
    )
    if left.after is not None:
        left.after()
    await shop.outside.settled()
    return refusal


async def _goals(shop: Workshop) -> list[tuple[str, ...]]:
    fields = await shop.database.read(lambda c: company.profile(c, internal=True))
    return [each.lines for each in fields if each.name == "goals"]


async def test_the_profile_is_changed_and_put_back(shop: Workshop) -> None:
    first = await shop.approved("change_company_profile", PROFILE, "a")
    await shop.settle()
    second = await shop.approved("change_company_profile", {**PROFILE, "lines": ["Shrink"], "replaces": 1}, "b")
    await shop.settle()
    assert await _goals(shop) == [("Shrink",)]
    assert await _reverse(shop, second) is None
    assert await _goals(shop) == [("Grow",)]
    assert await _reverse(shop, first) is not None, "it was changed since"
    assert (await shop.now(first)).state is State.EXECUTED
    assert (await shop.now(second)).state is State.REVERSED


async def test_a_field_that_was_changed_meanwhile_is_left_alone(shop: Workshop) -> None:
    await shop.approved("change_company_profile", PROFILE, "a")
    late = await shop.approved("change_company_profile", {**PROFILE, "lines": ["Shrink"]}, "b")
    await shop.settle()
    assert (await shop.now(late)).failure is Failure.REFUSED
    assert await _goals(shop) == [("Grow",)]


async def test_a_message_that_went_by_mail_cannot_be_called_back_and_says_so(shop: Workshop) -> None:
    made = await shop.approved("send_message", message("one\ntwo"))
    await shop.settle()
    assert "cannot be called back" in (await _reverse(shop, made) or "")
    assert (await shop.now(made)).state is State.EXECUTED


async def test_an_answer_to_all_goes_to_each_once_and_edits_keep_its_recipients(shop: Workshop) -> None:
    payload = {
        "to": ["Kim@Outside.example", "ben@acme.example", "kim@outside.example"], "subject": "The fair",
        "thread": "email:t1", "ref": "email:<1@x>", "chain": ["email:<1@x>"], "text": "We come.", "discloses": [],
    }  # fmt: skip
    made = await shop.approved("reply_all", payload)
    await shop.settle()
    assert (await shop.now(made)).state is State.EXECUTED
    (op,) = shop.outside.channel.ops
    assert isinstance(op, Send)
    assert (op.path.address, op.path.also, op.path.ref) == (
        "kim@outside.example", ("ben@acme.example",), "email:<1@x>"
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "kim", "a b@c.example", "x@y.example\nBcc: z@y.example", "a@b@c", "<a@b.c>"])
def test_what_is_no_mail_address_is_refused(text: str) -> None:
    with pytest.raises(PermanentError):
        mail_address(text)


async def test_a_subject_cannot_smuggle_a_line(shop: Workshop) -> None:
    with pytest.raises(PermanentError, match="subject"):
        await shop.propose("send_email", mail(subject="Hi\r\nBcc: eve@evil.example"))


class Memories:
    """A `Remembered`."""

    def __init__(self) -> None:
        self.standing: int | None = 3
        self.done: list[str] = []

    def version(self, connection: sa.Connection, claim: ClaimId) -> int | None:
        return self.standing

    def promote(self, tx: Tx, claim: ClaimId, proposal: Proposal, now: datetime) -> None:
        self.done.append(f"promote {claim} for {proposal.decided_by}")

    def demote(self, tx: Tx, claim: ClaimId, proposal: Proposal, now: datetime) -> None:
        self.done.append(f"demote {claim}")

    def forget(self, tx: Tx, claim: ClaimId, proposal: Proposal, now: datetime) -> Callable[[], None]:
        self.done.append(f"forget {claim}")
        return lambda: self.done.append("rung")


async def test_memories_are_promoted_and_forgotten_by_who_knows_them_only_as_they_were_shown(shop: Workshop) -> None:
    memories = Memories()
    shop.extra = [PromoteMemory(memories), Forget(memories)]
    shop.start("boot-2")
    promoted = await shop.approved("promote_memory", {"memory": "c1", "version": 3}, "a")
    forgotten = await shop.approved("forget", {"memory": "c2", "version": 3}, "b")
    stale = await shop.approved("forget", {"memory": "c3", "version": 2}, "c")
    await shop.settle()
    assert memories.done == ["promote c1 for boss", "forget c2", "rung"]
    assert (await shop.now(stale)).failure is Failure.REFUSED
    assert await _reverse(shop, promoted) is None
    assert memories.done[-1] == "demote c1"
    assert "gone" in (await _reverse(shop, forgotten) or "")


class Jobs:
    """A `Schedules`."""

    def __init__(self) -> None:
        self.jobs: list[str] = []

    def refusal(self, connection: sa.Connection, payload: Payload, now: datetime) -> str | None:
        return None

    def dates(self, payload: Payload) -> str:
        if payload["when"] == "never":
            raise PermanentError("that is no time")
        return "Mon 2 Mar, Tue 3 Mar, Wed 4 Mar"

    def create(self, tx: Tx, proposal: Proposal, now: datetime) -> str:
        self.jobs.append("job1")
        return "job1"

    def cancel(self, tx: Tx, job: str, now: datetime) -> None:
        self.jobs.remove(job)


async def test_a_schedule_shows_its_dates_first_is_made_once_and_can_be_cancelled(shop: Workshop) -> None:
    jobs = Jobs()
    shop.extra = [CreateSchedule(jobs)]
    shop.start("boot-2")
    payload = {
        "kind": "reminder", "owner": "ada", "for": "bob", "when": "0 9 * * *", "zone": "UTC", "text": "The lease?"
    }  # fmt: skip
    shown = shop.ledger.action("create_schedule").show(payload)
    assert "Tue 3 Mar" in dict(shown.fields)["When"]
    with pytest.raises(PermanentError, match="no time"):
        await shop.propose("create_schedule", {**payload, "when": "never"}, "a")
    made = await shop.approved("create_schedule", payload, "b")
    await shop.settle()
    assert jobs.jobs == ["job1"]
    assert await _reverse(shop, made) is None
    assert jobs.jobs == []


async def test_a_chat_message_is_deleted_when_it_is_taken_back(shop: Workshop) -> None:
    shop.mail = "email"
    shop.start("boot-2")
    made = await shop.approved("send_message", message("one\ntwo"))
    await shop.settle()
    assert await _reverse(shop, made) is None
    deleted = [op.target for op in shop.outside.channel.ops if isinstance(op, Delete)]
    assert deleted == ["test:1", "test:2"]
    assert (await shop.now(made)).severity is Severity.SERIOUS
