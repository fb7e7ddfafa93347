"""An intake with its store, an outbox on a scripted channel, and a listener that remembers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import sqlalchemy as sa

from bot.audit import timeline
from bot.gateway.channel import Accepted, Cursor
from bot.gateway.events import InboundEvent, MessageReceived
from bot.intake import store
from bot.intake.model import Departed, Rules
from bot.intake.service import Intake
from bot.intake.store import Row
from bot.intake.tables import InState, inbox
from bot.kernel.ids import BootId, InboxId, SessionId
from bot.sessions import threads, turns
from bot.sessions.threads import Session
from bot.sessions.turns import Turn
from bot.storage.database import Tx
from tests.outbox.post import Post
from tests.sessions.rooms import BOOT, CHANNEL

RULES = Rules(stale_after=timedelta(hours=2), album_wait=timedelta(seconds=1.5), max_text=1_000, pairing_requests=False)


@dataclass
class Heard:
    """A `Listener`."""

    begun: list[tuple[Turn, tuple[Row, ...]]] = field(default_factory=list)
    waits: list[SessionId] = field(default_factory=list)
    at_once: list[Row] = field(default_factory=list)

    def begin(self, turn: Turn, rows: Sequence[Row]) -> None:
        self.begun.append((turn, tuple(rows)))

    def waiting(self, session: SessionId) -> None:
        self.waits.append(session)

    def immediate(self, row: Row) -> None:
        self.at_once.append(row)

    @property
    def texts(self) -> list[list[str]]:
        """What each turn that was begun consists of."""
        return [[text_of(row.event) for row in rows] for _, rows in self.begun]


def text_of(event: InboundEvent) -> str:
    if isinstance(event, MessageReceived):
        return event.body.text
    return f"/{getattr(event, 'name', event.kind)}"


class Desk:
    def __init__(self, post: Post) -> None:
        self.post = post
        self.database, self.clock = post.database, post.clock
        self.heard = Heard()
        self.departed: Departed | None = None
        self.rules = RULES
        self.intake = self.boot(BOOT)

    def boot(self, boot: BootId, rules: Rules | None = None) -> Intake:
        """The intake of a process that starts now."""
        self.rules = rules or self.rules
        outbox = self.post.boot(boot)
        self.intake = Intake(
            self.database, self.post.recorder, self.clock, outbox, boot, self.rules, self.heard, departed=self.departed
        )  # fmt: skip
        return self.intake

    def ask_strangers_in(self) -> None:
        self.boot(BOOT, replace(self.rules, pairing_requests=True))

    async def accept(self, *events: InboundEvent, cursor: Cursor | None = None) -> Sequence[Accepted]:
        return await self.intake.port(CHANNEL).accept(events, cursor)

    async def one(self, event: InboundEvent) -> Accepted:
        return (await self.accept(event))[0]

    async def rows(self) -> list[Row]:
        def query(connection: sa.Connection) -> list[Row]:
            ids = connection.execute(sa.select(inbox.c.id)).scalars()
            return store.by_ids(connection, [InboxId(each) for each in ids])

        return await self.database.read(query)

    async def states(self) -> list[tuple[str, str]]:
        return [(text_of(row.event), row.state.value) for row in await self.rows()]

    async def session(self, key: str) -> Session:
        found = await self.database.read(lambda c: threads.by_thread(c, [key]))
        return found[key]

    async def waiting(self, key: str) -> list[str]:
        """Texts that the session's next turn will take."""
        session = await self.session(key)

        def query(connection: sa.Connection) -> list[str]:
            found = store.waiting(connection, session.id)
            return [text_of(row.event) for row in store.by_ids(connection, found.ids)] if found else []

        return await self.database.read(query)

    async def finish(self, turn: Turn) -> None:
        """End a turn and its rows, as its commit does."""
        now = self.clock.now()

        def unit(tx: Tx) -> None:
            assert turns.finish(tx, turn, BOOT, "answered", None, now, untrusted=False)
            store.end_turn(tx, turn.id, InState.ANSWERED, now)

        await self.database.write(unit)

    async def audited(self, *types: str) -> list[Mapping[str, object]]:
        entries = await self.database.read(lambda c: timeline.newest(c, 1_000, types))
        return [entry.payload for entry in entries]

    async def said(self) -> list[str]:
        """What the executive has said by itself."""
        await self.post.settled()
        return self.post.channel.texts
