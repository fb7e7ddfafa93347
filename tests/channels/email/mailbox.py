"""The channel with a mailbox as its way in, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot.gateway.events import InboundEvent, MessageReceived
from bot.kernel.supervise import cancel
from channels.email import build
from config.schema import Email
from tests.channels.email.harness import Running, running
from tests.channels.email.support import Domain, Records, Roster, mail
from tests.channels.support import START, Bench
from tests.fakes.imap import FakeImap

ANN = "ann@corp.example"
ME = "executive@bot.example"
CORP = Domain()
DNS = Records(CORP.records)


def signed(text: str, **headers: str) -> bytes:
    return CORP.sign(mail(text, message_id=f"<{text}@corp.example>", **headers))


def at(**offset: float) -> datetime:
    return START + timedelta(**offset)


@asynccontextmanager
async def reading(
    tmp_path: Path,
    fake: FakeImap,
    inbox: Roster,
    *,
    resolver: Records = DNS,
    imap: dict[str, Any] | None = None,
    **more: Any,
) -> AsyncIterator[Running]:
    """`imap`: settings beside the server's."""
    box = {"host": fake.host, "port": fake.port, "security": "none", "password": "pass word"} | (imap or {})
    settings = {"address": ME, "per_user_from": ["corp.example"], "smtp": {"enabled": False}} | more
    async with running(tmp_path, inbox, local_mode=False, resolver=resolver, imap=box, **settings) as channel:
        yield channel


def texts(inbox: Roster) -> list[str]:
    return [e.body.text for e in inbox.events if isinstance(e, MessageReceived)]


def message(event: InboundEvent) -> MessageReceived:
    assert isinstance(event, MessageReceived)
    return event


async def idle(fake: FakeImap, times: int = 1) -> None:
    """Everything that is there was looked at."""
    await fake.requests.wait(times, "IDLE")


RESULTS: dict[str, Any] = {"proof": "header", "authserv_id": "mx.bot.example"}
PASS = b"Authentication-Results: mx.bot.example; dmarc=pass header.from=corp.example"


@asynccontextmanager
async def reading_slowly(
    tmp_path: Path, fake: FakeImap, inbox: Roster, *, oauth: dict[str, Any] | None = None, **more: Any
) -> AsyncIterator[Running]:
    """As `reading`, for a mailbox that does not open at once. `more`: settings of the mailbox."""
    box = {"host": fake.host, "port": fake.port, "security": "none", "password": "pass word"} | more
    settings = {"address": ME, "per_user_from": ["corp.example"], "smtp": {"enabled": False}, "imap": box}
    if oauth is not None:
        settings["oauth"] = oauth
    bench = Bench(tmp_path)
    channel = build(Email.model_validate(settings), bench.context, local_mode=False)
    channel.reader.resolver = lambda: DNS
    task = bench.supervisor.service("email", channel.run(inbox))
    try:
        yield Running(channel, bench)
    finally:
        await cancel(task)
