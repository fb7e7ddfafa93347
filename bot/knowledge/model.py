"""Values of this room and its pure rules: which status a document begins with, and which moves are legal."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum

from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash, ChunkId, DocumentId, InboxId, PersonId, SectionId, SessionId
from bot.kernel.values import dataclass
from bot.people.model import Person, Role
from bot.sessions.audience import Audience
from bot.sessions.visible import CompanyView

PUBLIC = "public"
COMPANY = "company"
_DEPARTMENT = "department:"
_AUDIENCE = re.compile(r"public|company|department:[^\s:][^:\x00-\x1f]{0,79}")
CORPUS = "corpus"
"""The collection of the built-in notes."""


class Status(StrEnum):
    READING = "reading"  # its text is being taken in; it cannot be found yet
    PENDING = "pending"  # waits for a yes
    APPROVED = "approved"  # can be found
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"  # was approved once; replaced or taken back
    FAILED = "failed"  # nothing could be read of it
    REMOVING = "removing"  # is being deleted


class Origin(StrEnum):
    BUILT_IN = "built_in"
    COMMAND = "command"
    SENT = "sent"
    WATCHED = "watched"


_MOVES: dict[Status, frozenset[Status]] = {
    Status.READING: frozenset({Status.PENDING, Status.APPROVED, Status.FAILED}),
    Status.PENDING: frozenset({Status.APPROVED, Status.REJECTED}),
    Status.REJECTED: frozenset({Status.APPROVED}),
    Status.APPROVED: frozenset({Status.WITHDRAWN}),
    Status.WITHDRAWN: frozenset({Status.APPROVED}),
    Status.FAILED: frozenset(),
    Status.REMOVING: frozenset(),
}


class KnowledgeError(PermanentError):
    """Says to a person why something is not done with a document."""


@dataclass(frozen=True, slots=True)
class Document:
    id: DocumentId
    name: str
    version: int
    """Of the documents of this name and audience, from 1."""
    origin: Origin
    status: Status
    audience: str
    domain: str | None
    departments: tuple[str, ...]
    """Whom it concerns; who may see it is its `audience`."""
    title: str
    media_type: str
    blob: BlobHash | None
    digest: str
    uploader: PersonId | None
    session: SessionId | None
    """Where it was sent."""
    message: InboxId | None
    """The message that asked to keep it."""
    path: str | None
    """Of a watched file."""
    wider: bool
    """More people would see it than were in the room it came from."""
    pages: int | None
    characters: int
    chunks: int
    note: str | None
    """What is missing of its text, or why there is none, in words for its sender."""
    reason: str | None
    """Why it was rejected or withdrawn."""
    dated: datetime
    created_at: datetime
    decided_at: datetime | None
    decided_by: str | None


@dataclass(frozen=True, slots=True)
class Stub:
    """A passage as a search shows it: enough to judge, and the id under which all of its section can be read."""

    section: SectionId
    chunk: ChunkId
    document: DocumentId
    name: str
    title: str
    heading: str
    page: int | None
    built_in: bool
    dated: datetime
    snippet: str
    score: float
    """Of the fusion; only its order means something."""
    text_rank: int | None
    """From 1; None: full text did not find it."""
    text_score: float | None
    """BM25 of full text, the higher the better; it can be compared within one search only."""
    vector_rank: int | None
    similarity: float | None
    """Cosine of question and passage."""


@dataclass(frozen=True, slots=True)
class SectionText:
    section: SectionId
    document: DocumentId
    name: str
    title: str
    heading: str
    page: int | None
    last_page: int | None
    built_in: bool
    dated: datetime
    text: str
    cut: bool
    """The end is missing: the cap was reached."""


def department(name: str) -> str:
    """The audience of a department."""
    return checked_audience(_DEPARTMENT + name.strip())


def checked_audience(audience: str) -> str:
    """Raises `KnowledgeError` for anything but `public`, `company` and `department:<name>`."""
    if not _AUDIENCE.fullmatch(audience):
        raise KnowledgeError("who may see it is public, company or department:<name>")
    return audience


def audience_for(room: Audience) -> str:
    """Whom a document sent in a room is meant for, unless its sender says otherwise. Never the public: that is said."""
    return COMPANY


def is_wider(audience: str, room: Audience) -> bool:
    """Whether people would see a document who do not read in the room that it was sent in."""
    if audience == PUBLIC:
        return True
    return room in (Audience.PERSON, Audience.ROOM, Audience.EXTERNAL)


def first_status(
    origin: Origin,
    uploader: Person | None,
    *,
    replaces: bool,
    wider: bool,
    says_yes: bool = False,
    asked: bool = False,
    proven: bool = True,
) -> Status:
    """The status of a document whose text was read. What the principal or the operator brings is approved, unless it
    replaces what serves, or people would see it who were not there: then it waits for a yes of its own, which may be
    given at once (`says_yes`). Words that ask to keep it (`asked`) are a yes to its being seen, not to a
    replacement; who is not `proven` to be the person decides nothing. Whatever lies in a watched folder waits: others
    may write there too."""
    entitled = proven and may_decide(uploader)
    if origin is Origin.BUILT_IN or (entitled and says_yes and origin is not Origin.WATCHED):
        return Status.APPROVED
    if origin is Origin.WATCHED or replaces or not entitled or (wider and not asked):
        return Status.PENDING
    return Status.APPROVED


def may_bring(person: Person | None) -> bool:
    """None: the operator at the machine."""
    return person is None or person.internal


def may_decide(person: Person | None) -> bool:
    return person is None or (person.active and person.role is Role.PRINCIPAL)


def may_move(before: Status, after: Status) -> bool:
    return after in _MOVES[before]


def audiences(view: CompanyView, known: tuple[str, ...]) -> tuple[str, ...]:
    """What of the `known` audiences (those that documents have) a view shows."""
    return tuple(audience for audience in known if _shows(view, audience))


def _shows(view: CompanyView, audience: str) -> bool:
    if audience == PUBLIC:
        return True
    if audience == COMPANY:
        return view.company
    return view.every_department or audience.removeprefix(_DEPARTMENT) in view.departments


def name_key(name: str) -> str:
    """Names that differ only in case or blanks are the same name."""
    return " ".join(name.split()).casefold()
