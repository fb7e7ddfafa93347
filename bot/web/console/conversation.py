"""A conversation of the chat as lines: what its person wrote with what became of it, and what the executive said.

Both are read from where they wait and are kept anyway, the inbox and the outbox, in the order in which they came: ids
sort by time. A page holds the newest lines and goes back by the id of its first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache

import sqlalchemy as sa
from markupsafe import Markup

from bot.files.names import clean_names
from bot.gateway.operations import Ask
from bot.gateway.text import parse
from bot.gateway.text_html import html
from bot.gateway.text_layout import plain
from bot.intake import spoken
from bot.intake.spoken import Spoken
from bot.intake.tables import InState
from bot.kernel.ids import OutboxId, ProposalId, SessionId
from bot.kernel.scope import PersonScope
from bot.kernel.values import dataclass
from bot.ledger import asks
from bot.outbox import answers
from bot.outbox.answers import Answer

LINES = 24
"""Of one page. Markdown takes about 2.5 ms a kB to be read."""
KEPT = 256
"""Texts whose other form is kept in memory: a page is asked for again with every change in it."""
ERASED = frozenset({"memory_erased", "memory_forgotten", "session_erased", "person_erased", "erasure_done"})
"""Types of audit events."""
STATES = {
    InState.QUEUED: ("info", "taken, waits its turn"),
    InState.CLAIMED: ("info", "is being answered"),
    InState.STOPPED: ("", "stopped"),
    InState.PARKED: ("bad", "given up; it is kept for somebody to look at"),
    InState.REFUSED: ("warn", "not answered"),
}
"""How a line looks, and what is said of it. Nothing of those that were answered."""


@dataclass(frozen=True, slots=True)
class FileLink:
    name: str
    path: str
    size: int | None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    id: str
    mine: bool
    text: str | Markup
    at: datetime
    tone: str = ""
    state: str = ""
    files: tuple[FileLink, ...] = ()
    choices: tuple[str, ...] = ()
    """Labels of buttons."""
    proposal: ProposalId | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """What was read of a conversation, before it is drawn."""

    spoken: Sequence[Spoken]
    said: Sequence[Answer]
    proposals: dict[OutboxId, ProposalId]
    more: bool
    """There is something before it."""


def read(
    connection: sa.Connection, scope: PersonScope, session: SessionId | None, thread: str, before: str | None = None
) -> Read:
    """`session`: None before the person wrote anything in it."""
    wrote = [] if session is None else spoken.in_session(connection, scope, session, LINES + 1, before)
    said = answers.in_thread(connection, scope, thread, LINES + 1, before)
    ids = sorted((*(each.id for each in wrote), *(each.id for each in said)), reverse=True)
    shown = set(ids[:LINES])
    said = [each for each in said if each.id in shown]
    asked = [each.id for each in said if isinstance(each.op, Ask)]
    proposals = asks.by_rows(connection, scope, thread, asked) if asked else {}
    return Read([each for each in wrote if each.id in shown], said, proposals, more=len(ids) > LINES)


async def drawn(found: Read, chat: str) -> list[Line]:
    """The lines, the oldest first. Reading Markdown takes time that the event loop does not have."""
    return await asyncio.to_thread(lines, found, chat)


def lines(found: Read, chat: str) -> list[Line]:
    both = [_mine(each, chat) for each in found.spoken]
    both += [_theirs(each, chat, found.proposals.get(each.id)) for each in found.said]
    return sorted(both, key=lambda line: line.id)


@lru_cache(KEPT)
def formatted(markdown: str) -> Markup:
    return Markup(html(parse(markdown)))  # noqa: S704 - every character in it is escaped there


@lru_cache(KEPT)
def without_marks(markdown: str) -> str:
    return plain(parse(markdown))


def written(types: Iterable[str]) -> None:
    """Types of audit events that were committed just now: with what was erased goes what was drawn of it."""
    if not ERASED.isdisjoint(types):
        formatted.cache_clear()
        without_marks.cache_clear()


def _mine(of: Spoken, chat: str) -> Line:
    names = clean_names([each.name for each in of.files])
    files = tuple(
        FileLink(name, f"/chat/{chat}/file/{of.id}/{number}", each.size, each.fault)
        for number, (name, each) in enumerate(zip(names, of.files, strict=True))
    )
    tone, state = STATES.get(of.state, ("", ""))
    return Line(of.id, mine=True, text=of.text, at=of.at, tone=tone, state=state, files=files)


def _theirs(of: Answer, chat: str, proposal: ProposalId | None) -> Line:
    given = () if isinstance(of.op, Ask) else of.op.files
    names = clean_names([each.name for each in given])
    files = tuple(FileLink(name, f"/chat/{chat}/file/{of.id}/{n}", None) for n, name in enumerate(names))
    choices = tuple(each.label for each in of.op.choices) if isinstance(of.op, Ask) else ()
    return Line(
        of.id, mine=False, text=formatted(of.op.text), at=of.at, files=files, choices=choices, proposal=proposal
    )
