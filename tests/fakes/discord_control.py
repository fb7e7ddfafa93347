"""Discord as a process of its own: `running_discord()` starts `python -m tests.fakes.discord` and yields its control.

`act` calls a method of the fake's world by name, `gateway` one of the gateway's faults (`muted`, `drop`,
`reconnect`, `invalidate`, `close`, `forget`) or `forget_nonces` and `limit` of the REST side.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes.control import Control, _options, started
from tests.fakes.faults import ANY, JsonObject, Recorded


class DiscordControl(Control):
    @property
    def token(self) -> str:
        return str(self.hello["token"])

    @property
    def base_url(self) -> str:
        return str(self.hello["base_url"])

    @property
    def gateway_url(self) -> str:
        return str(self.hello["gateway_url"])

    async def act(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        return await self._call("POST", f"world/{name}", body={"args": list(args), "kwargs": kwargs})

    async def dm(self, author: int, content: str, **more: Any) -> JsonObject:
        made: JsonObject = await self.act("dm", author, content, **more)
        return made

    async def message(self, channel: int | str, author: int, content: str, **more: Any) -> JsonObject:
        made: JsonObject = await self.act("message", channel, author, content, **more)
        return made

    async def gateway(self, name: str, /, **kwargs: Any) -> int:
        """Returns how many connections there are."""
        return int((await self._call("POST", f"gateway/{name}", body=kwargs))["connected"])

    async def add_file(
        self, data: bytes, name: str, mime: str = "application/octet-stream", size: int | None = None
    ) -> str:
        query = {"name": name, "mime": mime} | ({} if size is None else {"size": str(size)})
        return str((await self._call("POST", "files", data=data, query=query))["id"])

    async def deliveries(
        self, endpoint: str = ANY, *, at_least: int = 0, timeout: float = 10.0
    ) -> tuple[Recorded, ...]:
        return await self._entries("deliveries", endpoint, at_least, timeout)

    async def effects(self, endpoint: str = ANY, *, at_least: int = 0, timeout: float = 10.0) -> tuple[Recorded, ...]:
        return await self._entries("effects", endpoint, at_least, timeout)

    async def frames(self, endpoint: str = ANY, *, at_least: int = 0, timeout: float = 10.0) -> tuple[Recorded, ...]:
        """What the client said on the gateway: `identify`, `resume`, `heartbeat`."""
        return await self._entries("frames", endpoint, at_least, timeout)


@asynccontextmanager
async def running_discord(
    *more: str, log: Path | None = None, keep: int | None = None
) -> AsyncIterator[DiscordControl]:
    """`more` are command line options such as `--token`."""
    async with (
        started("discord", *_options(log, keep, more)) as hello,
        DiscordControl(hello["url"], hello) as control,
    ):
        yield control
