"""One request to the model stands in the documentation as the program sends it, byte for byte but for the moment.

`python -m tests.e2e.test_model_request` writes it anew.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.e2e.daemon import ROOT, command, running
from tests.e2e.farends import base_settings
from tests.e2e.numbers import script
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import say

pytestmark = pytest.mark.timeout(300)

DOCUMENT = ROOT / "docs" / "model-request.http"
KEY = "sk-ant-secret-of-nobody"
_MOMENTS = (
    (re.compile(rb"now: [A-Z][a-z]+day \d{4}-\d\d-\d\d \d\d:\d\d"), b"now: Tuesday 2026-12-01 09:00"),
    (re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\dZ"), b"2026-12-01T09:00Z"),
)
_SHOWN = ("content-type", "anthropic-version", "authorization")


async def sent(home: Path, model: FakeAnthropic) -> bytes:
    """The second request of a conversation, with its path and the headers that matter; the key is left out."""
    settings = {
        **base_settings(home / "data"),
        "OPENEXECUTIVE_LLM__BASE_URL": model.url,
        "ANTHROPIC_API_KEY": KEY,
        "OPENEXECUTIVE_COMPANY__NAME": "Acme",
    }
    model.script = lambda request: say("Noted: 14 months.")
    async with running(settings, home, "email"):
        for text in ("Our runway is 14 months.", "How long is our runway?"):
            told = await command("chat", "-m", text, settings=settings, home=home)
            assert told.code == 0, told
    entry = model.requests.of("messages")[-1]
    headers = {name.lower(): value for name, value in entry.headers.items()}
    assert KEY in headers["authorization"]
    headers["authorization"] = headers["authorization"].replace(KEY, "<key>")
    head = "".join(f"{name}: {headers[name]}\n" for name in _SHOWN)
    body = entry.raw
    for moment, fixed in _MOMENTS:
        body = moment.sub(fixed, body)
    assert KEY.encode() not in body
    return b"POST /v1/messages HTTP/1.1\n" + head.encode() + b"\n" + body + b"\n"


async def test_the_request_in_the_documentation_is_the_one_that_is_sent(home: Path, model: FakeAnthropic) -> None:
    assert (await sent(home, model)).split(b"},{") == DOCUMENT.read_bytes().split(b"},{"), (
        "python -m tests.e2e.test_model_request"
    )


async def _write() -> None:
    with TemporaryDirectory(prefix="oe-") as folder:
        async with FakeAnthropic(script) as model:
            DOCUMENT.write_bytes(await sent(Path(folder), model))


if __name__ == "__main__":
    asyncio.run(_write())
