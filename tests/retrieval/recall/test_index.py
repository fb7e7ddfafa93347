"""The index of turns and claims: found at once, by both arms only within what is visible, and gone when removed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.kernel.errors import PermanentError
from bot.retrieval.recall.index import RecallIndex
from bot.retrieval.recall.model import Counts, Kind, Within
from bot.retrieval.tables import recall_row, recall_vector
from bot.storage.database import Database
from tests.retrieval.embedders import MissingEmbedder, WordEmbedder
from tests.retrieval.recall.desk import NOW, Desk, claim, turn, within


async def test_what_was_put_is_found_by_its_words_at_once(desk: Desk) -> None:
    index = desk.index()
    await desk.put(index, turn("1", "We launch the zebra project in May"), turn("2", "Lunch was good", minute=600))
    found = await desk.ask(index, "When is the zebra launch?", within("s1"))
    assert [(hit.ref, hit.text_rank, hit.vector_rank) for hit in found.hits] == [("1", 1, None)]
    assert not found.vectors
    assert desk.queued == ["catch up"]


@pytest.mark.parametrize("question", ["Wem gehört die Straße in München?", "WEM GEHOERT DIE STRASSE IN MUENCHEN?"])
@pytest.mark.parametrize("said", ["Die Straße in München gehört uns.", "Die Strasse in Munchen gehoert uns."])
async def test_a_german_word_is_found_however_it_is_written(desk: Desk, question: str, said: str) -> None:
    index = desk.index()
    await desk.put(index, turn("1", said), turn("2", "Das Wetter ist schön", minute=600))
    found = await desk.ask(index, question, within("s1"))
    assert [hit.ref for hit in found.hits] == ["1"]


async def test_once_embedded_it_is_found_by_meaning_too(desk: Desk) -> None:
    index = desk.index()
    await desk.put(index, *(claim(str(n), f"item{n} of nothing") for n in range(20)), claim("z", "of which the zebra"))
    assert await index.catch_up() == 21
    assert await index.catch_up() == 0
    found = await index.search("of which zebra", within("company", kind=Kind.CLAIM), 3, at=NOW, words=False)
    assert found.vectors
    assert found.hits[0].ref == "z"
    assert found.hits[0].vector_rank == 1
    assert await index.counts() == Counts(21, 21)


async def test_neither_arm_brings_anything_from_another_space_or_kind(desk: Desk) -> None:
    index = desk.index()
    await desk.put(
        index, turn("mine", "the zebra budget"), turn("theirs", "the zebra budget", "s2"),
        claim("claim", "the zebra budget", "s1"),
    )  # fmt: skip
    await index.catch_up()
    for words, meaning in ((True, True), (True, False), (False, True)):
        for where, allowed in (
            (within("s1"), {"mine"}),
            (within("s2"), {"theirs"}),
            (within("s1", "s2"), {"mine", "theirs"}),
            (within("s1", kind=Kind.CLAIM), {"claim"}),
            (Within(Kind.TURN, within("s1", "s2").spans, frozenset({"theirs"})), {"theirs"}),
            (Within(Kind.TURN, within("s1").spans, frozenset({"theirs"})), set()),
            (within(), set()),
            (within("unheard of"), set()),
        ):
            found = await index.search("zebra budget", where, 10, at=NOW, words=words, meaning=meaning)
            refs = {hit.ref for hit in found.hits}
            assert refs <= allowed, (where, words, meaning)
            assert refs == allowed or not words, "the same words find what is visible"


async def test_many_spaces_are_filtered_like_few(desk: Desk) -> None:
    index = desk.index()
    await desk.put(index, *(turn(str(n), "the zebra budget", f"s{n}", history=n % 2) for n in range(60)))
    names = [f"s{n}" for n in range(10, 50)]
    assert set(await desk.refs(index, "zebra", within(*names), 99)) == {str(n) for n in range(10, 50)}
    odd = within(*names, history=1)
    assert set(await desk.refs(index, "zebra", odd, 99)) == {str(n) for n in range(11, 50, 2)}


async def test_what_was_said_before_an_epoch_is_not_found_and_shows_not_beside_a_hit(desk: Desk) -> None:
    index = desk.index()
    await desk.put(
        index, turn("old", "the zebra budget", minute=0), turn("new", "the zebra budget again", history=1, minute=1),
        turn("wide", "the zebra budget for all", history=1, audience=1, minute=2),
    )  # fmt: skip
    await index.catch_up()
    found = await desk.ask(index, "zebra budget", within("s1", history=1))
    assert {hit.ref for hit in found.hits} == {"new", "wide"}
    assert {hit.before for hit in found.hits} == {None, "new"}
    assert await desk.refs(index, "zebra budget", within("s1", history=1, audience=1)) == ["wide"]


async def test_nothing_of_an_earlier_epoch_is_embedded_with_a_turn(desk: Desk) -> None:
    embedder = WordEmbedder()
    index = desk.index(embedder)
    await desk.put(index, turn("old", "secret of before"), turn("new", "Yes", history=1, minute=1))
    await desk.put(index, turn("newer", "No", history=1, minute=2))
    await index.catch_up()
    assert embedder.texts == ["secret of before", "Yes", "Yes\nNo"]


async def test_a_turn_is_found_by_what_it_answers(desk: Desk) -> None:
    index = desk.index()
    await desk.put(index, turn("q", "Shall we move the zebra launch?"), turn("a", "Yes, by a week", minute=1))
    await desk.put(index, *(turn(f"x{n}", f"other{n} matter{n}", minute=600 + n) for n in range(8)))
    await index.catch_up()
    assert (await desk.refs(index, "zebra launch", within("s1")))[:2] == ["q", "a"]


async def test_windows_show_neighbours_instead_of_repeating_them(desk: Desk) -> None:
    index = desk.index()
    await desk.put(index, *(turn(str(n), f"the zebra budget {n}", minute=n) for n in range(5)))
    found = await index.search("zebra budget", within("s1"), 2, at=NOW, windows=True)
    shown = [ref for hit in found.hits for ref in (hit.before, hit.ref, hit.after) if ref is not None]
    assert len(found.hits) == 2
    assert all(abs(int(found.hits[0].ref) - int(hit.ref)) > 1 for hit in found.hits[1:])
    assert len(set(shown)) >= 4


async def test_a_removed_turn_is_gone_from_both_arms_and_from_what_was_embedded_with_it(desk: Desk) -> None:
    embedder = WordEmbedder()
    index = desk.index(embedder)
    await desk.put(index, turn("1", "the zebra secret"), turn("2", "Yes", minute=1), turn("3", "Good", minute=2))
    await index.catch_up()
    assert set(await desk.refs(index, "zebra secret", within("s1"))) >= {"1", "2"}
    await desk.remove(index, Kind.TURN, "1", "unheard of")
    assert await desk.refs(index, "zebra secret", within("s1")) == []
    embedder.texts.clear()
    assert await index.catch_up() == 1
    assert embedder.texts == ["Yes"]
    assert (await index.verify()).sound


async def test_a_changed_turn_is_found_by_what_it_says_now(desk: Desk) -> None:
    embedder = WordEmbedder()
    index = desk.index(embedder)
    first = turn("1", "the zebra budget")
    await desk.put(index, first, turn("2", "Yes", minute=1))
    await index.catch_up()
    await desk.ask(index, "warm", within("s1"))
    embedder.texts.clear()
    await desk.put(index, first)
    assert await index.catch_up() == 0, "nothing changed"
    await desk.put(index, replace(first, text="the penguin budget"))
    assert await desk.refs(index, "zebra", within("s1")) == []
    assert (await desk.refs(index, "penguin", within("s1")))[0] == "1"
    await index.catch_up()
    assert embedder.texts[-2:] == ["the penguin budget", "the penguin budget\nYes"]
    await desk.put(index, replace(first, text="the penguin budget", space="s2"))
    assert await desk.refs(index, "penguin", within("s1")) == []
    assert await desk.refs(index, "penguin", within("s2")) == ["1"]


async def test_a_vector_of_words_that_were_changed_meanwhile_is_not_stored(desk: Desk) -> None:
    index = desk.index()
    first = claim("1", "the zebra budget")
    await desk.put(index, first)
    waiting = await index._waiting("words-1")
    await desk.put(index, replace(first, text="the penguin budget"))
    from bot.retrieval.recall import store

    await desk.database.write(lambda tx: store.fill(tx, "words-1", [(waiting[0], b"stale")]))
    assert await index.counts() == Counts(1, 0)


async def test_what_comes_later_joins_what_is_held_in_memory(desk: Desk) -> None:
    index = desk.index()
    await desk.put(index, turn("2", "the zebra budget", minute=10))
    assert await desk.refs(index, "zebra", within("s1")) == ["2"]
    await desk.put(index, turn("3", "the zebra plan", minute=20), turn("1", "the zebra idea", minute=0))
    found = await desk.ask(index, "zebra", within("s1"))
    assert {hit.ref: (hit.before, hit.after) for hit in found.hits} == {
        "1": (None, "2"), "2": ("1", "3"), "3": ("2", None),
    }  # fmt: skip
    await index.catch_up()
    found = await index.search("zebra idea", within("s1"), 9, at=NOW, words=False)
    assert found.vectors
    assert found.hits[0].ref == "1"
    fresh = await desk.index().search("zebra idea", within("s1"), 9, at=NOW)
    assert fresh == await index.search("zebra idea", within("s1"), 9, at=NOW), "as if it had been read at once"


async def test_vectors_that_come_later_reach_memory_in_parts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.retrieval.recall.index._MOST_LATE", 3)
    index = desk.index()
    await desk.put(index, *(claim(str(n), f"zebra{n}") for n in range(10)))
    where = within("company", kind=Kind.CLAIM)
    await desk.ask(index, "warm", where)
    await index.catch_up()
    for _ in range(4):
        await desk.ask(index, "warm", where)
    found = await index.search("zebra9", where, 1, at=NOW, words=False)
    assert [hit.ref for hit in found.hits] == ["9"]


async def test_without_a_model_full_text_answers_and_says_why(desk: Desk) -> None:
    index = desk.index(MissingEmbedder())
    await desk.put(index, turn("1", "the zebra budget"))
    with pytest.raises(PermanentError, match="not installed"):
        await index.catch_up()
    found = await desk.ask(index, "zebra", within("s1"))
    assert [hit.ref for hit in found.hits] == ["1"]
    assert not found.vectors
    assert index.trouble is not None
    assert "not installed" in index.trouble


async def test_two_models_are_asked_and_another_is_dropped_at_the_start(desk: Desk) -> None:
    index = desk.index(WordEmbedder("words-1"))
    await desk.put(index, claim("1", "the zebra budget"), claim("2", "of penguins"), claim("3", "and lions"))
    await index.catch_up()
    both = desk.index(WordEmbedder("words-2"), WordEmbedder("words-3", 32))
    desk.queued.clear()
    await both.start()
    assert desk.queued == ["catch up"]
    assert await both.catch_up() == 6
    assert (await both.verify()).sound
    assert (await desk.refs(both, "zebra budget", within("company", kind=Kind.CLAIM)))[0] == "1"
    desk.queued.clear()
    await both.start()
    assert desk.queued == []
    models = await desk.database.read(lambda c: set(c.execute(sa.select(recall_vector.c.model)).scalars()))
    assert models == {"words-2", "words-3"}


async def test_everything_can_be_made_anew_from_the_rows(desk: Desk) -> None:
    index = desk.index()
    await desk.put(index, claim("1", "the zebra budget"), claim("2", "of penguins"))
    await index.catch_up()

    def damage(tx: object) -> None:
        assert hasattr(tx, "connection")
        tx.connection.exec_driver_sql("INSERT INTO recall_row_fts(recall_row_fts) VALUES ('delete-all')")
        tx.connection.execute(recall_vector.update().values(data=b"x"))

    await desk.database.write(damage)
    found = await index.verify()
    assert (found.full_text, found.missing, found.unusable) == (False, 0, 2)
    await index.reindex()
    assert await index.catch_up() == 2
    assert (await index.verify()).sound
    assert await desk.refs(index, "zebra", within("company", kind=Kind.CLAIM)) == ["1"]


async def test_removed_words_leave_the_files(desk: Desk, tmp_path: Path) -> None:
    index = desk.index()
    await desk.put(index, turn("1", "quaggamarker was promised"), turn("2", "Yes", minute=1), turn("3", "x", "s2"))
    await index.catch_up()
    await desk.database.maintain()
    assert b"quaggamark" in _bytes(tmp_path), "the probe can find it"
    await desk.database.write(lambda tx: index.clear(tx, Kind.TURN, "s1"))
    await index.purge()
    assert await desk.database.rewrite()
    assert await desk.database.maintain()
    assert b"quaggamark" not in _bytes(tmp_path)
    left = await desk.database.read(lambda c: c.execute(sa.select(recall_row.c.ref)).scalars().all())
    assert left == ["3"]


async def test_a_row_that_goes_while_it_is_searched_is_not_returned(desk: Desk) -> None:
    index = desk.index()
    await desk.put(index, turn("1", "the zebra budget"), turn("2", "the zebra plan", minute=1))
    view = await index._view(within("s1"))

    async def as_it_was(where: object) -> object:
        return view

    index._view = as_it_was  # type: ignore[method-assign,assignment]
    await desk.remove(index, Kind.TURN, "1")
    found = await desk.ask(index, "zebra budget", within("s1"))
    assert [(hit.ref, hit.before) for hit in found.hits] == [("2", None)]


async def test_common_words_are_left_out_where_they_would_cost_too_much(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bot.retrieval.recall import store

    monkeypatch.setattr(store, "MOST_WEIGHED", 5)
    index = desk.index()
    await desk.put(index, *(claim(str(n), "the common budget") for n in range(30)), claim("z", "the zebra budget"))
    where = within("company", kind=Kind.CLAIM)
    assert await desk.refs(index, "common zebra budget", where, 50) == ["z"]
    assert len(await desk.refs(index, "common budget", where, 50)) >= 30
    await desk.put(index, claim("far", "common zebra", "s9"))
    assert await desk.refs(index, "zebra", within("s9", kind=Kind.CLAIM)) == ["far"]


async def test_what_people_write_is_never_taken_for_query_syntax(desk: Desk) -> None:
    index = desk.index()
    space = 's"1" OR text:zebra'
    await desk.put(index, turn("1", "zebra NEAR budget", space), turn("2", "zebra"))
    for query in (
        'zebra" OR "x',
        "zebra*",
        "NEAR(zebra budget)",
        "text:zebra",
        "zebra AND NOT budget",
        "-zebra ^",
        "'",
    ):
        found = await desk.refs(index, query, within(space))
        assert set(found) <= {"1"}


async def test_a_store_that_is_opened_again_serves_what_it_had(
    all_tables: list[str], tmp_path: Path, desk: Desk
) -> None:
    path = tmp_path / "again.db"
    for round_ in range(2):
        async with Database.open(path) as database:
            index = RecallIndex(
                database, (WordEmbedder(),), desk.supervisor, lambda tx: None, patience=timedelta(seconds=60)
            )
            if round_ == 0:
                await database.write(lambda tx, i=index: i.put(tx, [claim("1", "the zebra budget")]))  # type: ignore[misc]
                await index.catch_up()
            await index.start()
            assert await index.counts() == Counts(1, 1)
            found = await index.search("zebra", within("company", kind=Kind.CLAIM), 3, at=NOW)
            assert [hit.ref for hit in found.hits] == ["1"]
            await index.close()


def _bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob("store.db*")))
