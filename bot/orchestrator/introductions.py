"""A room that nobody has described yet: one principal is asked, alone, in one tap, what the place is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import sqlalchemy as sa

from bot.audit.events import Actor, MessageRefused, Record, Refusal
from bot.audit.recorder import Recorder
from bot.gateway.channel import Channel
from bot.gateway.events import ButtonPressed, ReplyPath
from bot.gateway.operations import Choice, Edit, OutboundOp, Reply, asking
from bot.intake import store as inbox
from bot.intake.tables import InState
from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError
from bot.kernel.supervise import attempt
from bot.outbox.service import Outbox, Queued
from bot.outbox.store import Origin
from bot.people import store as people
from bot.people.model import Person, Role
from bot.sessions import places
from bot.sessions.audience import Audience
from bot.sessions.places import Known
from bot.storage.database import Database, Tx

LOOK_EVERY = timedelta(seconds=10)
PREFIX = "place:"
_ANSWERS = {
    "r": (Audience.ROOM, "only people of ours"),
    "c": (Audience.COMPANY, "the whole company"),
    "x": (Audience.EXTERNAL, "outsiders read along"),
}
NOWHERE = Origin(None, None, None)


class Introductions:
    def __init__(
        self,
        database: Database,
        recorder: Recorder,
        clock: Clock,
        outbox: Outbox,
        channels: Mapping[str, Channel],
    ) -> None:
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._outbox = outbox
        self._channels = channels

    async def run(self) -> None:
        """Ask about new rooms, for ever. What could not be asked is tried again."""
        while True:
            for known in await self._database.read(places.unasked):
                try:
                    await attempt(self.ask(known), f"ask about {known.key}")
                except OpenExecutiveError:
                    continue
            await self._clock.sleep(LOOK_EVERY)

    async def ask(self, known: Known) -> None:
        channel = self._channels.get(known.channel)
        address = await self._database.read(lambda c: _principal_on(c, known.channel))
        if channel is None or address is None:
            return
        path = await channel.direct(address)
        ops = _question(channel, path, known)

        def unit(tx: Tx) -> tuple[Queued, ...]:
            if not places.mark_asked(tx, known.key, self._clock.now()):
                return ()
            return (self._outbox.queue_operations(tx, known.channel, ops, NOWHERE),)

        self._outbox.sending(await self._database.write(unit))

    async def pressed(self, row: inbox.Row, event: ButtonPressed) -> str:
        """A principal says what the place is; anybody else is refused. Returns what the presser is told at once."""
        code, _, key = event.token.removeprefix(PREFIX).partition(":")

        def unit(tx: Tx) -> tuple[str, tuple[Queued, ...]]:
            now = self._clock.now()
            known = places.get(tx.connection, key)
            person: Person | None = people.get(tx.connection, row.person) if row.person else None
            if known is None or code not in _ANSWERS:
                inbox.end(tx, row.id, InState.REFUSED, now, "no such place")
                return "I do not know this place any more.", ()
            if person is None or not person.active or person.role is not Role.PRINCIPAL:
                inbox.end(tx, row.id, InState.REFUSED, now, Refusal.NOT_ENTITLED.value)
                refused = MessageRefused(row.channel, Refusal.NOT_ENTITLED, 1, row.id)
                actor = Actor("person", person.id) if person else Actor("stranger", row.channel)
                self._recorder.record(tx, Record(refused, actor))
                return "Only a principal can say this.", ()
            audience, words = _ANSWERS[code]
            places.declare(tx, self._recorder, key, audience, Actor("person", person.id), now)
            after = places.get(tx.connection, key) or known
            inbox.end(tx, row.id, InState.ANSWERED, now, "place declared")
            verdict = f"It now counts as {after.audience.value}: {after.because}."
            text = f"{_named(known)}: {words}, says {person.name}. {verdict}"
            edit = Edit(ReplyPath(event.thread.key, event.sender.address), event.ref, text, text)
            return "Noted.", (self._outbox.queue_operations(tx, row.channel, [edit], NOWHERE),)

        told, queued = await self._database.write(unit)
        self._outbox.sending(queued)
        return told


def _question(channel: Channel, path: ReplyPath, known: Known) -> list[OutboundOp]:
    count = f" ({known.members} members)" if known.members is not None else ""
    text = (
        f"Someone spoke to me in a place that I do not know: {_named(known)}{count}. Who reads there? Until you say "
        "so I treat it as open to outsiders and show nothing there of other conversations."
    )
    if not channel.has_buttons:
        text += " Say it in the place itself with `/room room`, `/room company` or `/room external`."
        return list(channel.plan(Reply(path, text)))
    choices = [Choice(f"{PREFIX}{code}:{known.key}", label) for code, (_, label) in _ANSWERS.items()]
    return asking(channel.plan(Reply(path, text)), choices, None)


def _named(known: Known) -> str:
    return f"“{known.title or known.key}” on {known.channel}"


def _principal_on(connection: sa.Connection, channel: str) -> str | None:
    """Address of the first principal who can be reached on this channel."""
    for person in people.principals(connection):
        for owned in sorted(person.handles, key=lambda handle: handle.address):
            if owned.channel == channel:
                return owned.address
    return None
