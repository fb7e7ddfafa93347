"""Every hostile file ends as a named refusal or as text within its limits, and another file is read meanwhile."""

from __future__ import annotations

import asyncio
import io
from collections import deque
from datetime import timedelta
from pathlib import Path

import pytest

from bot.files.extract import Extractor
from bot.files.model import Extracted, Limits, Unreadable
from bot.files.parsers import ooxml
from bot.files.sandbox import Sandbox
from bot.files.sniff import Sniffed, sniff
from bot.files.wire import Reason, Refused
from tests.files import samples
from tests.files.hostile import FILES, HELLO
from tests.files.loopwatch import watched
from tests.files.memory import growth
from tests.files.office_samples import docx, paragraph, words

MIB = 1024 * 1024
LIMITS = Limits(cpu=timedelta(seconds=10), wall=timedelta(seconds=15))
MOST = 50_000


async def side_by_side(extractor: Extractor, path: Path, sniffed: Sniffed) -> Extracted | Unreadable:
    """The hostile file and a good one at the same time; what came of the hostile one."""
    other = samples.pdf(samples.page("another file"))
    with watched() as gaps, growth() as memory:
        result, meanwhile = await asyncio.gather(
            extractor.extract(path, sniffed), extractor.extract(other, sniff(other))
        )
    assert isinstance(meanwhile, Extracted), meanwhile
    assert meanwhile.text == "another file"
    assert memory.size < 20 * MIB
    assert gaps.longest < 0.25  # of the wall: the machine's own pauses are in it
    return result


@pytest.mark.parametrize("name", FILES)
async def test_hostile_file_is_named_or_cut_while_another_is_read(name: str, tmp_path: Path) -> None:
    file = FILES[name]
    path = tmp_path / "kept"
    data = file.build()
    path.write_bytes(data)
    sniffed = sniff(data, "", file.name)
    del data
    extractor = Extractor(Sandbox(LIMITS, at_once=2), max_chars=MOST)
    result = await side_by_side(extractor, path, sniffed)
    if isinstance(result, Unreadable):
        assert result.reason in file.outcomes, result
        assert result.detail.endswith(".")
        assert "root:" not in result.detail + result.cause
    else:
        assert file.text is not None, result.text[:300]
        assert file.text in result.text
        assert len(result.text) < MOST + 200
        assert "root:" not in result.text


def test_there_are_enough_of_them_and_of_every_make() -> None:
    makes = {name.partition("_")[0] for name in FILES}
    assert makes >= {"docx", "xlsx", "pdf", "csv", "eml", "html"}
    assert len(FILES) >= 25
    assert len({file.build for file in FILES.values()}) == len(FILES)


def test_what_is_really_unpacked_is_bounded_whatever_was_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ooxml, "MAX_READ", 100_000)
    package = ooxml.Package(io.BytesIO(docx("".join(paragraph(f"word {number}") for number in range(3000)))))
    with pytest.raises(Refused) as refused:
        deque(package.events("word/document.xml", ("end",), "p"), maxlen=0)
    assert refused.value.reason is Reason.TOO_LARGE


def test_a_part_that_is_held_whole_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ooxml, "MAX_TREE", 1000)
    package = ooxml.Package(io.BytesIO(docx(HELLO, {"word/styles.xml": words("styles", " " * 2000)})))
    assert package.tree("word/none.xml") is None
    with pytest.raises(Refused) as refused:
        package.tree("word/styles.xml")
    assert refused.value.reason is Reason.TOO_LARGE


async def test_memory_of_the_child_is_bounded_by_what_a_piece_needs_not_by_the_file() -> None:
    # 24 MB of XML in pieces, with an address space that could not hold its tree.
    data = docx("".join(paragraph(f"{number:08} " + "words of it " * 8) for number in range(120_000)))
    small = Sandbox(Limits(memory_bytes=150 * MIB))
    result = await Extractor(small, max_chars=30_000_000).extract(data, sniff(data))
    assert isinstance(result, Unreadable)  # the text alone is too much to be handed over
    assert result.reason in {Reason.TOO_LARGE, Reason.OUT_OF_MEMORY}
    cut = await Extractor(small, max_chars=1_000_000).extract(data, sniff(data))
    assert isinstance(cut, Extracted)
    assert cut.truncated
