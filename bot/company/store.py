"""SQL of the profile. Every change writes a version and its audit row; the words stand in the erasable text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from bot.audit.events import Actor, CompanyChanged, Record
from bot.audit.recorder import Recorder
from bot.company.model import KNOWN, Audience, Field, Known, Stored, checked, in_order
from bot.company.tables import company_field
from bot.storage.database import Tx

# On the path of every message: built once.
_CURRENT = sa.select(company_field).where(company_field.c.current)
_PUBLIC = _CURRENT.where(company_field.c.audience == Audience.PUBLIC.value)


def profile(connection: sa.Connection, *, internal: bool) -> list[Field]:
    """The fields in order; the public ones alone unless `internal`."""
    return [each.field for each in stored(connection, internal=internal)]


def stored(connection: sa.Connection, *, internal: bool) -> list[Stored]:
    found = {row.name: _stored(row) for row in connection.execute(_CURRENT if internal else _PUBLIC)}
    return [found[each.name] for each in in_order(each.field for each in found.values())]


def history(connection: sa.Connection, name: str) -> list[Stored]:
    """Every version of a field that was not erased, oldest first."""
    query = sa.select(company_field).where(company_field.c.name == name).order_by(company_field.c.version)
    return [_stored(row) for row in connection.execute(query)]


def put(tx: Tx, recorder: Recorder, fields: Sequence[Field], actor: Actor, now: datetime) -> list[str]:
    """Set these fields; the names of those that changed. Raises `ProfileError` if the profile became too large."""
    before = {each.field.name: each for each in stored(tx.connection, internal=True)}
    checked(list(({name: each.field for name, each in before.items()} | {each.name: each for each in fields}).values()))
    changed: list[str] = []
    for each in fields:
        known = before.get(each.name)
        if known is not None and known.field == each:
            continue
        version = _newest(tx.connection, each.name) + 1
        _retire(tx, each.name)
        tx.execute(
            company_field.insert().values(
                name=each.name,
                version=version,
                lines=list(each.lines),
                audience=each.audience.value,
                current=True,
                changed_at=now,
                changed_by=actor.id,
            )
        )
        _record(tx, recorder, "set", version, known.field if known else None, each, actor)
        changed.append(each.name)
    return changed


def take_away(tx: Tx, recorder: Recorder, names: Sequence[str], actor: Actor) -> list[str]:
    """Take fields away; the names of those that were there."""
    before = {each.field.name: each for each in stored(tx.connection, internal=True)}
    gone = [name for name in names if name in before]
    for name in gone:
        _retire(tx, name)
        _record(tx, recorder, "unset", before[name].version, before[name].field, None, actor)
    return gone


def erase_past(tx: Tx, name: str) -> int:
    """Delete the versions of a field that are not current any more; how many. The audit's texts are erased there."""
    done = tx.execute(company_field.delete().where(company_field.c.name == name, sa.not_(company_field.c.current)))
    return int(done.rowcount)


def _retire(tx: Tx, name: str) -> None:
    tx.execute(
        company_field.update().where(company_field.c.name == name, company_field.c.current).values(current=False)
    )


def _newest(connection: sa.Connection, name: str) -> int:
    query = sa.select(sa.func.max(company_field.c.version)).where(company_field.c.name == name)
    return connection.execute(query).scalar() or 0


def _record(
    tx: Tx,
    recorder: Recorder,
    change: Literal["set", "unset"],
    version: int,
    before: Field | None,
    after: Field | None,
    actor: Actor,
) -> None:
    told = after or before
    assert told is not None  # noqa: S101 - for the type checker: one of the two is always there
    field: Known | Literal["own"] = told.name if told.name in KNOWN else "own"
    text = "\n".join(f"{said}: {_told(each)}" for said, each in (("before", before), ("after", after)))
    payload = CompanyChanged(field, change, version, told.audience)
    recorder.record(tx, Record(payload, actor, text=f"{told.name}\n{text}"))


def _told(each: Field | None) -> str:
    return "nothing" if each is None else f"({each.audience.value}) " + " | ".join(each.lines)


def _stored(row: Any) -> Stored:
    return Stored(
        Field(row.name, tuple(row.lines), Audience(row.audience)), row.version, row.changed_at, row.changed_by
    )
