"""The page of one memory: what it says, the words that it rests on, how it came to be so, and which answers it shaped;
and the looks before something is done that is more than a change: forgetting it, taking back what a message brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from starlette.responses import Response
from starlette.routing import Route

from bot.kernel.ids import MessageId
from bot.kernel.values import dataclass
from bot.memory import around, reading
from bot.memory.around import Source
from bot.memory.model import Claim, Event, Evidence, Kind, Status, Work
from bot.memory.reading import Purpose
from bot.memory.rights import Act, No, Verdict
from bot.memory.service import NotAllowedError
from bot.people import store as people
from bot.sessions.visible import Visible, visible
from bot.web.console import memory_words
from bot.web.console.diffs import pieces
from bot.web.console.memory_desk import MemoryDesk, names
from bot.web.console.site import Answer, Page, Site
from bot.web.console.visits import Visit
from bot.web.refusals import UnknownThingError

MOST_ANSWERS = 20


@dataclass(frozen=True, slots=True)
class Cited:
    """A message with the words marked that a memory rests on."""

    source: Source
    first: Evidence
    parts: Sequence[tuple[bool, str]]
    """Of the message, each with whether it is quoted."""
    gone: Sequence[str]
    """Quotes that do not stand in it, or not where the reader may look."""


class MemoryPage:
    def __init__(self, desk: MemoryDesk) -> None:
        self._desk = desk

    def routes(self, site: Site) -> list[Route]:
        one = "/memories/{id}"
        return [
            site.page("/memories/from/{message}", self.from_message),
            site.page(one, self.show),
            site.page(f"{one}/changed", self.changed),
            site.page(f"{one}/forget", self.forget),
        ]

    async def show(self, visit: Visit) -> Page:
        return await self.shown(visit)

    async def shown(self, visit: Visit, status: int = 200, trouble: str = "") -> Page:
        """`trouble`: why what was asked for was not done; what was written is kept in the forms."""
        found, values = await self._desk.database.read(lambda c: self._values(c, visit), long=True)
        await self._desk.viewed(visit, [found])
        kept = {name: visit.field(name) for name in ("reason", "statement", "work", "owner", "due")}
        return Page("memories/one.html", {**values, "trouble": trouble, "kept": kept}, status=status)

    async def changed(self, visit: Visit) -> Answer:
        """Asked for whenever memories change: whether this one is another than the page that is open shows."""
        _, found = await self._desk.database.read(lambda c: self._desk.meant(c, visit))
        if str(found.version) == visit.asked("version"):
            return Response("", 204)
        return Page("memories/changed.html", {"claim": found}, part="hint")

    def _values(self, connection: sa.Connection, visit: Visit) -> tuple[Claim, Mapping[str, object]]:
        view, of = self._desk.meant(connection, visit)
        verdicts = self._desk.memories.verdicts(connection, self._desk.acting(visit), of)
        heard = bool(reading.heard(connection, view, [of.id]))
        events = reading.history(connection, view, of.id)
        sources = around.sources(connection, view, of.id)
        answers, others = around.answers(connection, view, of.id, MOST_ANSWERS)
        chain = around.chain(connection, view, of)
        rivals = around.rivals(connection, view, [of])[of.id]
        beside = [of, *chain.before, *chain.after, *rivals]
        known = names(
            connection,
            [
                *(each.speaker for each in beside),
                *(each.actor for each in events if each.actor_kind == "person"),
                *(word.speaker for each in sources for word in each.words),
                *(each for one in beside for each in (one.owner, one.promotion_by) if each),
                *_owners(events),
            ],
        )
        internal = [each for each in people.everyone(connection) if each.internal and each.named]
        return of, {
            "of": of,
            "names": known,
            "heard": heard,
            "cited": [_cited(each) for each in sources],
            "answers": answers,
            "others": others,
            "most_answers": MOST_ANSWERS,
            "history": memory_words.told(events, known, heard=heard),
            "chain": chain,
            "rivals": rivals,
            "buttons": memory_words.buttons(of, verdicts),
            "correct": _may(verdicts, Act.CORRECT),
            "plan": _may(verdicts, Act.PLAN),
            "forget": verdicts.get(Act.FORGET) is Verdict.NOW,
            "why_not": _why_not(of, verdicts),
            "owners": [(each.id, each.name) for each in internal] if visit.person.internal else [],
            "works": tuple(Work),
            "initiative": of.kind is Kind.INITIATIVE,
            "pending": of.status is Status.PENDING,
            "words": memory_words,
        }

    # --- looks before ----------------------------------------------------------------------------------------------

    async def forget(self, visit: Visit) -> Page:
        return await self.forgetting(visit)

    async def forgetting(self, visit: Visit, status: int = 200, trouble: str = "") -> Page:
        """What would vanish. `trouble`: why it was not done."""

        def query(connection: sa.Connection) -> tuple[Claim, Mapping[str, object]]:
            view, of = self._desk.meant(connection, visit)
            verdict = self._desk.memories.verdict(connection, self._desk.acting(visit), Act.FORGET, of)
            if isinstance(verdict, No):
                raise NotAllowedError(verdict.why)
            if verdict is not Verdict.NOW:
                raise NotAllowedError("Only who said it can have it erased, or a principal: you can dispute it.")
            going = self._desk.eraser.look(connection, [of.id])
            along = reading.by_ids(connection, view, Purpose.REVIEW, [each for each in going.claims if each != of.id])
            said = around.messages(connection, view, list(going.messages))
            return of, {
                "of": of,
                "going": going,
                "along": list(along.values()),
                "hidden_claims": len(going.claims) - 1 - len(along),
                "messages": [(each, pieces(each.text, going.messages[each.id])) for each in said],
                "hidden_messages": len(going.messages) - len(said),
                "names": names(
                    connection, [of.speaker, *(e.speaker for e in along.values()), *(m.speaker for m in said)]
                ),
                "words": memory_words,
            }

        of, values = await self._desk.database.read(query, long=True)
        await self._desk.viewed(visit, [of])
        return Page("memories/forget.html", {**values, "trouble": trouble}, status=status)

    async def from_message(self, visit: Visit) -> Page:
        """Everything that one message brought, and what taking it back would do."""
        source = MessageId(visit.request.path_params["message"])

        def query(connection: sa.Connection) -> tuple[list[Claim], Mapping[str, object]]:
            view = visible(connection, visit.scope)
            claims = around.from_message(connection, view, source)
            if not claims:
                raise UnknownThingError("There is no such message, or nothing that you may see rests on it.")
            alone = {each.id for each in claims if _rests_alone(connection, view, each, source)}
            return claims, {
                "claims": claims,
                "alone": alone,
                "message": next(iter(around.messages(connection, view, [source])), None),
                "source": source,
                "names": names(connection, [each.speaker for each in claims]),
                "words": memory_words,
            }

        claims, values = await self._desk.database.read(query, long=True)
        await self._desk.viewed(visit, claims)
        return Page("memories/from_message.html", values)


def _rests_alone(connection: sa.Connection, view: Visible, of: Claim, source: MessageId) -> bool:
    return {each.message for each in reading.evidence_of(connection, view, of.id)} == {source}


def _cited(source: Source) -> Cited:
    words = source.words
    if source.whole is None:
        return Cited(source, words[0], (), [each.quote for each in words])
    parts, gone = memory_words.marked(source.whole.text, [(each.start, each.quote) for each in words])
    return Cited(source, words[0], memory_words.clipped(parts), gone)


def _may(verdicts: Mapping[Act, Verdict | No], act: Act) -> str:
    """ "now", "dispute" or "": whether there is a form for it, and what it says."""
    verdict = verdicts.get(act)
    return verdict.name.lower() if isinstance(verdict, Verdict) else ""


def _why_not(of: Claim, verdicts: Mapping[Act, Verdict | No]) -> str:
    """Of what waits: why the reader cannot decide it."""
    verdict = verdicts.get(Act.ACCEPT)
    return verdict.why if of.status is Status.PENDING and isinstance(verdict, No) else ""


def _owners(events: Sequence[Event]) -> list[str]:
    """People whom events name as owners."""
    found = ((side or {}).get("owner") for each in events for side in (each.before, each.after))
    return [each for each in found if isinstance(each, str)]
