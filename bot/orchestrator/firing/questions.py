"""A question that a person put to the executive beforehand: at its time it comes in like a message of theirs, in a
conversation that they read alone, and is answered by an ordinary turn.

Its identity is the occurrence, so it comes in once, whoever fires it. Its words were not written at that moment and
not by hand: no command, no yes or no, and no memory is read out of them (`scheduled.is_scheduled`), and what the turn
costs counts on the budget of scheduled work.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from bot.gateway.channel import Accepted, Inbox
from bot.gateway.events import (
    Addressed,
    Body,
    MessageReceived,
    Nature,
    Place,
    PlaceKind,
    Proof,
    Sender,
    Thread,
)
from bot.intake import store as inbox
from bot.intake.tables import InState
from bot.kernel.ids import JobId, OutboxId
from bot.orchestrator.firing.speaking import Speaker, Spot
from bot.orchestrator.scheduled import SCHEDULED
from bot.outbox.tables import outbox
from bot.people.model import Person
from bot.scheduler import following
from bot.scheduler.model import Delivery, Run
from bot.scheduler.store import Claimed, Outcome
from bot.scheduler.worker import Fired
from bot.sessions import places, threads
from bot.storage.database import Tx

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ENDED = {
    InState.SILENT: Delivery.NONE,
    InState.STOPPED: Delivery.NONE,
    InState.REFUSED: Delivery.FAILED,
    InState.PARKED: Delivery.FAILED,
}


def key_of(job: JobId, at: datetime) -> str:
    """The identity of the message that an occurrence brings in."""
    return f"{SCHEDULED}{job}:{(at - _EPOCH) // timedelta(microseconds=1)}"


class Questions:
    def __init__(self, speaker: Speaker, inboxes: Callable[[str], Inbox]) -> None:
        """`inboxes`: of a channel, by its name."""
        self._speaker = speaker
        self._inboxes = inboxes

    async def handle(self, claimed: Claimed) -> Fired:
        job = claimed.job
        owner = await self._speaker.owner(job)
        if owner is None:
            return self._speaker.nobody(job)
        spot = await self._speaker.there(job, owner, job.title)
        if not spot.alone:  # what is made up then and there is for its owner alone
            spot = await self._speaker.alone(owner, job.title)
        event = await self._speaker.database.read(lambda c: self._message(c, claimed, owner, spot))
        accepted = await self._inboxes(spot.channel).accept([event], None)
        if accepted[0] not in (Accepted.NEW, Accepted.DUPLICATE):
            return Fired(lambda tx: Outcome(Run.FAILED, note=f"the question was not taken ({accepted[0].value})"))
        return Fired(lambda tx: Outcome(Run.DONE, Delivery.QUEUED))

    def _message(self, connection: sa.Connection, claimed: Claimed, owner: Person, spot: Spot) -> MessageReceived:
        job = claimed.job
        key = key_of(job.id, claimed.occurrence.at)
        room, kind, title = spot.path.thread, PlaceKind.DIRECT, owner.name
        session = None if spot.origin.session is None else threads.get(connection, spot.origin.session)
        known = None if session is None else places.get(connection, session.place)
        if known is not None:
            room, title = known.key, known.title
        elif spot.path.subject is not None:
            kind = PlaceKind.MAIL
        return MessageReceived(
            keys=(key,),
            ref=key,
            thread=Thread(spot.path.thread, room),
            place=Place(kind, title),
            sender=Sender(spot.path.address, owner.name, Nature.PERSON, Proof.LOCAL),
            body=Body(str(job.payload.get("text", ""))),
            sent_at=self._speaker.clock.now(),
            addressed=Addressed.DIRECT,
            reply_path=spot.path,
        )


def look(tx: Tx) -> None:
    """What became of the questions that came in: their answers' messages are followed from then on."""
    for each in following.awaited(tx.connection):
        row_id = inbox.seen_before(tx.connection, [key := key_of(each.job, each.at)]).get(key)
        rows = inbox.by_ids(tx.connection, [row_id]) if row_id is not None else []
        if not rows:
            following.answered(tx, each, None, Delivery.FAILED, "the question is gone")
            continue
        row = rows[0]
        if row.state is InState.ANSWERED and row.turn is not None:
            reply = tx.execute(
                sa.select(outbox.c.reply_id).where(outbox.c.turn_id == row.turn).order_by(outbox.c.seq.desc()).limit(1)
            ).scalar()
            delivery = Delivery.QUEUED if reply is not None else Delivery.NONE
            following.answered(tx, each, OutboxId(reply) if reply is not None else None, delivery, None)
        elif row.state in _ENDED:
            following.answered(tx, each, None, _ENDED[row.state], row.state.value)
