"""The index of meanings: in step with SQL, whatever became of its folder, its model or its process."""

from __future__ import annotations

import asyncio
import shutil
import socket
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from bot.kernel.errors import PermanentError
from bot.retrieval import index as index_module
from bot.retrieval import store, vectors
from bot.retrieval.index import State, Status, Work
from bot.retrieval.vectors import read_pointer
from tests.files.loopwatch import watched
from tests.retrieval.embedders import MissingEmbedder, WordEmbedder
from tests.retrieval.shelf import Shelf

ANIMALS = {"1": "zebras graze on grass", "2": "giraffes eat leaves", "3": "lions hunt zebras", "4": "penguins swim"}


async def test_what_was_enlisted_is_found_once_it_was_embedded(shelf: Shelf) -> None:
    index = shelf.index()
    await shelf.put("a", ANIMALS)
    assert await shelf.found(index, "zebras") is None, "nothing to serve from yet"
    assert shelf.asked == [Work.CATCH_UP]
    assert await index.catch_up() == 4
    assert set(await shelf.found(index, "zebras", limit=2) or ()) == {"1", "3"}
    assert (await index.status()).state is State.SERVING


async def test_status_says_that_vectors_are_being_made(shelf: Shelf) -> None:
    index = shelf.index()
    seen: list[Status] = []
    texts = index._texts

    async def watched_texts(items: Sequence[str]) -> Mapping[str, str]:
        seen.append(await index.status())
        return await texts(items)

    index._texts = watched_texts
    await shelf.put("a", {f"{number:02}": f"item{number}" for number in range(10)})
    assert (await index.status()).state is State.COLD
    await index.catch_up()
    assert [(each.state, each.embedded, each.items) for each in seen] == [(State.BEHIND, 0, 10), (State.BEHIND, 8, 10)]
    assert (await index.status()).state is State.SERVING


async def test_a_search_looks_in_the_named_collections_only(shelf: Shelf) -> None:
    index = shelf.index()
    await shelf.put("a", {"1": "zebras in the open"})
    await shelf.put("department:board", {"2": "zebras in secret"})
    await index.catch_up()
    assert await shelf.found(index, "zebras in secret", "a") == ["1"]
    assert await shelf.found(index, "zebras in secret", "a", "department:board") == ["2", "1"]
    assert await shelf.found(index, "zebras", "unheard of") == []
    near = await index.nearest("zebras", ("a", "department:board"), 5, among=["1"])
    assert [each.item for each in near or ()] == ["1"]
    near = await index.nearest("zebras", ("a",), 5, among=["1", "2", "not there"])
    assert [each.item for each in near or ()] == ["1"]


async def test_what_came_since_joins_the_index(shelf: Shelf) -> None:
    index = shelf.index()
    await shelf.put("a", ANIMALS)
    await index.catch_up()
    await shelf.put("a", {"5": "zebras run fast"})
    await index.catch_up()
    assert set(await shelf.found(index, "zebras", limit=3) or ()) == {"1", "3", "5"}


async def test_an_index_that_holds_much_that_was_withdrawn_is_made_anew(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "MOST_WITHDRAWN", 1)
    index = shelf.index()
    await shelf.put("a", ANIMALS)
    await index.catch_up()
    await shelf.take("1")
    await index.catch_up()
    assert set(await shelf.found(index, "zebras", limit=4) or ()) == {"1", "2", "3", "4"}, "few: readers drop them"
    await shelf.take("2")
    await index.catch_up()
    assert set(await shelf.found(index, "zebras", limit=4) or ()) == {"3", "4"}


async def test_an_item_whose_text_is_gone_is_not_embedded(shelf: Shelf) -> None:
    index = shelf.index()
    await shelf.put("a", ANIMALS)
    del shelf.texts["2"]
    await index.catch_up()
    assert await shelf.database.read(lambda c: store.counts(c, "words-1")) == (3, 3)


async def test_a_restart_serves_without_embedding_anything_anew(shelf: Shelf) -> None:
    first = shelf.index()
    await shelf.put("a", ANIMALS)
    await first.catch_up()
    await first.close()
    embedder = WordEmbedder()
    second = shelf.index(embedder)
    await second.start()
    assert set(await shelf.found(second, "zebras", limit=2) or ()) == {"1", "3"}
    assert embedder.texts == ["zebras"]
    assert shelf.asked == []


@pytest.mark.case(128)
async def test_case_128_more_than_a_thousand_items_are_all_there_after_a_restart(shelf: Shelf) -> None:
    items = {f"{number:04}": f"item{number} of the store" for number in range(1_200)}
    first = shelf.index()
    await shelf.put("a", items)
    await first.catch_up()
    await first.close()
    second = shelf.index()
    for number in (0, 600, 1_199):
        assert await shelf.found(second, f"item{number} of the store", limit=1) == [f"{number:04}"]
    # The search is approximate: asked for all, it may miss a few.
    assert len(await shelf.found(second, "store", limit=1_200) or ()) > 1_190


@pytest.mark.case(128)
@pytest.mark.parametrize("damage", ["index folder lost", "index cut", "database overwritten", "database lost", "all"])
async def test_case_128_a_damaged_folder_is_seen_and_rebuilt_from_sql(shelf: Shelf, damage: str) -> None:
    first = shelf.index()
    await shelf.put("a", {f"{number:04}": f"item{number} of the store" for number in range(1_100)})
    await first.catch_up()
    await first.close()
    _harm(shelf.folder, damage)
    embedder = WordEmbedder()
    second = shelf.index(embedder)
    await second.start()
    assert await shelf.found(second, "item7 of the store") is None, "a part of the truth is not served"
    assert (await second.status()).state in (State.BEHIND, State.COLD)
    assert Work.REBUILD in shelf.asked
    await second.rebuild()
    assert await shelf.found(second, "item7 of the store", limit=1) == ["0007"]
    assert set(embedder.texts) <= {"item7 of the store"}, "vectors come from SQL"


def _harm(folder: Path, damage: str) -> None:
    serving = read_pointer(folder)
    assert serving is not None
    generation = folder / serving.generation
    (segment,) = (path for path in generation.iterdir() if path.is_dir())
    match damage:
        case "index folder lost":
            shutil.rmtree(segment)
        case "index cut":
            for path in segment.iterdir():
                path.write_bytes(path.read_bytes()[:10])
        case "database overwritten":
            (generation / "chroma.sqlite3").write_bytes(b"not a database" * 1_000)
        case "database lost":
            (generation / "chroma.sqlite3").unlink()
        case _:
            shutil.rmtree(folder)


async def test_an_index_that_breaks_while_it_serves_gives_way_and_is_rebuilt(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = shelf.index()
    await shelf.put("a", ANIMALS)
    await index.catch_up()

    def broken(*_: object) -> list[vectors.Near]:
        raise vectors.VectorsError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(vectors.Generation, "nearest", broken)
        assert await shelf.found(index, "zebras") is None
        assert await shelf.found(index, "zebras") is None
    await shelf.supervisor.drain(timedelta(seconds=10))
    assert shelf.asked == [Work.REBUILD], "asked for once"
    await index.rebuild()
    assert set(await shelf.found(index, "zebras", limit=2) or ()) == {"1", "3"}


@pytest.mark.case(129)
@pytest.mark.parametrize("dimension", [64, 48], ids=["same size", "other size"])
async def test_case_129_another_model_is_never_compared_with_the_old_vectors(shelf: Shelf, dimension: int) -> None:
    old = WordEmbedder("words-1", 64)
    first = shelf.index(old)
    await shelf.put("a", ANIMALS)
    await first.catch_up()
    await first.close()
    new = WordEmbedder("words-2", dimension)
    second = shelf.index(new)
    assert await shelf.found(second, "zebras") is None, "the old model is not there to serve"
    assert shelf.asked == [Work.CATCH_UP]
    assert "another model" in ((await second.status()).reason or "")
    await second.catch_up()
    assert set(await shelf.found(second, "zebras", limit=2) or ()) == {"1", "3"}
    serving = read_pointer(shelf.folder)
    assert serving is not None
    assert (serving.model, serving.dimension) == ("words-2", dimension)
    assert [path.name for path in shelf.folder.iterdir() if path.is_dir()] == [serving.generation]


@pytest.mark.case(129)
async def test_case_129_the_old_model_serves_until_the_new_one_is_done(shelf: Shelf) -> None:
    old, new = WordEmbedder("words-1", 64), WordEmbedder("words-2", 32)
    first = shelf.index(old)
    await shelf.put("a", ANIMALS)
    await first.catch_up()
    await first.close()
    second = shelf.index(new, others=[old])
    seen: list[set[str]] = []

    def ask(_done: int, _of: int) -> None:
        seen.append(set())

    assert set(await shelf.found(second, "zebras", limit=2) or ()) == {"1", "3"}
    assert new.texts == [], "asked by the old one"
    await second.catch_up(ask)
    assert seen, "it was embedded anew"
    new.texts.clear()
    assert set(await shelf.found(second, "zebras", limit=2) or ()) == {"1", "3"}
    assert new.texts == ["zebras"]


@pytest.mark.case(129)
async def test_case_129_a_collection_made_by_another_model_is_not_opened(shelf: Shelf) -> None:
    first = shelf.index(WordEmbedder("words-1", 64))
    await shelf.put("a", ANIMALS)
    await first.catch_up()
    await first.close()
    serving = read_pointer(shelf.folder)
    assert serving is not None
    vectors.write_pointer(shelf.folder, vectors.Serving(serving.generation, "words-9", 64))
    second = shelf.index(WordEmbedder("words-9", 64))
    assert await shelf.found(second, "zebras") is None
    await second.catch_up()
    assert set(await shelf.found(second, "zebras", limit=2) or ()) == {"1", "3"}


@pytest.mark.case(130)
async def test_case_130_without_its_model_the_index_is_off_and_says_so(shelf: Shelf) -> None:
    index = shelf.index(MissingEmbedder())
    await shelf.put("a", ANIMALS)
    assert await shelf.found(index, "zebras") is None
    status = await index.status()
    assert (status.state, status.reason) == (State.OFF, "the sentence model is not installed")
    assert shelf.asked == [], "nobody is asked to try again and again"
    with pytest.raises(PermanentError):
        await index.catch_up()


@pytest.mark.case(130)
async def test_case_130_a_first_search_does_not_wait_for_the_model_to_load(shelf: Shelf) -> None:
    release = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Slow(WordEmbedder):
        def load(self) -> None:
            asyncio.run_coroutine_threadsafe(release.wait(), loop).result()

    await shelf.put("a", ANIMALS)
    filled = shelf.index()
    await filled.catch_up()
    await filled.close()
    index = shelf.index(Slow(), patience=timedelta())
    assert await shelf.found(index, "zebras") is None
    assert (await index.status()).state is State.WARMING
    release.set()
    await index.warm()
    assert set(await shelf.found(index, "zebras", limit=2) or ()) == {"1", "3"}


@pytest.mark.case(130)
async def test_case_130_the_index_never_reaches_for_the_network(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[object] = []

    def refused(*arguments: object, **_: object) -> None:
        reached.append(arguments)
        raise OSError("there is no network")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    index = shelf.index()
    await shelf.put("a", ANIMALS)
    await index.catch_up()
    assert set(await shelf.found(index, "zebras", limit=2) or ()) == {"1", "3"}
    assert reached == []


async def test_deleted_vectors_leave_the_disk(shelf: Shelf) -> None:
    index = shelf.index()
    await shelf.put("a", ANIMALS)
    await index.catch_up()
    (row,) = await shelf.database.read(lambda c: store.some(c, "words-1", ["4"]))
    import numpy as np

    number = np.frombuffer(row.data, dtype="<f2").astype(np.float32).tobytes()
    assert number in _bytes(shelf.folder)
    await shelf.take("4")
    await index.purge()
    left = [path for path in shelf.folder.rglob("*") if path.is_file() and number in path.read_bytes()]
    assert left == []
    assert set(await shelf.found(index, "zebras", limit=9) or ()) == {"1", "2", "3"}


async def test_a_purge_of_an_index_that_never_was_loads_nothing(shelf: Shelf) -> None:
    index = shelf.index(MissingEmbedder())
    await index.purge()
    assert (await index.status()).state is State.COLD
    assert not shelf.folder.exists()


async def test_no_text_and_no_name_is_in_the_folder(shelf: Shelf) -> None:
    index = shelf.index()
    await shelf.put("department:secret affairs", {"1": "quagga quagga quagga"})
    await index.catch_up()
    await shelf.found(index, "okapi", "department:secret affairs")
    assert not {word for word in (b"quagga", b"secret affairs", b"okapi") if word in _bytes(shelf.folder)}


async def test_unfinished_generations_are_swept(shelf: Shelf) -> None:
    index = shelf.index()
    await shelf.put("a", ANIMALS)
    await index.catch_up()
    await index.close()
    (shelf.folder / "g99").mkdir()
    (shelf.folder / "g99" / "chroma.sqlite3").write_bytes(b"half")
    again = shelf.index()
    assert await shelf.found(again, "zebras", limit=1) in (["1"], ["3"])
    assert not (shelf.folder / "g99").exists()


async def test_searches_and_upkeep_at_once_disturb_neither_each_other_nor_the_loop(shelf: Shelf) -> None:
    index = shelf.index()
    await shelf.put("a", {f"{number:04}": f"item{number} of the store" for number in range(400)})
    await index.catch_up()
    with watched() as idle:
        await asyncio.to_thread(_spin)
    # On a machine that is busy elsewhere, a thread that only counts holds the loop up too.
    allowed = max(0.1, 3 * idle.longest)
    longest: list[float] = []

    async def ask(number: int) -> None:
        found = await shelf.found(index, f"item{number} of the store", limit=1)
        assert found in (None, [f"{number:04}"])

    for round_ in range(4):
        await shelf.take(f"{round_:04}")
        with watched() as gaps:
            await asyncio.gather(*(ask(number) for number in range(10, 20)), index.rebuild())
        longest.append(gaps.longest)
        if gaps.longest < allowed:
            break
    assert min(longest) < allowed, longest


def _spin() -> None:
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        pass


def _bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
