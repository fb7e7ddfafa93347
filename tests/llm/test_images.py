"""Images: true type, limits, visible notes."""

from __future__ import annotations

import io
import random

import pytest
from PIL import Image as Picture

from bot.llm import images
from bot.llm.model import Image, Message, Text
from tests.llm.support import user

FORMS = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}


def picture(form: str = "PNG", width: int = 4, height: int = 3, **more: object) -> bytes:
    out = io.BytesIO()
    Picture.new("RGB", (width, height)).save(out, form, **more)
    return out.getvalue()


def image(data: bytes, media_type: str = "image/png") -> Image:
    return Image(media_type, data)


@pytest.mark.case(140)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("declared", ["image/webp", "image/png", "application/octet-stream", ""])
def test_case_140_the_type_is_that_of_the_bytes(form: str, declared: str) -> None:
    (message,) = images.checked((Message("user", (image(picture(form), declared),)),))
    assert message.content == (image(picture(form), FORMS[form]),)


@pytest.mark.case(140)
@pytest.mark.parametrize("data", [b"", b"<!DOCTYPE html>", b"BM" + b"\0" * 60, b"RIFF\0\0\0\0WAVE", b"%PDF-1.7"])
def test_case_140_what_is_no_image_is_left_out_with_a_note(data: bytes) -> None:
    (message,) = images.checked((Message("user", (Text("see"), image(data))),))
    assert message.content == (Text("see"), Text(images.NOT_AN_IMAGE))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("side", [(1, 1), (4, 3), (300, 7), (2001, 12)])
def test_size_is_read_from_the_header(form: str, side: tuple[int, int]) -> None:
    assert images.size(picture(form, *side)) == side
    if form == "WEBP":
        assert images.size(picture(form, *side, lossless=True)) == side
    if form == "JPEG":
        assert images.size(picture(form, *side, progressive=True, comment=b"c" * 300)) == side


def test_size_of_damaged_headers_is_unknown() -> None:
    rolls = random.Random(1)
    for form in FORMS:
        whole = picture(form)
        for length in range(len(whole)):
            images.size(whole[:length])
        for _ in range(300):
            damaged = bytearray(whole)
            damaged[rolls.randrange(len(damaged))] = rolls.randrange(256)
            images.size(bytes(damaged))
    assert images.size(b"\x89PNG\r\n\x1a\n") is None


@pytest.mark.case(141)
def test_case_141_too_large_and_too_wide_are_left_out_with_a_note() -> None:
    heavy = picture() + b"\0" * 7_000_000
    wide = picture(width=8001)
    edge = picture(width=8000)
    (message,) = images.checked((Message("user", (image(heavy), image(wide), image(edge))),))
    assert message.content == (Text(images.TOO_LARGE), Text(images.TOO_LARGE), image(edge))


@pytest.mark.case(141)
def test_case_141_too_many_images_keep_the_newest_in_blocks() -> None:
    one = image(picture())
    history = tuple(Message("user", (one,)) for _ in range(20))
    assert images.checked(history) == history
    cut = images.checked((*history, Message("user", (one,))))
    assert [message.content[0] == one for message in cut] == [False] * 11 + [True] * 10
    assert cut[0].content == (Text(images.TOO_MANY),)
    album = Message("user", (one,) * 25)
    assert sum(block == one for block in images.checked((*history, album))[-1].content) == 20


@pytest.mark.case(141)
def test_case_141_all_images_together_stay_under_the_request_limit() -> None:
    heavy = image(picture() + b"\0" * 3_000_000)
    checked = images.checked(tuple(Message("user", (heavy,)) for _ in range(9)))
    kept = [block for message in checked for block in message.content if isinstance(block, Image)]
    assert 0 < sum(len(block.data) for block in kept) <= images.MAX_TOTAL
    assert checked[-1].content == (heavy,)


def test_without_takes_one_image_or_all() -> None:
    one, two = image(picture()), image(picture("GIF"), "image/gif")
    messages = (user("a"), Message("user", (one, Text("b"), two)))
    note = Text(images.REFUSED)
    assert images.without(messages, 1)[1].content == (one, Text("b"), note)
    assert images.without(messages, 0)[1].content == (note, Text("b"), two)
    assert images.without(messages, None)[1].content == (note, Text("b"), note)
    assert images.without(messages, 7) == messages
