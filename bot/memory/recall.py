"""What is remembered for a turn: the block of its prompt, and what the tools `recall` and `read_memory` give.

Ranking belongs to `bot.retrieval`; here stands what may be ranked (never more than the scope sees), and every hit is
looked up again under the scope before it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Protocol, cast

import sqlalchemy as sa

from bot.kernel.ids import ClaimId, PersonId, SessionId
from bot.kernel.scope import PersonScope, SessionScope
from bot.kernel.values import dataclass
from bot.memory import reading
from bot.memory.block import Block, Ranked, block
from bot.memory.model import Claim, Evidence, Kind, Visibility
from bot.memory.reading import Filter, Purpose
from bot.memory.tables import claim, claim_shown
from bot.memory.withdrawn import Withdrawn, withdrawn
from bot.people import store as people
from bot.sessions.turns import current_epochs
from bot.sessions.visible import CompanyView, Visible, ever_in, of_session, visible
from bot.storage.database import Database

MOST_RELEVANT = 24
"""Claims that are ranked into a block; the budget leaves fewer."""
FILL_UP_TO = 12
MOST_SPACES = 100
"""Newest conversations of a person that are searched by meaning and words at once, besides what the company sees."""
COMPANY = "company"
"""The space of claims that the company may see."""
OF_BLOCK = Filter(kinds=(Kind.DECISION, Kind.FACT, Kind.PREFERENCE, Kind.ADVICE))
WIDER = 4
"""So many times as many are ranked: filters leave some out."""
MOST_INITIATIVES = 500
EMPTY = Block("", (), (), 0)


def space_of(of: Claim) -> str:
    """Where a claim is searched: its session and audience epoch, or the company."""
    return COMPANY if of.visibility is Visibility.COMPANY else own_space(of.session, of.audience_epoch)


def own_space(session: SessionId, audience_epoch: int) -> str:
    return f"{session}:{audience_epoch}"


@dataclass(frozen=True, slots=True)
class Hit:
    """A claim or a message by its id; `score` of the fusion, higher is better."""

    id: str
    score: float


class Ranker(Protocol):
    """The derived index. A failure of it finds less, and says so in the status; it never raises here."""

    async def claims(self, query: str, spaces: Sequence[str], limit: int) -> list[Hit]: ...

    async def turns(
        self, query: str, session: SessionId, history_epoch: int, audience_epoch: int, limit: int
    ) -> list[Hit]:
        """Messages of one session in one pair of epochs."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    claims: tuple[Ranked, ...]
    messages: tuple[Hit, ...]
    """Of the session's own transcript."""
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Standing:
    """What a turn may be shown, before anything is ranked."""

    view: Visible
    initiatives: tuple[tuple[Claim, bool], ...]
    """Each with whether it was asked about since it was last touched."""
    rankable: bool
    """There is something besides initiatives."""
    withdrawn: tuple[Withdrawn, ...]
    """Words of its history that no longer hold."""


class Recall:
    def __init__(self, database: Database, ranker: Ranker, budget: int) -> None:
        """`budget`: tokens of a block, initiatives not counted."""
        self._database = database
        self._ranker = ranker
        self._budget = budget

    async def block(self, standing: Standing, query: str, now: datetime, zone: str) -> Block:
        """What the turn is shown without asking. `query`: what people wrote in it."""
        ranked = await self._filled(standing.view, query) if standing.rankable else ()
        if not ranked and not standing.initiatives and not standing.withdrawn:
            return EMPTY
        told = [each.claim for each in ranked] + [each for each, _ in standing.initiatives]
        names = await self._database.read(lambda c: names_of(c, told))
        return block(ranked, standing.initiatives, names, self._budget, now, zone, standing.withdrawn)

    async def _filled(self, view: Visible, query: str) -> Sequence[Ranked]:
        """The most relevant ones; where few fit, the newest of the others after them: a question need not share a word
        with what it is about."""
        ranked = await self._ranked(view, _of_session(view), query, MOST_RELEVANT, OF_BLOCK)
        if len(ranked) >= FILL_UP_TO:
            return ranked
        known = {each.claim.id for each in ranked}
        newest = await self._database.read(lambda c: reading.find(c, view, Purpose.PROMPT, OF_BLOCK, FILL_UP_TO))
        others = [Ranked(each, 0) for _, each in newest if each.id not in known]
        return [*ranked, *others[: FILL_UP_TO - len(ranked)]]

    async def find(self, scope: SessionScope, query: str, wanted: Filter, limit: int) -> Found:
        """Claims that the session may see, and messages of the session itself, best first."""
        view, epochs = await self._database.read(lambda c: (visible(c, scope), current_epochs(c, scope.session)))
        ranked = await self._ranked(view, _of_session(view), query, limit, wanted)
        messages = await self._ranker.turns(query, scope.session, *epochs, limit)
        names = await self._database.read(lambda c: names_of(c, [each.claim for each in ranked]))
        return Found(tuple(ranked), tuple(messages), names)

    async def best(self, scope: SessionScope | PersonScope, query: str, wanted: Filter, limit: int) -> Sequence[Ranked]:
        """For a person who looks: what is believed, best first, of what the scope sees."""

        def look(connection: sa.Connection) -> tuple[Visible, Sequence[str]]:
            view = visible(connection, scope)
            return view, spaces_of(connection, view)

        view, spaces = await self._database.read(look)
        return await self._ranked(view, spaces, query, limit, wanted)

    async def _ranked(
        self, view: Visible, spaces: Sequence[str], query: str, limit: int, wanted: Filter
    ) -> Sequence[Ranked]:
        hits = await self._ranker.claims(query, spaces, WIDER * limit)
        ids = [ClaimId(hit.id) for hit in hits]
        found = await self._database.read(lambda c: reading.by_ids(c, view, Purpose.PROMPT, ids, wanted))
        ranked = [Ranked(found[ClaimId(hit.id)], round(hit.score * 1_000_000)) for hit in hits if hit.id in found]
        return ranked[:limit]

    async def read(
        self, scope: SessionScope, handles: Sequence[str]
    ) -> tuple[list[tuple[Claim, list[Evidence]]], Mapping[str, str]]:
        """Claims by their handles or ids, with what they rest on; those that the session may not see are left out."""

        def query(connection: sa.Connection) -> tuple[list[tuple[Claim, list[Evidence]]], Mapping[str, str]]:
            view = visible(connection, scope)
            found = [reading.named(connection, view, Purpose.PROMPT, each) for each in handles]
            claims = [one for each in found for one in each]
            read = [(one, reading.evidence_of(connection, view, one.id)) for one in claims]
            return read, names_of(connection, claims)

        return await self._database.read(query)


def spaces_of(connection: sa.Connection, view: Visible) -> tuple[str, ...]:
    """The spaces that a session searches, or a person. What is found there is still looked up under the scope."""
    if not isinstance(view.scope, PersonScope):
        return _of_session(view)
    rows = connection.execute(
        sa.select(claim.c.session_id, claim.c.audience_epoch)
        .where(claim.c.session_id.in_(ever_in(view.scope.person)))
        .distinct()
        .order_by(claim.c.session_id.desc(), claim.c.audience_epoch.desc())
        .limit(MOST_SPACES)
    )
    own = [own_space(SessionId(row.session_id), row.audience_epoch) for row in rows]
    return (*own, *([COMPANY] if view.company.company else []))


def _of_session(view: Visible) -> tuple[str, ...]:
    if not isinstance(view.scope, SessionScope) or view.epoch is None:
        raise TypeError("only sessions and people search by spaces")
    own = own_space(view.scope.session, view.epoch)
    return (own, COMPANY) if view.company.company else (own,)


def names_of(connection: sa.Connection, claims: Sequence[Claim]) -> Mapping[str, str]:
    wanted = {PersonId(each.speaker) for each in claims} | {each.owner for each in claims if each.owner is not None}
    return {person.id: person.name for person in people.by_ids(connection, sorted(wanted)).values()}


def standing(connection: sa.Connection, view: Visible) -> Standing:
    """For the read that begins a turn: two statements where nothing is remembered."""
    if not isinstance(view.scope, SessionScope):
        raise TypeError("only a session begins turns")
    asked = {"session": view.scope.session, "epoch": view.epoch}
    kinds = set(connection.execute(_kinds(view.company), asked).scalars())
    initiatives: list[tuple[Claim, bool]] = []
    if Kind.INITIATIVE.value in kinds:
        wanted = Filter(kinds=(Kind.INITIATIVE,))
        found = [each for _, each in reading.find(connection, view, Purpose.PROMPT, wanted, MOST_INITIATIVES)]
        told = _asked(connection, found)
        initiatives = [(each, each.id in told) for each in found]
    return Standing(view, tuple(initiatives), bool(kinds - {Kind.INITIATIVE.value}), withdrawn(connection, view))


@lru_cache(maxsize=64)
def _kinds(company: CompanyView) -> sa.Select[str]:
    """What kinds of claims a session may be shown that sees so much of the company. On the path of every message: built
    once, by the condition that every reader has, with the session and its epoch left open."""
    any_session: SessionId = cast("SessionId", sa.bindparam("session", type_=claim.c.session_id.type))
    any_epoch: int = cast("int", sa.bindparam("epoch", type_=claim.c.audience_epoch.type))
    believed = reading.condition(of_session(any_session, any_epoch, company), Purpose.PROMPT)
    return sa.select(claim.c.kind).where(believed).distinct()


def _asked(connection: sa.Connection, initiatives: Sequence[Claim]) -> frozenset[str]:
    if not initiatives:
        return frozenset()
    rows = connection.execute(
        sa.select(claim_shown.c.claim_id, sa.func.max(claim_shown.c.at, type_=claim_shown.c.at.type).label("at"))
        .where(claim_shown.c.claim_id.in_([each.id for each in initiatives]), claim_shown.c.way == "asked")
        .group_by(claim_shown.c.claim_id)
    )
    last = {row.claim_id: row.at for row in rows}
    return frozenset(each.id for each in initiatives if each.id in last and last[each.id] >= each.touched_at)
