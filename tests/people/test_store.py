"""People and handles, written and read back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.ids import PersonId
from bot.people import store
from bot.people.model import Handle, Origin, Person, Role, reconcile
from bot.people.tables import handle
from bot.storage.database import Database, Tx
from tests.clock import FakeClock
from tests.people.test_model import BOSS, PAIRED, PHONE, person, wanted

FULL = Person(
    PersonId("ada"),
    "Ada",
    Role.MEMBER,
    ("finance", "board"),
    "Europe/Oslo",
    ("22:00", "07:00"),
    Origin.SETTINGS,
    True,
    frozenset({PHONE, Handle("mail", "ada@example.com", Origin.SETTINGS)}),
)
ACTOR = Actor("person", "boss")


async def follow(database: Database, recorder: Recorder, clock: FakeClock, *people: Person) -> list[str]:
    """Make the roster follow settings that name these people; what changed."""

    def unit(tx: Tx) -> list[str]:
        changes = reconcile(store.everyone(tx.connection), wanted(*people), accept=True)
        store.apply(tx, recorder, changes, clock.now())
        return [change.kind for change in changes]

    return await database.write(unit)


async def everyone(database: Database) -> dict[str, Person]:
    return {each.id: each for each in await database.read(store.everyone)}


async def test_people_come_back_as_they_were_written(database: Database, recorder: Recorder, clock: FakeClock) -> None:
    await follow(database, recorder, clock, FULL, BOSS)
    assert await everyone(database) == {"ada": FULL, "boss": BOSS}
    assert await database.read(lambda c: store.get(c, FULL.id)) == FULL
    assert await database.read(lambda c: store.get(c, PersonId("nobody"))) is None
    found = await database.read(lambda c: store.by_handle(c, "chat", ["100", "200"]))
    assert {address: each.id for address, each in found.items()} == {"100": "ada"}
    assert await follow(database, recorder, clock, FULL, BOSS) == []


async def test_handles_follow_settings_and_paired_ones_stay(
    database: Database, recorder: Recorder, clock: FakeClock
) -> None:
    await follow(database, recorder, clock, FULL)
    await database.write(lambda tx: store.add_handle(tx, FULL.id, PAIRED, clock.now()))
    moved = Handle("mail", "ada@new.example", Origin.SETTINGS)
    await follow(database, recorder, clock, replace(FULL, handles=frozenset({PHONE, moved})))
    assert (await everyone(database))["ada"].handles == {PHONE, moved, PAIRED}


async def test_two_people_can_exchange_their_handles(database: Database, recorder: Recorder, clock: FakeClock) -> None:
    one, two = Handle("chat", "1", Origin.SETTINGS), Handle("chat", "2", Origin.SETTINGS)
    await follow(database, recorder, clock, person("a", handles=[one]), person("b", handles=[two]))
    await follow(database, recorder, clock, person("a", handles=[two]), person("b", handles=[one]))
    found = await everyone(database)
    assert found["a"].handles == {two}
    assert found["b"].handles == {one}


async def test_a_handle_goes_over_from_who_is_gone_to_who_is_new(
    database: Database, recorder: Recorder, clock: FakeClock
) -> None:
    await follow(database, recorder, clock, BOSS, person("old", handles=[PHONE]))
    await follow(database, recorder, clock, BOSS, person("new", handles=[PHONE]))
    found = await everyone(database)
    assert found["new"].handles == {PHONE}
    assert not found["old"].active
    assert found["old"].handles == frozenset()


async def test_who_was_deactivated_is_still_known_by_their_handles(
    database: Database, recorder: Recorder, clock: FakeClock
) -> None:
    await follow(database, recorder, clock, BOSS, FULL)
    await follow(database, recorder, clock, BOSS)
    owner = (await database.read(lambda c: store.by_handle(c, "chat", ["100"])))["100"]
    assert owner.id == "ada"
    assert not owner.active
    assert await follow(database, recorder, clock, BOSS, FULL) == ["reactivated"]
    assert (await everyone(database))["ada"] == FULL


async def test_deactivating_acts_once_and_is_recorded(database: Database, recorder: Recorder, clock: FakeClock) -> None:
    await follow(database, recorder, clock, FULL)
    assert await database.write(lambda tx: store.deactivate(tx, recorder, FULL.id, ACTOR, clock.now()))
    assert not await database.write(lambda tx: store.deactivate(tx, recorder, FULL.id, ACTOR, clock.now()))
    assert not (await everyone(database))["ada"].active
    entries = await database.read(lambda c: timeline.newest(c, 10, ("person_changed",)))
    assert [(entry.actor, entry.payload["change"]) for entry in entries] == [
        ("daemon", "added"),
        ("boss", "deactivated"),
    ]


async def test_principals_are_the_active_ones_the_first_before_the_others(
    database: Database, recorder: Recorder, clock: FakeClock
) -> None:
    second = person("aaa", Role.PRINCIPAL)
    await follow(database, recorder, clock, BOSS)
    clock.advance(clock.now() - clock.now().replace(hour=0))
    await follow(database, recorder, clock, BOSS, second, FULL)
    assert [each.id for each in await database.read(store.principals)] == ["boss", "aaa"]
    await database.write(lambda tx: store.deactivate(tx, recorder, BOSS.id, ACTOR, clock.now()))
    assert [each.id for each in await database.read(store.principals)] == ["aaa"]


async def test_that_a_person_blocked_the_executive_is_kept_while_their_entry_changes(
    database: Database, recorder: Recorder, clock: FakeClock
) -> None:
    await follow(database, recorder, clock, FULL)
    await database.write(lambda tx: store.set_reachable(tx, "chat", "100", reachable=False))
    await follow(database, recorder, clock, replace(FULL, name="Ada L."))

    def reachable(connection: sa.Connection) -> Sequence[tuple[str, bool]]:
        rows = connection.execute(sa.select(handle.c.channel, handle.c.reachable).order_by(handle.c.channel))
        return [(row.channel, row.reachable) for row in rows]

    assert await database.read(reachable) == [("chat", False), ("mail", True)]


async def test_names_and_addresses_do_not_get_into_the_audit(
    database: Database, recorder: Recorder, clock: FakeClock
) -> None:
    await follow(database, recorder, clock, FULL)
    assert "Ada" not in repr(await database.read(lambda c: timeline.newest(c, 10)))
