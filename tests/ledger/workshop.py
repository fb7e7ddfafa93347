"""A ledger with its worker, an outbox on a scripted channel, and a clock moved by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.kernel.ids import ClaimId, SessionId
from bot.kernel.retry import Backoff
from bot.ledger import store
from bot.ledger.acting.profile import ChangeCompanyProfile
from bot.ledger.acting.telling import Post, ReplyAll, SendEmail, SendMessage
from bot.ledger.actions import Action
from bot.ledger.guard import Guard, Limits, Readers, Sight
from bot.ledger.model import Payload, Proposal, Verdict
from bot.ledger.rules import Rules
from bot.ledger.service import Ledger, Wish
from bot.ledger.worker import Worker
from bot.people.model import Person
from tests.outbox.post import Post as Outside
from tests.sessions.rooms import CHANNEL, PEOPLE, Rooms

MODEL = Actor("model", "m")
BOSS, ADA, BOB, GUEST = PEOPLE


@dataclass
class Seen:
    """What each memory is to whoever asks; what is not here is not known."""

    sights: dict[ClaimId, Sight] = field(default_factory=dict)
    asked: list[Readers] = field(default_factory=list)

    def __call__(
        self, connection: sa.Connection, claims: Sequence[ClaimId], readers: Readers
    ) -> Mapping[ClaimId, Sight]:
        self.asked.append(readers)
        return {each: self.sights[each] for each in claims if each in self.sights}


class Workshop:
    def __init__(self, outside: Outside, limits: Limits | None = None) -> None:
        self.outside = outside
        self.database, self.recorder, self.clock = outside.database, outside.recorder, outside.clock
        self.rooms = Rooms(self.database, self.recorder, self.clock)
        self.seen = Seen()
        self.limits = limits or Limits()
        self.extra: list[Action] = []
        self.mail = CHANNEL
        self.rang = asyncio.Event()
        self.start("boot-1")

    async def open(self, *people: Person) -> Workshop:
        await self.rooms.add_people(*(people or PEOPLE))
        return self

    def start(self, boot: str) -> None:
        """A process starts."""
        outbox = self.outside.boot(boot)
        post = Post(outbox, {CHANNEL: self.outside.channel}, Guard(self.limits, self.seen), self.mail)
        actions: list[Action] = [
            SendMessage(post), SendEmail(post), ReplyAll(post), ChangeCompanyProfile(self.recorder), *self.extra
        ]  # fmt: skip
        self.ledger = Ledger(self.recorder, actions, Rules())
        self.worker = Worker(self.database, self.clock, self.ledger, Backoff(), self._ring)

    def _ring(self) -> None:
        self.rang.set()

    async def propose(self, action: str, payload: Payload, key: str = "k", **values: object) -> Proposal:
        given: Mapping[str, object] = {
            "action": action, "payload": payload, "key": key, "reason": "asked", "session": SessionId("s"),
            "turn": None, "asked_by": ADA.id, **values,
        }  # fmt: skip
        wish = Wish(**given)  # type: ignore[arg-type]
        return await self.database.write(lambda tx: self.ledger.propose(tx, wish, MODEL, self.clock.now()))

    async def approve(self, of: Proposal) -> Proposal:
        now = self.clock.now()
        return await self.database.write(
            lambda tx: self.ledger.vote(tx, of.id, BOSS, Verdict.APPROVE, of.hash, "test", now)
        )

    async def approved(self, action: str, payload: Payload, key: str = "k", **values: object) -> Proposal:
        return await self.approve(await self.propose(action, payload, key, **values))

    async def now(self, of: Proposal) -> Proposal:
        found = await self.database.read(lambda c: store.get(c, of.id))
        assert found is not None
        return found

    async def settle(self) -> timedelta:
        """Let the worker do what it can, what is sent arrive, and the worker see it."""
        await self.worker.once()
        await self.outside.settled()
        return await self.worker.once()


def message(text: str = "Hello", to: Person = BOB, **more: object) -> Payload:
    address = next(iter(to.handles)).address
    return {
        "to": [to.id], "named": to.name, "channel": CHANNEL, "thread": f"test:dm:{address}", "address": address,
        "text": text, "discloses": [], **more,
    }  # fmt: skip


def mail(text: str = "Hello", to: str = "kim@outside.example", **more: object) -> Payload:
    return {"to": [to], "subject": "The fair", "thread": "email:t1", "text": text, "discloses": [], **more}
