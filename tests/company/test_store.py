"""Versions, audit and audience of the profile in SQL."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.audit.tables import audit, content
from bot.company import store
from bot.company.model import Audience, Field, ProfileError, field
from bot.storage.database import Database
from tests.clock import START

ANN = Actor("person", "ann")


def named(name: str, *lines: str, audience: Audience = Audience.COMPANY) -> Field:
    return field(name, lines, audience)


async def put(database: Database, recorder: Recorder, *fields: Field) -> list[str]:
    return await database.write(lambda tx: store.put(tx, recorder, fields, ANN, START))


async def told(database: Database) -> list[tuple[str, str | None]]:
    """Payload and text of every audit row."""
    query = sa.select(audit.c.payload, content.c.text).join(content, content.c.id == audit.c.content_id, isouter=True)
    return [
        (row.payload, row.text) for row in await database.read(lambda c: c.execute(query.order_by(audit.c.id)).all())
    ]


async def test_a_field_is_kept_with_its_versions(database: Database, recorder: Recorder) -> None:
    assert await put(database, recorder, named("stage", "seed")) == ["stage"]
    assert await put(database, recorder, named("stage", "series A")) == ["stage"]
    assert await put(database, recorder, named("stage", "series A")) == []
    (current,) = await database.read(lambda c: store.stored(c, internal=True))
    assert (current.field.lines, current.version, current.changed_by) == (("series A",), 2, "ann")
    versions = await database.read(lambda c: store.history(c, "stage"))
    assert [each.field.lines for each in versions] == [("seed",), ("series A",)]


async def test_only_what_is_public_is_read_for_those_outside(database: Database, recorder: Recorder) -> None:
    await put(database, recorder, named("stage", "seed"), named("name", "Acme", audience=Audience.PUBLIC))
    public = await database.read(lambda c: store.profile(c, internal=False))
    assert [each.name for each in public] == ["name"]


async def test_every_change_is_audited_and_its_words_can_be_erased(database: Database, recorder: Recorder) -> None:
    await put(database, recorder, named("stage", "seed"), named("secret_plan", "Buy Emca"))
    await put(database, recorder, named("stage", "seed", audience=Audience.PUBLIC))
    await database.write(lambda tx: store.take_away(tx, recorder, ["stage", "nothing"], ANN))
    rows = await told(database)
    assert len(rows) == 4
    assert all(word not in payload for payload, _ in rows for word in ("seed", "Emca", "secret_plan"))
    assert rows[1][1] == "secret_plan\nbefore: nothing\nafter: (company) Buy Emca"
    assert rows[2][1] == "stage\nbefore: (company) seed\nafter: (public) seed"
    assert '"change":"unset"' in rows[3][0]
    assert await database.read(lambda c: store.profile(c, internal=True)) == [named("secret_plan", "Buy Emca")]


async def test_a_field_that_was_taken_away_may_come_back(database: Database, recorder: Recorder) -> None:
    await put(database, recorder, named("stage", "seed"))
    await database.write(lambda tx: store.take_away(tx, recorder, ["stage"], ANN))
    await put(database, recorder, named("stage", "series A"))
    (current,) = await database.read(lambda c: store.stored(c, internal=True))
    assert current.version == 2


async def test_past_versions_can_be_erased(database: Database, recorder: Recorder) -> None:
    await put(database, recorder, named("stage", "seed"))
    await put(database, recorder, named("stage", "series A"))
    assert await database.write(lambda tx: store.erase_past(tx, "stage")) == 1
    (only,) = await database.read(lambda c: store.history(c, "stage"))
    assert only.field.lines == ("series A",)


async def test_a_profile_that_became_too_large_changes_nothing(database: Database, recorder: Recorder) -> None:
    large = [named(f"f{n}", *["x" * 900] * 2) for n in range(10)]
    await put(database, recorder, *large[:8])
    with pytest.raises(ProfileError):
        await put(database, recorder, *large[8:])
    assert len(await database.read(lambda c: store.profile(c, internal=True))) == 8
