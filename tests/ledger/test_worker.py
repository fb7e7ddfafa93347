"""What happens to proposals by itself, and what a process that dies leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.company import store as company
from bot.gateway.operations import NotSent
from bot.kernel.errors import PermanentError, UncertainError
from bot.kernel.supervise import cancel, start
from bot.ledger import store
from bot.ledger.actions import Done, Sending
from bot.ledger.model import Failure, Proposal, State
from bot.outbox.tables import outbox
from bot.storage.database import Tx
from tests.ledger.test_service import Note
from tests.ledger.workshop import BOSS, Workshop, mail, message

PROFILE = {"field": "goals", "lines": ["Grow"], "audience": "company", "replaces": 0}


class Killed(BaseException):
    """The process ends here."""


async def test_what_is_approved_is_sent_once_and_then_counts_as_done(shop: Workshop) -> None:
    made = await shop.approved("send_message", message())
    await shop.settle()
    assert shop.outside.channel.texts == ["Hello"]
    after = await shop.now(made)
    assert (after.state, after.failure) == (State.EXECUTED, None)
    await shop.settle()
    assert shop.outside.channel.texts == ["Hello"]


async def test_silence_ends_a_proposal_when_its_time_is_over_without_anybody_looking(shop: Workshop) -> None:
    made = await shop.propose("send_message", message())
    running = start("ledger", shop.worker.run())
    assert await shop.clock.next_sleep() == timedelta(minutes=1)
    shop.clock.advance(timedelta(days=2) - timedelta(seconds=30))
    async with asyncio.timeout(20):
        while shop.clock.now() < made.expires_at:
            shop.clock.advance(await shop.clock.next_sleep())
        await shop.rang.wait()
    await cancel(running)
    assert (await shop.now(made)).state is State.AUTO_NO_RESPONSE
    assert shop.outside.channel.texts == []


async def test_the_timer_is_set_to_the_instant_of_the_next_expiry(shop: Workshop) -> None:
    await shop.propose("send_message", message())
    shop.clock.advance(timedelta(days=2) - timedelta(seconds=7))
    assert await shop.worker.once() == timedelta(seconds=7)


async def test_a_send_that_the_platform_refuses_is_failed_and_one_that_nobody_knows_of_is_uncertain(
    shop: Workshop,
) -> None:
    shop.outside.channel.sends["No"] = [PermanentError("blocked")]
    shop.outside.channel.sends["Perhaps"] = [UncertainError("cut off")]
    no = await shop.approved("send_message", message("No"), "a")
    perhaps = await shop.approved("send_message", message("Perhaps", to=BOSS), "b")
    await shop.settle()
    assert (await shop.now(no)).failure is Failure.REFUSED
    after = await shop.now(perhaps)
    assert (after.state, after.failure) == (State.FAILED, Failure.UNCERTAIN)
    shop.clock.advance(timedelta(hours=5))
    await shop.settle()
    assert shop.outside.channel.texts == ["No", "Perhaps"], "what may have happened is never tried again by itself"


async def test_of_a_message_whose_rest_was_refused_nobody_says_that_it_failed_wholly(shop: Workshop) -> None:
    shop.outside.channel.sends["two"] = [PermanentError("too long")]
    made = await shop.approved("send_message", message("one\ntwo"))
    await shop.settle()
    assert (await shop.now(made)).failure is Failure.UNCERTAIN


async def test_an_action_that_stumbles_is_given_up_after_some_tries_and_holds_nobody_up(shop: Workshop) -> None:
    class Broken(Note):
        def effect(self, tx: Tx, proposal: Proposal, now: object) -> Done | Sending:
            raise KeyError("bug")

    shop.extra = [Broken()]
    shop.start("boot-2")
    bad = await shop.approved("note", {"text": "x"}, "a")
    good = await shop.approved("send_message", message(), "b")
    await shop.settle()
    assert (await shop.now(good)).state is State.EXECUTED
    assert (await shop.now(bad)).state is State.APPROVED_UNCHANGED
    for _ in range(3):
        shop.clock.advance(timedelta(minutes=10))
        await shop.worker.once()
    after = await shop.now(bad)
    assert (after.state, after.failure) == (State.FAILED, Failure.INVALID)


# --- processes that die -----------------------------------------------------------------------------------------------


def _dies_in_effect(shop: Workshop, action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type(shop.ledger.action(action))
    whole = kind.effect

    def effect(self: object, tx: Tx, proposal: Proposal, now: object) -> object:
        whole(self, tx, proposal, now)  # type: ignore[arg-type]
        raise Killed

    monkeypatch.setattr(kind, "effect", effect)


def _dies_after_commit(shop: Workshop, action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def sending(self: object, queued: object) -> None:
        raise Killed

    monkeypatch.setattr(type(shop.outside.outbox), "sending", sending)


def _dies_before(shop: Workshop, action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def execute(self: object, *arguments: object) -> None:
        raise Killed

    monkeypatch.setattr(type(shop.ledger), "execute", execute)


DEATHS = {"before": _dies_before, "in the middle": _dies_in_effect, "after the commit": _dies_after_commit}


@pytest.mark.parametrize("death", DEATHS.values(), ids=DEATHS.keys())
@pytest.mark.parametrize("platform", ["can be asked", "cannot be asked"])
async def test_a_process_that_dies_neither_loses_nor_doubles_a_message(
    shop: Workshop,
    monkeypatch: pytest.MonkeyPatch,
    death: Callable[[Workshop, str, pytest.MonkeyPatch], None],
    platform: str,
) -> None:
    made = await shop.approved("send_message", message())
    if platform == "can be asked":
        shop.outside.channel.finds["Hello"] = [NotSent()]
    with monkeypatch.context() as patch:
        death(shop, "send_message", patch)
        with pytest.raises(Killed):
            await shop.worker.once()
    left = await shop.now(made)
    assert left.state in (State.APPROVED_UNCHANGED, State.EXECUTING)
    assert await _orphans(shop) == 0
    shop.start("boot-2")
    await shop.database.write(shop.outside.outbox.recover)
    running = start("outbox", shop.outside.outbox.run())
    async with asyncio.timeout(20):
        while (await shop.now(made)).state not in (State.EXECUTED, State.FAILED):
            await shop.worker.once()
            await asyncio.sleep(0)
    await cancel(running)
    after = await shop.now(made)
    if death is _dies_after_commit and platform == "cannot be asked":
        # The row was claimed: whether it had left cannot be known.
        assert (after.failure, shop.outside.channel.texts) == (Failure.UNCERTAIN, [])
    else:
        assert (after.state, shop.outside.channel.texts) == (State.EXECUTED, ["Hello"])


@pytest.mark.parametrize("death", [_dies_before, _dies_in_effect], ids=["before", "in the middle"])
async def test_what_is_done_in_our_own_tables_is_done_once_whenever_the_process_dies(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, death: Callable[[Workshop, str, pytest.MonkeyPatch], None]
) -> None:
    made = await shop.approved("change_company_profile", PROFILE)
    with monkeypatch.context() as patch:
        death(shop, "change_company_profile", patch)
        with pytest.raises(Killed):
            await shop.worker.once()
    assert await shop.database.read(lambda c: company.history(c, "goals")) == []
    assert (await shop.now(made)).state is State.APPROVED_UNCHANGED
    shop.start("boot-2")
    await shop.worker.once()
    await shop.worker.once()
    assert [each.version for each in await shop.database.read(lambda c: company.history(c, "goals"))] == [1]
    assert (await shop.now(made)).state is State.EXECUTED


async def test_whatever_is_being_done_has_its_row_in_the_outbox(shop: Workshop) -> None:
    """So a start has nothing to guess: what is being done is followed, and nothing else can be left behind."""
    await shop.approved("send_message", message(), "a")
    await shop.approved("send_email", mail(), "b")
    await shop.approved("change_company_profile", PROFILE, "c")
    assert await _orphans(shop) == 0
    await shop.worker.once()
    assert await _orphans(shop) == 0
    assert len(await shop.database.read(store.executing)) == 2


async def _orphans(shop: Workshop) -> int:
    def query(connection: sa.Connection) -> int:
        rows = {row for (row,) in connection.execute(sa.select(outbox.c.id))}
        return sum(each.result not in rows for each in store.executing(connection))

    return await shop.database.read(query)
