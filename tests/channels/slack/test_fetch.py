"""Files in, through the real library against the stand-in."""

from __future__ import annotations

import pytest

from bot.gateway.events import Attachment, MessageReceived
from bot.kernel.errors import PermanentError, TransientError
from tests.channels.slack.conftest import ANN, Rig
from tests.fakes.faults import Answer, CutBefore
from tests.fakes.slack import BOT_TOKEN

PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 5000


async def attachment(rig: Rig, file: str, text: str = "look") -> Attachment:
    rig.server.world.direct_message(ANN, text, files=[file])
    before = len(rig.inbox.events)
    event = (await rig.inbox.wait(before + 1))[-1]
    assert isinstance(event, MessageReceived)
    (found,) = event.attachments
    return found


async def test_a_file_is_fetched_with_the_token(rig: Rig) -> None:
    await rig.start()
    found = await attachment(rig, rig.server.world.add_file(PNG, "p.png", "image/png"))
    assert (found.name, found.declared_type, found.size) == ("p.png", "image/png", len(PNG))
    blob = await rig.channel.fetch(found)
    assert await rig.bench.files.read(blob) == PNG


@pytest.mark.case(58)
async def test_case_58_a_redirect_is_followed_without_the_token(rig: Rig) -> None:
    await rig.start()
    found = await attachment(rig, rig.server.world.add_file(PNG, "p.png", "image/png", redirect=True))
    assert await rig.bench.files.read(await rig.channel.fetch(found)) == PNG
    (seen,) = rig.server.effects.of("cdn")
    assert seen.body["authorization"] is None
    (asked,) = rig.server.requests.of("file")
    assert asked.headers["Authorization"] == f"Bearer {BOT_TOKEN}"


@pytest.mark.case(58)
@pytest.mark.parametrize(
    ("url", "slack"),
    [
        ("https://files.slack.com/files-pri/x", True),
        ("https://company.slack.com/x", True),
        ("https://slack.com/x", True),
        ("http://files.slack.com/x", False),
        ("https://slack.com.evil.example/x", False),
        ("https://evilslack.com/x", False),
        ("https://slack.com@evil.example/x", False),
        ("https://evil.example/slack.com", False),
        ("http://localhost:1/x", False),
    ],
)
def test_case_58_only_slacks_own_hosts_see_the_token(rig: Rig, url: str, slack: bool) -> None:
    assert rig.channel._fetcher.is_slack(url) is slack  # type: ignore[attr-defined]


@pytest.mark.case(57)
async def test_case_57_a_sign_in_page_is_never_stored(rig: Rig) -> None:
    await rig.start()
    found = await attachment(rig, rig.server.world.add_file(PNG, "p.png", "image/png"))
    info = rig.server.methods._table["files.info"]
    rig.server.methods._table["files.info"] = (None, info[1])  # the file is described, but not handed out
    rig.server.methods.scopes -= {"files:read"}
    with pytest.raises(PermanentError, match="files:read"):
        await rig.channel.fetch(found)
    assert rig.bench.files.blobs == {}
    assert "files:read" in (rig.channel.health().reason or "")


@pytest.mark.case(57)
@pytest.mark.parametrize("mimetype", ["image/png", "application/pdf"])
async def test_case_57_a_page_where_something_else_was_declared_is_not_stored(rig: Rig, mimetype: str) -> None:
    await rig.start()
    found = await attachment(rig, rig.server.world.add_file(b"  <!DOCTYPE html><p>", "x.bin", mimetype))
    with pytest.raises(PermanentError, match="sign-in page"):
        await rig.channel.fetch(found)


@pytest.mark.case(57)
async def test_case_57_a_page_that_somebody_sent_is_a_file(rig: Rig) -> None:
    await rig.start()
    found = await attachment(rig, rig.server.world.add_file(b"<!DOCTYPE html><p>mine</p>", "page.html", "text/html"))
    assert b"mine" in await rig.bench.files.read(await rig.channel.fetch(found))


async def test_what_cannot_be_had_says_why(rig: Rig) -> None:
    await rig.start()
    with pytest.raises(PermanentError, match="too large"):
        await rig.channel.fetch(Attachment("a", "b", 1, fault="too large"))
    with pytest.raises(PermanentError, match="file_not_found"):
        await rig.channel.fetch(Attachment("a", "b", 1, source="F404"))
    await rig.replace(max_download=100)
    await rig.start()
    big = rig.server.world.add_file(PNG, "p.png", "image/png")
    with pytest.raises(PermanentError, match="too large"):
        await rig.channel.fetch(Attachment("p.png", "image/png", None, source=big))
    lying = rig.server.world.add_file(PNG, "p.png", "image/png", size=5)
    with pytest.raises(PermanentError, match="too large"):
        await rig.channel.fetch(Attachment("p.png", "image/png", None, source=lying))
    gone = rig.server.world.add_file(b"", "x", mode="tombstone")
    with pytest.raises(PermanentError, match="no longer there"):
        await rig.channel.fetch(Attachment("x", "x", None, source=gone))


@pytest.mark.parametrize("fault", [CutBefore(), Answer(503), Answer(429)])
async def test_what_may_pass_is_transient(rig: Rig, fault: CutBefore | Answer) -> None:
    await rig.start()
    found = await attachment(rig, rig.server.world.add_file(PNG, "p.png", "image/png"))
    # The HTTP library itself asks once more when a kept connection breaks under a GET.
    rig.server.faults.plan("file", fault, times=2 if isinstance(fault, CutBefore) else 1)
    with pytest.raises(TransientError):
        await rig.channel.fetch(found)
    assert await rig.channel.fetch(found)


async def test_a_response_goes_only_to_slack(rig: Rig) -> None:
    await rig.start()
    with pytest.raises(PermanentError):
        await rig.channel.respond("https://evil.example/respond", "hello")
