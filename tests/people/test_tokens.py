"""Tokens of the API: whose they are, and when they hold no longer."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.people import store, tokens
from bot.people.model import Role
from bot.people.tables import access_token
from bot.people.tokens import Refused, Token
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.people.test_model import person
from tests.people.test_store import follow

OPERATOR = Actor("system", "operator")
BOSS = PersonId("boss")
MONTH = timedelta(days=30)


@pytest.fixture
async def made(database: Database, recorder: Recorder, clock: FakeClock) -> tuple[Token, str]:
    await follow(database, recorder, clock, person("boss", Role.PRINCIPAL), person("ada"))
    return await database.write(lambda tx: tokens.make(tx, recorder, BOSS, "my  script", MONTH, OPERATOR, clock.now()))


async def test_a_token_is_its_persons_until_it_ends(
    database: Database, clock: FakeClock, made: tuple[Token, str]
) -> None:
    token, secret = made
    assert token.name == "my script"
    found = await database.read(lambda c: tokens.check(c, secret, clock.now()))
    assert isinstance(found, tuple)
    assert (found[0].id, found[1].id) == (BOSS, token.id)
    clock.advance(MONTH - timedelta(seconds=1))
    assert isinstance(await database.read(lambda c: tokens.check(c, secret, clock.now())), tuple)
    clock.advance(timedelta(seconds=1))
    assert await database.read(lambda c: tokens.check(c, secret, clock.now())) is Refused.EXPIRED


async def test_the_secret_stands_nowhere(database: Database, made: tuple[Token, str]) -> None:
    def dump(connection: sa.Connection) -> str:
        tables = sa.inspect(connection).get_table_names()
        return "".join(str(row) for t in tables for row in connection.execute(sa.text(f'SELECT * FROM "{t}"')))

    everything = await database.read(dump)
    assert made[1] not in everything
    assert tokens.digest(made[1]) in everything


async def test_a_revoked_token_holds_no_longer(
    database: Database, recorder: Recorder, clock: FakeClock, made: tuple[Token, str]
) -> None:
    token, secret = made
    assert await database.write(lambda tx: tokens.revoke(tx, recorder, token.id, OPERATOR, clock.now()))
    assert not await database.write(lambda tx: tokens.revoke(tx, recorder, token.id, OPERATOR, clock.now()))
    assert await database.read(lambda c: tokens.check(c, secret, clock.now())) is Refused.REVOKED
    entries = await database.read(lambda c: timeline.newest(c, 10, ("token_changed",)))
    assert [entry.payload["change"] for entry in entries] == ["made", "revoked"]


async def test_the_token_of_a_deactivated_person_is_refused_at_once(
    database: Database, recorder: Recorder, clock: FakeClock, made: tuple[Token, str]
) -> None:
    await database.write(lambda tx: store.deactivate(tx, recorder, BOSS, OPERATOR, clock.now()))
    assert await database.read(lambda c: tokens.check(c, made[1], clock.now())) is Refused.DEACTIVATED
    with pytest.raises(PermanentError):
        await database.write(lambda tx: tokens.make(tx, recorder, BOSS, "", MONTH, OPERATOR, clock.now()))


@pytest.mark.parametrize("secret", ["", "oe_", "oe_" + "A" * 43, "oe_" + "é" * 43, "A" * 10_000, "' OR 1=1 --"])
async def test_what_is_no_token_is_unknown(
    database: Database, clock: FakeClock, made: tuple[Token, str], secret: str
) -> None:
    assert await database.read(lambda c: tokens.check(c, secret, clock.now())) is Refused.UNKNOWN


async def test_that_a_token_is_used_is_noted_once_an_hour(
    database: Database, recorder: Recorder, clock: FakeClock, made: tuple[Token, str]
) -> None:
    for minutes in (0, 30, 29, 2):
        clock.advance(timedelta(minutes=minutes))
        await database.write(lambda tx: tokens.use(tx, recorder, made[0], clock.now()))
    entries = await database.read(lambda c: timeline.newest(c, 10, ("auth_login",)))
    assert [entry.actor for entry in entries] == ["boss", "boss"]
    (listed,) = await database.read(tokens.listed)
    assert listed.used_at == clock.now()


@pytest.mark.parametrize("days", [0, -1, 400])
async def test_a_token_lasts_a_while(
    database: Database, recorder: Recorder, clock: FakeClock, made: tuple[Token, str], days: int
) -> None:
    lasts = timedelta(days=days)
    with pytest.raises(PermanentError):
        await database.write(lambda tx: tokens.make(tx, recorder, BOSS, "", lasts, OPERATOR, clock.now()))
    assert await database.read(lambda c: c.execute(sa.select(sa.func.count()).select_from(access_token)).scalar()) == 1
