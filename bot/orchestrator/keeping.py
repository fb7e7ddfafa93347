"""Documents that people hand over in a conversation: the half that happens in a turn.

A turn sees that files shall be kept, or that a principal answers the question about a document. It fetches the files
and says that it has them; reading them is a task (`bringing`), so that nobody waits for it. What was said besides is
answered by the model as always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.gateway.events import Addressed, MessageReceived, PlaceKind, Proof
from bot.gateway.text_write import literal
from bot.intake import store as inbox
from bot.kernel.errors import PermanentError
from bot.kernel.ids import InboxId, MessageId
from bot.kernel.scope import SessionScope
from bot.kernel.values import dataclass
from bot.knowledge import questions
from bot.knowledge.model import KnowledgeError, Status, audience_for, checked_audience, may_bring, may_decide, name_key
from bot.knowledge.questions import Question
from bot.knowledge.service import Library
from bot.orchestrator import asks
from bot.orchestrator.asks import Verdict, Wish
from bot.orchestrator.gate import unaddressed
from bot.outbox import store as outbox
from bot.people.model import Person
from bot.sessions import compaction
from bot.sessions.audience import Audience
from bot.sessions.transcript import Said
from bot.sessions.turns import Turn
from bot.storage.database import Database, Tx
from bot.tasks import store as tasks

KIND = "knowledge.bring"
LOOK_BACK = 12
"""Messages among which a sentence finds the file that it speaks of; `/keep` looks at all of the conversation."""

OUTSIDERS = "People from outside read here. Send me the document in a direct message to have it kept."
GUESTS = "Only people of the company can give me documents to keep."
WHICH = "Which file? Send it together with `/keep`, or say `/keep` and its name if it was sent here before."
NOT_HERE = (
    "A yes that comes by mail of this machine is not enough: answer in the terminal or in a chat, or run "
    "`openexecutive knowledge approve {id}`."
)
ONLY_PRINCIPALS = "Only a principal decides what I keep."


@dataclass(frozen=True, slots=True)
class Keep:
    """Files of these messages are to be kept."""

    asked_in: InboxId
    alone: bool
    """Nothing else was said: no model is asked."""
    audience: str
    proven: bool
    earlier: tuple[tuple[MessageId, int], ...] = ()
    """Files of earlier messages, by message and position; none: those that came with this turn."""
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """All is done; this is said."""

    text: str


Errand = Keep | Told


class Keeping:
    def __init__(self, database: Database, library: Library) -> None:
        self._database = database
        self._library = library

    async def errand(
        self, turn: Turn, rows: Sequence[inbox.Row], people: Mapping[Any, Person], audience: Audience
    ) -> Errand | None:
        """What of a turn's messages is about handing over documents; None for almost every turn. A verdict is carried
        out when this returns. Raises `TransientError`."""
        if unaddressed(rows):
            return None
        for row in reversed(rows):
            event = row.event
            if not isinstance(event, MessageReceived):
                continue
            person = people.get(row.person)
            wish = asks.wish(event.body.own())
            if wish is not None:
                return await self._keep(turn, rows, row, person, audience, wish)
        last = rows[-1].event
        if len(rows) == 1 and isinstance(last, MessageReceived) and not last.attachments:
            said = asks.verdict(last.body.own())
            if said is not None:
                return await self._verdict(turn, rows[-1], last, people.get(rows[-1].person), said)
        return None

    async def _keep(
        self,
        turn: Turn,
        rows: Sequence[inbox.Row],
        asking: inbox.Row,
        person: Person | None,
        audience: Audience,
        wish: Wish,
    ) -> Keep | Told | None:
        event = asking.event
        assert isinstance(event, MessageReceived)  # noqa: S101 - for the type checker; the caller has looked
        own = [row for row in rows if row.person == asking.person and isinstance(row.event, MessageReceived)]
        earlier: tuple[tuple[MessageId, int], ...] = ()
        if not any(isinstance(row.event, MessageReceived) and row.event.attachments for row in own) or wish.name:
            earlier = await self._earlier(turn, wish, event)
            if not earlier:
                return Told(WHICH) if wish.command and wish.alone else None
        refusal = GUESTS if not may_bring(person) or person is None else None
        if refusal is None and audience is Audience.EXTERNAL:
            refusal = OUTSIDERS
        try:
            meant = checked_audience(wish.audience or audience_for(audience))
        except KnowledgeError as error:
            meant, refusal = audience_for(audience), error.message
        return Keep(asking.id, wish.alone, meant, proven(event), earlier, refusal)

    async def _earlier(self, turn: Turn, wish: Wish, event: MessageReceived) -> tuple[tuple[MessageId, int], ...]:
        """Files of the message that is answered; without one, of the last message that has any; or that of this
        name."""
        said = await self._database.read(lambda c: compaction.everything(c, SessionScope(turn.session)), long=True)
        if event.answers is not None and wish.name is None and event.addressed is not Addressed.REPLY:
            said = [each for each in said if each.ref == event.answers]
        for each in reversed(said if wish.command else said[-LOOK_BACK:]):
            files = [(each.id, n) for n, file in enumerate(each.files) if file.blob is not None]
            if wish.name is not None:
                files = [(i, n) for i, n in files if name_key(each.files[n].name) == name_key(wish.name)]
            if files:
                return tuple(files)
        return ()

    async def _verdict(
        self, turn: Turn, row: inbox.Row, event: MessageReceived, person: Person | None, said: Verdict
    ) -> Told | None:
        thread = event.reply_path.thread

        def query(connection: sa.Connection) -> tuple[list[Question], outbox.Sent | None]:
            found = questions.in_thread(connection, thread, turn.id)
            return found, outbox.last_of_thread(connection, thread) if found else None

        waiting, last = await self._database.read(query)
        meant = _meant(waiting, said, last, row)
        if meant is None:
            return None
        if person is None or not may_decide(person):
            return Told(ONLY_PRINCIPALS)
        if not proven(event):
            return Told(NOT_HERE.format(id=meant.document.id))
        try:
            document = await self._library.answer(meant.document.id, person, turn.id, yes=said.yes)
        except PermanentError as error:
            return Told(f"{_start(error.message)}.")
        name = f"**{literal(document.name)}**"
        done = f"{name} is kept; I can answer from it from now on." if said.yes else f"I do not keep {name}."
        if said.yes and document.status is not Status.APPROVED:
            done = f"{name} is {document.status.value}."
        others = [each.document.name for each in waiting if each.document.id != document.id]
        more = f" Still waiting: {', '.join(f'`yes {literal(other)}`' for other in others)}." if others else ""
        return Told(done + more)


def proven(event: MessageReceived) -> bool:
    """Whether it is this person beyond doubt. A mail that a program of this machine has handed over may be anybody's
    who runs one."""
    return event.sender.proof in (Proof.PLATFORM, Proof.TOKEN, Proof.DOMAIN) or (
        event.sender.proof is Proof.LOCAL and event.place.kind is not PlaceKind.MAIL
    )


def receipt(keep: Keep, said: Sequence[Said]) -> str:
    """What is said at once."""
    if keep.refusal is not None:
        return keep.refusal
    lines: list[str] = []
    if keep.earlier:
        count = "the file" if len(keep.earlier) == 1 else f"the {len(keep.earlier)} files"
        lines.append(f"I am reading {count} that was sent before, to keep it; I say here when that is done.")
    else:
        names = [f"**{literal(file.name)}**" for each in said for file in each.files if file.blob is not None]
        if names:
            lines.append(f"I have {', '.join(names)} and am reading it, to keep it; I say here when that is done.")
        lines += [
            f"**{literal(file.name)}** did not reach me: {file.note or 'it cannot be had'}."
            for each in said
            for file in each.files
            if file.blob is None
        ]
    return "\n\n".join(lines) or WHICH


def queue(tx: Tx, turn: Turn, keep: Keep, said: Sequence[Said], now: datetime) -> None:
    """Have the files read, in the transaction that ends the turn."""
    if keep.refusal is not None:
        return
    files = keep.earlier or tuple(
        (each.id, number)
        for each in said
        if each.role == "user" and each.person == _asker(keep, said)
        for number, file in enumerate(each.files)
        if file.blob is not None
    )
    for message, number in files:
        payload = {
            "message": message,
            "file": number,
            "asked_in": keep.asked_in,
            "turn": turn.id,
            "audience": keep.audience,
            "proven": keep.proven,
            "epoch": turn.audience_epoch,
        }
        tasks.enqueue(tx, KIND, f"{keep.asked_in}:{message}:{number}", payload, now, lane=f"{KIND}:{turn.session}")


def _asker(keep: Keep, said: Sequence[Said]) -> object:
    return next((each.person for each in said if InboxId(each.id) == keep.asked_in), None)


def _meant(waiting: Sequence[Question], said: Verdict, last: outbox.Sent | None, row: inbox.Row) -> Question | None:
    """Which question the answer is to. Without a name it is to the last thing that was said in the thread, and only if
    that had been delivered before the answer was written."""
    for each in reversed(waiting):
        if each.answered_in is not None:
            return each  # the turn runs again
    if said.about is not None:
        named = [each for each in waiting if name_key(each.document.name) == name_key(said.about)]
        return named[-1] if len(named) == 1 else None
    if last is None or last.at is None or last.at > row.received_at:
        return None
    return next((each for each in waiting if each.outbox == last.id), None)


def _start(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")
