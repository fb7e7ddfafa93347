"""Memories over the API: a person's own view of them, and what that person may do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date, datetime
from typing import TypeVar

import sqlalchemy as sa

from bot.audit.events import Actor, Record
from bot.audit.events_memory import MemoryViewed
from bot.audit.recorder import Recorder
from bot.kernel import days
from bot.kernel.clock import Clock
from bot.kernel.ids import ClaimId, PersonId
from bot.kernel.scope import PersonScope
from bot.kernel.values import dataclass
from bot.memory import reading, service
from bot.memory.model import Claim, Status, Work
from bot.memory.reading import AsOf, Filter, Purpose
from bot.memory.recall import names_of
from bot.memory.service import Acting, Eraser, Memories, Outcome, UnclearError
from bot.sessions.visible import Visible, visible
from bot.storage.database import Database, Tx
from bot.web.api.model import (
    Answer,
    Change,
    Done,
    History,
    Memory,
    MemoryChange,
    MemoryDetail,
    MemoryPage,
    MemoryQuery,
    Model,
    Quote,
    Reasoned,
    Shown,
)
from bot.web.api.routing import Call, Operation

MOST_WORDS = 12
MOST_ANSWERS = 200
_OUTCOMES = {Outcome.DONE: "done", Outcome.ASKED: "asked", Outcome.DISPUTED: "disputed"}

M = TypeVar("M", bound=Model)
Use = Callable[[Tx, Acting, ClaimId, str, datetime, int | None], service.Done]


@dataclass(frozen=True, slots=True)
class Desk:
    database: Database
    recorder: Recorder
    clock: Clock
    eraser: Eraser

    def operations(self) -> Sequence[Operation]:
        memories = Memories(self.recorder)
        actions: Mapping[str, tuple[Use, str]] = {
            "promote": (memories.promote, "Let the whole company see it"),
            "demote": (memories.demote, "Take it back from the company"),
            "retract": (memories.retract, "Take it back; dispute what another said"),
            "restore": (memories.restore, "Let it stand again"),
            "accept": (memories.accept, "Say yes: to what waits, to a wish, to one side of a dispute"),
            "reject": (memories.reject, "Say no to what waits, or to a wish"),
            "keep": (memories.keep, "Go on believing what its writer deleted"),
        }
        one = "/memories/{id}"
        return [
            Operation(
                "GET", "/memories", "listMemories", "What this person may see, the newest first",
                self.listed, MemoryPage, query=MemoryQuery,
            ),
            Operation("GET", one, "getMemory", "One with the words that it rests on", self.one, MemoryDetail),
            Operation(
                "PATCH", one, "changeMemory", "Correct it, plan it, or move its status", self.change, Done,
                body=MemoryChange, accepted=_waits,
            ),
            Operation(
                "DELETE", one, "forgetMemory", "Forget it, with the words that it rests on", self.forget, Done,
                body=Reasoned,
            ),
            Operation("GET", f"{one}/history", "getHistory", "Who changed what, when and why", self.history, History),
            Operation("GET", f"{one}/shown", "getShown", "Which answers it stood behind", self.shown, Shown),
            *(
                Operation(
                    "POST", f"{one}/{name}", f"{name}Memory", summary, self._acting(use), Done, body=Reasoned,
                    accepted=_waits,
                )
                for name, (use, summary) in actions.items()
            ),
        ]  # fmt: skip

    # --- looking ---------------------------------------------------------------------------------------------------

    async def listed(self, call: Call) -> MemoryPage:
        wanted, zone = _of(call.query, MemoryQuery), call.person.time_zone
        words = tuple((wanted.q or "").split())
        if len(words) > MOST_WORDS:
            raise UnclearError(f"q: at most {MOST_WORDS} words")
        chosen = Filter(
            wanted.kind,
            wanted.status,
            wanted.department,
            wanted.domain,
            wanted.speaker,
            PersonId(wanted.owner) if wanted.owner is not None else None,
            since=_instant(wanted.since, zone, days.begins),
            until=_instant(wanted.until, zone, days.follows),
            as_of=AsOf(_instant(wanted.known, zone, days.ends), _instant(wanted.as_of, zone, days.ends))
            if wanted.known or wanted.as_of
            else None,
            words=words,
            asked=wanted.asked,
        )

        def query(connection: sa.Connection) -> MemoryPage:
            view = _view(connection, call)
            found = reading.find(connection, view, Purpose.REVIEW, chosen, wanted.limit + 1, wanted.before)
            page = found[: wanted.limit]
            more = page[-1][0] if len(found) > len(page) else None
            return MemoryPage(memories=_told(connection, view, [each for _, each in page]), next=more)

        page = await self.database.read(query, long=True)
        await self._viewed(call, [each.id for each in page.memories])
        return page

    async def one(self, call: Call) -> MemoryDetail:
        def query(connection: sa.Connection) -> MemoryDetail:
            view, found = self._found(connection, call)
            words = reading.evidence_of(connection, view, found.id)
            return MemoryDetail(
                memory=_told(connection, view, [found])[0],
                evidence=tuple(
                    Quote(
                        message=each.message,
                        quote=each.quote,
                        speaker=each.speaker,
                        trust=each.trust,
                        said_at=each.said_at,
                    )
                    for each in words
                ),
            )

        one = await self.database.read(query)
        await self._viewed(call, [one.memory.id])
        return one

    async def history(self, call: Call) -> History:
        def query(connection: sa.Connection) -> tuple[ClaimId, History]:
            view, found = self._found(connection, call)
            events = reading.history(connection, view, found.id)
            return found.id, History(
                events=tuple(
                    Change(
                        version=each.version,
                        op=each.op.value,
                        actor_kind=each.actor_kind,
                        actor=each.actor,
                        at=each.at,
                        reason=each.reason,
                        before=None if each.before is None else dict(each.before),
                        after=None if each.after is None else dict(each.after),
                    )
                    for each in events
                )
            )

        of, history = await self.database.read(query)
        await self._viewed(call, [of])
        return history

    async def shown(self, call: Call) -> Shown:
        def query(connection: sa.Connection) -> Shown:
            view, found = self._found(connection, call)
            turns, others = reading.shown(connection, view, found.id, MOST_ANSWERS)
            return Shown(
                answers=tuple(
                    Answer(turn=each.turn, session=each.session, version=each.version, way=each.way, at=each.at)
                    for each in turns
                ),
                others=others,
            )

        return await self.database.read(query)

    # --- changing --------------------------------------------------------------------------------------------------

    async def change(self, call: Call) -> Done:
        wanted = _of(call.body, MemoryChange)
        given = wanted.model_fields_set

        def unit(tx: Tx) -> Done:
            memories, by, now = Memories(self.recorder), _acting(call), self.clock.now()
            of = _meant(tx, call)
            steps: list[Use] = []
            if wanted.statement is not None:
                words = wanted.statement
                steps.append(lambda t, b, c, r, n, v: memories.correct(t, b, c, words, r, n, v))
            owner = None if wanted.owner is None else PersonId(wanted.owner)
            planned: dict[str, Work | PersonId | date | None] = {
                "work": wanted.work, "owner": owner, "due": wanted.due
            }  # fmt: skip
            plan = {name: value for name, value in planned.items() if name in given}
            if plan:
                steps.append(lambda t, b, c, r, n, v: memories.plan(t, b, c, plan, r, n, v))
            if wanted.status is not None:
                steps.append(_move(memories, memories.find(tx.connection, by, of), wanted.status))
            if not steps:
                raise UnclearError("nothing is to be changed: give statement, work, owner, due or status")
            done = steps[0](tx, by, of, wanted.reason, now, wanted.version)
            for step in steps[1:]:
                done = step(tx, by, of, wanted.reason, now, done.claim.version)
            return self._done(tx, call, done)

        done = await self.database.write(unit)
        self.eraser.ring()
        return done

    async def forget(self, call: Call) -> Done:
        wanted = _of(call.body, Reasoned)

        def unit(tx: Tx) -> Done:
            memories, now = Memories(self.recorder), self.clock.now()
            done = memories.forget(tx, _acting(call), _meant(tx, call), self.eraser, wanted.reason, now, wanted.version)
            if isinstance(done, service.Done):
                return self._done(tx, call, done)
            return Done(outcome="forgotten", memory=None, vanished=dict(done))

        done = await self.database.write(unit)
        self.eraser.ring()
        return done

    def _acting(self, use: Use) -> Callable[[Call], Awaitable[Done]]:
        async def handle(call: Call) -> Done:
            wanted = _of(call.body, Reasoned)
            done = await self.database.write(
                lambda tx: self._done(
                    tx,
                    call,
                    use(
                        tx,
                        _acting(call),
                        _meant(tx, call),
                        wanted.reason,
                        self.clock.now(),
                        wanted.version,
                    ),
                )
            )
            self.eraser.ring()
            return done

        return handle

    def _done(self, tx: Tx, call: Call, done: service.Done) -> Done:
        view = _view(tx.connection, call)
        ids = [done.claim.id, *([done.beside.id] if done.beside is not None else [])]
        seen = reading.by_ids(tx.connection, view, Purpose.REVIEW, ids)
        told = {each.id: each for each in _told(tx.connection, view, list(seen.values()))}
        values = {"outcome": _OUTCOMES[done.outcome], "memory": told.get(done.claim.id)}
        return Done.model_validate(values | ({} if done.beside is None else {"beside": told.get(done.beside.id)}))

    def _found(self, connection: sa.Connection, call: Call) -> tuple[Visible, Claim]:
        return _view(connection, call), Memories.meant(connection, _acting(call), call.path["id"])

    async def _viewed(self, call: Call, ids: Sequence[str]) -> None:
        """It is noted before it is given out."""
        if ids:
            payload = MemoryViewed("api", tuple(ClaimId(each) for each in ids))
            record = Record(payload, Actor("person", call.person.id))
            await self.database.write(lambda tx: self.recorder.record(tx, record))


def _move(memories: Memories, seen: Claim, status: str) -> Use:
    match status:
        case "active":
            restores = seen.status in (Status.RETRACTED, Status.SUPERSEDED)
            return memories.restore if restores else memories.accept
        case "disputed":
            return memories.dispute
        case _:
            return memories.reject if seen.status is Status.PENDING else memories.retract


def _instant(moment: date | datetime | None, zone: str, of_day: Callable[[date, str], datetime]) -> datetime | None:
    """`of_day`: which instant of a day is meant."""
    if moment is None or isinstance(moment, datetime):
        return moment
    try:
        return of_day(moment, zone)
    except OverflowError as error:
        raise UnclearError(f"{moment} is too far away") from error


def _waits(answer: object) -> bool:
    return isinstance(answer, Done) and answer.outcome == "asked"


def _of(given: object, model: type[M]) -> M:
    if not isinstance(given, model):
        raise TypeError(f"{model.__name__} is wanted")
    return given


def _acting(call: Call) -> Acting:
    return Acting(Actor("person", call.person.id), PersonScope(call.person.id), call.person)


def _meant(tx: Tx, call: Call) -> ClaimId:
    """The memory that the path names by its id, or by the six letters of it that lists show."""
    return Memories.meant(tx.connection, _acting(call), call.path["id"]).id


def _view(connection: sa.Connection, call: Call) -> Visible:
    return visible(connection, PersonScope(call.person.id))


def _told(connection: sa.Connection, view: Visible, claims: Sequence[Claim]) -> tuple[Memory, ...]:
    names = names_of(connection, claims)
    heard = reading.heard(connection, view, [each.id for each in claims])
    return tuple(
        Memory(
            id=each.id,
            handle=each.handle,
            kind=each.kind,
            statement=each.statement,
            rationale=each.rationale,
            outcome=each.outcome,
            domain=each.domain,
            department=each.department,
            subject=each.subject,
            speaker=each.speaker,
            speaker_name=names.get(each.speaker, each.speaker),
            session=each.session if each.id in heard else None,
            visibility=each.visibility,
            status=each.status,
            held=tuple(one.value for one in each.held),
            source=each.source,
            support=each.support,
            trust=each.trust,
            confidence=each.confidence,
            work=each.work,
            owner=each.owner,
            owner_name=each.owner_name,
            due=each.due,
            said_at=each.said_at,
            recorded_at=each.recorded_at,
            retired_at=each.retired_at,
            touched_at=each.touched_at,
            valid_from=each.valid_from,
            valid_to=each.valid_to,
            replaced_by=each.replaced_by,
            author=each.author.name,
            by_person=each.by_person,
            promotion_by=each.promotion_by,
            version=each.version,
        )
        for each in claims
    )
