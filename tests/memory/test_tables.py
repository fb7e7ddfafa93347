"""The invariants of memory hold in the database itself, whoever writes."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from bot.audit.recorder import Recorder
from bot.kernel.ids import ClaimId
from bot.memory import store
from bot.memory.model import TRANSITIONS, Author, ConflictError, Held, Op, Status, Visibility
from bot.memory.rows import row_of
from bot.memory.tables import claim as claim_table
from bot.memory.tables import claim_event, claim_event_text, evidence
from bot.storage.database import Database, Tx
from tests.clock import FakeClock
from tests.memory.claims import MARTA, MODEL, claim, written


async def _refused(database: Database, statement: sa.Executable) -> str:
    with pytest.raises(sa.exc.IntegrityError) as caught:
        await database.write(lambda tx: tx.execute(statement))
    return str(caught.value.orig)


async def test_a_claim_without_its_event_cannot_be_written(database: Database, clock: FakeClock) -> None:
    refusal = await _refused(
        database, claim_table.insert().values(**row_of(claim(clock.now(), author=Author("person", "marta"))))
    )
    assert "together with its event" in refusal


async def test_a_claim_without_evidence_cannot_be_written_by_the_extractor(
    database: Database, recorder: Recorder, clock: FakeClock
) -> None:
    with pytest.raises(sa.exc.IntegrityError, match="rests on evidence"):
        await written(database, recorder, claim(clock.now()), [])


async def test_a_claim_cannot_be_changed_without_an_event(
    database: Database, recorder: Recorder, clock: FakeClock
) -> None:
    one = await written(database, recorder, claim(clock.now()))
    for values in ({"statement": "Never."}, {"statement": "Never.", "version": 2}):
        change = claim_table.update().where(claim_table.c.id == one.id).values(**values)
        assert "together with its event" in await _refused(database, change)


MOVES = [
    (before, after)
    for before in Status
    for after in Status
    if before is not after and Status.ERASED not in (before, after)
]
"""Erasing has its own tests."""


@pytest.mark.parametrize(("before", "after"), MOVES)
async def test_a_status_moves_only_as_the_table_says(
    database: Database, recorder: Recorder, clock: FakeClock, before: Status, after: Status
) -> None:

    def values(status: Status) -> dict[str, Any]:
        return {
            "status": status,
            "held": (Held.UNTRUSTED,) if status is Status.PENDING else (),
            "replaced_by": ClaimId("other") if status is Status.SUPERSEDED else None,
        }

    stands = before in (Status.PENDING, Status.ACTIVE, Status.DISPUTED)
    one = await written(
        database, recorder, claim(clock.now(), **values(before), retired_at=None if stands else clock.now())
    )

    def unit(tx: Tx) -> None:
        store.change(tx, recorder, one, Op.EDITED, MARTA, clock.now(), "moved", **values(after))

    if after in TRANSITIONS[before]:
        await database.write(unit)
        seen = await database.read(lambda c: store.get(c, one.id))
        assert seen is not None
        assert seen.status is after
    else:
        with pytest.raises(sa.exc.IntegrityError, match="cannot move like that"):
            await database.write(unit)


@pytest.mark.parametrize("visibility", Visibility)
async def test_one_claim_a_subject_and_speaker_stands(
    database: Database, recorder: Recorder, clock: FakeClock, visibility: Visibility
) -> None:
    await written(database, recorder, claim(clock.now(), visibility=visibility))
    with pytest.raises(sa.exc.IntegrityError, match="UNIQUE"):
        await written(database, recorder, claim(clock.now(), visibility=visibility))
    await written(database, recorder, claim(clock.now(), visibility=visibility, speaker="jonas"))
    await written(database, recorder, claim(clock.now(), visibility=visibility, subject="launch/place"))


async def test_evidence_stays_as_it_is_and_goes_only_with_its_claim(
    database: Database, recorder: Recorder, clock: FakeClock
) -> None:
    one = await written(database, recorder, claim(clock.now()))
    assert "never changed" in await _refused(database, evidence.update().values(quote="x"))
    assert "goes only with its claim" in await _refused(database, evidence.delete())
    await database.write(lambda tx: store.erase(tx, recorder, one, MARTA, clock.now()))
    assert await database.read(lambda c: c.execute(sa.select(sa.func.count()).select_from(evidence)).scalar()) == 0


async def test_events_are_never_changed_and_claims_never_deleted(
    database: Database, recorder: Recorder, clock: FakeClock
) -> None:
    await written(database, recorder, claim(clock.now()))
    assert "never changed" in await _refused(database, claim_event.update().values(actor="x"))
    assert "never deleted" in await _refused(database, claim_event.delete())
    assert "never deleted" in await _refused(database, claim_table.delete())


async def test_who_looked_before_another_change_is_refused(
    database: Database, recorder: Recorder, clock: FakeClock
) -> None:
    one = await written(database, recorder, claim(clock.now()))

    def edit(tx: Tx) -> None:
        store.change(tx, recorder, one, Op.EDITED, MARTA, clock.now(), "better", statement="We launch in April.")

    await database.write(edit)
    with pytest.raises(ConflictError, match="changed meanwhile"):
        await database.write(edit)


async def test_every_change_tells_before_and_after_with_actor_and_reason(
    database: Database, recorder: Recorder, clock: FakeClock
) -> None:
    one = await written(database, recorder, claim(clock.now()))
    clock.advance(timedelta(minutes=1))

    def edit(tx: Tx) -> None:
        store.change(tx, recorder, one, Op.EDITED, MARTA, clock.now(), "the board moved it", statement="April it is.")

    await database.write(edit)
    rows = await database.read(
        lambda c: c.execute(
            sa.select(claim_event.c.op, claim_event.c.actor, claim_event_text)
            .join(claim_event_text, claim_event_text.c.event_seq == claim_event.c.seq)
            .order_by(claim_event.c.seq)
        ).all()
    )
    assert [(row.op, row.actor, row.reason) for row in rows] == [
        ("written", MODEL.id, None),
        ("edited", "marta", "the board moved it"),
    ]
    assert rows[1].before == {"statement": "We launch in March."}
    assert rows[1].after == {"statement": "April it is."}
    seen = await database.read(lambda c: store.get(c, one.id))
    assert seen == dataclasses.replace(
        one, statement="April it is.", version=2, touched_at=one.touched_at + timedelta(minutes=1)
    )


async def test_an_erased_claim_is_an_empty_shell(database: Database, recorder: Recorder, clock: FakeClock) -> None:
    one = await written(database, recorder, claim(clock.now(), rationale="the fair is in March"))
    await database.write(lambda tx: store.erase(tx, recorder, one, MARTA, clock.now()))
    row = await database.read(lambda c: c.execute(sa.select(claim_table)).one())
    assert (row.status, row.statement, row.rationale, row.subject) == ("erased", None, None, None)
    texts = await database.read(lambda c: c.execute(sa.select(sa.func.count()).select_from(claim_event_text)).scalar())
    assert texts == 0
    assert await database.read(lambda c: store.get(c, one.id)) is None
