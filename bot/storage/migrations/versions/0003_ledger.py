"""The ledger and the scheduler: proposals with votes and events, jobs, occurrences and the gate."""
# ruff: noqa: E501 - constraints stand as the database has them

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "action_class",
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_by", sa.Text(), nullable=False),
        sa.Column("because", sa.Text(), nullable=False),
        sa.CheckConstraint("mode IN ('propose', 'auto_execute')", name=op.f("ck_action_class_mode")),
        sa.PrimaryKeyConstraint("action", name=op.f("pk_action_class")),
    )
    op.create_table(
        "gate",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_gate")),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("rule_text", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text()),
        sa.Column("session_id", sa.Text()),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("grace_seconds", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("next_at", sa.BigInteger()),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("paused_because", sa.Text()),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint("(state = 'active') = (next_at IS NOT NULL)", name=op.f("ck_job_active_has_next")),
        sa.CheckConstraint(
            "kind IN ('reminder', 'question', 'check_in', 'morning_brief', 'evening_brief', 'weekly_review', 'commitment', 'nudge', 'upkeep')",
            name=op.f("ck_job_kind"),
        ),
        sa.CheckConstraint("rule IN ('cron', 'once', 'every')", name=op.f("ck_job_rule")),
        sa.CheckConstraint("state IN ('active', 'paused', 'done', 'removed')", name=op.f("ck_job_state")),
        sa.CheckConstraint("grace_seconds >= 0", name=op.f("ck_job_grace")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
    )
    op.create_index("ix_job_due", "job", ["next_at", "id"], sqlite_where=sa.text("state = 'active'"))
    op.create_index("ix_job_owner", "job", ["owner"])
    op.create_table(
        "proposal",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("proposed", sa.JSON(), nullable=False),
        sa.Column("final", sa.JSON(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text()),
        sa.Column("turn_id", sa.Text()),
        sa.Column("asked_by", sa.Text()),
        sa.Column("department", sa.Text()),
        sa.Column("approvers", sa.JSON(), nullable=False),
        sa.Column("two_persons", sa.Boolean(), nullable=False),
        sa.Column("rests_on", sa.JSON(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float()),
        sa.Column("tainted", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("failure", sa.Text()),
        sa.Column("decided_by", sa.Text()),
        sa.Column("resolved_by", sa.Text()),
        sa.Column("severity", sa.Text()),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("decided_at", sa.BigInteger()),
        sa.Column("ended_at", sa.BigInteger()),
        sa.Column("result", sa.Text()),
        sa.Column("held", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint("failure IN ('refused', 'uncertain', 'invalid')", name=op.f("ck_proposal_failure")),
        sa.CheckConstraint(
            "failure IS NULL OR state IN ('failed', 'executed')", name=op.f("ck_proposal_failure_of_failed")
        ),
        sa.CheckConstraint("severity IN ('minor', 'serious', 'grave')", name=op.f("ck_proposal_severity")),
        sa.CheckConstraint(
            "state <> 'approved_unchanged' OR proposed = final", name=op.f("ck_proposal_unchanged_is_unchanged")
        ),
        sa.CheckConstraint(
            "state <> 'auto_approved' OR NOT tainted", name=op.f("ck_proposal_tainted_is_never_automatic")
        ),
        sa.CheckConstraint("state <> 'failed' OR failure IS NOT NULL", name=op.f("ck_proposal_failed_has_reason")),
        sa.CheckConstraint(
            "state <> 'reversed' OR severity IS NOT NULL", name=op.f("ck_proposal_reversed_has_severity")
        ),
        sa.CheckConstraint(
            "state IN ('proposed', 'approved_unchanged', 'approved_with_edit', 'auto_approved', 'rejected', 'auto_no_response', 'withdrawn', 'executing', 'executed', 'failed', 'reversed')",
            name=op.f("ck_proposal_state"),
        ),
        sa.CheckConstraint(
            "state NOT IN ('approved_unchanged', 'approved_with_edit', 'rejected') OR decided_by IS NOT NULL",
            name=op.f("ck_proposal_decided_by_somebody"),
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_proposal")),
        sa.UniqueConstraint("id", name=op.f("uq_proposal_id")),
        sa.UniqueConstraint("key", name=op.f("uq_proposal_key")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_proposal_action", "proposal", ["action", "seq"])
    op.create_index("ix_proposal_open", "proposal", ["expires_at"], sqlite_where=sa.text("state = 'proposed'"))
    op.create_index("ix_proposal_session_id", "proposal", ["session_id"])
    op.create_index(
        "ix_proposal_to_execute",
        "proposal",
        ["seq"],
        sqlite_where=sa.text("state IN ('approved_unchanged', 'approved_with_edit', 'auto_approved', 'executing')"),
    )
    op.create_table(
        "proposal_ask",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("proposal_id", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("outbox_id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("thread", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("reminder", sa.Boolean(), nullable=False),
        sa.Column("told", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger()),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_proposal_ask")),
        sa.UniqueConstraint("digest", name=op.f("uq_proposal_ask_digest")),
    )
    op.create_index("ix_proposal_ask_proposal_id", "proposal_ask", ["proposal_id"])
    op.create_index("ix_proposal_ask_thread", "proposal_ask", ["thread"])
    op.create_table(
        "proposal_event",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("proposal_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("op", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("before", sa.Text()),
        sa.Column("after", sa.Text(), nullable=False),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text()),
        sa.Column("confidence", sa.Float()),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("actor_kind IN ('person', 'model', 'system')", name=op.f("ck_proposal_event_actor_kind")),
        sa.CheckConstraint(
            "op IN ('made', 'shown', 'reminded', 'voted', 'revised', 'decided', 'expired', 'withdrawn', 'returned', 'executing', 'executed', 'failed', 'resolved', 'reversed', 'reversal_failed', 'held', 'released', 'redacted')",
            name=op.f("ck_proposal_event_op"),
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_proposal_event")),
        sa.UniqueConstraint("proposal_id", "version", name=op.f("uq_proposal_event_proposal_id_version")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_proposal_event_action", "proposal_event", ["action", "op"])
    op.create_table(
        "proposal_vote",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("proposal_id", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("verdict IN ('approve', 'reject')", name=op.f("ck_proposal_vote_verdict")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_proposal_vote")),
        sa.UniqueConstraint(
            "proposal_id", "person_id", "hash", name=op.f("uq_proposal_vote_proposal_id_person_id_hash")
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "scheduler_pause",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("because", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_scheduler_pause")),
    )
    op.create_table(
        "occurrence",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("delivery", sa.Text(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="1", nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.Column("note", sa.Text()),
        sa.Column("outbox_id", sa.Text()),
        sa.CheckConstraint("(run = 'claimed') = (ended_at IS NULL)", name=op.f("ck_occurrence_ended")),
        sa.CheckConstraint(
            "delivery IN ('none', 'queued', 'sent', 'failed', 'uncertain', 'proposed')",
            name=op.f("ck_occurrence_delivery"),
        ),
        sa.CheckConstraint(
            "run IN ('claimed', 'done', 'nothing', 'skipped', 'failed')", name=op.f("ck_occurrence_run")
        ),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_occurrence_job_id")),
        sa.PrimaryKeyConstraint("job_id", "at", name=op.f("pk_occurrence")),
    )
    op.create_index("ix_occurrence_claimed", "occurrence", ["fence"], sqlite_where=sa.text("run = 'claimed'"))
    op.create_index(
        "ix_occurrence_outbox_id", "occurrence", ["outbox_id"], sqlite_where=sa.text("outbox_id IS NOT NULL")
    )
    op.create_index("ix_occurrence_queued", "occurrence", ["at"], sqlite_where=sa.text("delivery = 'queued'"))
    op.execute(
        "CREATE TRIGGER proposal_insert_has_event BEFORE INSERT ON proposal WHEN NEW.version <> 1 OR NEW.state <> "
        "'proposed' OR NOT EXISTS (SELECT 1 FROM proposal_event WHERE proposal_id = NEW.id AND version = 1) BEGIN "
        "SELECT RAISE(ABORT, 'a proposal begins as proposed, together with its event'); END"
    )
    op.execute(
        "CREATE TRIGGER proposal_update_has_event BEFORE UPDATE ON proposal WHEN NEW.version <> OLD.version + 1 OR "
        "NOT EXISTS (SELECT 1 FROM proposal_event WHERE proposal_id = NEW.id AND version = NEW.version) BEGIN SELECT "
        "RAISE(ABORT, 'a proposal moves together with its event'); END"
    )
    op.execute(
        "CREATE TRIGGER proposal_update_state BEFORE UPDATE ON proposal WHEN NEW.state <> OLD.state AND NOT "
        "((OLD.state = 'proposed' AND NEW.state = 'approved_unchanged') OR (OLD.state = 'proposed' AND NEW.state = "
        "'approved_with_edit') OR (OLD.state = 'proposed' AND NEW.state = 'auto_approved') OR (OLD.state = "
        "'proposed' AND NEW.state = 'auto_no_response') OR (OLD.state = 'proposed' AND NEW.state = 'failed') OR "
        "(OLD.state = 'proposed' AND NEW.state = 'rejected') OR (OLD.state = 'proposed' AND NEW.state = 'withdrawn') "
        "OR (OLD.state = 'approved_unchanged' AND NEW.state = 'executing') OR (OLD.state = 'approved_unchanged' AND "
        "NEW.state = 'failed') OR (OLD.state = 'approved_unchanged' AND NEW.state = 'withdrawn') OR (OLD.state = "
        "'approved_with_edit' AND NEW.state = 'executing') OR (OLD.state = 'approved_with_edit' AND NEW.state = "
        "'failed') OR (OLD.state = 'approved_with_edit' AND NEW.state = 'withdrawn') OR (OLD.state = 'auto_approved' "
        "AND NEW.state = 'executing') OR (OLD.state = 'auto_approved' AND NEW.state = 'failed') OR (OLD.state = "
        "'auto_approved' AND NEW.state = 'proposed') OR (OLD.state = 'auto_approved' AND NEW.state = 'withdrawn') OR "
        "(OLD.state = 'executing' AND NEW.state = 'executed') OR (OLD.state = 'executing' AND NEW.state = 'failed') "
        "OR (OLD.state = 'executed' AND NEW.state = 'reversed') OR (OLD.state = 'failed' AND NEW.state = 'executed') "
        "OR (OLD.state = 'failed' AND NEW.state = 'failed')) BEGIN SELECT RAISE(ABORT, 'the state of a proposal "
        "cannot move like that'); END"
    )
    op.execute(
        "CREATE TRIGGER proposal_update_content BEFORE UPDATE ON proposal WHEN OLD.state <> 'proposed' AND NEW.state "
        "<> 'proposed' AND (NEW.final <> OLD.final OR NEW.hash <> OLD.hash OR NEW.action <> OLD.action) AND NEW.hash "
        "<> 'erased' BEGIN SELECT RAISE(ABORT, 'what was decided on does not change'); END"
    )
    op.execute(
        "CREATE TRIGGER proposal_no_delete BEFORE DELETE ON proposal BEGIN SELECT RAISE(ABORT, 'proposals are never "
        "deleted'); END"
    )
    op.execute(
        "CREATE TRIGGER proposal_event_no_update BEFORE UPDATE ON proposal_event BEGIN SELECT RAISE(ABORT, 'events "
        "are never changed'); END"
    )
    op.execute(
        "CREATE TRIGGER proposal_event_no_delete BEFORE DELETE ON proposal_event BEGIN SELECT RAISE(ABORT, 'events "
        "are never deleted'); END"
    )
    op.execute(
        "CREATE TRIGGER proposal_vote_no_update BEFORE UPDATE ON proposal_vote BEGIN SELECT RAISE(ABORT, 'votes are "
        "never changed'); END"
    )
    op.execute(
        "CREATE TRIGGER proposal_vote_no_delete BEFORE DELETE ON proposal_vote BEGIN SELECT RAISE(ABORT, 'votes are "
        "never deleted'); END"
    )
