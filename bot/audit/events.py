"""The closed vocabulary: one frozen payload per type of event.

A payload holds ids, numbers, enums and short names of our own making. What a person wrote or is called goes into the
record's `text`, which can be erased. A new type is a new class here or in `events_memory`; what stands in neither can
not be logged (`vocabulary`).
"""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from typing import ClassVar, Literal

from bot.kernel.ids import ChunkId, DocumentId, InboxId, OutboxId, PersonId, SectionId, SessionId, TaskId, TurnId
from bot.kernel.values import dataclass

ActorKind = Literal["person", "model", "system", "stranger"]


@dataclass(frozen=True, slots=True)
class Actor:
    kind: ActorKind
    id: str
    """Person id; the model's name; the room that acted; for strangers the channel's name."""


SYSTEM = Actor("system", "daemon")


class Refusal(StrEnum):
    """Why an event was not let in."""

    STRANGER = "stranger"
    UNPROVEN = "unproven"
    BOT = "bot"
    ANONYMOUS = "anonymous"
    OWN = "own"
    AUTOMATIC = "automatic"
    DEACTIVATED = "deactivated"
    BAD_CODE = "bad_code"
    NOT_ENTITLED = "not_entitled"
    TOO_MANY = "too_many"


@dataclass(frozen=True, slots=True)
class Payload:
    type: ClassVar[str]


@dataclass(frozen=True, slots=True)
class DaemonStarted(Payload):
    type = "daemon_started"
    boot: str
    version: str
    voided_turns: int
    uncertain_sends: int


@dataclass(frozen=True, slots=True)
class DaemonStopped(Payload):
    type = "daemon_stopped"
    boot: str
    drained: bool


@dataclass(frozen=True, slots=True)
class MessageReceived(Payload):
    type = "message_received"
    inbox: InboxId
    channel: str
    kind: str
    addressed: str
    proof: str
    characters: int
    attachments: int
    held: bool


@dataclass(frozen=True, slots=True)
class MessageRefused(Payload):
    """One row at a sender's first refusal, and one an hour with the number since then."""

    type = "message_refused"
    channel: str
    reason: Refusal
    count: int
    inbox: InboxId | None


@dataclass(frozen=True, slots=True)
class MessageDuplicate(Payload):
    type = "message_duplicate"
    channel: str
    kind: str
    inbox: InboxId | None


@dataclass(frozen=True, slots=True)
class MessageParked(Payload):
    """An event tripped over a bug on its way in and is kept for a person to look at."""

    type = "message_parked"
    inbox: InboxId
    channel: str
    kind: str
    error: str


@dataclass(frozen=True, slots=True)
class MessageEdited(Payload):
    type = "message_edited"
    inbox: InboxId | None
    applied: Literal["before_turn", "after_turn", "unknown_message"]


@dataclass(frozen=True, slots=True)
class MessageDeleted(Payload):
    type = "message_deleted"
    inbox: InboxId | None
    applied: Literal["before_turn", "after_turn", "unknown_message"]


@dataclass(frozen=True, slots=True)
class TurnStarted(Payload):
    type = "turn_started"
    messages: tuple[InboxId, ...]
    attempt: int


@dataclass(frozen=True, slots=True)
class TurnFinished(Payload):
    type = "turn_finished"
    outcome: Literal["answered", "silent", "stopped", "refused"]
    model: str
    stop: str
    input_tokens: int
    output_tokens: int
    milliseconds: int
    parts: tuple[OutboxId, ...]


@dataclass(frozen=True, slots=True)
class TurnFailed(Payload):
    type = "turn_failed"
    attempt: int
    error: str
    parked: bool


@dataclass(frozen=True, slots=True)
class CacheUsed(Payload):
    type = "cache_used"
    read_tokens: int
    written_tokens: int
    uncached_tokens: int


@dataclass(frozen=True, slots=True)
class BudgetRefused(Payload):
    """A limit left no room for a call of the model; none was made. Amounts in millionths of a US dollar."""

    type = "budget_refused"
    budget: str
    subject: str
    """Person or session; empty where the limit is everybody's."""
    purpose: str
    most: int


@dataclass(frozen=True, slots=True)
class BudgetWarned(Payload):
    """Somebody was told, once, how much of a limit is spent."""

    type = "budget_warned"
    budget: str
    subject: str
    most: int
    spent: int


@dataclass(frozen=True, slots=True)
class ToolCalled(Payload):
    type = "tool_called"
    name: str
    arguments_hash: str
    replayed: bool


@dataclass(frozen=True, slots=True)
class SpecialistConsulted(Payload):
    """A field was asked, with its own calls of the model: they are not in the turn's own figures."""

    type = "specialist_consulted"
    name: str
    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_written_tokens: int
    milliseconds: int
    outcome: Literal["answered", "cut", "refused", "empty", "timed_out", "failed", "over_limit"]


@dataclass(frozen=True, slots=True)
class DeliverySent(Payload):
    type = "delivery_sent"
    outbox: OutboxId
    channel: str
    attempt: int
    found: bool
    """The platform had it already: an earlier try had arrived."""


@dataclass(frozen=True, slots=True)
class DeliveryFailed(Payload):
    type = "delivery_failed"
    outbox: OutboxId
    channel: str
    attempt: int
    retry_in_seconds: int | None


@dataclass(frozen=True, slots=True)
class DeliveryUncertain(Payload):
    type = "delivery_uncertain"
    outbox: OutboxId
    channel: str
    attempt: int
    then: Literal["resend_once", "park"]


@dataclass(frozen=True, slots=True)
class DeliveryParked(Payload):
    type = "delivery_parked"
    outbox: OutboxId
    channel: str
    reason: str


@dataclass(frozen=True, slots=True)
class DeliveryWithdrawn(Payload):
    type = "delivery_withdrawn"
    outbox: OutboxId
    channel: str
    reason: str


@dataclass(frozen=True, slots=True)
class DeliveryReleased(Payload):
    """A person had it sent after all: it was held back after a restore."""

    type = "delivery_released"
    outbox: OutboxId
    channel: str


@dataclass(frozen=True, slots=True)
class DeliveryReported(Payload):
    """News of a message after it was sent (a bounce)."""

    type = "delivery_reported"
    outbox: OutboxId | None
    channel: str
    outcome: str


@dataclass(frozen=True, slots=True)
class PersonChanged(Payload):
    type = "person_changed"
    person: PersonId
    change: Literal["added", "updated", "deactivated", "reactivated", "handle_added", "handle_removed", "role"]
    origin: str


@dataclass(frozen=True, slots=True)
class PersonExported(Payload):
    """All that is held about a person was gathered for them: how many of what. The record's text is the reason."""

    type = "person_exported"
    person: PersonId
    messages: int
    memories: int
    documents: int
    rows: int
    """Of the audit."""


@dataclass(frozen=True, slots=True)
class PersonErased(Payload):
    """What was held of somebody who had left is being erased, or is: `company_too` what the company might see of it."""

    type = "person_erased"
    person: PersonId
    step: Literal["begun", "done"]
    company_too: bool


@dataclass(frozen=True, slots=True)
class PersonPaired(Payload):
    type = "person_paired"
    person: PersonId
    channel: str


@dataclass(frozen=True, slots=True)
class PairingCode(Payload):
    type = "pairing_code"
    code: str
    """Id of the code, never the code."""
    step: Literal["made", "claimed", "confirmed", "refused", "expired", "burned"]
    channel: str | None


@dataclass(frozen=True, slots=True)
class PairingRequested(Payload):
    type = "pairing_requested"
    request: str
    channel: str
    step: Literal["asked", "accepted", "declined"]


@dataclass(frozen=True, slots=True)
class RoomChanged(Payload):
    type = "room_changed"
    place: str
    before: str | None
    after: str
    because: str
    sessions: tuple[SessionId, ...]
    widened: bool


@dataclass(frozen=True, slots=True)
class SessionChanged(Payload):
    type = "session_changed"
    change: Literal["opened", "epoch", "alias_moved", "stopped"]
    history_epoch: int


@dataclass(frozen=True, slots=True)
class ThreadCompacted(Payload):
    """The older part of a thread got a summary."""

    type = "thread_compacted"
    turns: int
    characters: int
    model: str


@dataclass(frozen=True, slots=True)
class TaskChanged(Payload):
    type = "task_changed"
    task: TaskId
    kind: str
    state: str
    attempt: int


@dataclass(frozen=True, slots=True)
class SettingChanged(Payload):
    type = "setting_changed"
    keys: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class CompanyChanged(Payload):
    """A field of the company's profile. Its words, and the name of a field of the company's own, are the record's
    text."""

    type = "company_changed"
    field: Literal["name", "business", "stage", "goals", "departments", "people", "rules", "own"]
    change: Literal["set", "unset"]
    version: int
    audience: StrEnum


@dataclass(frozen=True, slots=True)
class AuthRefused(Payload):
    """A request at a door of the daemon was turned away."""

    type = "auth_refused"
    door: Literal["web", "webhook", "socket", "api"]
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class AuthLogin(Payload):
    """Somebody was let in: by a token (one row an hour at most for each), or a browser by a one-time link."""

    type = "auth_login"
    door: Literal["api", "web"]
    token: str
    """Id of the token or of the browser's session, never what lets in."""


@dataclass(frozen=True, slots=True)
class AuthLogout(Payload):
    """A browser was signed out, by its person or by somebody who may."""

    type = "auth_logout"
    door: Literal["web"]
    token: str
    """Id of the browser's session."""


@dataclass(frozen=True, slots=True)
class TokenChanged(Payload):
    """A token of a person was made or revoked."""

    type = "token_changed"
    token: str
    """Its id, never the token."""
    person: PersonId
    change: Literal["made", "revoked"]


@dataclass(frozen=True, slots=True)
class ContentViewed(Payload):
    """The operator read what was said in private."""

    type = "content_viewed"
    session: SessionId


@dataclass(frozen=True, slots=True)
class ChainVerified(Payload):
    """Every hash was computed again. The record's text tells the first faults, if there are any."""

    type = "chain_verified"
    rows: int
    erased: int
    faults: int


@dataclass(frozen=True, slots=True)
class AuditExported(Payload):
    """A person took away what they may see of the audit, up to its row `head`."""

    type = "audit_exported"
    head: int


@dataclass(frozen=True, slots=True)
class SessionErased(Payload):
    """What was stored of a session was deleted: all of it, or what was older than a day. Nobody can read it any more;
    its bytes leave the files later (`erasure_done`)."""

    type = "session_erased"
    why: Literal["session", "summary", "retention"]
    rows: int
    before: str | None
    """A day (ISO), of retention."""


@dataclass(frozen=True, slots=True)
class ErasureDone(Payload):
    """The receipt: what was erased has left the files too. `rewritten`: the database was written anew; false: it is too
    large for that, and bytes of deleted rows were overwritten in place. `backups` still hold it, the last of them
    `until` a day; None: until somebody deletes it, or there is none."""

    type = "erasure_done"
    why: Literal["session", "summary", "retention", "memory", "person"]
    messages: int
    events: int
    replies: int
    prompts: int
    summaries: int
    audit_texts: int
    documents: int
    files: int
    rewritten: bool
    memories: int
    backups: int
    until: str | None
    """A day (ISO)."""


@dataclass(frozen=True, slots=True)
class BackupMade(Payload):
    """The record's text is where. `head`: the newest row of the audit in it."""

    type = "backup_made"
    why: Literal["nightly", "asked"]
    head: int
    files: int
    bytes: int
    encrypted: bool
    elsewhere: bool
    """Not in the folder of the settings: nobody deletes it, and no receipt tells of it."""
    removed: int
    """Older ones that went."""


@dataclass(frozen=True, slots=True)
class BackupFailed(Payload):
    """No backup was made this night. The record's text says why."""

    type = "backup_failed"
    attempts: int


@dataclass(frozen=True, slots=True)
class BackupRestored(Payload):
    """The life of this store goes on from a backup, whose newest row of the audit is `head`. What was erased since was
    erased again, and what waited to be sent or answered is held."""

    type = "backup_restored"
    head: int
    memories: int
    messages: int
    sessions: int
    documents: int
    held_out: int
    held_in: int
    journal: bool
    """Whether there was a journal of erasures to go by."""


@dataclass(frozen=True, slots=True)
class KnowledgeIngested(Payload):
    """A document was read. Its name and audience are the record's text."""

    type = "knowledge_ingested"
    document: DocumentId
    version: int
    origin: StrEnum
    status: StrEnum
    pages: int | None
    chunks: int
    replaces: DocumentId | None
    """What serves under its name."""


@dataclass(frozen=True, slots=True)
class KnowledgeDecided(Payload):
    """Somebody approved, rejected or took back a document."""

    type = "knowledge_decided"
    document: DocumentId
    was: StrEnum
    now: StrEnum
    replaced: DocumentId | None


@dataclass(frozen=True, slots=True)
class KnowledgeRemoved(Payload):
    """A document was deleted with everything made of it; `erased`: it has left the files too."""

    type = "knowledge_removed"
    document: DocumentId
    chunks: int
    erased: bool


@dataclass(frozen=True, slots=True)
class KnowledgeRetrieved(Payload):
    """What a search or a reading showed."""

    type = "knowledge_retrieved"
    tool: Literal["search", "read"]
    sections: tuple[SectionId, ...]
    chunks: tuple[ChunkId, ...]
    """Of a search, one for each section, best first; of a reading none."""
    scores: tuple[int, ...]
    """Of the fusion, for each chunk, in millionths."""
    similarities: tuple[int | None, ...]
    """Cosine of question and chunk in thousandths; None: only full text found it."""
    vectors: bool
    """Whether the index of meanings was asked too."""
    withheld: int
    """Sections that were asked for and may not, or not any more, be shown."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a room hands to the recorder."""

    payload: Payload
    actor: Actor = SYSTEM
    session: SessionId | None = None
    turn: TurnId | None = None
    text: str | None = None
    """Free text; kept apart and erasable."""


def payload_fields(payload: Payload) -> dict[str, object]:
    """By name, as they are: immutable values."""
    return {each.name: getattr(payload, each.name) for each in fields(payload)}
