"""Conversations as lists: a person's own of every channel, what was said in those that are there to read, and what of
it has certain words. Nothing is said from here."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping

import sqlalchemy as sa
from markupsafe import Markup
from starlette.routing import Route

from bot.files.blobs import BlobFolder
from bot.gateway.operations import OutboundOp
from bot.gateway.pages import Pages
from bot.kernel.ids import MessageId, SessionId
from bot.kernel.values import dataclass
from bot.outbox import answers
from bot.retrieval.fulltext import plain, words
from bot.sessions import own
from bot.storage.database import Database
from bot.web.console.conversation import formatted, without_marks
from bot.web.console.site import Page, Site
from bot.web.console.visits import Visit
from bot.web.refusals import UnknownThingError

LISTED = 30
FOUND = 20
READ = 40
"""Messages of a conversation, on a page."""
LONGEST = 300
"""Characters of a question."""
AROUND = 120
"""Characters before the first word that was found."""

Entries = tuple[Mapping[str, object], ...]
"""Of a list of conversations."""


@dataclass(frozen=True, slots=True)
class Chats:
    pages: Pages | None
    """None where the chat is off."""
    name: str
    """Of its channel."""
    dress: Callable[[OutboundOp], OutboundOp]
    """A question as it leaves, with the codes of its buttons."""
    blobs: BlobFolder
    largest: int
    """Bytes of a file that is sent along."""
    bring: Callable[[], Awaitable[object]]
    """Have what was said lately be found."""


class Lists:
    def __init__(self, database: Database, chats: Chats) -> None:
        self._database = database
        self._chats = chats

    def routes(self, site: Site) -> list[Route]:
        read = [site.page("/chat/all", self.listed), site.page("/chat/session/{session}", self.of_session)]
        return read if self._chats.pages is not None else [site.page("/chat", self.listed), *read]

    def newest(self, connection: sa.Connection, visit: Visit, limit: int) -> Entries:
        """The conversations in which something happened last."""
        mine = own.sessions(connection, visit.scope, limit)
        return (*(self._entry(each) for each in mine), *self._unasked(connection, visit))

    async def listed(self, visit: Visit) -> Page:
        """All conversations of the person; or with words, what was said in them."""
        asked, before = visit.asked("q")[:LONGEST], visit.asked("before")
        values: dict[str, object] = {"asked": asked, "on": self._chats.pages is not None, "found": None, "more": None}
        if asked:
            await self._chats.bring()
            key = visit.number("before")
            hits = await self._database.read(lambda c: own.find(c, visit.scope, asked, FOUND, key), long=True)
            values["found"] = [self._hit(each, asked) for each in hits.passages]
            values["more"] = hits.more
            values["sessions_listed"] = []
        else:

            def query(connection: sa.Connection) -> tuple[list[own.Own], Entries]:
                unasked = () if before else self._unasked(connection, visit)
                return own.sessions(connection, visit.scope, LISTED + 1, before or None), unasked

            found, unasked = await self._database.read(query, long=True)
            values["sessions_listed"] = [*(self._entry(each) for each in found[:LISTED]), *unasked]
            values["more"] = found[LISTED - 1].newest if len(found) > LISTED else None
        return Page("chat/all.html", values, "rows")

    async def of_session(self, visit: Visit) -> Page:
        """A conversation of any channel, to read."""
        wanted = SessionId(visit.request.path_params["session"])
        at = visit.asked("at")
        before = MessageId(at or visit.asked("before")) if at or visit.asked("before") else None

        def query(connection: sa.Connection) -> Mapping[str, object] | None:
            of = own.get(connection, visit.scope, wanted)
            if of is None:
                return None
            said = own.said_in(connection, visit.scope, wanted, READ + 1, before, itself=bool(at))
            shown = said[:READ][::-1]
            return {"of": self._entry(of), "said": shown, "more": len(said) > READ, "before": before, "found": at}

        found = await self._database.read(query)
        if found is None:
            raise UnknownThingError("There is no such conversation.")
        return Page("chat/session.html", {**found, "here": f"/chat/session/{wanted}", "formatted": formatted})

    def _entry(self, of: own.Own) -> Mapping[str, object]:
        here = of.channel == self._chats.name
        first = (of.begins or "").partition("\n")[0]
        two = "Conversation" if here else "Direct conversation"
        title = first if (here or not of.title) and first else of.title or two
        to = f"/chat/{of.thread.partition(':')[2]}" if here and self._chats.pages else f"/chat/session/{of.id}"
        named, channel = title != two, None if here else of.channel
        return {"title": title, "named": named, "path": to, "channel": channel, "at": of.at}

    def _unasked(self, connection: sa.Connection, visit: Visit) -> Entries:
        """What was said to the person before they wrote anything there: it has no session yet."""
        if self._chats.pages is None:
            return ()
        chat = self._chats.pages.first(visit.person.id)
        thread = self._chats.pages.thread(visit.person.id, chat)
        said = answers.in_thread(connection, visit.scope, thread, 1)
        if not said or own.of_thread(connection, visit.scope, thread) is not None:
            return ()
        entry = {"title": "From the executive", "named": True, "path": f"/chat/{chat}", "channel": None}
        return ({**entry, "at": said[0].at},)

    def _hit(self, of: own.Passage, asked: str) -> Mapping[str, object]:
        text = of.said.body.text
        return {
            "path": f"/chat/session/{of.session}?at={of.said.id}#m-{of.said.id}",
            "speaker": of.said.speaker or "The executive",
            "channel": of.channel,
            "place": of.place,
            "at": of.said.sent_at,
            "text": marked(text if of.said.role == "user" else without_marks(text), asked),
        }


def marked(text: str, asked: str) -> Markup:
    """The part of a text in which the first of the words stands, with all of them marked."""
    wanted = words(asked)
    folded = plain(text)
    if len(folded) != len(text):  # accents were several characters: then nothing is marked
        return Markup.escape(text[: 2 * AROUND])
    starts = [match for each in wanted for match in re.finditer(rf"\b{re.escape(each)}", folded)]
    begin = max(0, min((match.start() for match in starts), default=0) - AROUND)
    end = min(len(text), begin + 3 * AROUND)
    out = Markup.escape("… " if begin else "")
    done = begin
    for match in sorted(starts, key=lambda one: one.start()):
        if match.start() < done or match.end() > end:
            continue
        out += Markup("{}<mark>{}</mark>").format(text[done : match.start()], text[match.start() : match.end()])
        done = match.end()
    return out + text[done:end] + ("…" if end < len(text) else "")
