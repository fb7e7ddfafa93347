from __future__ import annotations

import base64
import io
import struct

import pytest
from PIL import Image

import bot.files.images
from bot.files.images import LONG_EDGE, Shrinker
from bot.files.model import Picture, Unreadable
from bot.files.sandbox import Job, Sandbox
from bot.files.sniff import sniff
from bot.files.wire import Reason
from tests.files import samples
from tests.files.loopwatch import watched

API_BASE64 = 5 * 1024 * 1024


async def shrunk(data: bytes) -> tuple[Picture, Image.Image]:
    picture = await Shrinker(Sandbox()).shrink(data, sniff(data))
    assert isinstance(picture, Picture), picture
    image = Image.open(io.BytesIO(picture.data))
    image.load()
    assert image.size == (picture.width, picture.height)
    assert picture.media_type == f"image/{(image.format or '').lower()}"
    assert len(base64.b64encode(picture.data)) <= API_BASE64
    assert max(image.size) <= LONG_EDGE
    return picture, image


async def refused(data: bytes) -> Unreadable:
    result = await Shrinker(Sandbox()).shrink(data, sniff(data))
    assert isinstance(result, Unreadable), result
    assert result.detail.endswith(".")
    return result


@pytest.mark.case(141)
async def test_case_141_photo_of_many_megabytes_becomes_small() -> None:
    photo = samples.noise((3200, 2600), "JPEG", quality=97)
    assert len(photo) > 7_000_000
    with watched() as gaps:
        picture, _ = await shrunk(photo)
    assert picture.media_type == "image/jpeg"
    assert (picture.width, picture.height) == (1568, 1274)
    assert gaps.longest < 0.1


@pytest.mark.case(141)
@pytest.mark.parametrize("size", [(9000, 20), (20, 9000), (8001, 8001), (20_000, 1)])
async def test_case_141_sides_over_the_limit_are_brought_down(size: tuple[int, int]) -> None:
    too_many = size[0] * size[1] > bot.files.images.MAX_PIXELS  # only JPEG can be scaled while it is decoded
    _, image = await shrunk(samples.picture(size, "JPEG" if too_many else "PNG"))
    assert max(image.size) == LONG_EDGE
    assert min(image.size) >= 1


@pytest.mark.case(141)
async def test_case_141_picture_that_png_cannot_hold_is_sent_as_jpeg() -> None:
    picture, _ = await shrunk(samples.noise((1500, 1500), "PNG"))
    assert picture.media_type == "image/jpeg"
    large = samples.noise((1500, 1500), "PNG")
    tight = await Shrinker(Sandbox(), max_bytes=20_000).shrink(large, sniff(large))
    assert isinstance(tight, Picture)
    assert len(tight.data) <= 20_000


@pytest.mark.case(140)
@pytest.mark.parametrize(
    ("form", "mode", "media_type"),
    [
        ("PNG", "RGB", "image/png"),
        ("PNG", "RGBA", "image/png"),
        ("PNG", "P", "image/png"),
        ("PNG", "1", "image/png"),
        ("PNG", "I;16", "image/png"),
        ("PNG", "LA", "image/png"),
        ("JPEG", "CMYK", "image/jpeg"),
        ("JPEG", "L", "image/jpeg"),
        ("GIF", "P", "image/png"),
        ("WEBP", "RGB", "image/png"),
        ("BMP", "RGB", "image/png"),
        ("TIFF", "RGB", "image/png"),
        ("TIFF", "CMYK", "image/png"),
    ],
)
@pytest.mark.parametrize("size", [(40, 30), (2000, 100)])
async def test_case_140_every_kind_is_reencoded_under_its_true_type(
    form: str, mode: str, media_type: str, size: tuple[int, int]
) -> None:
    picture, image = await shrunk(samples.picture(size, form, mode))
    assert picture.media_type == media_type
    assert image.mode in {"RGB", "RGBA"}


@pytest.mark.case(57)
@pytest.mark.case(140)
@pytest.mark.parametrize("data", [b"<!DOCTYPE html><title>Sign in</title>", samples.pdf(), b"", b"RIFF\0\0\0\0WAVE"])
async def test_case_57_case_140_what_is_no_picture_is_refused_unread(data: bytes) -> None:
    assert (await refused(data)).reason is Reason.UNSUPPORTED


@pytest.mark.parametrize("orientation", range(1, 9))
async def test_orientation_is_applied_and_all_metadata_dropped(orientation: int) -> None:
    corner = Image.new("RGB", (60, 40), "white")
    corner.paste((255, 0, 0), (0, 0, 20, 20))
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010F] = "SecretCamera"
    out = io.BytesIO()
    corner.save(out, "JPEG", quality=95, exif=exif, comment=b"secret comment")
    picture, image = await shrunk(out.getvalue())
    assert image.size == ((60, 40) if orientation < 5 else (40, 60))
    # Exif 2.32 s4.6.4 A: which corner the first row and column of the data belong to.
    right, bottom = orientation in {2, 3, 6, 7}, orientation in {3, 4, 7, 8}
    at = (image.width - 5 if right else 5, image.height - 5 if bottom else 5)
    red = image.convert("RGB").getpixel(at)
    assert isinstance(red, tuple)
    assert red[0] > 200
    assert red[1] < 80
    assert b"Secret" not in picture.data
    assert b"secret" not in picture.data
    assert not image.getexif()


async def test_sixteen_bit_grey_keeps_its_brightness() -> None:
    out = io.BytesIO()
    Image.new("I;16", (10, 10), 32896).save(out, "PNG")
    _, image = await shrunk(out.getvalue())
    assert image.convert("L").getpixel((5, 5)) == 128


async def test_transparency_survives_in_png() -> None:
    out = io.BytesIO()
    Image.new("RGBA", (2000, 1000), (0, 0, 255, 0)).save(out, "PNG")
    picture, image = await shrunk(out.getvalue())
    assert picture.media_type == "image/png"
    assert image.getpixel((5, 5)) == (0, 0, 255, 0) or image.getchannel("A").getpixel((5, 5)) == 0


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG"])
async def test_animation_gives_its_first_frame_and_says_so(form: str) -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "lime", "blue")]
    out = io.BytesIO()
    frames[0].save(out, form, save_all=True, append_images=frames[1:], duration=50)
    picture, image = await shrunk(out.getvalue())
    pixel = image.convert("RGB").getpixel((10, 10))
    assert isinstance(pixel, tuple)
    assert pixel[0] > 200
    assert pixel[1] < 50
    assert "first frame" in picture.note
    assert getattr(image, "n_frames", 1) == 1


async def test_bombs_are_refused_before_they_are_decoded() -> None:
    bomb = samples.png_bomb(60_000)
    assert len(bomb) < 1_000_000
    result = await refused(bomb)
    assert result.reason is Reason.TOO_LARGE
    assert "60,000 x 60,000" in result.detail
    claimed = bytearray(samples.picture((4, 4), "GIF"))
    claimed[6:10] = struct.pack("<HH", 65_535, 65_535)
    assert (await refused(bytes(claimed))).reason is Reason.TOO_LARGE


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
async def test_cut_off_picture_is_damaged(form: str) -> None:
    whole = samples.noise((300, 300), form)
    assert (await refused(whole[: len(whole) // 2])).reason is Reason.DAMAGED


async def test_kinds_without_a_decoder_are_named() -> None:
    result = await refused(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100))
    assert result.reason is Reason.UNSUPPORTED


async def test_a_child_taken_over_cannot_pass_off_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot.files.images, "_JOB", Job("tests.files.rogue:html_as_picture"))
    result = await refused(samples.picture((2, 2)))
    assert (result.reason, result.cause) == (Reason.CRASHED, "untrue answer")
