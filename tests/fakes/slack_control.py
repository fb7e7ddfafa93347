"""Slack as a process of its own, and the client of its control endpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes.control import Control, started
from tests.fakes.faults import ANY, JsonObject, Recorded


class SlackControl(Control):
    @property
    def base_url(self) -> str:
        return str(self.hello["base_url"])

    @property
    def bot_token(self) -> str:
        return str(self.hello["bot_token"])

    @property
    def app_token(self) -> str:
        return str(self.hello["app_token"])

    async def act(self, name: str, /, **arguments: Any) -> Any:
        """Call an act of the fake's world by name, with its keyword arguments; returns the event that it made."""
        return await self._call("POST", f"world/{name}", body=arguments)

    async def message(self, channel: str, user: str, text: str, **more: Any) -> JsonObject:
        event: JsonObject = await self.act("message", channel=channel, user=user, text=text, **more)
        return event

    async def direct_message(self, user: str, text: str, **more: Any) -> JsonObject:
        event: JsonObject = await self.act("direct_message", user=user, text=text, **more)
        return event

    async def add_file(self, data: bytes, name: str, mime: str = "application/octet-stream") -> str:
        query = {"name": name, "mime": mime}
        return str((await self._call("POST", "files", data=data, query=query))["file_id"])

    async def socket(self, what: str, **arguments: Any) -> None:
        """`deafen`, `disconnect` (with `reason`) or `redeliver`."""
        await self._call("POST", f"socket/{what}", body=arguments)

    async def links(self) -> JsonObject:
        """`links` open now, `opened` ever, `most` at once, `waiting` envelopes."""
        state: JsonObject = await self._call("GET", "socket")
        return state

    async def deliveries(self, *, at_least: int = 0, timeout: float = 10.0) -> tuple[Recorded, ...]:
        return await self._entries("deliveries", ANY, at_least, timeout)

    async def effects(self, endpoint: str = ANY, *, at_least: int = 0, timeout: float = 10.0) -> tuple[Recorded, ...]:
        return await self._entries("effects", endpoint, at_least, timeout)

    async def acks(self, *, at_least: int = 0, timeout: float = 10.0) -> tuple[Recorded, ...]:
        return await self._entries("acks", ANY, at_least, timeout)

    async def envelopes(self, endpoint: str = ANY, *, at_least: int = 0, timeout: float = 10.0) -> tuple[Recorded, ...]:
        return await self._entries("envelopes", endpoint, at_least, timeout)


@asynccontextmanager
async def running_slack(*more: str, log: Path | None = None, keep: int | None = None) -> AsyncIterator[SlackControl]:
    """Slack in its own process; `more` are command line options such as `--retries`."""
    options = list(more)
    options += ["--log", str(log)] if log is not None else []
    options += ["--keep", str(keep)] if keep is not None else []
    async with started("slack", *options) as hello, SlackControl(hello["url"], hello) as control:
        yield control
