"""Values that the parts of a batch share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from datetime import datetime, timedelta
from typing import Protocol

from bot.audit.events import SYSTEM, Actor, Payload, Record
from bot.audit.recorder import Recorder
from bot.gateway.channel import Accepted
from bot.gateway.operations import Reply
from bot.intake.store import Row
from bot.kernel.ids import BootId, MessageId, PersonId, SessionId, TurnId
from bot.kernel.values import dataclass
from bot.outbox.service import Outbox, Queued
from bot.outbox.store import Origin
from bot.outbox.store import Row as Sent
from bot.people.model import Person
from bot.sessions.turns import Turn
from bot.storage.database import Tx

RoomFact = tuple[str, int | None, frozenset[str], bool | None]
"""What was seen of a room: its title, how many members, which accounts are in it, whether all are of the company."""

NOWHERE = Origin(None, None, None)
"""What the executive says by itself belongs to no session."""


class Reread(Protocol):
    """Reads messages again for what is worth remembering."""

    def edited(self, tx: Tx, session: SessionId, turn: TurnId, message: MessageId, now: datetime) -> None: ...

    def ring(self) -> None:
        """After the commit."""
        ...


class Bounces(Protocol):
    """Hears that something which was sent came back."""

    def came_back(self, tx: Tx, row: Sent, detail: str, now: datetime) -> None: ...

    def ring(self) -> None:
        """After the commit."""
        ...


Departed = Callable[[Tx, PersonId, datetime], object]
"""Hears, in the transaction, that somebody is of the company no more."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that intake needs."""

    stale_after: timedelta
    album_wait: timedelta
    max_text: int
    pairing_requests: bool
    time_zone: str = "UTC"
    """Of colleagues whom nobody has named: the company's."""


@dataclass(slots=True)
class Familiar:
    """What was seen of rooms since the start: spares the look-up for every message. Only committed facts enter."""

    rooms: dict[str, RoomFact] = field(default_factory=dict)
    participants: set[tuple[SessionId, str]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Taken:
    """What came of a batch; effects outside the database follow after the commit."""

    answers: tuple[Accepted, ...]
    begun: tuple[tuple[Turn, tuple[Row, ...]], ...]
    waiting: tuple[SessionId, ...]
    immediate: tuple[Row, ...]
    queued: tuple[Queued, ...]
    rooms: dict[str, RoomFact]
    participants: frozenset[tuple[SessionId, str]]
    forget_rooms: frozenset[str]
    notes: tuple[str, ...]
    """For the log."""


@dataclass(frozen=True, slots=True)
class Context:
    """One batch in its transaction."""

    tx: Tx
    recorder: Recorder
    outbox: Outbox
    rules: Rules
    familiar: Familiar
    channel: str
    boot: BootId
    now: datetime
    owners: dict[str, Person] = field(default_factory=dict)
    """Who owns the addresses that occur in the batch."""
    queued: list[Queued] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reread: Reread | None = None
    """None: nothing is remembered of messages."""
    bounces: Bounces | None = None
    """None: nobody follows what was sent."""
    departed: Departed | None = None

    def record(
        self, payload: Payload, actor: Actor = SYSTEM, session: SessionId | None = None, text: str | None = None
    ) -> None:
        self.recorder.record(self.tx, Record(payload, actor, session, None, text))

    def say(self, reply: Reply) -> None:
        """Queue words of the executive's own; they leave after the commit."""
        self.queued.append(self.outbox.queue(self.tx, self.channel, reply, NOWHERE))
