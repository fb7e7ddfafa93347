"""Schedules as the ledger makes them: what reaches somebody else is stored once a person has said yes to its text and
dates. Implements `ledger.acting.handed.Schedules`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.kernel.errors import PermanentError
from bot.kernel.ids import JobId, PersonId
from bot.ledger.model import Payload, Proposal
from bot.people import store as people
from bot.scheduler import service, store, wording
from bot.scheduler.model import Kind
from bot.scheduler.service import Schedules, Wish, checked
from bot.storage.database import Tx

ACTION = "create_schedule"


def payload_of(wish: Wish, owner: PersonId) -> Payload:
    """A wish as the content of a proposal: lines of text only."""
    return {
        "kind": wish.kind.value,
        "owner": owner,
        "for": wish.to or owner,
        "when": wording.text_of(wish.rule, wish.zone),
        "zone": wish.zone,
        "text": wish.text,
    }


class Proposed:
    def __init__(self, schedules: Schedules, clock: Callable[[], datetime]) -> None:
        """`clock`: the time now, for the dates that are shown."""
        self._schedules = schedules
        self._now = clock

    def refusal(self, connection: sa.Connection, payload: Payload, now: datetime) -> str | None:
        try:
            wish, owner = self._wish(payload, now)
            person = people.get(connection, owner)
            if person is None:
                return "whoever wanted it is not on the roster"
            checked(connection, wish, person, now)
        except PermanentError as error:
            return error.message
        return None

    def dates(self, payload: Payload) -> str:
        wish, _ = self._wish(payload, self._now())
        at = wording.dates(wish.rule, wish.zone, self._now())
        return wording.told(at, wish.zone) if at else "never: that time is past"

    def create(self, tx: Tx, proposal: Proposal, now: datetime) -> str:
        wish, owner = self._wish(proposal.final, now)
        person = people.get(tx.connection, owner)
        if person is None:
            raise PermanentError("whoever wanted it is not on the roster")
        actor = Actor("system", "ledger")
        return self._schedules.make(tx, wish, person, None, actor, now, proposal.id).id

    def cancel(self, tx: Tx, job: str, now: datetime) -> None:
        found = store.get(tx.connection, JobId(job))
        if found is None or found.state not in service.LIVE:
            raise PermanentError("it is over or removed already; what it said was said")
        self._schedules.remove(tx, found, Actor("system", "ledger"), now)

    @staticmethod
    def _wish(payload: Payload, now: datetime) -> tuple[Wish, PersonId]:
        zone = str(payload["zone"])
        try:
            kind = Kind(str(payload["kind"]))
        except ValueError as error:
            raise PermanentError(f"there is no kind {payload['kind']!r}") from error
        rule = wording.rule_of(str(payload["when"]), now, zone)
        wish = Wish(kind, str(payload["text"]), rule, zone, PersonId(str(payload["for"])))
        return wish, PersonId(str(payload["owner"]))
