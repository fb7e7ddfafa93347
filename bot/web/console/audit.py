"""Audit: what happened, as far as its visitor may see it, filtered and in words; a session's own story; the state of
the chain; and a copy to take away."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from bot.audit import timeline, words
from bot.audit.events import Actor, AuditExported, Record
from bot.audit.recorder import Recorder
from bot.audit.timeline import Entry
from bot.audit.vocabulary import VOCABULARY
from bot.gateway.events import PlaceKind
from bot.kernel.ids import ClaimId, PersonId, ProposalId, SessionId
from bot.kernel.values import dataclass
from bot.ledger import store as ledger
from bot.memory.reading import Purpose, by_ids
from bot.orchestrator.chain_check import ChainCheck
from bot.orchestrator.turn_graph import may_see
from bot.people import store as people
from bot.people.model import Role
from bot.sessions import trail
from bot.sessions.trail import Found, Place, Wanted
from bot.sessions.visible import visible
from bot.storage.database import Database
from bot.web.console.site import Moved, Page, Site
from bot.web.console.visits import Notice, Visit
from bot.web.refusals import Refusal, UnknownThingError

GROUPS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "talk": (
        "Conversations",
        ("message_", "turn_", "tool_", "specialist_", "delivery_", "session_", "thread_", "cache_", "budget_"),
    ),
    "memory": ("Memories", ("memory_", "extraction_")),
    "ledger": ("Approvals and actions", ("proposal_", "action_", "breaker_", "class_mode_")),
    "schedule": ("Schedule", ("schedule",)),
    "knowledge": ("Knowledge", ("knowledge_",)),
    "people": ("People and doors", ("person_", "pairing_", "room_", "auth_", "token_", "content_")),
    "program": (
        "The program",
        ("daemon_", "setting_", "company_", "task_", "backup_", "erasure_", "chain_", "audit_"),
    ),
}
"""Kinds of entries that are asked for together: what they are called, and how their types begin."""
SESSIONS_OFFERED = 60
TIMELINE = 100
EXPORTED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Line:
    """An entry in words."""

    entry: Entry
    who: str
    words: str
    place: str | None
    """What its session is called, if the reader was ever there."""
    about: tuple[str, str] | None
    """The page of what it is about, if the reader may see that, and what it is."""


def types_of(chosen: str) -> tuple[str, ...]:
    """The types that a choice of the filter means; none for everything."""
    if chosen in GROUPS:
        return tuple(each for each in sorted(VOCABULARY) if each.startswith(GROUPS[chosen][1]))
    return (chosen,) if chosen in VOCABULARY else ()


class AuditPages:
    def __init__(self, database: Database, recorder: Recorder, chain: ChainCheck) -> None:
        self._database = database
        self._recorder = recorder
        self._chain = chain

    def routes(self, site: Site) -> list[Route]:
        return [
            site.page("/audit", self.listed),
            site.page("/audit/export.jsonl", self.export),
            site.page("/audit/chain", self.state),
            site.page("/audit/chain", self.verify, method="POST"),
            site.page("/audit/sessions/{session}", self.session),
        ]

    # --- looking ---------------------------------------------------------------------------------------------------

    async def listed(self, visit: Visit) -> Page:
        wanted, before = _wanted(visit), visit.number("before")

        def query(connection: sa.Connection) -> tuple[Found, list[Line], list[Place], dict[str, str]]:
            found = trail.page(connection, visit.scope, wanted, before)
            names = names_of(connection, visit)
            offered = trail.places(connection, visit.scope, SESSIONS_OFFERED)
            return found, lines(connection, visit, found.entries, names), offered, names

        found, told, offered, names = await self._database.read(query, long=True)
        asked = {name: visit.asked(name) for name in _FILTERS if visit.asked(name)}
        values = {
            "lines": told,
            "older": None if found.older is None else _link("/audit", asked, found.older),
            "beyond": found.older is not None and not told,
            "asked": {name: visit.asked(name) for name in _FILTERS},
            "export": _link("/audit/export.jsonl", asked),
            "groups": _choices(),
            "names": names,
            "places": [(each.session, called(each)) for each in offered],
            "chain": await self._chain.state(),
            "may_check": _may_check(visit),
            "first": before is None,
        }
        return Page("audit/list.html", values, "rows")

    async def session(self, visit: Visit) -> Page:
        of, before = SessionId(visit.request.path_params["session"]), visit.number("before")

        def query(connection: sa.Connection) -> tuple[Found, list[Line], list[Place]]:
            found = trail.page(connection, visit.scope, Wanted(session=of), before, TIMELINE)
            told = lines(connection, visit, found.entries[::-1], names_of(connection, visit))
            return found, told, trail.places(connection, visit.scope, 1, [of])

        found, told, place = await self._database.read(query, long=True)
        if not told and before is None:
            raise UnknownThingError("There is no such conversation.")
        path = f"/audit/sessions/{of}"
        values = {
            "session": of,
            "title": called(place[0]) if place else "A conversation",
            "there": bool(place),
            "lines": told,
            "earlier": None if found.older is None else f"{path}?before={found.older}",
            "latest": path if before is not None else None,
        }
        return Page("audit/session.html", values)

    # --- the chain -------------------------------------------------------------------------------------------------

    async def state(self, visit: Visit) -> Page:
        values = {"chain": await self._chain.state(), "may_check": _may_check(visit)}
        return Page("audit/chain.html", values, "chain")

    async def verify(self, visit: Visit) -> Page | Moved:
        if not _may_check(visit):
            raise Refusal(403, "not_allowed", "Only a principal has the chain checked.", "not_allowed")
        await self._chain.ask(visit.person.id)
        if visit.partial:
            return await self.state(visit)
        return Moved("/audit", Notice("The chain is being checked."))

    # --- a copy ----------------------------------------------------------------------------------------------------

    async def export(self, visit: Visit) -> Response:
        """One JSON object a line, newest first, as `openexecutive audit show --json` tells them."""
        record = Record(AuditExported(self._recorder.head.id), Actor("person", visit.person.id))
        await self._database.write(lambda tx: self._recorder.record(tx, record))
        name = f"audit-{visit.now:%Y%m%d-%H%M%S}.jsonl"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingResponse(self._exported(visit, _wanted(visit)), 200, headers, "application/x-ndjson")

    async def _exported(self, visit: Visit, wanted: Wanted) -> AsyncIterator[str]:
        before: int | None = self._recorder.head.id + 1
        while before is not None:
            page = partial(trail.page, scope=visit.scope, wanted=wanted, before=before, limit=EXPORTED_AT_ONCE)
            found = await self._database.read(page, long=True)
            if found.entries:
                yield "".join(f"{json.dumps(timeline.described(e), ensure_ascii=False)}\n" for e in found.entries)
            before = found.older


# --- in words ---------------------------------------------------------------------------------------------------------


def names_of(connection: sa.Connection, visit: Visit) -> dict[str, str]:
    """By id: those of the roster; guests do not see it."""
    known = people.everyone(connection) if visit.person.internal else [visit.person]
    return {str(each.id): each.name for each in known}


def lines(connection: sa.Connection, visit: Visit, entries: Sequence[Entry], names: Mapping[str, str]) -> list[Line]:
    sessions = {each.session for each in entries if each.session is not None}
    places = trail.places(connection, visit.scope, len(sessions), sessions) if sessions else []
    titles = {str(each.session): called(each) for each in places}
    abouts = _abouts(connection, visit, entries)
    return [
        Line(
            each,
            names.get(each.actor, each.actor)
            if each.actor_kind == "person"
            else words.actor(f"{each.actor_kind}:{each.actor}"),
            words.sentence(each.type, each.payload),
            titles.get(each.session or ""),
            abouts.get(str(each.payload.get("claim") or each.payload.get("proposal"))),
        )
        for each in entries
    ]


def _abouts(connection: sa.Connection, visit: Visit, entries: Sequence[Entry]) -> dict[str, tuple[str, str]]:
    """By id: memories and proposals that these entries are about and that the reader may see."""
    view = visible(connection, visit.scope)
    claims = [ClaimId(str(each.payload["claim"])) for each in entries if each.payload.get("claim")]
    found = {
        str(each): (f"/memories/{each}", "the memory") for each in by_ids(connection, view, Purpose.REVIEW, claims)
    }
    for wanted in {str(each.payload["proposal"]) for each in entries if each.payload.get("proposal")}:
        proposal = ledger.get(connection, ProposalId(wanted))
        if proposal is not None and may_see(view, visit.scope, proposal):
            found[wanted] = (f"/approvals/{wanted}", "the approval")
    return found


def called(place: Place) -> str:
    if place.title:
        return place.title if place.title == place.channel else f"{place.title} ({place.channel})"
    return f"{_KINDS.get(place.kind, 'Conversation')} ({place.channel})"


_KINDS = {PlaceKind.DIRECT.value: "Direct"}


# --- what is asked for ------------------------------------------------------------------------------------------------

_FILTERS = ("type", "who", "session", "since", "until")


def _wanted(visit: Visit) -> Wanted:
    """What cannot be understood filters nothing."""
    who, session = visit.asked("who"), visit.asked("session")
    zone = ZoneInfo(visit.person.time_zone)
    return Wanted(
        types_of(visit.asked("type")),
        PersonId(who) if who else None,
        SessionId(session) if session else None,
        _midnight(visit.asked("since"), zone),
        _midnight(visit.asked("until"), zone, after=1),
    )


def _midnight(day: str, zone: ZoneInfo, after: int = 0) -> datetime | None:
    try:
        found = date.fromisoformat(day) + timedelta(days=after)
    except (ValueError, OverflowError):
        return None
    return datetime(found.year, found.month, found.day, tzinfo=zone) if 1970 <= found.year < 9999 else None


def _link(path: str, asked: Mapping[str, str], before: int | None = None) -> str:
    query = urlencode({**asked, **({} if before is None else {"before": before})})
    return f"{path}?{query}" if query else path


def _choices() -> list[tuple[str, str, list[tuple[str, str]]]]:
    return [
        (name, label, [(each, each.replace("_", " ")) for each in types_of(name)])
        for name, (label, _) in GROUPS.items()
    ]


def _may_check(visit: Visit) -> bool:
    return visit.person.role is Role.PRINCIPAL
