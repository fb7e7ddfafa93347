"""What becomes of the profile when words are forgotten."""

from __future__ import annotations

from collections.abc import Sequence

from bot.app.erasing import REDACTORS
from bot.audit.recorder import Recorder
from bot.company import store
from bot.company.erasing import redact
from bot.kernel.erasing import Words
from bot.storage.database import Database, Tx
from tests.clock import START
from tests.company.test_store import named, put

SECRET = "Zanzibar"


def cut(text: str) -> Sequence[tuple[int, int]]:
    start = text.find(SECRET)
    return [(start, start + len(SECRET))] if start >= 0 else []


WORDS = Words(
    lambda text: SECRET in text, cut, cut, frozenset(), frozenset(), {}, everywhere=False, turns=frozenset(), quotes={}
)


async def test_earlier_versions_that_tell_the_words_go_and_what_stands_now_stays(
    database: Database, recorder: Recorder
) -> None:
    await put(database, recorder, named("goals", "Open in Zanzibar"), named("stage", "seed"))
    await put(database, recorder, named("goals", "Break even"), named("stage", "series A"))
    await put(database, recorder, named("rules", "Zanzibar is told to nobody"))

    def unit(tx: Tx) -> dict[str, int]:
        found = redact(tx.connection, WORDS, START)
        for statement in found.statements:
            tx.execute(statement)
        return dict(found.erased.counts)

    assert await database.write(unit) == {"profile_versions": 1}

    async def versions(name: str) -> list[int]:
        return [each.version for each in await database.read(lambda c: store.history(c, name))]

    assert [await versions(name) for name in ("goals", "stage", "rules")] == [[2], [1, 2], [1]]
    await put(database, recorder, named("goals", "Grow"))
    assert await versions("goals") == [2, 3], "numbers are not given twice"


def test_forgetting_looks_into_the_profile() -> None:
    assert redact in REDACTORS
