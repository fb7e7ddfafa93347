"""Proposals from the wish to the effect: once, by the right person, exactly what was shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.errors import PermanentError
from bot.kernel.ids import OutboxId, PersonId, ProposalId, SessionId
from bot.ledger import store
from bot.ledger.actions import Done, Sending, Shown
from bot.ledger.deciding import RefusedError
from bot.ledger.model import Failure, Mode, Payload, Proposal, Severity, State, Verdict
from bot.ledger.rules import Rules
from bot.ledger.service import Ledger, Wish
from bot.ledger.tables import action_class
from bot.people.model import Person
from bot.storage.database import Database, Tx
from tests.clock import FakeClock
from tests.people.test_model import person
from tests.sessions.rooms import PEOPLE, Rooms

MODEL = Actor("model", "m")
BOSS, ADA, GUEST = (next(each for each in PEOPLE if each.id == name) for name in ("boss", "ada", "guest"))


@dataclass
class Note:
    """Writes a row of its own; its text can be edited, and it can be taken back."""

    name: str = "note"
    promotable: bool = True
    sends: bool = False
    refuses: str | None = None
    breaks: str | None = None
    irreversible: str | None = None
    done: list[str] = field(default_factory=list)

    def checked(self, payload: Payload) -> Payload:
        if not payload.get("text"):
            raise PermanentError("what shall be noted?")
        return payload

    def show(self, payload: Payload) -> Shown:
        return Shown("Write a note", (), str(payload["text"]))

    def edited(self, payload: Payload, body: str) -> Payload:
        return {**payload, "text": body}

    def guard(self, connection: sa.Connection, proposal: Proposal, now: datetime) -> str | None:
        return self.refuses

    def effect(self, tx: Tx, proposal: Proposal, now: datetime) -> Done | Sending:
        tx.execute(
            action_class.insert().values(
                action=f"effect {proposal.id}", mode="propose", changed_at=now, changed_by="x", because="x"
            )
        )
        if self.breaks is not None:
            raise PermanentError(self.breaks)
        self.done.append(str(proposal.final["text"]))
        return Sending(OutboxId("o1")) if self.sends else Done("there")

    def undo(self, tx: Tx, proposal: Proposal, now: datetime) -> Done:
        if self.irreversible is not None:
            raise PermanentError(self.irreversible)
        return Done()


@dataclass
class Desk:
    database: Database
    recorder: Recorder
    clock: FakeClock
    note: Note
    ledger: Ledger

    async def propose(self, key: str = "k", **values: object) -> Proposal:
        given: Mapping[str, object] = {
            "action": "note", "payload": {"text": "Hello"}, "key": key, "reason": "asked", "session": SessionId("s"),
            "turn": None, "asked_by": ADA.id, **values,
        }  # fmt: skip
        wish = Wish(**given)  # type: ignore[arg-type]
        return await self.database.write(lambda tx: self.ledger.propose(tx, wish, MODEL, self.clock.now()))

    async def vote(self, of: Proposal, by: Person, verdict: Verdict = Verdict.APPROVE) -> Proposal:
        now = self.clock.now()
        return await self.database.write(lambda tx: self.ledger.vote(tx, of.id, by, verdict, of.hash, "test", now))

    async def execute(self) -> list[Proposal]:
        def unit(tx: Tx) -> list[Proposal]:
            return [
                self.ledger.execute(tx, each, self.clock.now()).proposal for each in store.to_execute(tx.connection, 50)
            ]

        return await self.database.write(unit)

    async def effects(self) -> int:
        query = sa.select(sa.func.count()).where(action_class.c.action.like("effect %"))
        return await self.database.read(lambda c: c.execute(query).scalar_one())

    async def now(self, of: Proposal) -> Proposal:
        found = await self.database.read(lambda c: store.get(c, of.id))
        assert found is not None
        return found

    async def audited(self) -> list[str]:
        entries = await self.database.read(lambda c: timeline.newest(c, 100))
        names = [each.type for each in sorted(entries, key=lambda each: each.id)]
        return [each for each in names if each.startswith(("proposal", "action", "breaker", "class"))]


@pytest.fixture
async def desk(database: Database, recorder: Recorder, clock: FakeClock) -> Desk:
    await Rooms(database, recorder, clock).add_people(*PEOPLE)
    note = Note()
    return Desk(database, recorder, clock, note, Ledger(recorder, [note], Rules()))


async def test_from_the_wish_to_the_effect_with_the_whole_chain_in_the_audit(desk: Desk) -> None:
    made = await desk.propose()
    assert made.approvers == (BOSS.id,)
    assert await desk.execute() == []
    await desk.vote(made, BOSS)
    (after,) = await desk.execute()
    assert (after.state, after.result, after.decided_by) == (State.EXECUTED, "there", BOSS.id)
    assert desk.note.done == ["Hello"]
    assert await desk.execute() == []
    assert await desk.effects() == 1
    assert await desk.audited() == [
        "proposal_made", "proposal_voted", "proposal_decided", "action_started", "action_executed"
    ]  # fmt: skip


async def test_the_same_wish_twice_is_one_proposal(desk: Desk) -> None:
    assert (await desk.propose()).id == (await desk.propose()).id
    assert (await desk.propose("other")).id != (await desk.propose()).id


async def test_a_member_and_a_guest_approve_nothing(desk: Desk) -> None:
    made = await desk.propose()
    for nobody in (ADA, GUEST):
        with pytest.raises(RefusedError, match="not yours"):
            await desk.vote(made, nobody)
    assert (await desk.now(made)).state is State.PROPOSED


async def test_what_leaves_is_the_edited_text_and_both_are_kept(desk: Desk) -> None:
    made = await desk.propose()
    now = desk.clock.now()
    edited = await desk.database.write(
        lambda tx: desk.ledger.edit(tx, made.id, BOSS, "Good day", made.hash, "test", now, approve=True)
    )
    assert edited.state is State.APPROVED_WITH_EDIT
    (after,) = await desk.execute()
    assert desk.note.done == ["Good day"]
    assert (after.proposed["text"], after.final["text"]) == ("Hello", "Good day")


async def test_an_edit_to_be_confirmed_waits_for_a_yes_to_the_new_text(desk: Desk) -> None:
    made = await desk.propose()
    now = desk.clock.now()
    edited = await desk.database.write(
        lambda tx: desk.ledger.edit(tx, made.id, BOSS, "Good day", made.hash, "email", now, approve=False)
    )
    assert edited.state is State.PROPOSED
    with pytest.raises(RefusedError, match="edited since"):
        await desk.vote(made, BOSS)
    await desk.vote(edited, BOSS)
    await desk.execute()
    assert desk.note.done == ["Good day"]


async def test_silence_ends_as_no_response_by_the_timer(desk: Desk) -> None:
    made = await desk.propose()
    assert await desk.database.write(lambda tx: desk.ledger.expire(tx, desk.clock.now())) == []
    desk.clock.advance(timedelta(days=2))
    (ended,) = await desk.database.write(lambda tx: desk.ledger.expire(tx, desk.clock.now()))
    assert (ended.id, ended.state) == (made.id, State.AUTO_NO_RESPONSE)
    assert (await desk.audited())[-1] == "proposal_no_response"


async def test_what_the_guard_refuses_is_not_done(desk: Desk) -> None:
    made = await desk.propose()
    await desk.vote(made, BOSS)
    desk.note.refuses = "a guest reads there now"
    (after,) = await desk.execute()
    assert (after.state, after.failure) == (State.FAILED, Failure.REFUSED)
    assert await desk.effects() == 0


async def test_what_breaks_leaves_nothing_half_done(desk: Desk) -> None:
    made = await desk.propose()
    await desk.vote(made, BOSS)
    desk.note.breaks = "the schedule is gone"
    (after,) = await desk.execute()
    assert (after.state, after.failure) == (State.FAILED, Failure.INVALID)
    assert await desk.effects() == 0


@pytest.mark.parametrize("uncertain", [None, True, False], ids=["sent", "nobody knows", "refused"])
async def test_a_message_is_done_when_it_is_sent_and_uncertain_when_nobody_knows(
    desk: Desk, uncertain: bool | None
) -> None:
    desk.note.sends = True
    made = await desk.propose()
    await desk.vote(made, BOSS)
    (doing,) = await desk.execute()
    assert (doing.state, doing.result) == (State.EXECUTING, "o1")
    now = desk.clock.now()
    if uncertain is None:
        after = await desk.database.write(lambda tx: desk.ledger.arrived(tx, doing, now))
        assert after.state is State.EXECUTED
        return
    after = await desk.database.write(lambda tx: desk.ledger.lost(tx, doing, now, "cut", uncertain=uncertain))
    assert after.failure is (Failure.UNCERTAIN if uncertain else Failure.REFUSED)
    assert await desk.execute() == []
    if not uncertain:
        with pytest.raises(PermanentError, match="may or may not"):
            await desk.database.write(lambda tx: desk.ledger.resolve(tx, made.id, BOSS, now, happened=True))


async def test_a_person_who_looked_says_what_became_of_an_uncertain_one(desk: Desk) -> None:
    desk.note.sends = True
    made = await desk.propose()
    await desk.vote(made, BOSS)
    (doing,) = await desk.execute()
    await desk.database.write(lambda tx: desk.ledger.lost(tx, doing, desk.clock.now(), "cut", uncertain=True))
    after = await desk.database.write(
        lambda tx: desk.ledger.resolve(tx, made.id, BOSS, desk.clock.now(), happened=True)
    )
    assert (after.state, after.resolved_by) == (State.EXECUTED, BOSS.id)


async def test_automatic_mode_acts_at_once_but_never_on_tainted_or_unusual_wishes(desk: Desk) -> None:
    await desk.database.write(
        lambda tx: desk.ledger.set_mode(
            tx, "note", Mode.AUTO_EXECUTE, Actor("person", "boss"), "earned", desk.clock.now()
        )
    )
    assert (await desk.propose("a")).state is State.AUTO_APPROVED
    assert (await desk.propose("b", tainted=True)).state is State.PROPOSED
    assert (await desk.propose("c", plain=False)).state is State.PROPOSED
    (after,) = await desk.execute()
    assert after.state is State.EXECUTED


async def test_a_class_that_always_needs_a_yes_cannot_be_automatic(desk: Desk) -> None:
    desk.note.promotable = False
    with pytest.raises(PermanentError, match="always needs a yes"):
        await desk.database.write(
            lambda tx: desk.ledger.set_mode(tx, "note", Mode.AUTO_EXECUTE, MODEL, "x", desk.clock.now())
        )


async def test_the_breaker_takes_automatic_mode_away_and_gives_back_what_is_not_done(desk: Desk) -> None:
    now = desk.clock.now()
    await desk.database.write(
        lambda tx: desk.ledger.set_mode(tx, "note", Mode.AUTO_EXECUTE, Actor("person", "boss"), "earned", now)
    )
    done = [await desk.propose(key) for key in "ab"]
    await desk.execute()
    waiting = await desk.propose("c")
    for each in done:
        _, refusal = await desk.database.write(
            lambda tx, p=each: desk.ledger.reverse(tx, p.id, BOSS, Severity.SERIOUS, "wrong", now)  # type: ignore[misc]
        )
        assert refusal is None
    assert (await desk.now(waiting)).state is State.PROPOSED
    assert (await desk.propose("d")).state is State.PROPOSED
    assert "breaker_tripped" in await desk.audited()
    card = await desk.database.read(lambda c: desk.ledger.card(c, "note"))
    assert card.reversed.share == 1.0


async def test_what_cannot_be_undone_says_so_and_stays_done(desk: Desk) -> None:
    made = await desk.propose()
    await desk.vote(made, BOSS)
    await desk.execute()
    desk.note.irreversible = "a mail cannot be called back"
    _, refusal = await desk.database.write(
        lambda tx: desk.ledger.reverse(tx, made.id, BOSS, Severity.GRAVE, "wrong", desk.clock.now())
    )
    assert refusal == "a mail cannot be called back"
    assert (await desk.now(made)).state is State.EXECUTED


async def test_the_head_of_the_department_decides_and_where_nobody_is_left_the_principal(
    database: Database, recorder: Recorder, clock: FakeClock
) -> None:
    await Rooms(database, recorder, clock).add_people(*PEOPLE, person("zoe", active=False))
    rules = Rules(heads={"finance": ADA.id, "legal": PersonId("zoe")}, deputies={ADA.id: PersonId("bob")})
    desk = Desk(database, recorder, clock, Note(), Ledger(recorder, [Note()], rules))
    assert (await desk.propose("a", department="finance")).approvers == (ADA.id, "bob")
    assert (await desk.propose("b", department="legal")).approvers == (BOSS.id,)
    assert (await desk.propose("c")).approvers == (BOSS.id,)


async def test_a_wish_that_makes_no_sense_is_refused_in_words(desk: Desk) -> None:
    with pytest.raises(PermanentError, match="what shall be noted"):
        await desk.propose(payload={})
    with pytest.raises(PermanentError, match="no action 'fly'"):
        await desk.propose(action="fly")


async def test_withdrawing_is_for_who_asked_or_decides_and_ends_with_the_doing(desk: Desk) -> None:
    made = await desk.propose()
    with pytest.raises(PermanentError, match="only who asked"):
        await desk.database.write(lambda tx: desk.ledger.withdraw(tx, made.id, GUEST, desk.clock.now()))
    await desk.vote(made, BOSS)
    after = await desk.database.write(lambda tx: desk.ledger.withdraw(tx, made.id, ADA, desk.clock.now()))
    assert after.state is State.WITHDRAWN
    assert await desk.execute() == []
    assert isinstance(after.id, str)
    assert ProposalId(after.id) == made.id
