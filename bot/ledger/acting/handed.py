"""What is done by rooms that this one does not know: memories and schedules. `bot.app` hands in who does it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

import sqlalchemy as sa

from bot.kernel.errors import PermanentError
from bot.kernel.ids import ClaimId
from bot.ledger.acting.payload import line_of, number_of, only, text_of
from bot.ledger.actions import Done, NotBefore, Sending, Shown
from bot.ledger.model import Payload, Proposal
from bot.storage.database import Tx


class Remembered(Protocol):
    """What can be done about memories."""

    def version(self, connection: sa.Connection, claim: ClaimId) -> int | None:
        """As it stands now; None if it does not stand any more."""
        ...

    def promote(self, tx: Tx, claim: ClaimId, proposal: Proposal, now: datetime) -> None:
        """Let the whole company see it. Raises `PermanentError`."""
        ...

    def demote(self, tx: Tx, claim: ClaimId, proposal: Proposal, now: datetime) -> None:
        """Take that back. Raises `PermanentError`."""
        ...

    def forget(self, tx: Tx, claim: ClaimId, proposal: Proposal, now: datetime) -> Callable[[], None]:
        """Erase it; returns what is to be called after the commit. Raises `PermanentError`."""
        ...


class _OfMemory:
    name: str
    promotable = False
    what: str

    def __init__(self, remembered: Remembered) -> None:
        self._remembered = remembered

    def checked(self, payload: Payload) -> Payload:
        """The memory's words stand in `rests_on`, not here: a proposal must not hold what is to be forgotten."""
        return only(payload, {"memory": line_of(payload, "memory"), "version": number_of(payload, "version")})

    def show(self, payload: Payload) -> Shown:
        return Shown(self.what, (("Memory", f"{payload['memory']}, version {payload['version']}"),))

    def edited(self, payload: Payload, body: str) -> Payload:
        raise PermanentError("there is no text to change here: approve it or reject it")

    def guard(self, connection: sa.Connection, proposal: Proposal, now: datetime) -> str | NotBefore | None:
        payload = proposal.final
        if self._remembered.version(connection, ClaimId(str(payload["memory"]))) != payload["version"]:
            return "the memory was changed since this was proposed"
        return None


class PromoteMemory(_OfMemory):
    name = "promote_memory"
    what = "Let the whole company see a memory"

    def effect(self, tx: Tx, proposal: Proposal, now: datetime) -> Done | Sending:
        memory = ClaimId(str(proposal.final["memory"]))
        self._remembered.promote(tx, memory, proposal, now)
        return Done(memory)

    def undo(self, tx: Tx, proposal: Proposal, now: datetime) -> Done:
        memory = ClaimId(str(proposal.final["memory"]))
        self._remembered.demote(tx, memory, proposal, now)
        return Done(memory)


class Forget(_OfMemory):
    name = "forget"
    what = "Forget a memory, with the words that it rests on"

    def effect(self, tx: Tx, proposal: Proposal, now: datetime) -> Done | Sending:
        memory = ClaimId(str(proposal.final["memory"]))
        return Done(memory, self._remembered.forget(tx, memory, proposal, now))

    def undo(self, tx: Tx, proposal: Proposal, now: datetime) -> Done:
        raise PermanentError("what was forgotten is gone: it cannot be brought back")


class Schedules(Protocol):
    """What can be done about schedules."""

    def refusal(self, connection: sa.Connection, payload: Payload, now: datetime) -> str | None:
        """Why this cannot be scheduled, in words."""
        ...

    def dates(self, payload: Payload) -> str:
        """When it will run, in words, its zone named. Pure. Raises `PermanentError`."""
        ...

    def create(self, tx: Tx, proposal: Proposal, now: datetime) -> str:
        """Make it; returns its id. Raises `PermanentError`."""
        ...

    def cancel(self, tx: Tx, job: str, now: datetime) -> None:
        """Raises `PermanentError`."""
        ...


class CreateSchedule:
    name = "create_schedule"
    promotable = False

    def __init__(self, schedules: Schedules) -> None:
        self._schedules = schedules

    def checked(self, payload: Payload) -> Payload:
        values = {
            "kind": line_of(payload, "kind"),
            "owner": line_of(payload, "owner"),
            "for": line_of(payload, "for"),
            "when": line_of(payload, "when"),
            "zone": line_of(payload, "zone"),
            "text": text_of(payload, "text", 4_000),
        }
        self._schedules.dates(values)
        return only(payload, values)

    def show(self, payload: Payload) -> Shown:
        fields = (
            ("For", str(payload["for"])),
            ("When", f"{payload['when']} ({payload['zone']}): {self._schedules.dates(payload)}"),
            ("Kind", str(payload["kind"])),
            ("Owner", str(payload["owner"])),
        )
        return Shown("Make a schedule", fields, str(payload["text"]))

    def edited(self, payload: Payload, body: str) -> Payload:
        return {**payload, "text": body}

    def guard(self, connection: sa.Connection, proposal: Proposal, now: datetime) -> str | NotBefore | None:
        return self._schedules.refusal(connection, proposal.final, now)

    def effect(self, tx: Tx, proposal: Proposal, now: datetime) -> Done | Sending:
        return Done(self._schedules.create(tx, proposal, now))

    def undo(self, tx: Tx, proposal: Proposal, now: datetime) -> Done:
        self._schedules.cancel(tx, proposal.result or "", now)
        return Done(proposal.result)
