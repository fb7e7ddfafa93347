"""Documents that people hand over in a conversation: the half that happens after the turn, as durable work.

A file is read into the company's documents; its sender hears what became of it, and a principal is asked where one has
to decide: in the thread if a principal reads there, else alone. Every step may be repeated: a process that dies in it
leaves a task that the next one does again, and each thing is said once.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from bot.gateway.channel import Channel
from bot.gateway.events import MessageReceived, ReplyPath
from bot.gateway.operations import Reply
from bot.gateway.text_write import literal
from bot.intake import store as inbox
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import BlobHash, DocumentId, InboxId, MessageId, PersonId, TurnId
from bot.kernel.supervise import to_the_end
from bot.kernel.values import dataclass
from bot.knowledge import questions
from bot.knowledge import store as documents
from bot.knowledge.model import Document, Origin, Status, may_bring, may_decide
from bot.knowledge.service import Bringing, Library
from bot.knowledge.tasks import Kind
from bot.orchestrator import journal, keeping
from bot.outbox.service import Outbox, Queued
from bot.outbox.store import Origin as From
from bot.people import store as people
from bot.people.model import Person, Role
from bot.sessions import places, threads, transcript, turns
from bot.sessions.audience import Audience
from bot.sessions.threads import Session
from bot.sessions.transcript import File
from bot.storage.database import Database, Tx
from bot.tasks.store import Task
from bot.tasks.worker import Done, Handler

log = logging.getLogger(__name__)

LAST_ATTEMPT = 5
"""After it a task is given up; its sender hears that."""
TOLD, ASKED, DECIDED = "document_told", "document_asked", "document_decided"
GAVE_UP = "something in me broke each time I tried to read it; whoever runs me can see why."


@dataclass(frozen=True, slots=True)
class Sender:
    """Who asked to keep a file, and where."""

    person: Person
    session: Session
    channel: str
    path: ReplyPath
    principals: tuple[Person, ...]
    """Those who read there."""


@dataclass(frozen=True, slots=True)
class Handed:
    sender: Sender
    file: File
    blob: BlobHash


class Bringer:
    def __init__(
        self,
        database: Database,
        clock: Clock,
        library: Library,
        outbox: Outbox,
        channels: Mapping[str, Channel],
    ) -> None:
        self._database = database
        self._clock = clock
        self._library = library
        self._outbox = outbox
        self._channels = channels

    def handlers(self) -> Mapping[str, Handler]:
        return {keeping.KIND: self._bring, Kind.DECIDED.value: self._tell_decision}

    # --- taking in -------------------------------------------------------------------------------------------------

    async def _bring(self, task: Task) -> Done:
        handed = await self._database.read(lambda c: _handed(c, task.payload))
        if handed is None:
            return Done(empty=True)  # erased, deleted by its writer, or somebody from outside reads there since
        sender = handed.sender
        try:
            document = await self._taken_in(handed, task.payload)
        except PermanentError as error:
            await self._tell(task, sender, f"I cannot keep **{literal(handed.file.name)}**: {_lower(error.message)}")
            return Done()
        except TransientError:
            if task.attempts >= LAST_ATTEMPT:
                await self._tell(task, sender, f"I cannot keep **{literal(handed.file.name)}**: {GAVE_UP}")
            raise
        if document.status is not Status.PENDING:
            await self._tell(task, sender, _outcome(document, task.payload["asked_in"]))
            return Done()
        replaced = await self._database.read(lambda c: documents.serving(c, document))
        proven = bool(task.payload["proven"])
        entitled = proven and may_decide(sender.person)
        if entitled or (proven and sender.principals):
            await self._tell(task, sender, _question(document, replaced, sender, entitled=entitled), document)
            return Done()
        asked = await self._ask_principals(task, sender, document, replaced, but=None if proven else sender.channel)
        await self._tell(task, sender, _waits(document, replaced, asked))
        return Done()

    async def _taken_in(self, handed: Handed, payload: Mapping[str, Any]) -> Document:
        sender = handed.sender
        bringing = Bringing(
            sender.person,
            Origin.SENT,
            payload["audience"],
            sender.session.audience,
            sender.session.id,
            declared_type=handed.file.media_type,
            asked=True,
            proven=bool(payload["proven"]),
            message=InboxId(payload["asked_in"]),
        )
        document = await self._library.ingest(handed.blob, handed.file.name, bringing)
        if document.status is Status.READING:  # a process died at it, or somebody else brings the same file now
            document = await self._library.take_in(document, bringing)
        if document.status is Status.PENDING and document.message != bringing.message:
            document = await self._approved_by_asking(document, bringing)
        return document

    async def _approved_by_asking(self, document: Document, bringing: Bringing) -> Document:
        """It waits since somebody else has sent it: a principal who asks to keep it says yes to it, as to a new one."""
        if not (bringing.proven and may_decide(bringing.by)):
            return document
        if await self._database.read(lambda c: documents.serving(c, document)) is not None:
            return document
        return await self._library.approve(document.id, bringing.by)

    # --- telling ---------------------------------------------------------------------------------------------------

    async def _tell(self, task: Task, sender: Sender, text: str, asks_about: Document | None = None) -> None:
        """Say it to the sender, once. `asks_about`: it is a question, which may be answered there."""
        origin = From(sender.session.id, None, task.payload["epoch"])
        await self._say(
            TurnId(task.payload["turn"]), (TOLD, task.key), sender.channel, Reply(sender.path, text), origin, asks_about
        )

    async def _ask_principals(
        self, task: Task, sender: Sender, document: Document, replaced: Document | None, *, but: str | None
    ) -> list[Person]:
        """Ask each principal alone, on the first channel on which that works; returns whom. `but`: a channel on which
        an answer would prove nothing."""
        asked: list[Person] = []
        for person in await self._database.read(people.principals):
            path = await self._way_to(person, sender.channel, but)
            if path is not None:
                text = _question_alone(document, replaced, sender)
                step = (f"{ASKED}:{person.id}", task.key)
                turn = TurnId(task.payload["turn"])
                await self._say(turn, step, path[0], Reply(path[1], text), From(None, None, None), document)
                asked.append(person)
        return asked

    async def _way_to(self, person: Person, first: str, but: str | None) -> tuple[str, ReplyPath] | None:
        handles = list(person.handles)
        # Who has never written somewhere may not be written to there, by the rules of some platforms.
        strange = await self._database.read(
            lambda c: {each: not people.was_greeted(c, each.channel, each.address) for each in handles}
        )
        for each in sorted(handles, key=lambda each: (strange[each], each.channel != first, each.channel)):
            known = self._channels.get(each.channel)
            if known is None or each.channel == but:
                continue
            try:
                return each.channel, await known.direct(each.address)
            except (PermanentError, TransientError) as error:
                log.info("%s cannot be reached on %s: %s", person.id, each.channel, error.message)
        return None

    async def _say(
        self,
        turn: TurnId,
        step: tuple[str, str],
        channel: str,
        reply: Reply,
        origin: From,
        asks_about: Document | None,
    ) -> None:
        """Once for a step (its name, and of what) of a turn."""
        ops = await self._outbox.plan(channel, reply)

        def unit(tx: Tx) -> tuple[Queued, ...]:
            if not journal.note(tx, turn, step[0], {"key": step[1]}, "", self._clock.now()):
                return ()
            queued = self._outbox.queue_operations(tx, channel, ops, origin)
            if asks_about is not None:
                questions.put(tx, asks_about.id, reply.path.thread, queued.ids[-1])
            return (queued,)

        async def commit() -> None:
            self._outbox.sending(await self._database.write(unit))

        await to_the_end(commit(), "document")

    async def _tell_decision(self, task: Task) -> Done:
        """Somebody decided about a document, here or elsewhere: its sender hears of it where they sent it."""
        document_id = DocumentId(task.payload["document"])

        def query(connection: sa.Connection) -> tuple[Document, Sender, TurnId] | None:
            document = documents.get(connection, document_id)
            if document is None or document.message is None:
                return None
            row = next(iter(inbox.by_ids(connection, [document.message])), None)
            sender = None if row is None else _sender(connection, row)
            if row is None or row.turn is None or sender is None or _knows(connection, document, sender):
                return None
            return document, sender, row.turn

        found = await self._database.read(query)
        if found is None or found[0].status not in (Status.APPROVED, Status.REJECTED):
            return Done(empty=True)
        document, sender, turn = found
        by = await self._database.read(lambda c: _name(c, document.decided_by))
        yes = document.status is Status.APPROVED
        end = "it is kept; I can answer from it from now on" if yes else "I do not keep it"
        text = f"**{literal(document.name)}**: {by} said {'yes' if yes else 'no'}: {end}."
        epoch = await self._database.read(lambda c: turns.current_epochs(c, sender.session.id)[1])
        origin = From(sender.session.id, None, epoch)
        await self._say(turn, (DECIDED, task.id), sender.channel, Reply(sender.path, text), origin, None)
        return Done()


# --- what is known --------------------------------------------------------------------------------------------------


def _handed(connection: sa.Connection, payload: Mapping[str, Any]) -> Handed | None:
    """None if it shall not be kept any more."""
    row = next(iter(inbox.by_ids(connection, [InboxId(payload["asked_in"])])), None)
    message = MessageId(payload["message"])
    said = transcript.by_ids(connection, [message]).get(message)
    sender = None if row is None else _sender(connection, row)
    number = int(payload["file"])
    if sender is None or said is None or number >= len(said.files):
        return None
    file = said.files[number]
    return None if file.blob is None else Handed(sender, file, file.blob)


def _sender(connection: sa.Connection, row: inbox.Row) -> Sender | None:
    event = row.event
    if not isinstance(event, MessageReceived) or row.person is None or row.session is None:
        return None
    person, session = people.get(connection, row.person), threads.get(connection, row.session)
    if person is None or session is None or not may_bring(person) or session.audience is Audience.EXTERNAL:
        return None
    readers = places.present(connection, session.place, row.channel)
    principals = tuple(each for each in readers if each.active and each.role is Role.PRINCIPAL)
    return Sender(person, session, row.channel, event.reply_path, principals)


def _knows(connection: sa.Connection, document: Document, sender: Sender) -> bool:
    """It was decided by an answer in this very conversation."""
    turn = questions.answered_by(connection, document.id)
    return turn is not None and turns.session_of(connection, turn) == sender.session.id


def _name(connection: sa.Connection, actor: str | None) -> str:
    """How the sender is told who decided: people by name, the operator not by an account."""
    person = None if actor is None else people.get(connection, PersonId(actor))
    return literal(person.name) if person is not None else "whoever runs me"


# --- words ----------------------------------------------------------------------------------------------------------


def _outcome(document: Document, asked_in: str) -> str:
    name = f"**{literal(document.name)}**"
    note = f" {document.note}" if document.note else ""
    match document.status:
        case Status.APPROVED if document.message != asked_in:
            return f"{name} is there already, word for word (version {document.version}): I answer from it."
        case Status.APPROVED:
            return f"{name} is kept for {_for_whom(document)} ({_size(document)}): I can answer from it now.{note}"
        case Status.FAILED:
            return f"I cannot keep {name}: {_lower(document.note or 'nothing could be read of it.')}"
        case _:
            return f"{name} is {document.status.value}."


def _question(document: Document, replaced: Document | None, sender: Sender, *, entitled: bool) -> str:
    read = f"**{literal(document.name)}** is read ({_size(document)}).{_replaces(replaced)}{_noted(document)}"
    if entitled:
        return f"{read} Shall it take that one's place? Answer `yes` or `no`."
    names = ", ".join(literal(each.name) for each in sender.principals)
    return f"{read} To be kept for {_for_whom(document)} it needs a principal's word: {names}, answer `yes` or `no`."


def _question_alone(document: Document, replaced: Document | None, sender: Sender) -> str:
    return (
        f"{literal(sender.person.name)} sent me **{literal(document.name)}** ({_size(document)}), to be kept for "
        f"{_for_whom(document)}.{_replaces(replaced)}{_noted(document)} Answer `yes` or `no` here, or run "
        f"`openexecutive knowledge approve {document.id}` (or `reject`)."
    )


def _waits(document: Document, replaced: Document | None, asked: Sequence[Person]) -> str:
    names = ", ".join(literal(each.name) for each in asked)
    whom = f"I have asked {names}" if names else f"`openexecutive knowledge approve {document.id}` gives it"
    return (
        f"**{literal(document.name)}** is read ({_size(document)}). To be kept for {_for_whom(document)} it needs a "
        f"principal's yes: {whom}.{_replaces(replaced)}{_noted(document)}"
    )


def _replaces(replaced: Document | None) -> str:
    if replaced is None:
        return ""
    day = replaced.created_at.date().isoformat()
    return f" There is one of this name already (version {replaced.version} of {day}), which serves until then."


def _noted(document: Document) -> str:
    return f" {document.note}" if document.note else ""


def _for_whom(document: Document) -> str:
    if document.audience.startswith("department:"):
        return f"the department {literal(document.audience.partition(':')[2])}"
    return "everybody, also outside" if document.audience == "public" else "the company"


def _size(document: Document) -> str:
    pages = [] if document.pages is None else ["1 page" if document.pages == 1 else f"{document.pages} pages"]
    passages = "1 passage" if document.chunks == 1 else f"{document.chunks} passages"
    return ", ".join([*pages, passages])


def _lower(text: str) -> str:
    first = text.partition(" ")[0]
    return text if first.isupper() and len(first) > 1 else text[:1].lower() + text[1:]
