"""What was forgotten is known again however it is disguised; what only resembles it is not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from bot.memory import tombstones
from bot.memory.tables import tombstone
from bot.memory.wording import runs, telling
from bot.storage.database import Database
from tests.clock import START

KEY = b"k" * 32
STATEMENT = "Acme sells the Zanzibar stake to Quillfeather for 4,711 euros in March."
QUOTE = "we sell the Zanzibar stake to Quillfeather for 4,711 euros in March"
SUBJECT = "zanzibar stake/sale"


async def forgotten(database: Database, space: str = "s1", at: datetime = START) -> None:
    await database.write(lambda tx: tombstones.put(tx, KEY, space, STATEMENT, [QUOTE], SUBJECT, at))


async def known(
    database: Database,
    statement: str,
    quotes: Sequence[str] = (),
    subject: str = "another/thing",
    space: str = "s1",
    key: bytes = KEY,
) -> datetime | None:
    return await database.read(lambda c: tombstones.matches(c, key, space, statement, quotes, subject))


@pytest.mark.parametrize(
    "disguised",
    [
        QUOTE,
        QUOTE.upper(),
        "we sell the Z\u200ban\u200bz\u00adibar stake to Quillfeather for 4,711 euros in March",
        "we sell the Zаnzibаr stake to Quillfeаther for 4,711 euros in Mаrch",  # Cyrillic a
        "w e s e l l the Zanzibar stake to Quillfeather for 4,711 euros in March",
        "ｗｅ ｓｅｌｌ the Ｚａｎｚｉｂａｒ stake to Quillfeather for 4,711 euros in March",
        "*we sell* the _Zanzibar_ stake -- to 'Quillfeather' for 4,711 euros, in March!",
        "To Quillfeather, in March, for 4,711 euros: the Zanzibar stake, which we are selling",
        "As I said before: we sell the Zanzibar stake to Quillfeather, and much else besides that nobody needs to know",
        "sell the Zanzibar stake to Quillfeather",
    ],
)
async def test_the_same_words_are_known_again_in_every_disguise(database: Database, disguised: str) -> None:
    await forgotten(database)
    assert await known(database, "Something was decided.", [disguised]) == START
    assert await known(database, disguised) == START


async def test_the_same_subject_is_enough(database: Database) -> None:
    await forgotten(database)
    assert await known(database, "It goes ahead after all.", subject="Zanzibar  Stake/SALE") == START


@pytest.mark.parametrize(
    "other",
    [
        "We launch the Quillfeather campaign in March.",
        "Quillfeather pays 4,711 euros for the stand at the fair.",
        "We keep the Nairobi stake.",
        "The Zanzibar office moves in June.",
        "",
    ],
)
async def test_what_only_shares_a_few_words_is_not_held(database: Database, other: str) -> None:
    await forgotten(database)
    assert await known(database, other, [other]) is None


async def test_a_space_knows_its_own_and_the_companys(database: Database) -> None:
    await forgotten(database)
    assert await known(database, STATEMENT, space="s2") is None
    assert await known(database, STATEMENT, space=tombstones.COMPANY) is None
    await forgotten(database, tombstones.COMPANY, START + timedelta(days=1))
    assert await known(database, STATEMENT, space="s2") == START + timedelta(days=1)
    assert await known(database, STATEMENT) == START + timedelta(days=1), "the newest counts"


async def test_no_word_is_stored_and_equal_words_look_different_in_two_spaces(database: Database) -> None:
    await forgotten(database)
    await forgotten(database, "s2")
    rows = await database.read(lambda c: c.execute(sa.select(tombstone)).all(), long=True)
    assert {row.of for row in rows} == {"statement", "quote", "subject", "terms", "run"}
    assert not any("zanzibar" in str(row).casefold() for row in rows)
    spaces = [{row.digest for row in rows if row.space == space} for space in ("s1", "s2")]
    assert spaces[0]
    assert not spaces[0] & spaces[1]
    assert await known(database, STATEMENT, [QUOTE], SUBJECT, key=b"x" * 32) is None, "it takes the key"


async def test_a_persons_yes_lifts_it(database: Database) -> None:
    await forgotten(database)
    await database.write(lambda tx: tombstones.lift(tx, KEY, "s1", STATEMENT, [QUOTE], SUBJECT))
    assert await known(database, STATEMENT, [QUOTE], SUBJECT) is None


def test_telling_words_are_those_that_say_something() -> None:
    assert telling("We are going to do it") == frozenset()
    assert telling("the launch in March") == telling("March: launches!")
    assert telling("room 4") != telling("room 5")


def test_runs_of_small_words_are_none() -> None:
    assert list(runs("we are going to do it now")) == []
    assert len(list(runs(QUOTE))) == len(QUOTE.split()) - 4
