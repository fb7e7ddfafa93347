"""The task: a turn is read, outside any transaction; what comes of it is decided and stored in the one that ends it.

Everything that a decision rests on is read again there: a message that was edited meanwhile, a claim that somebody has
corrected, a memory that was forgotten. A turn has one result, by a unique row; failing, finding nothing and still
waiting are three states of the task.

Most turns hold nothing, and many daemons are spoken to rarely: what finds and what judges is loaded when it is first
needed, and the roster is read for what may be remembered only.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from importlib import import_module

import sqlalchemy as sa

from bot.audit.events import Actor, Record
from bot.audit.events_memory import ExtractionFailed, ExtractionFinished
from bot.audit.recorder import Recorder
from bot.extraction import store
from bot.extraction.model import (
    RULES,
    RULES_VERSION,
    Candidate,
    Confirm,
    Decision,
    Heard,
    Known,
    Progress,
    Refuse,
    Withdraw,
    Write,
)
from bot.extraction.store import Counted, Reading
from bot.extraction.tasks import ACTOR
from bot.kernel.clock import Clock
from bot.kernel.ids import ClaimId, MessageId, TurnId, new_id
from bot.kernel.values import dataclass
from bot.llm.budget import OverBudgetError, Spender
from bot.llm.metered import Meter, spending
from bot.llm.model import Model
from bot.memory import moves, tombstones
from bot.memory import store as memory
from bot.memory.model import Author, Claim, Op, Source, Status, Trust
from bot.memory.moves import HELD, Move
from bot.storage.database import Database, Tx
from bot.tasks import store as tasks
from bot.tasks.store import Task
from bot.tasks.worker import Done, Later

FEWEST_WORDS = 3
"""Of people's own words in a turn for which a model is asked; a thank-you costs nothing."""
TAKEN_BACK = "taken back by its speaker"
_TOLD = (Trust.PROVEN, Trust.GUEST)


@dataclass(frozen=True, slots=True)
class _Proposed:
    candidates: tuple[Candidate, ...]
    author: Author
    model: str
    prompt: int


_BY_RULES = _Proposed((), Author("extractor", f"{RULES}/{RULES_VERSION}"), RULES, RULES_VERSION)


class Extractor:
    """Handles the task."""

    def __init__(
        self,
        database: Database,
        recorder: Recorder,
        clock: Clock,
        model: Model,
        meter: Meter,
        name: str,
        tombstone_key: bytes,
        zone: str,
        domains: frozenset[str],
    ) -> None:
        """`name`: of the light model. `zone`: the company's. `domains`: the specialists' fields, by name."""
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._model = model
        self._meter = meter
        self._name = name
        self._key = tombstone_key
        self._zone = zone
        self._domains = domains

    async def handle(self, task: Task) -> Done | Later:
        reading = await self._database.read(lambda c: self._look(c, task), long=True)
        if reading is None:
            return Done(empty=True)
        try:
            with spending(Spender(task.id, reading.person, reading.room.session, reading.room.turn)):
                proposed = await self._propose(reading)
        except OverBudgetError as error:
            # Not a failure: it is read when there is money for it, and what follows in its session after it.
            settle = partial(self._settle, task=task)
            return Later(error.account.resets_at, "over budget", settle)
        if not proposed.candidates:
            return Done(lambda tx: self._nothing(tx, task, reading, proposed), empty=True)
        await asyncio.to_thread(import_module, "bot.extraction.admission")  # not within the transaction
        return Done(lambda tx: self._store(tx, task, reading, proposed))

    @property
    def _offline(self) -> bool:
        return self._model.provider == "offline"

    def failed(self, tx: Tx, task: Task, error: str, final: bool) -> None:
        """Hears of a failed attempt, in its transaction."""
        self._settle(tx, task)
        reading = self._read(tx.connection, task)
        session, turn = (None, None) if reading is None else (reading.room.session, reading.room.turn)
        payload = ExtractionFailed(task.id, task.attempts, error, final)
        self._recorder.record(tx, Record(payload, ACTOR, session, turn))

    # --- outside the transaction --------------------------------------------------------------------------------------

    def _look(self, connection: sa.Connection, task: Task) -> Reading | None:
        reading = self._read(connection, task)
        return None if reading is None or store.is_read(connection, reading.source) else reading

    def _read(self, connection: sa.Connection, task: Task) -> Reading | None:
        if "message" in task.payload:
            reading = store.of_message(connection, MessageId(task.payload["message"]), self._zone)
        else:
            reading = store.of_turn(connection, TurnId(task.payload["turn"]), self._zone)
        if reading is not None and self._offline:
            # Rules obey no text: what others wrote in the conversation cannot shape what they take from people's words.
            return replace(reading, room=replace(reading.room, tainted=False))
        return reading

    def _known(self, connection: sa.Connection, reading: Reading) -> Known:
        return store.known(connection, reading.room, self._domains)

    async def _propose(self, reading: Reading) -> _Proposed:
        if self._offline:
            # What the offline mode says is quotations, never advice.
            said = [each for each in reading.heard if not each.by_executive]
            if not await asyncio.to_thread(_may_tell, said):
                return _BY_RULES
            known = await self._database.read(lambda c: self._known(c, reading), long=True)
            return replace(_BY_RULES, candidates=await asyncio.to_thread(_by_rules, said, known))
        if not _worth_reading(reading):
            return _BY_RULES
        await asyncio.to_thread(import_module, "bot.extraction.ask")  # off the loop, which it would hold up
        from bot.extraction import ask

        known = await self._database.read(lambda c: self._known(c, reading), long=True)
        asked = await ask.ask(self._model, self._name, reading.heard, known)
        author = Author("extractor", f"{asked.model}/{ask.PROMPT}")
        return _Proposed(asked.candidates, author, asked.model, ask.PROMPT)

    # --- in the transaction that ends the task ------------------------------------------------------------------------

    def _nothing(self, tx: Tx, task: Task, reading: Reading, proposed: _Proposed) -> None:
        """Nothing was found: then there is nothing to compare either."""
        self._settle(tx, task)
        if store.note_empty(tx, reading, task.id, proposed.model, proposed.prompt, self._clock.now()):
            actor = Actor("model", proposed.author.name)
            self._finished(tx, task, reading, proposed, actor, Counted(), None)

    def _store(self, tx: Tx, task: Task, before: Reading, proposed: _Proposed) -> None:
        from bot.extraction.admission import Admission

        self._settle(tx, task)
        now = self._clock.now()
        reading = self._read(tx.connection, task)
        if reading is None or reading.source != before.source or store.is_read(tx.connection, reading.source):
            return  # deleted, or edited once more: that has a task of its own
        known = self._known(tx.connection, reading)
        forgotten = partial(self._forgotten, tx.connection, reading)
        admission = Admission(reading.heard, reading.room, known, proposed.author, now, forgotten, lambda: new_id(now))
        decisions = admission.decide(proposed.candidates)
        actor = Actor("model", proposed.author.name)
        writing = _Writing(tx, self._recorder, actor, now, {each.id: each for each in known.standing})
        counted = writing.all(decisions)
        self._tell(tx, task, decisions, now)
        store.note(tx, reading, task.id, proposed.model, proposed.prompt, counted, now)
        self._finished(tx, task, reading, proposed, actor, counted, _refusals(decisions))

    def _finished(
        self,
        tx: Tx,
        task: Task,
        reading: Reading,
        proposed: _Proposed,
        actor: Actor,
        counted: Counted,
        refusals: str | None,
    ) -> None:
        payload = ExtractionFinished(
            task.id,
            proposed.model,
            proposed.prompt,
            counted.proposed,
            counted.written,
            counted.confirmed,
            counted.held,
            counted.refused,
        )
        room = reading.room
        self._recorder.record(tx, Record(payload, actor, room.session, room.turn, text=refusals))

    @staticmethod
    def _tell(tx: Tx, task: Task, decisions: Sequence[Decision], now: datetime) -> None:
        """Whose own words wait for a yes hears of it, once a turn; a guest, whose words always wait, the first time. A
        mail that nothing proves may be another's."""
        waits: dict[str, list[ClaimId]] = {}
        for each in decisions:
            if isinstance(each, Write) and each.claim.status is Status.PENDING and each.claim.trust in _TOLD:
                waits.setdefault(each.claim.speaker, []).append(each.claim.id)
        guests = {e.claim.speaker for e in decisions if isinstance(e, Write) and e.claim.trust is Trust.GUEST}
        for person, claims in waits.items():
            if person in guests and memory.waited_before(tx.connection, person, claims):
                continue
            tasks.enqueue(tx, HELD, f"{task.id}:{person}", {"person": person, "claims": claims}, now, lane=HELD)

    def _forgotten(self, connection: sa.Connection, reading: Reading, candidate: Candidate) -> datetime | None:
        return tombstones.matches(
            connection,
            self._key,
            reading.room.session,
            candidate.statement,
            [each.text for each in candidate.quotes],
            candidate.subject,
        )

    def _settle(self, tx: Tx, task: Task) -> None:
        self._meter.settle(tx, self._recorder, task.id)


def _may_tell(said: Sequence[Heard]) -> bool:
    from bot.extraction import rules

    return rules.may_tell(said)


def _by_rules(said: Sequence[Heard], known: Known) -> tuple[Candidate, ...]:
    from bot.extraction import rules

    return tuple(rules.candidates(said, known))


def _worth_reading(reading: Reading) -> bool:
    own = [each.text[start:end] for each in reading.heard if not each.by_executive for start, end in each.own]
    return len(" ".join(own).split()) >= FEWEST_WORDS


def _refusals(decisions: Sequence[Decision]) -> str | None:
    """Why candidates were refused, in numbers."""
    whys = Counter(each.why.value for each in decisions if isinstance(each, Refuse))
    return "refused: " + ", ".join(f"{why} {count}" for why, count in sorted(whys.items())) if whys else None


class _Writing:
    """Writes decisions down, each claim from how it stands after those before."""

    def __init__(self, tx: Tx, recorder: Recorder, actor: Actor, now: datetime, current: dict[ClaimId, Claim]) -> None:
        self._tx = tx
        self._recorder = recorder
        self._actor = actor
        self._now = now
        self._current = current

    def all(self, decisions: Sequence[Decision]) -> Counted:
        counts = Counter(self._one(each) for each in decisions)
        held = sum(isinstance(each, Write) and bool(each.held) for each in decisions)
        return Counted(len(decisions), counts["written"], counts["confirmed"], held, counts["refused"])

    def _one(self, decision: Decision) -> str:
        match decision:
            case Refuse():
                return "refused"
            case Write():
                self._write(decision)
                return "written"
            case Confirm():
                return "confirmed" if self._confirm(decision) else "known"
            case Progress():
                told = {"work": decision.work, "due": decision.due}
                values: dict[str, object] = {name: value for name, value in told.items() if value is not None}
                if decision.owner is not None or decision.owner_name is not None:
                    values |= {"owner": decision.owner, "owner_name": decision.owner_name}
                self._change(decision.claim, Op.WORK_CHANGED, rests_on=decision.evidence, **values)
                return "written"
            case Withdraw():
                move = Move(self._tx, self._recorder, self._actor, TAKEN_BACK, self._now)
                self._current[decision.claim] = moves.retract(move, self._seen(decision.claim))
                return "written"

    def _write(self, decision: Write) -> None:
        new = decision.claim
        for each in decision.supersedes:
            self._change(each, Op.SUPERSEDED, by=new.id, status=Status.SUPERSEDED, replaced_by=new.id)
        for each in decision.ends:
            self._change(each, Op.EDITED, valid_to=new.valid_from)
        for each in decision.disputes:
            if self._seen(each).status is Status.ACTIVE:
                self._change(each, Op.DISPUTED, by=new.id, status=Status.DISPUTED)
        memory.add(self._tx, self._recorder, new, decision.evidence, self._actor)
        self._current[new.id] = new

    def _confirm(self, decision: Confirm) -> bool:
        of = self._seen(decision.claim)
        there = {(one.message, one.start, one.end) for one in memory.evidence_of(self._tx.connection, of.id)}
        new = tuple(one for one in decision.evidence if (one.message, one.start, one.end) not in there)
        again = of.source is Source.EDITED and bool(decision.evidence)
        for each in decision.replaces:
            self._change(each, Op.SUPERSEDED, by=of.id, status=Status.SUPERSEDED, replaced_by=of.id)
        if new or again:
            trust = max((of.trust, *(one.trust for one in new)), key=lambda trust: trust.rank)
            values = {"source": Source.FRESH} if again else {}
            self._change(of.id, Op.CONFIRMED, rests_on=new, trust=trust, **values)
        if decision.settles and self._seen(of.id).status is Status.DISPUTED:
            self._change(of.id, Op.SETTLED, status=Status.ACTIVE)
        return bool(new or again)

    def _change(self, claim: ClaimId, op: Op, **values: object) -> None:
        change: Callable[..., Claim] = memory.change
        self._current[claim] = change(
            self._tx, self._recorder, self._seen(claim), op, self._actor, self._now, None, **values
        )

    def _seen(self, claim: ClaimId) -> Claim:
        return self._current[claim]
