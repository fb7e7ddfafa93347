"""What is looked at again right before something is said to somebody. It fails closed: what cannot be found out is no.

A fact may be told to whoever may see it by themselves. One that they may not see may be told only if the approver was
shown that it would be (`discloses` of the payload, which the approval's hash covers). Nearly the same words do not go
to the same people twice within a while; nobody is written to more often than a few times an hour, nor in their quiet
hours: that waits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum, auto

import sqlalchemy as sa

from bot.kernel.ids import ClaimId, PersonId, ProposalId, SessionId
from bot.kernel.values import dataclass
from bot.ledger.actions import NotBefore
from bot.ledger.model import Failure, Op, Payload, Proposal, State
from bot.ledger.rules import outside_quiet_hours
from bot.ledger.tables import proposal, proposal_event
from bot.people.model import Person

TELLING = ("send_message", "send_email", "reply_all")
"""Classes of actions that say something to somebody."""
NEARLY = 0.8
"""Share of common runs of three words from which two texts count as nearly the same."""
_WORD = re.compile(r"\w+")
CANNOT_TELL = "it cannot be made sure who may see what it rests on"


@dataclass(frozen=True, slots=True)
class Limits:
    duplicate_window: timedelta = timedelta(minutes=30)
    per_hour: int = 6
    """To one person or address."""


class Sight(Enum):
    SEEN = auto()
    """By every reader."""
    HIDDEN = auto()
    """From one of them."""
    GONE = auto()
    """It no longer stands, or says something else now."""


@dataclass(frozen=True, slots=True)
class Readers:
    """Who will read it."""

    people: tuple[PersonId, ...] = ()
    outside: bool = False
    """Somebody who is nobody of the company."""
    session: SessionId | None = None
    """Whoever reads in this conversation."""


Sights = Callable[[sa.Connection, Sequence[ClaimId], Readers], Mapping[ClaimId, Sight]]
"""How each memory stands to these readers; what it does not know is left out."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """Something that was said to the same before."""

    text: str
    at: datetime


def audience(
    rests_on: Sequence[ClaimId], discloses: Collection[ClaimId], sights: Mapping[ClaimId, Sight]
) -> str | None:
    """Why what it rests on must not be told to its readers; None: it may."""
    for each in rests_on:
        match sights.get(each):
            case None:
                return CANNOT_TELL
            case Sight.GONE:
                return "a memory that it rests on does not stand any more"
            case Sight.HIDDEN if each not in discloses:
                return "somebody who may not see a memory that it rests on would read it"
            case Sight.HIDDEN | Sight.SEEN:
                continue
    return None


def repeated(text: str, earlier: Sequence[Earlier], limits: Limits, now: datetime) -> str | None:
    since = now - limits.duplicate_window
    for each in earlier:
        if each.at > since and alike(text, each.text):
            return f"nearly the same was sent there at {each.at:%H:%M} UTC"
    return None


def not_before(
    people: Sequence[Person], lately: Mapping[str, Sequence[datetime]], limits: Limits, now: datetime
) -> NotBefore | None:
    """`lately`: when something was said to each of the readers, by their name in the payload."""
    at = now
    for times in lately.values():
        recent = sorted(each for each in times if each > now - timedelta(hours=1))
        if len(recent) >= limits.per_hour:
            at = max(at, recent[-limits.per_hour] + timedelta(hours=1))
    for person in people:
        at = max(at, outside_quiet_hours(at, person))
    return NotBefore(at) if at > now else None


def alike(one: str, other: str) -> bool:
    """Nearly the same words in the same order."""
    a, b = _runs(one), _runs(other)
    if not a or not b:
        return one.strip() == other.strip()
    return len(a & b) / len(a | b) >= NEARLY


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    size = min(3, len(words))
    return frozenset(tuple(words[at : at + size]) for at in range(len(words) - size + 1)) if words else frozenset()


# --- what was said before ---------------------------------------------------------------------------------------------


def whom(payload: Payload) -> tuple[str, ...]:
    """Who it goes to, by name; the thread where it goes to nobody by name."""
    to = payload.get("to")
    named = tuple(str(each) for each in to) if isinstance(to, list) else ()
    return named or (str(payload.get("thread", "")),)


@dataclass(frozen=True, slots=True)
class Said:
    to: tuple[str, ...]
    text: str
    at: datetime


def said_since(connection: sa.Connection, since: datetime, but: ProposalId) -> list[Said]:
    """What the ledger began to say to anybody since then."""
    rows = connection.execute(
        sa.select(proposal.c.final, proposal_event.c.at)
        .select_from(proposal_event.join(proposal, proposal.c.id == proposal_event.c.proposal_id))
        .where(
            proposal_event.c.op == Op.EXECUTING.value,
            proposal_event.c.at > since,
            proposal_event.c.action.in_(TELLING),
            proposal.c.id != but,
        )
    )
    return [Said(whom(row.final), str(row.final.get("text", "")), row.at) for row in rows]


def written_to(connection: sa.Connection, action: str, to: Collection[str]) -> bool:
    """Whether all of these were written to before by this class of actions, with success."""
    rows = connection.execute(
        sa.select(proposal.c.final)
        .where(
            proposal.c.action == action,
            proposal.c.state == State.EXECUTED.value,
            sa.or_(proposal.c.failure.is_(None), proposal.c.failure != Failure.REFUSED.value),  # it came back
        )
        .order_by(proposal.c.seq.desc())
        .limit(1_000)
    )
    known = {name for row in rows for name in whom(row.final)}
    return set(to) <= known


@dataclass(frozen=True, slots=True)
class Guard:
    limits: Limits
    sights: Sights

    def look(
        self, connection: sa.Connection, of: Proposal, readers: Readers, people: Sequence[Person], now: datetime
    ) -> str | NotBefore | None:
        """`people`: the readers that are known, for their quiet hours."""
        payload = of.final
        told = payload.get("discloses")
        discloses = frozenset(ClaimId(str(each)) for each in told) if isinstance(told, list) else frozenset()
        sights = self.sights(connection, of.rests_on, readers) if of.rests_on else {}
        refusal = audience(of.rests_on, discloses, sights)
        if refusal is not None:
            return refusal
        to = frozenset(whom(payload))
        said = said_since(connection, now - max(self.limits.duplicate_window, timedelta(hours=1)), of.id)
        earlier = [Earlier(each.text, each.at) for each in said if to & set(each.to)]
        refusal = repeated(str(payload.get("text", "")), earlier, self.limits, now)
        if refusal is not None:
            return refusal
        lately = {name: [each.at for each in said if name in each.to] for name in to}
        return not_before(people, lately, self.limits, now)
