"""winmail.dat is kept, and the files room's words about it are what its sender will be told."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from bot.files.blobs import BlobFolder
from bot.files.extract import Extractor
from bot.files.images import Shrinker
from bot.files.sandbox import Sandbox
from bot.files.service import Files
from bot.gateway.events import MessageReceived
from tests.channels.email.harness import running
from tests.channels.email.support import Roster, mail
from tests.channels.email.test_adapter import LOCAL, said

TNEF = b"\x78\x9f\x3e\x22" + bytes(60)  # [MS-OXTNEF] 2.1.3.1: signature, then attributes
BASE64 = base64.b64encode(TNEF).decode()


def part(media_type: str) -> str:
    return f'Content-Type: {media_type}; name="winmail.dat"\nContent-Transfer-Encoding: base64\n\n{BASE64}'


@pytest.mark.parametrize("declared", ["application/ms-tnef", "application/vnd.ms-tnef", "application/octet-stream"])
@pytest.mark.parametrize("whole", [True, False])
async def test_its_sender_is_told_how_to_send_it_again(tmp_path: Path, declared: str, whole: bool) -> None:
    inbox = Roster(["principal@localhost"])
    async with running(tmp_path, inbox) as channel:
        if whole:
            raw = mail(
                BASE64, content_type=f"{declared}; name=winmail.dat", content_transfer_encoding="base64", **LOCAL
            )
        else:
            body = f"--B\nContent-Type: text/plain\n\nSee the plan.\n--B\n{part(declared)}\n--B--"
            raw = mail(body, content_type="multipart/mixed; boundary=B", **LOCAL)
        await said(channel, raw)
        (event,) = inbox.events
        assert isinstance(event, MessageReceived)
        assert event.body.text == ("Plans" if whole else "See the plan.")
        (file,) = event.attachments
        assert (file.name, file.fault) == ("winmail.dat", None)
        assert file.blob is not None
        data = await channel.bench.files.read(file.blob)
    assert data == TNEF
    files = Files(BlobFolder(tmp_path / "blobs"), Extractor(Sandbox()), Shrinker(Sandbox()))
    shown = await files.show(await files.put(data, 1_000), file.name, file.declared_type)
    assert shown.note is not None
    assert "winmail.dat" in shown.note
    assert "send the mail again" in shown.note
