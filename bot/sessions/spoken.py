"""What the executive says in a conversation of its own accord: a reminder, a brief. Whoever reads it may ask about it,
so it belongs into the transcript, as the end of a turn that nobody's message began."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from bot.gateway.events import Body, Proof
from bot.kernel.ids import BootId, MessageId, SessionId, TurnId, new_id
from bot.sessions import threads, transcript, turns
from bot.sessions.audience import Audience
from bot.sessions.transcript import Said
from bot.storage.database import Tx

NOBODY = BootId("")


def say(tx: Tx, session: SessionId, text: str, now: datetime, *, untrusted: bool) -> TurnId:
    """Words (Markdown) that leave with this transaction. `untrusted`: what others wrote stands in them."""
    turn = turns.note(tx, session, NOBODY, now, untrusted=untrusted)
    said = Said(MessageId(new_id(now)), turn.id, "assistant", None, "", None, Body(text), Proof.LOCAL, now)
    transcript.add(tx, turn, [said], now)
    return turn.id


def alone_in(connection: sa.Connection, thread: str) -> SessionId | None:
    """The conversation with this thread, if one person alone reads it."""
    session = threads.by_thread(connection, [thread]).get(thread)
    return session.id if session is not None and session.audience is Audience.PERSON else None
