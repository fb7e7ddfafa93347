"""Claims and what belongs to them. The invariants stand here, not in code that could be gone around:

a claim is written or changed only together with its event (same version); a status moves only along `TRANSITIONS`; a
claim has evidence, or a person wrote it; the words of evidence never change, and it goes only with its claim or where a
person stands for it; events are never changed or deleted, only their erasable texts; one claim a subject and speaker
stands in a session and audience epoch, and one in the company.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from bot.memory.model import STANDING, TRANSITIONS, Kind, Op, Source, Status, Support, Trust, Visibility, Work
from bot.sessions.tables import message
from bot.storage.metadata import UtcDateTime, metadata, one_of

_STANDS = "status IN ({})".format(", ".join(f"'{status}'" for status in STANDING))

claim = sa.Table(
    "claim",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("statement", sa.Text),
    sa.Column("rationale", sa.Text),
    sa.Column("outcome", sa.Text),
    sa.Column("domain", sa.Text),
    sa.Column("department", sa.Text),
    sa.Column("subject", sa.Text),
    sa.Column("speaker", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("turn_id", sa.Text),
    sa.Column("history_epoch", sa.Integer, nullable=False),
    sa.Column("audience_epoch", sa.Integer, nullable=False),
    sa.Column("visibility", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("held", sa.JSON, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("support", sa.Text, nullable=False),
    sa.Column("trust", sa.Text, nullable=False),
    sa.Column("confidence", sa.Float, nullable=False),
    sa.Column("work", sa.Text),
    sa.Column("owner", sa.Text),
    sa.Column("due", sa.Date),
    sa.Column("said_at", UtcDateTime, nullable=False),
    sa.Column("heard_at", UtcDateTime, nullable=False),
    sa.Column("valid_from", UtcDateTime),
    sa.Column("valid_to", UtcDateTime),
    sa.Column("recorded_at", UtcDateTime, nullable=False),
    sa.Column("retired_at", UtcDateTime),
    sa.Column("touched_at", UtcDateTime, nullable=False),
    sa.Column("replaced_by", sa.Text),
    sa.Column("author_kind", sa.Text, nullable=False),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("by_person", sa.Boolean, nullable=False),
    sa.Column("promotion_by", sa.Text),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("owner_name", sa.Text),
    one_of("kind", Kind),
    one_of("status", Status),
    one_of("visibility", Visibility),
    one_of("source", Source),
    one_of("support", Support),
    one_of("trust", Trust),
    one_of("work", Work),
    sa.CheckConstraint("author_kind IN ('extractor', 'person')", name="author_kind"),
    sa.CheckConstraint("(kind = 'initiative') = (work IS NOT NULL)", name="initiatives_work"),
    sa.CheckConstraint(
        "(status = 'erased') = (statement IS NULL) AND (status = 'erased') = (subject IS NULL)", name="erased_whole"
    ),
    sa.CheckConstraint("status <> 'erased' OR (rationale IS NULL AND outcome IS NULL)", name="nothing_left"),
    sa.CheckConstraint("(status IN ('pending', 'active', 'disputed')) = (retired_at IS NULL)", name="retired"),
    sa.CheckConstraint("replaced_by IS NULL OR status IN ('superseded', 'retracted', 'erased')", name="replaced"),
    sa.CheckConstraint("(status = 'pending') = (held <> '[]')", name="pending_has_reason"),
    sa.CheckConstraint("valid_from IS NULL OR valid_to IS NULL OR valid_from <= valid_to", name="validity"),
    sa.CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence"),
    sa.CheckConstraint("version >= 1", name="version"),
    sa.CheckConstraint(
        "owner_name IS NULL OR (owner IS NULL AND kind = 'initiative' AND status <> 'erased')", name="owner_name"
    ),
    sa.Index(
        "uq_claim_standing_session",
        "session_id",
        "audience_epoch",
        "subject",
        "speaker",
        unique=True,
        sqlite_where=sa.text(f"{_STANDS} AND visibility = 'session'"),
    ),
    sa.Index(
        "uq_claim_standing_company",
        "subject",
        "speaker",
        unique=True,
        sqlite_where=sa.text(f"{_STANDS} AND visibility = 'company'"),
    ),
    sa.Index("ix_claim_session_id", "session_id", "audience_epoch", "status"),
    sa.Index("ix_claim_company", "status", "department", "domain", sqlite_where=sa.text("visibility = 'company'")),
    sa.Index("ix_claim_pending", "seq", sqlite_where=sa.text("status = 'pending'")),
    sa.Index("ix_claim_disputed", "seq", sqlite_where=sa.text("status = 'disputed'")),
    sa.Index("ix_claim_asked", "seq", sqlite_where=sa.text("promotion_by IS NOT NULL")),
    sa.Index("ix_claim_owner", "owner", "due", sqlite_where=sa.text(f"{_STANDS} AND owner IS NOT NULL")),
    sa.Index("ix_claim_replaced_by", "replaced_by", sqlite_where=sa.text("replaced_by IS NOT NULL")),
    sa.Index("ix_claim_turn_id", "turn_id"),
    sqlite_autoincrement=True,
)

evidence = sa.Table(
    "evidence",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("claim_id", sa.Text, nullable=False),
    sa.Column("message_id", sa.Text, nullable=False),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("end", sa.Integer, nullable=False),
    sa.Column("quote", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("speaker", sa.Text, nullable=False),
    sa.Column("trust", sa.Text, nullable=False),
    sa.Column("said_at", UtcDateTime, nullable=False),
    one_of("trust", Trust),
    sa.CheckConstraint('start >= 0 AND start < "end"', name="span"),
    sa.UniqueConstraint("claim_id", "message_id", "start", "end"),
    sa.Index("ix_evidence_message_id", "message_id"),
)
"""Without a foreign key to `claim`: evidence is written first, so that the claim finds it there."""

claim_event = sa.Table(
    "claim_event",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("claim_id", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("op", sa.Text, nullable=False),
    sa.Column("actor_kind", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
    one_of("op", Op),
    sa.CheckConstraint("actor_kind IN ('person', 'model', 'system')", name="actor_kind"),
    sa.UniqueConstraint("claim_id", "version"),
    sqlite_autoincrement=True,
)

claim_event_text = sa.Table(
    "claim_event_text",
    metadata,
    sa.Column("event_seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("reason", sa.Text),
    sa.Column("before", sa.JSON),
    sa.Column("after", sa.JSON),
)
"""What an event tells in words; gone when it is erased."""

commitment = sa.Table(
    "commitment",
    metadata,
    sa.Column("claim_id", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("due", sa.Date, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("asked_at", UtcDateTime),
    sa.Column("changed_at", UtcDateTime, nullable=False),
    sa.CheckConstraint("state IN ('open', 'done', 'dropped')", name="state"),
    sa.Index("ix_commitment_due", "due", sqlite_where=sa.text("state = 'open'")),
)
"""An initiative with an owner and a day: what the scheduler follows up. Kept in step by `store`."""

claim_shown = sa.Table(
    "claim_shown",
    metadata,
    sa.Column("turn_id", sa.Text, primary_key=True),
    sa.Column("claim_id", sa.Text, primary_key=True),
    sa.Column("way", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("score", sa.Integer, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.CheckConstraint("way IN ('block', 'recall', 'read', 'asked')", name="way"),
    sa.Index("ix_claim_shown_claim_id", "claim_id"),
)
"""Which claim stood before the model in which turn; `score` in millionths. `asked`: with the wish to ask whether it
still stands."""

tombstone = sa.Table(
    "tombstone",
    metadata,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("space", sa.Text, primary_key=True),
    sa.Column("of", sa.Text, primary_key=True),
    sa.Column("forgotten_at", UtcDateTime, nullable=False),
    sa.CheckConstraint("of IN ('statement', 'quote', 'subject', 'terms', 'run')", name="of"),
)
"""What must not be learned again: keyed hashes of normalised words, never the words. `space`: the session's id, or
`company`."""

to_index = sa.Table(
    "to_index",
    metadata,
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("ref", sa.Text, primary_key=True),
    sa.CheckConstraint("kind IN ('claim', 'turn')", name="kind"),
)
"""What the search index has not seen yet: triggers note every change of a claim or a message, so no writer can forget
it."""

erase_journal = sa.Table(
    "erase_journal",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.CheckConstraint("what IN ('claim', 'message', 'session', 'person', 'document')", name="what"),
    sqlite_autoincrement=True,
)
"""What was erased, by id: written out beside the backups, and done again first after a restore."""


def _legal_moves() -> str:
    pairs = [f"(OLD.status = '{a.value}' AND NEW.status = '{b.value}')" for a in Status for b in sorted(TRANSITIONS[a])]
    return " OR ".join(pairs)


def _has_event(version: str) -> str:
    return f"SELECT 1 FROM claim_event WHERE claim_id = NEW.id AND version = {version}"  # noqa: S608 - our own words


_NO_EVIDENCE = "NOT EXISTS (SELECT 1 FROM evidence WHERE claim_id = NEW.id)"
_RESTS_ON_IT = "EXISTS (SELECT 1 FROM claim WHERE id = OLD.claim_id AND status <> 'erased' AND support <> 'person')"
_WORDS = " OR ".join(
    f"NEW.{name} IS NOT OLD.{name}" for name in ("id", "claim_id", "message_id", "quote", "speaker", "trust", "said_at")
)
_CHANGED = " OR ".join(f"NEW.{name} <> OLD.{name}" for name in ("id", "kind", "recorded_at", "speaker", "session_id"))

TRIGGERS = {
    "claim_insert_has_event": (
        f"BEFORE INSERT ON claim WHEN NEW.version <> 1 OR NOT EXISTS ({_has_event('1')})",
        "a claim is written together with its event",
    ),
    "claim_insert_has_evidence": (
        f"BEFORE INSERT ON claim WHEN NEW.author_kind <> 'person' AND {_NO_EVIDENCE}",
        "a claim rests on evidence, or a person wrote it",
    ),
    "claim_update_has_event": (
        f"BEFORE UPDATE ON claim WHEN NEW.version <> OLD.version + 1 OR NOT EXISTS ({_has_event('NEW.version')})",
        "a claim is changed together with its event",
    ),
    "claim_update_keeps": (f"BEFORE UPDATE ON claim WHEN {_CHANGED}", "what a claim is does not change"),
    "claim_update_status": (
        f"BEFORE UPDATE ON claim WHEN NEW.status <> OLD.status AND NOT ({_legal_moves()})",
        "the status of a claim cannot move like that",
    ),
    "claim_no_delete": ("BEFORE DELETE ON claim", "claims are erased, never deleted"),
    "claim_event_no_update": ("BEFORE UPDATE ON claim_event", "events are never changed"),
    "claim_event_no_delete": ("BEFORE DELETE ON claim_event", "events are never deleted"),
    "evidence_no_update": (f"BEFORE UPDATE ON evidence WHEN {_WORDS}", "the words of evidence are never changed"),
    "evidence_goes_with_claim": (
        f"BEFORE DELETE ON evidence WHEN {_RESTS_ON_IT}",
        "evidence goes only with its claim",
    ),
}
"""By name: when, and what is refused then."""

_NOTED = "INSERT OR IGNORE INTO to_index(kind, ref) VALUES ('{kind}', {row}.id)"
INDEXED = {
    f"{table}_to_index_{what.lower()}": f"AFTER {what} ON {table} BEGIN {_NOTED.format(kind=kind, row=row)}; END"
    for table, kind in (("claim", "claim"), ("message", "turn"))
    for what, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD"))
    if (table, what) != ("claim", "DELETE")
}
"""By name. `message` is the transcript's."""


def _note_changes(_target: sa.MetaData, connection: sa.Connection, tables: Collection[sa.Table], **_: object) -> None:
    """The triggers reach over three tables: they are made once all are there."""
    if {claim, message, to_index} <= set(tables):
        for name, body in INDEXED.items():
            connection.exec_driver_sql(f"CREATE TRIGGER {name} {body}")


sa.event.listen(metadata, "after_create", _note_changes)

for name, (when, refusal) in TRIGGERS.items():
    sa.event.listen(
        metadata.tables[when.split(" ON ")[1].split()[0]],
        "after_create",
        sa.DDL(  # type: ignore[no-untyped-call]
            f"CREATE TRIGGER {name} {when} BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
        ),
    )
