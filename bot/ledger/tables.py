"""Proposals, votes, events and classes. As with claims, the invariants stand in the database: a proposal is made or
moved only together with its event, its state moves only along `TRANSITIONS`, events and votes are never changed, and
the content that an approval binds to does not change once it is decided.
"""

from __future__ import annotations

import sqlalchemy as sa

from bot.ledger.model import APPROVED, TRANSITIONS, Failure, Mode, Op, Severity, State, Verdict
from bot.storage.metadata import UtcDateTime, metadata, one_of

ASKER = "asker:"
"""Before the proposal's id, in place of a token's digest: the message that tells who asked what came of it. No token
has such a digest."""

proposal = sa.Table(
    "proposal",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("proposed", sa.JSON, nullable=False),
    sa.Column("final", sa.JSON, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False, unique=True),
    sa.Column("session_id", sa.Text),
    sa.Column("turn_id", sa.Text),
    sa.Column("asked_by", sa.Text),
    sa.Column("department", sa.Text),
    sa.Column("approvers", sa.JSON, nullable=False),
    sa.Column("two_persons", sa.Boolean, nullable=False),
    sa.Column("rests_on", sa.JSON, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("confidence", sa.Float),
    sa.Column("tainted", sa.Boolean, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("failure", sa.Text),
    sa.Column("decided_by", sa.Text),
    sa.Column("resolved_by", sa.Text),
    sa.Column("severity", sa.Text),
    sa.Column("made_at", UtcDateTime, nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False),
    sa.Column("decided_at", UtcDateTime),
    sa.Column("ended_at", UtcDateTime),
    sa.Column("result", sa.Text),
    sa.Column("held", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("version", sa.Integer, nullable=False),
    one_of("state", State),
    one_of("failure", Failure),
    one_of("severity", Severity),
    sa.CheckConstraint("failure IS NULL OR state IN ('failed', 'executed')", name="failure_of_failed"),
    sa.CheckConstraint("state <> 'failed' OR failure IS NOT NULL", name="failed_has_reason"),
    sa.CheckConstraint("state <> 'reversed' OR severity IS NOT NULL", name="reversed_has_severity"),
    sa.CheckConstraint(
        "state NOT IN ('approved_unchanged', 'approved_with_edit', 'rejected') OR decided_by IS NOT NULL",
        name="decided_by_somebody",
    ),
    sa.CheckConstraint("state <> 'approved_unchanged' OR proposed = final", name="unchanged_is_unchanged"),
    sa.CheckConstraint("state <> 'auto_approved' OR NOT tainted", name="tainted_is_never_automatic"),
    sa.Index("ix_proposal_open", "expires_at", sqlite_where=sa.text("state = 'proposed'")),
    sa.Index(
        "ix_proposal_to_execute",
        "seq",
        sqlite_where=sa.text("state IN ({})".format(", ".join(f"'{each}'" for each in (*APPROVED, "executing")))),
    ),
    sa.Index("ix_proposal_action", "action", "seq"),
    sa.Index("ix_proposal_asked_by", "asked_by", "seq"),
    sa.Index("ix_proposal_session_id", "session_id"),
    sqlite_autoincrement=True,
)

proposal_event = sa.Table(
    "proposal_event",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("proposal_id", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("op", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("before", sa.Text),
    sa.Column("after", sa.Text, nullable=False),
    sa.Column("actor_kind", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("severity", sa.Text),
    sa.Column("confidence", sa.Float),
    sa.Column("at", UtcDateTime, nullable=False),
    one_of("op", Op),
    sa.CheckConstraint("actor_kind IN ('person', 'model', 'system')", name="actor_kind"),
    sa.UniqueConstraint("proposal_id", "version"),
    sa.Index("ix_proposal_event_action", "action", "op"),
    sqlite_autoincrement=True,
)
"""What rates are counted from: it never changes, also when a proposal's content is erased."""

proposal_vote = sa.Table(
    "proposal_vote",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("proposal_id", sa.Text, nullable=False),
    sa.Column("person_id", sa.Text, nullable=False),
    sa.Column("verdict", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
    one_of("verdict", Verdict),
    sa.UniqueConstraint("proposal_id", "person_id", "hash"),
    sqlite_autoincrement=True,
)

proposal_ask = sa.Table(
    "proposal_ask",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("proposal_id", sa.Text, nullable=False),
    sa.Column("person_id", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=False, unique=True),
    sa.Column("outbox_id", sa.Text, nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("thread", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("reminder", sa.Boolean, nullable=False),
    sa.Column("told", sa.Text, nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False),
    sa.Column("used_at", UtcDateTime),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Index("ix_proposal_ask_proposal_id", "proposal_id"),
    sa.Index("ix_proposal_ask_thread", "thread"),
)
"""One showing of a proposal to one approver. `digest`: of the token in its buttons or reply address. `told`: what the
message on the platform says of its state."""

action_class = sa.Table(
    "action_class",
    metadata,
    sa.Column("action", sa.Text, primary_key=True),
    sa.Column("mode", sa.Text, nullable=False),
    sa.Column("changed_at", UtcDateTime, nullable=False),
    sa.Column("changed_by", sa.Text, nullable=False),
    sa.Column("because", sa.Text, nullable=False),
    one_of("mode", Mode),
)


def _legal_moves() -> str:
    pairs = [f"(OLD.state = '{a.value}' AND NEW.state = '{b.value}')" for a in State for b in sorted(TRANSITIONS[a])]
    return " OR ".join(pairs)


def _has_event(version: str) -> str:
    return f"SELECT 1 FROM proposal_event WHERE proposal_id = NEW.id AND version = {version}"  # noqa: S608 - own words


_DECIDED = "OLD.state <> 'proposed' AND NEW.state <> 'proposed'"
_CONTENT = "(NEW.final <> OLD.final OR NEW.hash <> OLD.hash OR NEW.action <> OLD.action)"

TRIGGERS = {
    "proposal_insert_has_event": (
        f"BEFORE INSERT ON proposal WHEN NEW.version <> 1 OR NEW.state <> 'proposed' OR NOT EXISTS ({_has_event('1')})",
        "a proposal begins as proposed, together with its event",
    ),
    "proposal_update_has_event": (
        f"BEFORE UPDATE ON proposal WHEN NEW.version <> OLD.version + 1 OR NOT EXISTS ({_has_event('NEW.version')})",
        "a proposal moves together with its event",
    ),
    "proposal_update_state": (
        f"BEFORE UPDATE ON proposal WHEN NEW.state <> OLD.state AND NOT ({_legal_moves()})",
        "the state of a proposal cannot move like that",
    ),
    "proposal_update_content": (
        f"BEFORE UPDATE ON proposal WHEN {_DECIDED} AND {_CONTENT} AND NEW.hash <> 'erased'",
        "what was decided on does not change",
    ),
    "proposal_no_delete": ("BEFORE DELETE ON proposal", "proposals are never deleted"),
    "proposal_event_no_update": ("BEFORE UPDATE ON proposal_event", "events are never changed"),
    "proposal_event_no_delete": ("BEFORE DELETE ON proposal_event", "events are never deleted"),
    "proposal_vote_no_update": ("BEFORE UPDATE ON proposal_vote", "votes are never changed"),
    "proposal_vote_no_delete": ("BEFORE DELETE ON proposal_vote", "votes are never deleted"),
}
"""By name: when, and what is refused then."""

for name, (when, refusal) in TRIGGERS.items():
    sa.event.listen(
        metadata.tables[when.split(" ON ")[1].split()[0]],
        "after_create",
        sa.DDL(  # type: ignore[no-untyped-call]
            f"CREATE TRIGGER {name} {when} BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
        ),
    )
