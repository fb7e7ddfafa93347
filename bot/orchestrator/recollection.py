"""The tools that look into memory: `recall` finds, `read_memory` shows the words. Who reads comes from the turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field

from bot.audit.events_memory import MemorySnapshot
from bot.gateway.events import Proof
from bot.kernel import days
from bot.kernel.ids import MessageId
from bot.llm.window import shortened
from bot.memory.block import line
from bot.memory.model import HANDLE, Claim, Evidence, Kind, Trust
from bot.memory.reading import AsOf, Filter
from bot.memory.recall import Hit, Recall
from bot.orchestrator.tools import Asker, Outcome, Tool
from bot.sessions import compaction
from bot.sessions.transcript import Said
from bot.storage.database import Database

MOST = 20
MOST_READ = 12
CAP = 8_000
"""Characters of one answer: about 2,000 tokens."""
STUB = 200
"""Characters of a message that a search shows."""
TRUSTED = (Trust.PROVEN, Trust.OWN)
NOTHING = "Nothing of that is remembered here."


class Asking(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    query: str = Field(description="what is looked for, in a sentence or a few words", min_length=1, max_length=500)
    kind: Literal["decision", "initiative", "advice", "fact", "preference"] | None = Field(
        None, description="only these"
    )
    department: str | None = Field(None, description="only what concerns this department", max_length=80)
    domain: str | None = Field(
        None,
        description="only this domain: strategy, finance, people, legal, operations, marketing, product, board",
        max_length=80,
    )
    since: date | None = Field(None, alias="from", description="only what was said from this day on (ISO date)")
    until: date | None = Field(None, alias="to", description="only what was said up to this day, it included")
    known_on: date | None = Field(
        None, description="what was known at the end of this day, also if it was changed since"
    )
    true_on: date | None = Field(None, description="what was true in the world on this day")
    limit: int = Field(8, ge=1, le=MOST, description="results at most")


class Reading(BaseModel):
    ids: list[str] = Field(
        description="ids as a line of past_decisions or a search shows them", min_length=1, max_length=MOST_READ
    )


RECALL = (
    "Search what is remembered (decisions, initiatives, advice, facts, preferences) and what was said earlier in this "
    "conversation. Gives one line each, with an id; read_memory shows the words. Of other conversations it knows only "
    "what the company may see."
)
READ = "The words that remembered lines rest on, or an earlier message with what stood around it, by id."


def tools(database: Database, recall: Recall) -> list[Tool[Any]]:
    async def search(asker: Asker, arguments: Asking) -> Outcome:
        found = await recall.find(asker.scope, arguments.query, _filter(arguments, asker.time_zone), arguments.limit)
        said = await _said(database, asker, found.messages)
        lines = [line(each.claim, found.names, asker.time_zone) for each in found.claims]
        lines += [_stub(each, asker.time_zone) for each in said]
        snapshot = MemorySnapshot(
            "recall",
            tuple(each.claim.id for each in found.claims),
            tuple(each.claim.version for each in found.claims),
            tuple(each.score for each in found.claims),
            tuple(each.id for each in said),
            0,
        )
        untrusted = any(each.claim.trust not in TRUSTED for each in found.claims) or _doubtful(said)
        text, _ = _capped(lines)
        return Outcome(text or NOTHING, untrusted=untrusted, records=(snapshot,))

    async def read_memory(asker: Asker, arguments: Reading) -> Outcome:
        wanted = [each.strip().strip("[]") for each in arguments.ids]
        claims, names = await recall.read(asker.scope, wanted)
        around = await _around(database, asker, wanted)
        parts = [_words(each, rests_on, names, asker.time_zone) for each, rests_on in claims]
        parts += [_passage(said, asker.time_zone) for said in around]
        text, shown = _capped(parts)
        seen = [each for each, _ in claims][:shown]
        snapshot = MemorySnapshot(
            "read",
            tuple(each.id for each in seen),
            tuple(each.version for each in seen),
            (0,) * len(seen),
            tuple(each.id for said in around for each in said),
            0,
        )
        untrusted = any(each.trust not in TRUSTED for each in seen) or any(_doubtful(said) for said in around)
        if not text:
            return Outcome("Nothing with such an id can be shown here.", is_error=True)
        return Outcome(text, untrusted=untrusted, records=(snapshot,))

    return [
        Tool("recall", RECALL, Asking, search),
        Tool("read_memory", READ, Reading, read_memory),
    ]


def _filter(asking: Asking, zone: str) -> Filter:
    return Filter(
        kinds=(Kind(asking.kind),) if asking.kind else (),
        department=asking.department,
        domain=asking.domain,
        since=None if asking.since is None else days.begins(asking.since, zone),
        until=None if asking.until is None else days.follows(asking.until, zone),
        as_of=AsOf(
            None if asking.known_on is None else days.ends(asking.known_on, zone),
            None if asking.true_on is None else days.ends(asking.true_on, zone),
        )
        if asking.known_on or asking.true_on
        else None,
    )


async def _said(database: Database, asker: Asker, hits: Sequence[Hit]) -> list[Said]:
    """The messages of these hits, in their order, as far as the session may still be shown them."""
    if not hits:
        return []
    said = await database.read(lambda c: compaction.everything(c, asker.scope), long=True)
    known = {each.id: each for each in said}
    return [known[MessageId(hit.id)] for hit in hits if hit.id in known]


async def _around(database: Database, asker: Asker, wanted: Sequence[str]) -> list[list[Said]]:
    """The messages whose ids end like that, each with the one before and the one after."""
    ends = tuple(each for each in wanted if len(each) >= HANDLE)
    if not ends:
        return []
    said = await database.read(lambda c: compaction.everything(c, asker.scope), long=True)
    places = [place for place, each in enumerate(said) if each.id.endswith(ends)]
    return [list(said[max(0, place - 1) : place + 2]) for place in places[:MOST_READ]]


def _doubtful(said: Sequence[Said]) -> bool:
    """Some of it was written by somebody of whom nothing is proven, or belongs to no one of the roster."""
    return any(each.role == "user" and (each.proof is Proof.NONE or each.person is None) for each in said)


def _stub(said: Said, zone: str) -> str:
    who = said.speaker if said.role == "user" else "you"
    text = shortened(" ".join(said.body.text.split()), STUB)
    return _safe(f"- [{said.id[-HANDLE:]} {_when(said.sent_at, zone)} message] {who}: {text}")


def _passage(said: Sequence[Said], zone: str) -> str:
    return "\n".join(
        _safe(f"[{_when(each.sent_at, zone)}] {each.speaker if each.role == 'user' else 'you'}: {each.body.text}")
        for each in said
    )


def _words(of: Claim, rests_on: Sequence[Evidence], names: Mapping[str, str], zone: str) -> str:
    lines = [line(of, names, zone)]
    lines += [
        _safe(f'  said {_when(each.said_at, zone)} by {names.get(each.speaker, each.speaker)}: "{each.quote}"')
        for each in rests_on
    ]
    return "\n".join(lines)


def _when(at: datetime, zone: str) -> str:
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}"


def _safe(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _capped(parts: Sequence[str]) -> tuple[str, int]:
    """As many as there is room for, and how many; the first one always, cut if need be."""
    kept: list[str] = []
    size = 0
    for part in parts:
        size += len(part) + 1
        if kept and size > CAP:
            kept.append(f"[… and {len(parts) - len(kept)} more: ask for fewer]")
            return "\n".join(kept), len(kept) - 1
        kept.append(shortened(part, CAP))
    return "\n".join(kept), len(kept)
