"""People in rooms, with memories, and what they do to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.events import Actor
from bot.gateway.events import Body, PlaceKind, Proof
from bot.kernel.ids import ClaimId, MessageId, PersonId, SessionId, new_id
from bot.kernel.scope import OperatorScope, PersonScope, Scope, SessionScope
from bot.memory import reading, store
from bot.memory.model import Claim, Event, Evidence
from bot.memory.reading import EVERYTHING, Filter, Purpose
from bot.memory.rights import Door
from bot.memory.service import Acting, Done, Going, Memories, Undone, waiting
from bot.people import store as people
from bot.sessions import threads, transcript, turns
from bot.sessions.transcript import Said
from bot.sessions.visible import visible
from bot.storage.database import Tx
from tests.memory.claims import MODEL, claim, evidence
from tests.sessions.rooms import BOOT, Rooms

T = TypeVar("T")
ADDRESSES = {"boss": "1", "ada": "2", "bob": "3", "guest": "4"}
WHY = "a reason"
MINUTE = timedelta(minutes=1)


@dataclass
class Desk:
    rooms: Rooms
    forgotten: list[ClaimId] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.memories = Memories(self.rooms.recorder)

    # --- places and memories ---------------------------------------------------------------------------------------

    async def alone(self, who: str) -> SessionId:
        """The direct conversation of a person."""
        key = f"test:dm:{ADDRESSES[who]}"
        await self.rooms.see([ADDRESSES[who]], key=key, kind=PlaceKind.DIRECT, title="")
        session = await self.rooms.open(key, place=key)
        await self.takes_part(session, who)
        return session

    async def room(self, *who: str, key: str = "test:group") -> SessionId:
        addresses = [ADDRESSES[each] for each in who]
        await self.rooms.see(addresses, len(addresses) + 1, key=key)
        session = await self.rooms.open(key, place=key)
        await self.takes_part(session, *who)
        return session

    async def takes_part(self, session: SessionId, *who: str) -> None:
        pairs = [(session, ADDRESSES[each]) for each in who]
        await self.rooms.write(lambda tx: threads.add_participants(tx, pairs, self.now))

    async def said(self, session: SessionId, who: str, statement: str = "We launch in March.", **values: Any) -> Claim:
        messages: Sequence[str] = values.pop("messages", ("m1",))
        epoch = (await self.rooms.epochs(session))[1]
        new = claim(self.now, session=session, speaker=who, statement=statement, audience_epoch=epoch, **values)
        words = [evidence(statement, self.now, message=each, speaker=who) for each in messages]
        await self.rooms.write(lambda tx: store.add(tx, self.rooms.recorder, new, words, MODEL))
        self.rooms.clock.advance(MINUTE)
        return new

    async def spoke(self, session: SessionId, who: str, text: str, answer: str = "Noted.") -> tuple[str, str]:
        """A turn: ids of the message and of its answer."""
        said, answered = MessageId(new_id(self.now)), MessageId(new_id(self.now))
        epochs = await self.rooms.epochs(session)

        def unit(tx: Tx) -> None:
            (turn,) = turns.begin(tx, [(session, epochs)], BOOT, self.now)
            mine = Said(said, turn.id, "user", PersonId(who), who, None, Body(text), Proof.PLATFORM, self.now)
            yours = Said(answered, turn.id, "assistant", None, "", None, Body(answer), Proof.LOCAL, self.now)
            transcript.add(tx, turn, [mine, yours], self.now)
            turns.finish(tx, turn, BOOT, "answered", "m", self.now, untrusted=False)

        await self.rooms.write(unit)
        return said, answered

    @property
    def now(self) -> datetime:
        return self.rooms.clock.now()

    # --- doing -----------------------------------------------------------------------------------------------------

    async def by(self, who: str, scope: Scope | None = None, door: Door = Door.FULL) -> Acting:
        if who == "operator":
            return Acting(Actor("system", "operator"), OperatorScope("a look"), None)
        person = await self.rooms.database.read(lambda c: people.get(c, PersonId(who)))
        assert person is not None
        return Acting(Actor("person", who), scope or PersonScope(person.id), person, door)

    async def do(self, who: str, act: str, of: Claim, *given: Any, door: Door = Door.FULL, **more: Any) -> Done:
        """One of the use cases, with the reason `WHY`."""
        acting = await self.by(who, door=door)
        more = {"reason": WHY, "now": self.now, **more}
        work: Callable[..., Done] = getattr(self.memories, act)
        done = await self.rooms.write(lambda tx: work(tx, acting, of.id, *given, **more))
        self.rooms.clock.advance(MINUTE)
        return done

    async def undo(self, who: str, message: str) -> Undone:
        acting = await self.by(who)
        return await self.rooms.write(lambda tx: self.memories.undo(tx, acting, MessageId(message), WHY, self.now))

    async def write(self, unit: Callable[[Tx], T]) -> T:
        return await self.rooms.write(unit)

    # --- looking ---------------------------------------------------------------------------------------------------

    async def look(self, of: Claim) -> Claim:
        found = await self.rooms.database.read(lambda c: store.get(c, of.id))
        assert found is not None
        return found

    async def sees(self, scope: Scope, purpose: Purpose = Purpose.REVIEW, wanted: Filter = EVERYTHING) -> list[str]:
        """Statements, the newest first."""

        def query(connection: sa.Connection) -> list[str]:
            view = visible(connection, scope)
            return [each.statement for _, each in reading.find(connection, view, purpose, wanted, 100)]

        return await self.rooms.database.read(query)

    async def waits(self, who: str) -> list[str]:
        """The statements that wait for a person, newest first."""

        def query(connection: sa.Connection) -> list[str]:
            return [e.statement for e in waiting(connection, visible(connection, PersonScope(PersonId(who))), 100)]

        return await self.rooms.database.read(query)

    async def history(self, of: Claim, scope: Scope) -> list[Event]:
        return await self.rooms.database.read(lambda c: reading.history(c, visible(c, scope), of.id))

    async def words(self, of: Claim, scope: Scope) -> list[Evidence]:
        return await self.rooms.database.read(lambda c: reading.evidence_of(c, visible(c, scope), of.id))

    async def audited(self) -> list[tuple[str, str]]:
        """(type, actor) of what was done to memories, without how they were written."""
        entries = await self.rooms.database.read(lambda c: timeline.newest(c, 1_000))
        return [
            (each.type, each.actor)
            for each in entries
            if each.type.startswith("memory_") and each.type != "memory_written"
        ]


class CountingEraser:
    """Stands in where a test is about who may forget, not about what forgetting is."""

    def __init__(self) -> None:
        self.erased: list[ClaimId] = []
        self.rung = 0

    def look(self, connection: sa.Connection, claims: Sequence[ClaimId]) -> Going:
        return Going(self.preview(connection, claims), tuple(claims), {}, None)

    def preview(self, connection: sa.Connection, claims: Sequence[ClaimId]) -> Mapping[str, int]:
        return {"memories": len(claims), "messages": 1}

    def memories_in(
        self, tx: Tx, claims: Sequence[ClaimId], actor: Actor, reason: str, now: datetime
    ) -> Mapping[str, int]:
        self.erased += claims
        return self.preview(tx.connection, claims)

    def ring(self) -> None:
        self.rung += 1


def person(who: str) -> PersonScope:
    return PersonScope(PersonId(who))


def session(of: SessionId) -> SessionScope:
    return SessionScope(of)
