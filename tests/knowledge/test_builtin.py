"""The notes that come with the program follow the program."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot.knowledge import corpus, store
from bot.knowledge.model import KnowledgeError, Status
from tests.knowledge.desk import OPERATOR, Desk, note


async def test_they_are_loaded_once_and_follow_changes(desk: Desk) -> None:
    note(desk.folder, "finance/cash", "zebra money")
    note(desk.folder, "people/hiring", "zebra people")
    assert await desk.built_in.load() == 2
    assert await desk.built_in.load() == 0
    note(desk.folder, "finance/cash", "giraffe money")
    (desk.folder / "notes" / "people" / "hiring.md").unlink()
    note(desk.folder, "board/pack", "zebra board")
    await desk.built_in.load()
    assert await desk.found("zebra") == ["board/pack"]
    assert await desk.found("giraffe") == ["finance/cash"]
    assert set(await desk.database.read(store.built_in)) == {"finance/cash", "board/pack"}


async def test_a_start_puts_the_real_ones_into_the_store_without_embedding_them(desk: Desk) -> None:
    desk.built_in._folder = corpus.FOLDER
    desk.built_in.there.clear()
    await desk.worker.start()
    desk.clock.advance(timedelta(seconds=6))
    await desk.work()
    assert desk.built_in.there.is_set()
    documents = await desk.database.read(store.built_in)
    assert len(documents) >= 60
    assert desk.embedder.texts == [], "that waits for the first search"
    assert any(name.startswith("finance/") for name in await desk.found("cash runway"))


async def test_a_search_before_they_are_loaded_has_them_loaded(desk: Desk) -> None:
    note(desk.folder, "finance/cash", "zebra money")
    desk.built_in.there.clear()
    assert await desk.found("zebra") == ["finance/cash"]
    assert await desk.built_in.load() == 0


async def test_a_file_of_the_same_name_replaces_none_of_them(desk: Desk) -> None:
    note(desk.folder, "finance/cash", "zebra money")
    await desk.built_in.load()
    await desk.bring(b"zebra of ours", "finance/cash", audience="public")
    assert len((await desk.search.search(OPERATOR, "zebra")).stubs) == 2


async def test_nobody_rejects_or_removes_them(desk: Desk) -> None:
    note(desk.folder, "finance/cash", "zebra money")
    await desk.built_in.load()
    (document,) = (await desk.database.read(store.built_in)).values()
    for act in (desk.library.reject, desk.library.remove, desk.library.approve):
        with pytest.raises(KnowledgeError, match="built-in"):
            await act(document.id, None)
    assert await desk.library.listed(OPERATOR, statuses=[Status.APPROVED]) == []
    assert len(await desk.library.listed(OPERATOR, statuses=[Status.APPROVED], built_in=True)) == 1


def test_a_note_has_a_head_with_what_is_known_of_it() -> None:
    head = "title: Cash\ndomain: finance\ndepartments: [finance, board]\nkeywords: [a, b c]\nreviewed: 2026-11\n"
    text = f"---\n{head}---\n\n## H\n\nt"
    parsed = corpus.parse("finance/cash", text)
    assert (parsed.title, parsed.departments, parsed.keywords) == ("Cash", ("finance", "board"), ("a", "b c"))
    assert parsed.reviewed == datetime(2026, 11, 1, tzinfo=UTC)
    assert [section.heading for section in parsed.sections()] == ["H"]
    for broken in (text.replace("domain: finance\n", ""), text[4:], "no head"):
        with pytest.raises(ValueError, match="note x/y"):
            corpus.parse("x/y", broken)
