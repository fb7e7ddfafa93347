"""Memory: claims with evidence, events, tombstones and indexes, and what extraction keeps of its work."""
# ruff: noqa: E501 - constraints stand as the database has them

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "claim",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("statement", sa.Text()),
        sa.Column("rationale", sa.Text()),
        sa.Column("outcome", sa.Text()),
        sa.Column("domain", sa.Text()),
        sa.Column("department", sa.Text()),
        sa.Column("subject", sa.Text()),
        sa.Column("speaker", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Text()),
        sa.Column("history_epoch", sa.Integer(), nullable=False),
        sa.Column("audience_epoch", sa.Integer(), nullable=False),
        sa.Column("visibility", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("held", sa.JSON(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("support", sa.Text(), nullable=False),
        sa.Column("trust", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("work", sa.Text()),
        sa.Column("owner", sa.Text()),
        sa.Column("due", sa.Date()),
        sa.Column("said_at", sa.BigInteger(), nullable=False),
        sa.Column("heard_at", sa.BigInteger(), nullable=False),
        sa.Column("valid_from", sa.BigInteger()),
        sa.Column("valid_to", sa.BigInteger()),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.Column("retired_at", sa.BigInteger()),
        sa.Column("touched_at", sa.BigInteger(), nullable=False),
        sa.Column("replaced_by", sa.Text()),
        sa.Column("author_kind", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("by_person", sa.Boolean(), nullable=False),
        sa.Column("promotion_by", sa.Text()),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint("(kind = 'initiative') = (work IS NOT NULL)", name=op.f("ck_claim_initiatives_work")),
        sa.CheckConstraint(
            "(status = 'erased') = (statement IS NULL) AND (status = 'erased') = (subject IS NULL)",
            name=op.f("ck_claim_erased_whole"),
        ),
        sa.CheckConstraint("(status = 'pending') = (held <> '[]')", name=op.f("ck_claim_pending_has_reason")),
        sa.CheckConstraint(
            "(status IN ('pending', 'active', 'disputed')) = (retired_at IS NULL)", name=op.f("ck_claim_retired")
        ),
        sa.CheckConstraint("author_kind IN ('extractor', 'person')", name=op.f("ck_claim_author_kind")),
        sa.CheckConstraint(
            "kind IN ('decision', 'initiative', 'advice', 'fact', 'preference')", name=op.f("ck_claim_kind")
        ),
        sa.CheckConstraint(
            "replaced_by IS NULL OR status IN ('superseded', 'retracted', 'erased')", name=op.f("ck_claim_replaced")
        ),
        sa.CheckConstraint("source IN ('fresh', 'edited', 'deleted')", name=op.f("ck_claim_source")),
        sa.CheckConstraint(
            "status <> 'erased' OR (rationale IS NULL AND outcome IS NULL)", name=op.f("ck_claim_nothing_left")
        ),
        sa.CheckConstraint(
            "status IN ('pending', 'active', 'disputed', 'superseded', 'retracted', 'erased')",
            name=op.f("ck_claim_status"),
        ),
        sa.CheckConstraint("support IN ('none', 'quote', 'judge', 'person')", name=op.f("ck_claim_support")),
        sa.CheckConstraint("trust IN ('proven', 'own', 'guest', 'unproven', 'foreign')", name=op.f("ck_claim_trust")),
        sa.CheckConstraint("visibility IN ('session', 'company')", name=op.f("ck_claim_visibility")),
        sa.CheckConstraint(
            "work IN ('proposed', 'active', 'blocked', 'completed', 'dropped')", name=op.f("ck_claim_work")
        ),
        sa.CheckConstraint("confidence BETWEEN 0 AND 1", name=op.f("ck_claim_confidence")),
        sa.CheckConstraint(
            "valid_from IS NULL OR valid_to IS NULL OR valid_from <= valid_to", name=op.f("ck_claim_validity")
        ),
        sa.CheckConstraint("version >= 1", name=op.f("ck_claim_version")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_claim")),
        sa.UniqueConstraint("id", name=op.f("uq_claim_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_claim_company", "claim", ["status", "department", "domain"], sqlite_where=sa.text("visibility = 'company'")
    )
    op.create_index(
        "ix_claim_owner",
        "claim",
        ["owner", "due"],
        sqlite_where=sa.text("status IN ('active', 'disputed') AND owner IS NOT NULL"),
    )
    op.create_index("ix_claim_pending", "claim", ["seq"], sqlite_where=sa.text("status = 'pending'"))
    op.create_index("ix_claim_replaced_by", "claim", ["replaced_by"], sqlite_where=sa.text("replaced_by IS NOT NULL"))
    op.create_index("ix_claim_session_id", "claim", ["session_id", "audience_epoch", "status"])
    op.create_index("ix_claim_turn_id", "claim", ["turn_id"])
    op.create_index(
        "uq_claim_standing_company",
        "claim",
        ["subject", "speaker"],
        unique=True,
        sqlite_where=sa.text("status IN ('active', 'disputed') AND visibility = 'company'"),
    )
    op.create_index(
        "uq_claim_standing_session",
        "claim",
        ["session_id", "audience_epoch", "subject", "speaker"],
        unique=True,
        sqlite_where=sa.text("status IN ('active', 'disputed') AND visibility = 'session'"),
    )
    op.create_table(
        "claim_event",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("claim_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("op", sa.Text(), nullable=False),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("actor_kind IN ('person', 'model', 'system')", name=op.f("ck_claim_event_actor_kind")),
        sa.CheckConstraint(
            "op IN ('written', 'confirmed', 'accepted', 'edited', 'superseded', 'merged', 'disputed', 'settled', 'retracted', 'restored', 'promotion_asked', 'promoted', 'demoted', 'work_changed', 'source_changed', 'erased')",
            name=op.f("ck_claim_event_op"),
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_claim_event")),
        sa.UniqueConstraint("claim_id", "version", name=op.f("uq_claim_event_claim_id_version")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "claim_event_text",
        sa.Column("event_seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("before", sa.JSON()),
        sa.Column("after", sa.JSON()),
        sa.PrimaryKeyConstraint("event_seq", name=op.f("pk_claim_event_text")),
    )
    op.create_table(
        "claim_shown",
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.Column("claim_id", sa.Text(), nullable=False),
        sa.Column("way", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("way IN ('block', 'recall', 'read', 'asked')", name=op.f("ck_claim_shown_way")),
        sa.PrimaryKeyConstraint("turn_id", "claim_id", "way", name=op.f("pk_claim_shown")),
    )
    op.create_index("ix_claim_shown_claim_id", "claim_shown", ["claim_id"])
    op.create_table(
        "commitment",
        sa.Column("claim_id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("due", sa.Date(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.BigInteger()),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("state IN ('open', 'done', 'dropped')", name=op.f("ck_commitment_state")),
        sa.PrimaryKeyConstraint("claim_id", name=op.f("pk_commitment")),
    )
    op.create_index("ix_commitment_due", "commitment", ["due"], sqlite_where=sa.text("state = 'open'"))
    op.create_table(
        "erase_journal",
        sa.Column("seq", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "what IN ('claim', 'message', 'session', 'person', 'document')", name=op.f("ck_erase_journal_what")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_erase_journal")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "evidence",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("claim_id", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("quote", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("speaker", sa.Text(), nullable=False),
        sa.Column("trust", sa.Text(), nullable=False),
        sa.Column("said_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "trust IN ('proven', 'own', 'guest', 'unproven', 'foreign')", name=op.f("ck_evidence_trust")
        ),
        sa.CheckConstraint('start >= 0 AND start < "end"', name=op.f("ck_evidence_span")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evidence")),
        sa.UniqueConstraint(
            "claim_id", "message_id", "start", "end", name=op.f("uq_evidence_claim_id_message_id_start_end")
        ),
    )
    op.create_index("ix_evidence_message_id", "evidence", ["message_id"])
    op.create_table(
        "extraction",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt", sa.Integer(), nullable=False),
        sa.Column("proposed", sa.Integer(), nullable=False),
        sa.Column("written", sa.Integer(), nullable=False),
        sa.Column("confirmed", sa.Integer(), nullable=False),
        sa.Column("held", sa.Integer(), nullable=False),
        sa.Column("refused", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("source", name=op.f("pk_extraction")),
    )
    op.create_index("ix_extraction_session_id", "extraction", ["session_id", "at"])
    op.create_index("ix_extraction_turn_id", "extraction", ["turn_id"])
    op.create_table(
        "to_index",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.CheckConstraint("kind IN ('claim', 'turn')", name=op.f("ck_to_index_kind")),
        sa.PrimaryKeyConstraint("kind", "ref", name=op.f("pk_to_index")),
    )
    op.create_table(
        "tombstone",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("space", sa.Text(), nullable=False),
        sa.Column("of", sa.Text(), nullable=False),
        sa.Column("forgotten_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("of IN ('statement', 'quote', 'subject', 'terms', 'run')", name=op.f("ck_tombstone_of")),
        sa.PrimaryKeyConstraint("digest", "space", "of", name=op.f("pk_tombstone")),
    )
    op.create_table(
        "access_token",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger()),
        sa.Column("revoked_at", sa.BigInteger()),
        sa.CheckConstraint("expires_at > created_at", name=op.f("ck_access_token_ends")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_access_token_person_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_access_token")),
        sa.UniqueConstraint("digest", name=op.f("uq_access_token_digest")),
    )
    op.create_index("ix_access_token_person_id", "access_token", ["person_id"])
    op.execute(
        "CREATE TRIGGER claim_insert_has_event BEFORE INSERT ON claim WHEN NEW.version <> 1 OR NOT EXISTS (SELECT 1 "
        "FROM claim_event WHERE claim_id = NEW.id AND version = 1) BEGIN SELECT RAISE(ABORT, 'a claim is written "
        "together with its event'); END"
    )
    op.execute(
        "CREATE TRIGGER claim_insert_has_evidence BEFORE INSERT ON claim WHEN NEW.author_kind <> 'person' AND NOT "
        "EXISTS (SELECT 1 FROM evidence WHERE claim_id = NEW.id) BEGIN SELECT RAISE(ABORT, 'a claim rests on "
        "evidence, or a person wrote it'); END"
    )
    op.execute(
        "CREATE TRIGGER claim_update_has_event BEFORE UPDATE ON claim WHEN NEW.version <> OLD.version + 1 OR NOT "
        "EXISTS (SELECT 1 FROM claim_event WHERE claim_id = NEW.id AND version = NEW.version) BEGIN SELECT "
        "RAISE(ABORT, 'a claim is changed together with its event'); END"
    )
    op.execute(
        "CREATE TRIGGER claim_update_keeps BEFORE UPDATE ON claim WHEN NEW.id <> OLD.id OR NEW.kind <> OLD.kind OR "
        "NEW.recorded_at <> OLD.recorded_at OR NEW.speaker <> OLD.speaker OR NEW.session_id <> OLD.session_id BEGIN "
        "SELECT RAISE(ABORT, 'what a claim is does not change'); END"
    )
    op.execute(
        "CREATE TRIGGER claim_update_status BEFORE UPDATE ON claim WHEN NEW.status <> OLD.status AND NOT "
        "((OLD.status = 'pending' AND NEW.status = 'active') OR (OLD.status = 'pending' AND NEW.status = 'disputed') "
        "OR (OLD.status = 'pending' AND NEW.status = 'erased') OR (OLD.status = 'pending' AND NEW.status = "
        "'retracted') OR (OLD.status = 'active' AND NEW.status = 'disputed') OR (OLD.status = 'active' AND "
        "NEW.status = 'erased') OR (OLD.status = 'active' AND NEW.status = 'retracted') OR (OLD.status = 'active' "
        "AND NEW.status = 'superseded') OR (OLD.status = 'disputed' AND NEW.status = 'active') OR (OLD.status = "
        "'disputed' AND NEW.status = 'erased') OR (OLD.status = 'disputed' AND NEW.status = 'retracted') OR "
        "(OLD.status = 'disputed' AND NEW.status = 'superseded') OR (OLD.status = 'superseded' AND NEW.status = "
        "'active') OR (OLD.status = 'superseded' AND NEW.status = 'erased') OR (OLD.status = 'superseded' AND "
        "NEW.status = 'retracted') OR (OLD.status = 'retracted' AND NEW.status = 'active') OR (OLD.status = "
        "'retracted' AND NEW.status = 'erased') OR (OLD.status = 'retracted' AND NEW.status = 'pending')) BEGIN "
        "SELECT RAISE(ABORT, 'the status of a claim cannot move like that'); END"
    )
    op.execute(
        "CREATE TRIGGER claim_no_delete BEFORE DELETE ON claim BEGIN SELECT RAISE(ABORT, 'claims are erased, never "
        "deleted'); END"
    )
    op.execute(
        "CREATE TRIGGER evidence_no_update BEFORE UPDATE ON evidence WHEN NEW.id IS NOT OLD.id OR NEW.claim_id IS "
        "NOT OLD.claim_id OR NEW.message_id IS NOT OLD.message_id OR NEW.quote IS NOT OLD.quote OR NEW.speaker IS "
        "NOT OLD.speaker OR NEW.trust IS NOT OLD.trust OR NEW.said_at IS NOT OLD.said_at BEGIN SELECT RAISE(ABORT, "
        "'the words of evidence are never changed'); END"
    )
    op.execute(
        "CREATE TRIGGER evidence_goes_with_claim BEFORE DELETE ON evidence WHEN EXISTS (SELECT 1 FROM claim WHERE id "
        "= OLD.claim_id AND status <> 'erased' AND support <> 'person') BEGIN SELECT RAISE(ABORT, 'evidence goes "
        "only with its claim'); END"
    )
    op.execute(
        "CREATE TRIGGER claim_event_no_update BEFORE UPDATE ON claim_event BEGIN SELECT RAISE(ABORT, 'events are "
        "never changed'); END"
    )
    op.execute(
        "CREATE TRIGGER claim_event_no_delete BEFORE DELETE ON claim_event BEGIN SELECT RAISE(ABORT, 'events are "
        "never deleted'); END"
    )
    op.execute(
        "CREATE TRIGGER claim_to_index_insert AFTER INSERT ON claim BEGIN INSERT OR IGNORE INTO to_index(kind, ref) "
        "VALUES ('claim', NEW.id); END"
    )
    op.execute(
        "CREATE TRIGGER claim_to_index_update AFTER UPDATE ON claim BEGIN INSERT OR IGNORE INTO to_index(kind, ref) "
        "VALUES ('claim', NEW.id); END"
    )
    op.execute(
        "CREATE TRIGGER message_to_index_insert AFTER INSERT ON message BEGIN INSERT OR IGNORE INTO to_index(kind, "
        "ref) VALUES ('turn', NEW.id); END"
    )
    op.execute(
        "CREATE TRIGGER message_to_index_update AFTER UPDATE ON message BEGIN INSERT OR IGNORE INTO to_index(kind, "
        "ref) VALUES ('turn', NEW.id); END"
    )
    op.execute(
        "CREATE TRIGGER message_to_index_delete AFTER DELETE ON message BEGIN INSERT OR IGNORE INTO to_index(kind, "
        "ref) VALUES ('turn', OLD.id); END"
    )
