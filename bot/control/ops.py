"""The operations that the daemon itself offers on its socket, by name. Each answers with one object that has `ok`
(`audit.show`: one per entry, then that one). What they take is in the request models of their module.

`handlers` builds them from the parts of a running daemon, or, without one, from a store that the caller has opened
under the data folder's lock: the same functions either way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import sqlalchemy as sa

from bot.audit.recorder import Recorder
from bot.control import ops_audit, ops_company, ops_explain, ops_pair, ops_people, ops_usage
from bot.control.request import Nothing, operation
from bot.gateway.channel import LocalHandler
from bot.intake import store as inbox
from bot.kernel.clock import Clock
from bot.orchestrator.leaving import Departures
from bot.orchestrator.linking import Linking
from bot.orchestrator.roster import Roster
from bot.outbox import store as outbox_store
from bot.outbox.service import Outbox
from bot.storage.database import Database

LISTED = 20
"""Parked rows that `status` names; the counts have them all."""


def no_bell() -> None:
    """Nobody runs tasks: they wait for the next start."""


def handlers(
    database: Database,
    recorder: Recorder,
    clock: Clock,
    status: Callable[[], Awaitable[Mapping[str, object]]],
    forget_rooms: Callable[[], None],
    *,
    audit_key: bytes,
    time_zone: str,
    company: str,
    outbox: Outbox | None,
    ring: Callable[[], None] = no_bell,
) -> Mapping[str, LocalHandler]:
    """`status` tells of the running daemon, as `/health` does. `time_zone` (the company's) is for people who come in by
    a request, `company` its name in the settings. `outbox` takes what rooms are told of a change; None when no daemon
    runs. `ring` wakes whoever runs tasks."""
    roster = Roster(database, recorder, clock, time_zone, forget_rooms, outbox)
    linking = Linking(roster, ring)
    people = ops_people.People(database, roster, Departures(roster, ring), linking)
    pair = ops_pair.Pair(database, clock, linking)
    audit = ops_audit.Audit(database, recorder, audit_key)
    usage = ops_usage.Spending(database, clock, time_zone)
    profile = ops_company.Company(database, recorder, clock, company)

    async def full_status(_: Nothing) -> Mapping[str, object]:
        return {**await status(), "parked": await database.read(_parked)}

    return {
        "status": operation(Nothing, full_status),
        "rooms": operation(Nothing, lambda _: people.rooms()),
        "people.list": operation(Nothing, lambda _: people.everyone()),
        "people.requests": operation(Nothing, lambda _: people.requests()),
        "people.accept": operation(ops_people.Accept, people.accept),
        "people.decline": operation(ops_people.Decline, people.decline),
        "people.edit": operation(ops_people.Edit, people.edit),
        "people.unlink": operation(ops_people.Unlink, people.unlink),
        "people.deactivate": operation(ops_people.Deactivate, people.deactivate),
        "company.show": operation(ops_company.Show, profile.show),
        "company.set": operation(ops_company.Set, profile.set),
        "company.unset": operation(ops_company.Unset, profile.unset),
        "company.export": operation(ops_company.Export, profile.export),
        "company.import": operation(ops_company.Import, profile.import_),
        "pair.make": operation(ops_pair.Make, pair.make),
        "pair.wait": operation(ops_pair.Wait, pair.wait),
        "pair.confirm": operation(ops_pair.Confirm, pair.confirm),
        "audit.verify": operation(ops_audit.Verify, audit.verify),
        "audit.show": audit.show,
        "explain": ops_explain.Explaining(database, recorder).explain,
        "usage": operation(ops_usage.Usage, usage.usage),
    }


def _parked(connection: sa.Connection) -> list[dict[str, object]]:
    """The newest rows that a person must look at."""
    rows = [
        *(("in", str(r.id), r.channel, r.reason, r.at) for r in inbox.parked(connection, LISTED)),
        *(("out", str(r.id), r.channel, r.reason, r.at) for r in outbox_store.parked(connection, LISTED)),
    ]
    return [
        {"way": way, "id": row_id, "channel": channel, "reason": reason, "at": at.isoformat()}
        for way, row_id, channel, reason, at in rows
    ]
