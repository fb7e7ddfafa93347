"""The first schema: audit, people, sessions, turns and transcript, inbox, outbox, journal, documents, embeddings,
spending."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ADD = "INSERT INTO chunk_fts(rowid, context, text) VALUES (new.seq, new.context, new.text);"
_TAKE = "INSERT INTO chunk_fts(chunk_fts, rowid, context, text) VALUES ('delete', old.seq, old.context, old.text);"
_FULL_TEXT_TRIGGERS = (
    ("insert AFTER INSERT ON chunk", _ADD),
    ("delete AFTER DELETE ON chunk", _TAKE),
    ("update AFTER UPDATE ON chunk", f"{_TAKE} {_ADD}"),
)

_ADD_ROW = "INSERT INTO recall_row_fts(rowid, space, text) VALUES (new.seq, new.space, new.text);"
_TAKE_ROW = (
    "INSERT INTO recall_row_fts(recall_row_fts, rowid, space, text) VALUES ('delete', old.seq, old.space, old.text);"
)
_RECALL_TEXT_TRIGGERS = (
    ("insert AFTER INSERT ON recall_row", _ADD_ROW),
    ("delete AFTER DELETE ON recall_row", _TAKE_ROW),
    ("update AFTER UPDATE ON recall_row", f"{_TAKE_ROW} {_ADD_ROW}"),
)


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text()),
        sa.Column("turn_id", sa.Text()),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("content_id", sa.Text()),
        sa.Column("content_mac", sa.Text()),
        sa.Column("previous", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.CheckConstraint("actor_kind IN ('person', 'model', 'system', 'stranger')", name=op.f("ck_audit_actor_kind")),
        sa.CheckConstraint("(content_id IS NULL) = (content_mac IS NULL)", name=op.f("ck_audit_content_has_mac")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index("ix_audit_session_id_id", "audit", ["session_id", "id"])
    op.create_index("ix_audit_turn_id", "audit", ["turn_id"])
    op.create_index("ix_audit_type_id", "audit", ["type", "id"])
    op.create_table(
        "content",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("salt", sa.LargeBinary()),
        sa.Column("text", sa.Text()),
        sa.Column("erased_at", sa.BigInteger()),
        sa.CheckConstraint(
            "(erased_at IS NULL) = (text IS NOT NULL) AND (erased_at IS NULL) = (salt IS NOT NULL)",
            name=op.f("ck_content_erased_whole"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_content")),
    )
    op.create_table(
        "cursor",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("channel", "name", name=op.f("pk_cursor")),
    )
    op.create_table(
        "inbox",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("lane", sa.Boolean(), nullable=False),
        sa.Column("session_id", sa.Text()),
        sa.Column("turn_id", sa.Text()),
        sa.Column("ref", sa.Text()),
        sa.Column("address", sa.Text()),
        sa.Column("person_id", sa.Text()),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("edit", sa.Text()),
        sa.Column("album", sa.Text()),
        sa.Column("hold", sa.Text(), server_default="no", nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("ready_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.CheckConstraint("(state IN ('queued', 'claimed')) = (ended_at IS NULL)", name=op.f("ck_inbox_ended")),
        sa.CheckConstraint("hold IN ('no', 'stale', 'told')", name=op.f("ck_inbox_hold")),
        sa.CheckConstraint(
            "state <> 'answered' OR session_id IS NOT NULL OR reason IS NOT NULL",
            name=op.f("ck_inbox_answered_somewhere"),
        ),
        sa.CheckConstraint("state <> 'claimed' OR turn_id IS NOT NULL", name=op.f("ck_inbox_claimed_by_turn")),
        sa.CheckConstraint(
            "state IN ('queued', 'claimed', 'answered', 'silent', 'stopped', 'refused', 'parked')",
            name=op.f("ck_inbox_state"),
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_inbox")),
        sa.UniqueConstraint("id", name=op.f("uq_inbox_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_inbox_ended_at", "inbox", ["ended_at"])
    op.create_index("ix_inbox_parked", "inbox", ["seq"], sqlite_where=sa.text("state = 'parked'"))
    op.create_index("ix_inbox_ref", "inbox", ["ref"])
    op.create_index("ix_inbox_turn_id", "inbox", ["turn_id", "seq"])
    op.create_index("ix_inbox_waiting", "inbox", ["session_id", "seq"], sqlite_where=sa.text("state = 'queued'"))
    op.create_table(
        "outbox",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("reply_id", sa.Text(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("thread_key", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text()),
        sa.Column("turn_id", sa.Text()),
        sa.Column("audience_epoch", sa.Integer()),
        sa.Column("op", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("boot", sa.Text()),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("again", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("not_before", sa.BigInteger(), nullable=False),
        sa.Column("tried_at", sa.BigInteger()),
        sa.Column("ref", sa.Text()),
        sa.Column("reason", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.CheckConstraint("(state IN ('sent', 'parked')) = (ended_at IS NOT NULL)", name=op.f("ck_outbox_ended")),
        sa.CheckConstraint("policy IN ('resend_once', 'park')", name=op.f("ck_outbox_policy")),
        sa.CheckConstraint("state <> 'parked' OR reason IS NOT NULL", name=op.f("ck_outbox_parked_has_reason")),
        sa.CheckConstraint(
            "state IN ('queued', 'claimed', 'uncertain', 'sent', 'parked')", name=op.f("ck_outbox_state")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_outbox")),
        sa.UniqueConstraint("id", name=op.f("uq_outbox_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_parked", "outbox", ["ended_at"], sqlite_where=sa.text("state = 'parked'"))
    op.create_index("ix_outbox_ref", "outbox", ["ref"])
    op.create_index("ix_outbox_turn_id", "outbox", ["turn_id"])
    op.create_index(
        "ix_outbox_waiting",
        "outbox",
        ["thread_key", "seq"],
        sqlite_where=sa.text("state IN ('queued', 'claimed', 'uncertain')"),
    )
    op.create_index(
        "uq_outbox_lane",
        "outbox",
        ["thread_key"],
        unique=True,
        sqlite_where=sa.text("state IN ('claimed', 'uncertain')"),
    )
    op.create_table(
        "pairing_request",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("shown_name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("decided_at", sa.BigInteger()),
        sa.Column("decided_by", sa.Text()),
        sa.CheckConstraint("state IN ('open', 'accepted', 'declined')", name=op.f("ck_pairing_request_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pairing_request")),
    )
    op.create_index("ix_pairing_request_account", "pairing_request", ["channel", "address"])
    op.create_index(
        "uq_pairing_request_open",
        "pairing_request",
        ["channel", "address"],
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "person",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("departments", sa.JSON(), nullable=False),
        sa.Column("time_zone", sa.Text(), nullable=False),
        sa.Column("quiet_hours", sa.JSON()),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("origin IN ('settings', 'paired', 'workspace')", name=op.f("ck_person_origin")),
        sa.CheckConstraint("role IN ('principal', 'member', 'guest')", name=op.f("ck_person_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person")),
    )
    op.create_table(
        "task",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("boot", sa.Text()),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("run_at", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'failed', 'done', 'done_empty', 'dead')", name=op.f("ck_task_state")
        ),
        sa.CheckConstraint(
            "(state IN ('done', 'done_empty', 'dead')) = (ended_at IS NOT NULL)", name=op.f("ck_task_ended")
        ),
        sa.CheckConstraint(
            "state NOT IN ('failed', 'dead') OR error IS NOT NULL", name=op.f("ck_task_failure_has_error")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_task")),
        sa.UniqueConstraint("id", name=op.f("uq_task_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_task_due", "task", ["run_at", "seq"], sqlite_where=sa.text("state IN ('queued', 'failed')"))
    op.create_index(
        "ix_task_lane_seq",
        "task",
        ["lane", "seq"],
        sqlite_where=sa.text("state IN ('queued', 'failed', 'running')"),
    )
    op.create_index(
        "uq_task_pending_key",
        "task",
        ["kind", "key"],
        unique=True,
        sqlite_where=sa.text("state IN ('queued', 'failed', 'running')"),
    )
    op.create_index("uq_task_running_lane", "task", ["lane"], unique=True, sqlite_where=sa.text("state = 'running'"))
    op.create_table(
        "place",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("declared", sa.Text()),
        sa.Column("declared_by", sa.Text()),
        sa.Column("members", sa.Integer()),
        sa.Column("insiders", sa.Boolean()),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("because", sa.Text(), nullable=False),
        sa.Column("open", sa.Boolean(), server_default=sa.text("1"), nullable=False),
        sa.Column("hears", sa.Text(), server_default="threads", nullable=False),
        sa.Column("untold", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("asked_at", sa.BigInteger()),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("audience IN ('person', 'room', 'company', 'external')", name=op.f("ck_place_audience")),
        sa.CheckConstraint("declared IN ('room', 'company', 'external')", name=op.f("ck_place_declared")),
        sa.CheckConstraint("hears IN ('addressed', 'threads', 'all')", name=op.f("ck_place_hears")),
        sa.CheckConstraint("kind IN ('direct', 'group', 'channel', 'mail')", name=op.f("ck_place_kind")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_place")),
    )
    op.create_table(
        "refusal",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("hour", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("reported", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("channel", "address", "reason", "hour", name=op.f("pk_refusal")),
    )
    op.create_table(
        "seen",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("inbox_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_seen")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "spend",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Text()),
        sa.Column("session_id", sa.Text()),
        sa.Column("turn_id", sa.Text()),
        sa.Column("scheduled", sa.Boolean(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("input", sa.Integer(), nullable=False),
        sa.Column("output", sa.Integer(), nullable=False),
        sa.Column("cache_read", sa.Integer(), nullable=False),
        sa.Column("cache_written", sa.Integer(), nullable=False),
        sa.Column("micros", sa.BigInteger(), nullable=False),
        sa.Column("estimated", sa.Boolean(), nullable=False),
        sa.CheckConstraint(
            "purpose IN ('answer', 'consult', 'gate', 'compaction', 'extraction')", name=op.f("ck_spend_purpose")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_spend")),
    )
    op.create_index("ix_spend_day", "spend", ["day"])
    op.create_table(
        "budget_warning",
        sa.Column("budget", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("since", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "budget IN ('company', 'company_month', 'person', 'person_month', 'session', 'scheduled')",
            name=op.f("ck_budget_warning_budget"),
        ),
        sa.PrimaryKeyConstraint("budget", "subject", "since", name=op.f("pk_budget_warning")),
    )
    op.create_table(
        "handle",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("reachable", sa.Boolean(), server_default=sa.text("1"), nullable=False),
        sa.Column("greeted_at", sa.BigInteger()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("origin IN ('settings', 'paired', 'workspace')", name=op.f("ck_handle_origin")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_handle_person_id")),
        sa.PrimaryKeyConstraint("channel", "address", name=op.f("pk_handle")),
    )
    op.create_index("ix_handle_person_id", "handle", ["person_id"])
    op.create_table(
        "pairing_code",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("channel", sa.Text()),
        sa.Column("address", sa.Text()),
        sa.Column("shown_name", sa.Text()),
        sa.CheckConstraint(
            "state IN ('open', 'claimed', 'confirmed', 'refused', 'expired', 'burned')",
            name=op.f("ck_pairing_code_state"),
        ),
        sa.CheckConstraint(
            "state NOT IN ('claimed', 'confirmed') OR address IS NOT NULL",
            name=op.f("ck_pairing_code_claimed_by_someone"),
        ),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_pairing_code_person_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pairing_code")),
        sa.UniqueConstraint("digest", name=op.f("uq_pairing_code_digest")),
    )
    op.create_table(
        "presence",
        sa.Column("place_key", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger()),
        sa.ForeignKeyConstraint(["place_key"], ["place.key"], name=op.f("fk_presence_place_key"), onupdate="CASCADE"),
        sa.PrimaryKeyConstraint("place_key", "address", "since", name=op.f("pk_presence")),
    )
    op.create_index(
        "uq_presence_current", "presence", ["place_key", "address"], unique=True, sqlite_where=sa.text("until IS NULL")
    )
    op.create_table(
        "session",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("place_key", sa.Text(), nullable=False),
        sa.Column("history_epoch", sa.Integer(), server_default="0", nullable=False),
        sa.Column("audience_epoch", sa.Integer(), server_default="0", nullable=False),
        sa.Column("history_start", sa.Text()),
        sa.Column("erased_before", sa.BigInteger()),
        sa.Column("shared", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["place_key"], ["place.key"], name=op.f("fk_session_place_key"), onupdate="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session")),
    )
    op.create_index("ix_session_place_key", "session", ["place_key"])
    op.create_table(
        "participant",
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_participant_session_id")),
        sa.PrimaryKeyConstraint("session_id", "address", name=op.f("pk_participant")),
    )
    op.create_table(
        "thread",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_thread_session_id")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_thread")),
    )
    op.create_index("ix_thread_session_id", "thread", ["session_id"])
    op.create_table(
        "turn",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("boot", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("history_epoch", sa.Integer(), nullable=False),
        sa.Column("audience_epoch", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.Text()),
        sa.Column("model", sa.Text()),
        sa.Column("untrusted", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger()),
        sa.CheckConstraint("(state = 'finished') = (outcome IS NOT NULL)", name=op.f("ck_turn_finished_has_outcome")),
        sa.CheckConstraint("outcome IN ('answered', 'silent', 'stopped', 'refused')", name=op.f("ck_turn_outcome")),
        sa.CheckConstraint("state IN ('running', 'interrupted', 'finished', 'parked')", name=op.f("ck_turn_state")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_turn_session_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_turn")),
    )
    op.create_index("ix_turn_session_id_id", "turn", ["session_id", "id"])
    op.create_index(
        "ix_turn_untrusted", "turn", ["session_id", "audience_epoch", "id"], sqlite_where=sa.text("untrusted")
    )
    op.create_index(
        "uq_turn_lane", "turn", ["session_id"], unique=True, sqlite_where=sa.text("state IN ('running', 'interrupted')")
    )
    op.create_table(
        "journal",
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("arguments_hash", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["turn.id"], name=op.f("fk_journal_turn_id")),
        sa.PrimaryKeyConstraint("turn_id", "name", "arguments_hash", name=op.f("pk_journal")),
    )
    op.create_table(
        "message",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Text()),
        sa.Column("speaker", sa.Text(), nullable=False),
        sa.Column("ref", sa.Text()),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("spans", sa.JSON(), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("proof", sa.Text(), nullable=False),
        sa.Column("history_epoch", sa.Integer(), nullable=False),
        sa.Column("audience_epoch", sa.Integer(), nullable=False),
        sa.Column("sent_at", sa.BigInteger(), nullable=False),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.Column("edited_at", sa.BigInteger()),
        sa.Column("deleted_at", sa.BigInteger()),
        sa.CheckConstraint("role IN ('user', 'assistant')", name=op.f("ck_message_role")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_message_session_id")),
        sa.ForeignKeyConstraint(["turn_id"], ["turn.id"], name=op.f("fk_message_turn_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_message")),
        sa.UniqueConstraint("turn_id", "position", name=op.f("uq_message_turn_id_position")),
    )
    op.create_index("ix_message_history", "message", ["session_id", "history_epoch", "turn_id", "position"])
    op.create_index("ix_message_ref", "message", ["ref"])
    op.create_table(
        "summary",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("history_epoch", sa.Integer(), nullable=False),
        sa.Column("audience_epoch", sa.Integer(), nullable=False),
        sa.Column("until_turn", sa.Text(), nullable=False),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("told", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_summary_session_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_summary")),
        sa.UniqueConstraint(
            "session_id",
            "history_epoch",
            "audience_epoch",
            name=op.f("uq_summary_session_id_history_epoch_audience_epoch"),
        ),
    )
    op.create_table(
        "turn_prompt",
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint(
            "purpose IN ('answer', 'consult', 'gate', 'compaction', 'extraction')", name=op.f("ck_turn_prompt_purpose")
        ),
        sa.ForeignKeyConstraint(["turn_id"], ["turn.id"], name=op.f("fk_turn_prompt_turn_id")),
        sa.PrimaryKeyConstraint("turn_id", "number", name=op.f("pk_turn_prompt")),
    )
    op.create_index("ix_turn_prompt_at", "turn_prompt", ["at"])
    op.create_index("ix_turn_prompt_session_id", "turn_prompt", ["session_id", "at"])
    op.create_table(
        "prompt_part",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_prompt_part")),
    )
    op.create_table(
        "company_field",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("lines", sa.JSON(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("current", sa.Boolean(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_by", sa.Text(), nullable=False),
        sa.CheckConstraint("audience IN ('public', 'company')", name=op.f("ck_company_field_audience")),
        sa.PrimaryKeyConstraint("name", "version", name=op.f("pk_company_field")),
    )
    op.create_index("uq_company_field_current", "company_field", ["name"], unique=True, sqlite_where=sa.text("current"))
    op.create_table(
        "embedding",
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("collection", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary()),
        sa.CheckConstraint("(model = '') = (data IS NULL)", name=op.f("ck_embedding_embedded_by_a_model")),
        sa.PrimaryKeyConstraint("item", name=op.f("pk_embedding")),
    )
    op.create_index("ix_embedding_model_item", "embedding", ["model", "item"])
    op.create_index("ix_embedding_collection", "embedding", ["collection", "model"])
    op.create_table(
        "document",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text()),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("blob", sa.Text()),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("uploader", sa.Text()),
        sa.Column("session_id", sa.Text()),
        sa.Column("message_id", sa.Text()),
        sa.Column("path", sa.Text()),
        sa.Column("wider", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("pages", sa.Integer()),
        sa.Column("characters", sa.Integer(), server_default="0", nullable=False),
        sa.Column("chunks", sa.Integer(), server_default="0", nullable=False),
        sa.Column("note", sa.Text()),
        sa.Column("reason", sa.Text()),
        sa.Column("dated", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("decided_at", sa.BigInteger()),
        sa.Column("decided_by", sa.Text()),
        sa.CheckConstraint(
            "status IN ('reading', 'pending', 'approved', 'rejected', 'withdrawn', 'failed', 'removing')",
            name=op.f("ck_document_status"),
        ),
        sa.CheckConstraint("origin IN ('built_in', 'command', 'sent', 'watched')", name=op.f("ck_document_origin")),
        sa.CheckConstraint(
            "audience IN ('public', 'company') OR audience LIKE 'department:_%'", name=op.f("ck_document_audience")
        ),
        sa.CheckConstraint("(origin = 'built_in') = (blob IS NULL)", name=op.f("ck_document_blob_unless_built_in")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_document")),
        sa.UniqueConstraint("name_key", "audience", "version", name=op.f("uq_document_name_key_audience_version")),
    )
    op.create_index(
        "uq_document_serving",
        "document",
        ["name_key", "audience"],
        unique=True,
        sqlite_where=sa.text("status = 'approved'"),
    )
    op.create_index("ix_document_status", "document", ["status", "audience"])
    op.create_index("ix_document_digest", "document", ["digest"])
    op.create_index("ix_document_session_id", "document", ["session_id"])
    op.create_table(
        "document_department",
        sa.Column("document_id", sa.Text(), nullable=False),
        sa.Column("department", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["document_id"], ["document.id"], name=op.f("fk_document_department_document_id")),
        sa.PrimaryKeyConstraint("document_id", "department", name=op.f("pk_document_department")),
    )
    op.create_table(
        "document_question",
        sa.Column("document_id", sa.Text(), nullable=False),
        sa.Column("thread_key", sa.Text(), nullable=False),
        sa.Column("outbox_id", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Text()),
        sa.ForeignKeyConstraint(["document_id"], ["document.id"], name=op.f("fk_document_question_document_id")),
        sa.PrimaryKeyConstraint("document_id", "thread_key", name=op.f("pk_document_question")),
    )
    op.create_index("ix_document_question_thread_key", "document_question", ["thread_key"])
    op.create_table(
        "section",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("document_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("heading", sa.Text(), nullable=False),
        sa.Column("page", sa.Integer()),
        sa.Column("last_page", sa.Integer()),
        sa.ForeignKeyConstraint(["document_id"], ["document.id"], name=op.f("fk_section_document_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_section")),
        sa.UniqueConstraint("document_id", "position", name=op.f("uq_section_document_id_position")),
    )
    op.create_table(
        "chunk",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("document_id", sa.Text(), nullable=False),
        sa.Column("section_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("page", sa.Integer()),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["document_id"], ["document.id"], name=op.f("fk_chunk_document_id")),
        sa.ForeignKeyConstraint(["section_id"], ["section.id"], name=op.f("fk_chunk_section_id")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_chunk")),
        sa.UniqueConstraint("id", name=op.f("uq_chunk_id")),
        sa.UniqueConstraint("section_id", "position", name=op.f("uq_chunk_section_id_position")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_chunk_document_id", "chunk", ["document_id"])
    op.execute(
        "CREATE VIRTUAL TABLE chunk_fts USING fts5(context, text, content='chunk', content_rowid='seq', "
        "tokenize='porter unicode61 remove_diacritics 2')"
    )
    for name, body in _FULL_TEXT_TRIGGERS:
        op.execute(f"CREATE TRIGGER chunk_fts_{name} BEGIN {body} END")
    op.create_table(
        "recall_row",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("space", sa.Text(), nullable=False),
        sa.Column("history_epoch", sa.Integer(), nullable=False),
        sa.Column("audience_epoch", sa.Integer(), nullable=False),
        sa.Column("speaker", sa.Text(), nullable=False),
        sa.Column("said_at", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.CheckConstraint("kind IN ('turn', 'claim')", name=op.f("ck_recall_row_kind")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_recall_row")),
        sa.UniqueConstraint("kind", "ref", name=op.f("uq_recall_row_kind_ref")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_recall_row_space", "recall_row", ["kind", "space", "said_at", "seq"])
    op.execute(
        "CREATE VIRTUAL TABLE recall_row_fts USING fts5(space, text, content='recall_row', content_rowid='seq', "
        "tokenize='porter unicode61 remove_diacritics 2')"
    )
    for name, body in _RECALL_TEXT_TRIGGERS:
        op.execute(f"CREATE TRIGGER recall_row_fts_{name} BEGIN {body} END")
    op.create_table(
        "recall_vector",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("stamp", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary()),
        sa.ForeignKeyConstraint(["seq"], ["recall_row.seq"], name=op.f("fk_recall_vector_seq"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("seq", "model", name=op.f("pk_recall_vector")),
    )
    op.create_index("ix_recall_vector_waiting", "recall_vector", ["model", "seq"], sqlite_where=sa.text("data IS NULL"))
    op.create_table(
        "recall_space",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("space", sa.Text(), nullable=False),
        sa.Column("grown", sa.Integer(), server_default="0", nullable=False),
        sa.Column("changed", sa.Integer(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("kind", "space", name=op.f("pk_recall_space")),
    )
    for name, when in (
        ("update", "BEFORE UPDATE ON audit"),
        ("delete", "BEFORE DELETE ON audit"),
        ("replace", "BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)"),
    ):
        op.execute(
            f"CREATE TRIGGER audit_no_{name} {when} BEGIN SELECT RAISE(ABORT, 'audit rows are never changed'); END"
        )
