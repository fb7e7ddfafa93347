"""The real channel on loopback, with everything behind it in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.gateway.channel import Inbox
from bot.kernel.supervise import cancel
from channels.email import build
from channels.email.adapter import EmailChannel
from channels.email.resolver import Resolver
from config.schema import Email
from tests.channels.support import Bench


class Running:
    def __init__(self, channel: EmailChannel, bench: Bench) -> None:
        self.channel = channel
        self.bench = bench

    @property
    def port(self) -> int:
        port = self.channel.port
        assert port is not None
        return port


@asynccontextmanager
async def running(
    data_dir: Path, inbox: Inbox, *, local_mode: bool = True, resolver: Resolver | None = None, **settings: object
) -> AsyncIterator[Running]:
    """`settings`: of `Email`, as a file would give them. The port is the system's choice."""
    smtp = settings.pop("smtp", {})
    assert isinstance(smtp, dict)
    config = Email.model_validate({"smtp": {"port": 0} | smtp} | settings)
    bench = Bench(data_dir)
    channel = build(config, bench.context, local_mode=local_mode)
    if resolver is not None:
        channel.reader.resolver = lambda: resolver
    task = bench.supervisor.service("email", channel.run(inbox))
    try:
        await bench.ready()
        yield Running(channel, bench)
        assert not task.done()
    finally:
        await cancel(task)
        await channel.close()
