"""Operations on proposals. Whoever reaches the socket speaks as the person of this machine's terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import sqlalchemy as sa
from pydantic import Field

from bot.control.request import Request, operation
from bot.gateway.channel import LocalHandler
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.ledger.model import Mode, Severity, State
from bot.ledger.reliability import Card, Rate
from bot.orchestrator.clerk import VERDICTS, Clerk, Told
from bot.people import store as people
from bot.people.model import Person
from bot.storage.database import Database


class Listed(Request):
    state: tuple[State, ...] = ()
    last: int = Field(50, ge=1, le=200)


class One(Request):
    proposal: str


class Vote(Request):
    proposal: str
    content: str
    verdict: Literal["approve", "reject"]


class Edit(Request):
    proposal: str
    content: str
    text: str


class Resolve(Request):
    proposal: str
    happened: bool


class Reverse(Request):
    proposal: str
    severity: Severity
    reason: str


class SetMode(Request):
    action: str
    mode: Mode
    reason: str


class OfClass(Request):
    action: str


def handlers(database: Database, clerk: Clerk, local_person: str | None) -> Mapping[str, LocalHandler]:
    """`local_person`: who speaks at this machine's terminal; None: the first principal."""
    desk = Desk(database, clerk, local_person)
    return {
        "ledger.list": operation(Listed, desk.listed),
        "ledger.show": operation(One, desk.show),
        "ledger.vote": operation(Vote, desk.vote),
        "ledger.edit": operation(Edit, desk.edit),
        "ledger.withdraw": operation(One, desk.withdraw),
        "ledger.resolve": operation(Resolve, desk.resolve),
        "ledger.reverse": operation(Reverse, desk.reverse),
        "ledger.mode": operation(SetMode, desk.mode),
        "ledger.card": operation(OfClass, desk.card),
    }


@dataclass(frozen=True, slots=True)
class Desk:
    database: Database
    clerk: Clerk
    local_person: str | None

    async def listed(self, request: Listed) -> Mapping[str, object]:
        found = await self.clerk.listed(await self._person(), request.state, request.last)
        return {"proposals": [told(each) for each in found]}

    async def show(self, request: One) -> Mapping[str, object]:
        return {"proposal": told(await self.clerk.one(await self._person(), request.proposal))}

    async def vote(self, request: Vote) -> Mapping[str, object]:
        verdict = VERDICTS[request.verdict]
        return {"told": await self.clerk.vote(await self._person(), request.proposal, request.content, verdict)}

    async def edit(self, request: Edit) -> Mapping[str, object]:
        return {"told": await self.clerk.edit(await self._person(), request.proposal, request.content, request.text)}

    async def withdraw(self, request: One) -> Mapping[str, object]:
        await self.clerk.withdraw(await self._person(), request.proposal)
        return {}

    async def resolve(self, request: Resolve) -> Mapping[str, object]:
        await self.clerk.resolve(await self._person(), request.proposal, happened=request.happened)
        return {}

    async def reverse(self, request: Reverse) -> Mapping[str, object]:
        refusal = await self.clerk.reverse(await self._person(), request.proposal, request.severity, request.reason)
        return {"refusal": refusal}

    async def mode(self, request: SetMode) -> Mapping[str, object]:
        await self.clerk.set_mode(await self._person(), request.action, request.mode, request.reason)
        return {}

    async def card(self, request: OfClass) -> Mapping[str, object]:
        found = await self.clerk.card(await self._person(), request.action)
        return {"card": _card(found.card), "mode": found.treated.mode.value, "recommended": found.recommended}

    async def _person(self) -> Person:
        def query(connection: sa.Connection) -> Person | None:
            if self.local_person is not None:
                return people.get(connection, PersonId(self.local_person))
            return next(iter(people.principals(connection)), None)

        found = await self.database.read(query)
        if found is None or not found.active:
            raise PermanentError("nobody of the roster speaks at this machine: see channels.terminal.person")
        return found


def told(one: Told) -> dict[str, object]:
    of = one.proposal
    return {
        "id": of.id,
        "class": of.action,
        "state": of.state.value,
        "what": one.what,
        "fields": [list(each) for each in one.fields],
        "text": one.body,
        "changed": one.changed,
        "reason": of.reason,
        "memories": list(one.memories),
        "hidden_memories": one.hidden,
        "asked_by": one.asked_by,
        "approvers": list(one.approvers),
        "decided_by": one.decided_by,
        "yours": one.yours,
        "two_persons": of.two_persons,
        "tainted": of.tainted,
        "failure": of.failure.value if of.failure else None,
        "came_back": of.came_back,
        "severity": of.severity.value if of.severity else None,
        "content": of.hash,
        "made_at": of.made_at.isoformat(),
        "expires_at": of.expires_at.isoformat(),
        "decided_at": of.decided_at.isoformat() if of.decided_at else None,
        "result": of.result,
    }


def _card(card: Card) -> dict[str, object]:
    rates = {
        "unchanged": card.unchanged,
        "edited": card.edited,
        "rejected": card.rejected,
        "no_response": card.no_response,
        "reversed": card.reversed,
        "failed": card.failed,
        "undelivered": card.undelivered,
    }
    calibration = [{"low": each.low, "high": each.high, **_rate(each.right)} for each in card.calibration]
    return {
        "class": card.action,
        **{name: _rate(each) for name, each in rates.items()},
        "automatic": card.automatic,
        "worst": card.worst.value if card.worst else None,
        "calibration": calibration,
    }


def _rate(rate: Rate) -> dict[str, object]:
    low, high = rate.interval
    return {"count": rate.count, "of": rate.of, "between": [round(low, 4), round(high, 4)]}
