from __future__ import annotations

import hashlib
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.files.blobs import SAMPLE_BYTES, BlobFolder, BlobMissing, TooLarge
from bot.files.extract import Extractor
from bot.files.images import Shrinker
from bot.files.model import Limits
from bot.files.office import OLE_MAGIC
from bot.files.sandbox import Sandbox
from bot.files.service import Files, Shown
from bot.gateway.channel import FileStore
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash
from tests.files import samples
from tests.files.loopwatch import watched
from tests.files.memory import growth
from tests.files.office_samples import docx, paragraph

MIB = 1024 * 1024


@pytest.fixture
def files(tmp_path: Path) -> Files:
    sandbox = Sandbox()
    return Files(BlobFolder(tmp_path / "blobs"), Extractor(sandbox, max_chars=10_000), Shrinker(sandbox))


async def shown(files: Files, data: bytes, name: str = "", declared: str = "") -> Shown:
    return await files.show(await files.put(data, 200 * MIB), name, declared)


async def _parts(data: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(data), 60_000):
        yield data[at : at + 60_000]


async def test_files_are_a_store_that_channels_can_be_handed(files: Files) -> None:
    store: FileStore = files
    data = bytes(range(256)) * 1000
    blob = await store.put(_parts(data), len(data))
    assert blob == hashlib.sha256(data).hexdigest()
    assert blob == await store.put(data, len(data))
    assert await store.read(blob) == data


async def test_faults_are_permanent_and_whole_sentences_for_people(files: Files, tmp_path: Path) -> None:
    with pytest.raises(TooLarge) as large:
        await files.put(bytes(20 * MIB + 1), 20 * MIB)
    assert large.value.message == "The file is larger than 20 MB."
    with pytest.raises(TooLarge) as odd:
        await files.put(_parts(bytes(70_001)), 70_001 - 1)
    assert odd.value.message == "The file is larger than 70,000 bytes."
    gone = BlobHash("0" * 64)
    for use in (files.read(gone), files.show(gone, "a.txt", "")):
        with pytest.raises(BlobMissing) as missing:
            await use
        assert missing.value.message == "The file is no longer kept here."
        assert isinstance(missing.value, PermanentError)
    blob = await files.put(b"right", 10)
    (tmp_path / "blobs" / blob[:2] / blob).write_bytes(b"wrong")
    for use in (files.read(blob), files.show(blob, "a.txt", "")):
        with pytest.raises(BlobMissing, match="is damaged"):
            await use


async def test_text_pictures_and_what_is_neither_are_shown_each_in_its_way(files: Files) -> None:
    text = await shown(files, docx(paragraph("hello")), "a.docx")
    assert (text.text, text.picture, text.note) == ("hello", None, None)
    picture = await shown(files, samples.picture((3000, 10)), "a.txt", "text/plain")
    assert picture.picture is not None
    assert (picture.media_type, picture.picture.width, picture.text) == ("image/png", 1568, None)
    broken = await shown(files, samples.picture((30, 30))[:60], "a.png")
    assert broken.picture is None
    assert broken.note == "The picture is damaged or incomplete."
    sound = await shown(files, b"OggS\0\x02" + bytes(22) + b"OpusHead")
    assert (sound.media_type, sound.text) == ("audio/ogg", None)
    assert sound.note == "Sound cannot be listened to here; please write it."
    locked = await shown(files, samples.locked_pdf("secret"))
    assert locked.note == "The PDF is protected with a password; please send a copy without one."
    partly = await shown(files, samples.pdf(samples.page("Cover"), b""))
    assert (partly.text, partly.note) == ("Cover", "1 of 2 pages hold no text (pictures or empty).")


@pytest.mark.case(57)
async def test_case_57_web_page_in_place_of_a_file_is_not_read(files: Files) -> None:
    page = await shown(files, b"<!doctype html><p>Sign in", "plan.pdf", "application/pdf")
    assert (page.text, page.note) == (None, "A web page came instead of the file; it was not read.")
    assert (await shown(files, b"<!doctype html><p>Sign in", "a.html", "text/html")).text == "Sign in"


async def test_csv_of_50_mb_is_cut_between_rows_and_neither_side_holds_it(tmp_path: Path) -> None:
    # A child that may use little more memory than the interpreter itself takes.
    sandbox = Sandbox(Limits(memory_bytes=96 * MIB))
    files = Files(BlobFolder(tmp_path), Extractor(sandbox, max_chars=10_000), Shrinker(sandbox))
    row = b'%07d,"Name, with a\ncomma",2026-03-01,1234.56\n'

    async def rows() -> AsyncIterator[bytes]:
        yield b"id,name,day,sum\n"
        for start in range(0, 1_100_000, 10_000):
            yield b"".join([row % number for number in range(start, start + 10_000)])

    blob = await files.put(rows(), 60 * MIB)
    with watched() as gaps, growth() as memory:
        found = await files.show(blob, "book.csv", "text/csv")
    assert (tmp_path / blob[:2] / blob).stat().st_size > 50_000_000
    assert found.text is not None, found.note
    lines = found.text.split("\n")
    assert lines[:3] == ["id,name,day,sum", '0000000,"Name, with a', 'comma",2026-03-01,1234.56']
    kept = (len(lines) - 2 - 1) // 2
    assert lines[-3].startswith('comma"')  # no row is cut
    assert lines[-1] == (
        f"[cut here: the file goes on; these are the first {kept + 1:,} of 1,100,001 rows, the head row included]"
    )
    assert len(found.text) <= 10_200
    assert gaps.longest < 0.1
    assert memory.size < 16 * MIB


async def test_file_over_the_limit_is_refused_without_being_read(tmp_path: Path) -> None:
    sandbox = Sandbox(Limits(stream_bytes=MIB, input_bytes=MIB // 2))
    files = Files(BlobFolder(tmp_path), Extractor(sandbox), Shrinker(sandbox))
    assert (await shown(files, b"a,b\n" * MIB, "a.csv")).note == "The file is larger than the 1 MB that can be read."
    page = b"<!doctype html>" + b" " * (MIB // 2)
    assert (await shown(files, page)).note == "The file is larger than the 512 kB that can be read."


@pytest.mark.parametrize("place", ["near the start", "in the middle", "at the end"])
async def test_large_workbook_with_a_password_is_named_wherever_its_directory_lies(files: Files, place: str) -> None:
    size = 5 * SAMPLE_BYTES
    sector = {"near the start": 1, "in the middle": size // 1024, "at the end": size // 512 - 3}[place]
    data = bytearray(size)
    data[:8] = OLE_MAGIC
    struct.pack_into("<H", data, 30, 9)  # sectors of 512 bytes
    struct.pack_into("<I", data, 48, sector)
    names = ("Root Entry", "EncryptionInfo", "EncryptedPackage")
    entries = b"".join(name.encode("utf-16-le").ljust(128, b"\0") for name in names)
    data[(sector + 1) * 512 : (sector + 1) * 512 + len(entries)] = entries
    found = await shown(files, bytes(data), "budget.xlsx")
    assert found.media_type == "application/x-encrypted-office"
    assert found.note == "The document is protected with a password; please send a copy without one."


async def test_large_zip_is_told_by_the_directory_at_its_end(files: Files) -> None:
    noise = samples.noise((1200, 1200), "PNG") + samples.noise((1100, 1100), "PNG")
    data = docx(paragraph("hello"), {"word/media/a.png": noise})
    assert len(data) > 2 * SAMPLE_BYTES
    found = await shown(files, data)
    assert (found.media_type, found.text) == (samples.DOCX, "hello")


async def test_pdf_of_300_pages_is_read_while_others_are_answered(files: Files) -> None:
    pages = [samples.page(f"Page {number} says something about the budget") for number in range(300)]
    with watched() as gaps:
        found = await shown(files, samples.pdf(*pages, deflate=True))
    assert found.text is not None
    assert "Page 200 " in found.text
    assert gaps.longest < 0.1
