"""Changing a field of the company's profile."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.company import store as company
from bot.company.model import Audience, field, label
from bot.kernel.errors import PermanentError
from bot.ledger.acting.payload import UnfitError, line_of, number_of, only, texts_of
from bot.ledger.actions import Done, NotBefore, Sending, Shown
from bot.ledger.model import Payload, Proposal
from bot.storage.database import Tx


def version_of(connection: sa.Connection, name: str) -> int:
    """The newest version of a field that stands; 0 where there is none."""
    return next((each.version for each in company.stored(connection, internal=True) if each.field.name == name), 0)


class ChangeCompanyProfile:
    name = "change_company_profile"
    promotable = False

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def checked(self, payload: Payload) -> Payload:
        audience = line_of(payload, "audience")
        if audience not in list(Audience):
            raise UnfitError("audience is public or company")
        kept = field(line_of(payload, "field"), texts_of(payload, "lines"), Audience(audience))
        values = {
            "field": kept.name,
            "lines": list(kept.lines),
            "audience": kept.audience.value,
            "replaces": number_of(payload, "replaces"),
        }
        return only(payload, values)

    def show(self, payload: Payload) -> Shown:
        seen = "anybody" if payload["audience"] == Audience.PUBLIC.value else "the company only"
        replaces = int(str(payload["replaces"]))
        fields = (
            ("Field", f"{label(str(payload['field']))} ({payload['field']})"),
            ("May be told to", seen),
            ("Replaces", f"version {replaces}" if replaces else "nothing: it is new"),
        )
        return Shown("Change the company's profile", fields, "\n".join(texts_of(payload, "lines")))

    def edited(self, payload: Payload, body: str) -> Payload:
        return {**payload, "lines": body.splitlines()}

    def guard(self, connection: sa.Connection, proposal: Proposal, now: datetime) -> str | NotBefore | None:
        payload = proposal.final
        if version_of(connection, str(payload["field"])) != payload["replaces"]:
            return "the field was changed since this was proposed"
        return None

    def effect(self, tx: Tx, proposal: Proposal, now: datetime) -> Done | Sending:
        payload = proposal.final
        new = field(str(payload["field"]), texts_of(payload, "lines"), Audience(str(payload["audience"])))
        company.put(tx, self._recorder, [new], _actor(proposal), now)
        return Done(f"{new.name} {version_of(tx.connection, new.name)}")

    def undo(self, tx: Tx, proposal: Proposal, now: datetime) -> Done:
        """As it was before, if nobody has changed it since."""
        name, _, version = (proposal.result or "").partition(" ")
        if not name or version_of(tx.connection, name) != int(version or 0):
            raise PermanentError("the field was changed again since then: put it right by hand")
        replaced = proposal.final["replaces"]
        if not replaced:
            company.take_away(tx, self._recorder, [name], Actor("system", "ledger"))
            return Done(name)
        before = next((each for each in company.history(tx.connection, name) if each.version == replaced), None)
        if before is None:
            raise PermanentError("what stood there before was erased")
        company.put(tx, self._recorder, [before.field], Actor("system", "ledger"), now)
        return Done(name)


def _actor(proposal: Proposal) -> Actor:
    return Actor("person", proposal.decided_by) if proposal.decided_by else Actor("system", "ledger")
