"""What is removed is gone: from every answer at once, from every file soon after."""

from __future__ import annotations

import numpy as np
import pytest

from bot.kernel.ids import BlobHash, DocumentId
from bot.knowledge import store
from bot.knowledge.model import KnowledgeError
from bot.retrieval import store as embeddings
from bot.storage.database import Database
from tests.knowledge.desk import OPERATOR, Desk

SECRET = b"# Merger\n\nProject Quagga buys the okapi works for 77 million.\n"
WORDS = (b"Quagga", b"quagga", b"okapi")


async def test_no_byte_of_it_is_left_in_any_file(desk: Desk) -> None:
    for number in range(30):
        await desk.bring(f"# Other {number}\n\nordinary words about work {number}\n".encode(), f"other{number}.md")
    document = await desk.bring(SECRET, "merger.md")
    await desk.work()
    chunks = await desk.database.read(lambda c: embeddings.embedded(c, "words-1", "", 1_000))
    assert await desk.found("okapi works") != []
    (mine,) = [each for each in chunks if each.item in await _chunks(desk.database, document.id)]
    vector = np.frombuffer(mine.data, dtype="<f2").astype(np.float32).tobytes()
    kept = desk.bytes_on_disk()
    assert all(word in kept for word in WORDS)
    assert vector in kept
    await desk.library.remove(document.id, None)
    assert "merger.md" not in await desk.found("okapi works")
    await desk.work()
    left = desk.bytes_on_disk()
    assert not [word for word in WORDS if word in left]
    assert vector not in left
    assert mine.data not in left
    assert len(await desk.found("ordinary words")) > 1
    assert (await desk.audited()).count("knowledge_removed") == 2, "asked for, and done"


async def _chunks(database: Database, document_id: DocumentId) -> list[str]:
    from bot.knowledge import passages

    return await database.read(lambda c: passages.chunk_ids(c, document_id))


async def test_a_file_that_another_room_or_document_refers_to_stays(desk: Desk) -> None:
    first = await desk.bring(SECRET, "one.md")
    second = await desk.bring(SECRET, "two.md")
    assert first.blob is not None
    await desk.library.remove(first.id, None)
    await desk.work()
    assert await desk.blobs.exists(first.blob)
    assert await desk.found("okapi") == ["two.md"]
    desk.used.add(BlobHash(first.blob))
    await desk.library.remove(second.id, None)
    await desk.work()
    assert await desk.blobs.exists(first.blob), "the transcript still has it"


async def test_a_removal_may_be_done_again_after_any_of_its_steps(desk: Desk) -> None:
    document = await desk.bring(SECRET, "merger.md")
    await desk.library.remove(document.id, None)
    assert await desk.eraser.erase(document.id)
    assert await desk.eraser.erase(document.id), "the files are rewritten again, nothing else is left to do"
    assert await desk.database.read(lambda c: store.get(c, document.id)) is None
    await desk.work()


async def test_what_is_removed_cannot_be_removed_or_approved_again(desk: Desk) -> None:
    document = await desk.bring(SECRET, "merger.md")
    await desk.library.remove(document.id, None)
    with pytest.raises(KnowledgeError):
        await desk.library.remove(document.id, None)
    with pytest.raises(KnowledgeError):
        await desk.library.approve(document.id, None)


async def test_a_document_that_serves_is_not_erased_by_a_stray_task(desk: Desk) -> None:
    document = await desk.bring(SECRET, "merger.md")
    assert not await desk.eraser.erase(document.id)
    assert await desk.found("okapi") == ["merger.md"]


async def test_it_can_be_brought_again(desk: Desk) -> None:
    document = await desk.bring(SECRET, "merger.md")
    await desk.library.remove(document.id, None)
    await desk.work()
    again = await desk.bring(SECRET, "merger.md")
    assert again.id != document.id
    assert await desk.found("okapi") == ["merger.md"]
    await desk.work()
    answer = await desk.search.search(OPERATOR, "okapi works")
    assert answer.vectors
