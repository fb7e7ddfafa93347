"""Places, sessions, threads, turns and the transcript."""

from __future__ import annotations

from enum import StrEnum

import sqlalchemy as sa

from bot.gateway.events import PlaceKind
from bot.sessions.audience import Audience
from bot.sessions.manners import Hearing
from bot.storage.metadata import UtcDateTime, metadata, one_of

place = sa.Table(
    "place",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("declared", sa.Text),
    sa.Column("declared_by", sa.Text),
    sa.Column("members", sa.Integer),
    sa.Column("insiders", sa.Boolean),
    sa.Column("audience", sa.Text, nullable=False),
    sa.Column("because", sa.Text, nullable=False),
    sa.Column("open", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Column("hears", sa.Text, nullable=False, server_default=Hearing.THREADS.value),
    sa.Column("untold", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("asked_at", UtcDateTime),
    sa.Column("changed_at", UtcDateTime, nullable=False),
    one_of("kind", PlaceKind),
    one_of("audience", Audience),
    one_of("hears", Hearing),
    sa.CheckConstraint("declared IN ('room', 'company', 'external')", name="declared"),
    sa.Index("ix_place_listed", "key", sqlite_where=sa.text("kind IN ('group', 'channel', 'direct')")),
)

"""`insiders`: the platform vouches that everybody in it is of the company (false: that somebody is not). `untold`: it
counts as wider than before, which its readers learn with the next answer (mail)."""

presence = sa.Table(
    "presence",
    metadata,
    sa.Column("place_key", sa.Text, sa.ForeignKey("place.key", onupdate="CASCADE"), primary_key=True),
    sa.Column("address", sa.Text, primary_key=True),
    sa.Column("since", UtcDateTime, primary_key=True),
    sa.Column("until", UtcDateTime),
    sa.Index("ix_presence_address", "address", "place_key"),
    sa.Index("uq_presence_current", "place_key", "address", unique=True, sqlite_where=sa.text("until IS NULL")),
)
"""Accounts known to be in a place, by interval."""

session = sa.Table(
    "session",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("place_key", sa.Text, sa.ForeignKey("place.key", onupdate="CASCADE"), nullable=False),
    sa.Column("history_epoch", sa.Integer, nullable=False, server_default="0"),
    sa.Column("audience_epoch", sa.Integer, nullable=False, server_default="0"),
    sa.Column("history_start", sa.Text),
    sa.Column("erased_before", UtcDateTime),
    sa.Column("shared", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("opened_at", UtcDateTime, nullable=False),
    sa.Index("ix_session_place_key", "place_key"),
)

"""`history_start`: first turn that is still shown; it moves in blocks, never turn by turn, so that the cached prefix of
the prompt stays the same from turn to turn. `erased_before`: what was stored before is erased. `shared`: somebody
besides its first writer was seen writing in its thread."""

thread = sa.Table(
    "thread",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("session.id"), nullable=False),
    sa.Column("since", UtcDateTime, nullable=False),
    sa.Index("ix_thread_session_id", "session_id"),
)

participant = sa.Table(
    "participant",
    metadata,
    sa.Column("session_id", sa.Text, sa.ForeignKey("session.id"), primary_key=True),
    sa.Column("address", sa.Text, primary_key=True),
    sa.Column("since", UtcDateTime, nullable=False),
)
"""Accounts that have written in a session, or were written to."""


class TurnState(StrEnum):
    RUNNING = "running"
    INTERRUPTED = "interrupted"  # its process died; the next start runs it again
    FINISHED = "finished"
    PARKED = "parked"


OCCUPYING = (TurnState.RUNNING.value, TurnState.INTERRUPTED.value)

turn = sa.Table(
    "turn",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("session.id"), nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("boot", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("history_epoch", sa.Integer, nullable=False),
    sa.Column("audience_epoch", sa.Integer, nullable=False),
    sa.Column("outcome", sa.Text),
    sa.Column("model", sa.Text),
    sa.Column("untrusted", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("started_at", UtcDateTime, nullable=False),
    sa.Column("finished_at", UtcDateTime),
    one_of("state", TurnState),
    sa.CheckConstraint("outcome IN ('answered', 'silent', 'stopped', 'refused')", name="outcome"),
    sa.CheckConstraint("(state = 'finished') = (outcome IS NOT NULL)", name="finished_has_outcome"),
    sa.Index(
        "uq_turn_lane",
        "session_id",
        unique=True,
        sqlite_where=sa.text("state IN ('running', 'interrupted')"),
    ),
    sa.Index("ix_turn_session_id_id", "session_id", "id"),
    sa.Index("ix_turn_untrusted", "session_id", "audience_epoch", "id", sqlite_where=sa.text("untrusted")),
)
"""`untrusted`: it read what others wrote (see `taint`)."""

message = sa.Table(
    "message",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("session.id"), nullable=False),
    sa.Column("turn_id", sa.Text, sa.ForeignKey("turn.id"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("person_id", sa.Text),
    sa.Column("speaker", sa.Text, nullable=False),
    sa.Column("ref", sa.Text),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("spans", sa.JSON, nullable=False),
    sa.Column("files", sa.JSON, nullable=False),
    sa.Column("proof", sa.Text, nullable=False),
    sa.Column("history_epoch", sa.Integer, nullable=False),
    sa.Column("audience_epoch", sa.Integer, nullable=False),
    sa.Column("sent_at", UtcDateTime, nullable=False),
    sa.Column("recorded_at", UtcDateTime, nullable=False),
    sa.Column("edited_at", UtcDateTime),
    sa.Column("deleted_at", UtcDateTime),
    sa.CheckConstraint("role IN ('user', 'assistant')", name="role"),
    sa.UniqueConstraint("turn_id", "position"),
    sa.Index("ix_message_history", "session_id", "history_epoch", "turn_id", "position"),
    sa.Index("ix_message_ref", "ref"),
)

summary = sa.Table(
    "summary",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("session.id"), nullable=False),
    sa.Column("history_epoch", sa.Integer, nullable=False),
    sa.Column("audience_epoch", sa.Integer, nullable=False),
    sa.Column("until_turn", sa.Text, nullable=False),
    sa.Column("turns", sa.Integer, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("told", sa.Boolean, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.UniqueConstraint("session_id", "history_epoch", "audience_epoch"),
)
"""What stands for the turns before `until_turn` in a prompt: one a session and pair of epochs."""
