"""The library as this channel uses it: one client per login, whose frames are heard as they come, and REST calls.

Everything that is the library's alone is in this module: the addresses are attributes of its classes and are set in one
place (`point_at`), raw frames come through its debug events, its REST client is called with routes of our own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from bot.gateway.channel import NotReadyError
from bot.kernel.clock import Clock
from bot.kernel.supervise import Supervisor
from bot.kernel.values import dataclass
from channels.discord.errors import REQUEST_ERRORS, RequestError

log = logging.getLogger(__name__)

_KEPT = ("READY", "RESUMED", "GUILD_", "CHANNEL_", "THREAD_")
MAX_WAIT = 30.0
"""Seconds that the library may wait out a rate limit by itself (the smallest it allows); longer ones are raised."""
SILENCE = 60.0
"""Seconds without any frame after which the library connects anew by itself."""
TIMEOUT = aiohttp.ClientTimeout(total=30)
MOST_MEMBERS = 10_000
"""Of a guild whose members are listed: they are kept in memory, about a kilobyte each."""
LISTED_WITHIN = timedelta(seconds=60)
FILE_TIMEOUT = aiohttp.ClientTimeout(total=120)

_TOKENS = re.compile(r"(/(?:webhooks|interactions)/\d+/)[^/?\s]+")


class _NoTokens(logging.Filter):
    """Addresses of interactions carry a token that is good for fifteen minutes; the library logs addresses."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = _TOKENS.sub(r"\1[secret]", record.getMessage()), ()
        return True


def quiet_library() -> None:
    """Let the library say what is wrong and nothing else: on finer levels it logs messages and tokens, and what it says
    about reconnecting this channel says itself."""
    for name, level in (
        ("discord", logging.WARNING),
        ("discord.client", logging.CRITICAL),
        ("discord.state", logging.ERROR),
    ):
        logging.getLogger(name).setLevel(level)
    for name in ("discord.http", "discord.gateway"):
        logger = logging.getLogger(name)
        if not any(isinstance(each, _NoTokens) for each in logger.filters):
            logger.addFilter(_NoTokens())


def point_at(base_url: str, gateway_url: str | None) -> None:
    """Where the library finds Discord. Both are attributes of its classes, so one process speaks to one Discord."""
    Route.BASE = base_url.rstrip("/")
    if gateway_url is not None:
        DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway_url)


def wanted_intents(content: bool, members: bool) -> discord.Intents:
    """What the channel listens to; the two that Discord hands out by a switch in the portal only if they are on."""
    intents = discord.Intents.none()
    intents.guilds = True
    intents.guild_messages = True
    intents.dm_messages = True
    intents.message_content = content
    intents.members = members
    return intents


class Client(discord.Client):
    """`on_frame(op, event, data)` is called for every frame, in order, before the library goes on; `on_lost` when the
    connection is gone and the library begins to make a new one."""

    def __init__(
        self,
        intents: discord.Intents,
        clock: Clock,
        on_frame: Callable[[int, str | None, Any], None],
        on_lost: Callable[[], None],
    ) -> None:
        super().__init__(
            intents=intents,
            max_messages=None,
            max_ratelimit_timeout=MAX_WAIT,
            heartbeat_timeout=SILENCE,
            chunk_guilds_at_startup=False,
            guild_ready_timeout=0.0,
            allowed_mentions=discord.AllowedMentions.none(),
            enable_debug_events=True,
        )
        # The library keeps guilds, channels, threads and members for us; messages are ours alone. What it cannot read
        # must not cost the connection.
        self._connection.parsers = {
            event: _guarded(event, parse)
            for event, parse in self._connection.parsers.items()
            if event.startswith(_KEPT)
        }
        self._clock = clock
        self._on_frame = on_frame
        self._on_lost = on_lost

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        if event == "socket_raw_receive":
            frame = json.loads(args[0])
            self._on_frame(int(frame.get("op", -1)), frame.get("t"), frame.get("d"))
        elif event == "disconnect":
            self._on_lost()
        super().dispatch(event, *args, **kwargs)

    async def members(self, guild: discord.Guild) -> tuple[int, ...]:
        """People in a guild; the library keeps them from then on. Raises `TimeoutError` and what the library does."""
        try:
            async with asyncio.timeout(LISTED_WITHIN.total_seconds()):
                return tuple(member.id for member in await guild.chunk() if not member.bot)
        finally:  # else the library waits for ever for the answer to a question that was lost with its connection
            self._connection._chunk_requests.pop(guild.id, None)  # noqa: SLF001

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """A session that was declared invalid is begun anew after one to five seconds (Discord, Gateway, Resuming)."""
        if not initial:
            await self._clock.sleep(timedelta(seconds=random.uniform(1, 5)))  # noqa: S311 - jitter, not a secret


def _guarded(event: str, parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def guarded(data: Any) -> Any:
        try:
            return parse(data)
        except (AttributeError, KeyError, TypeError, ValueError):
            log.exception("discord: the library cannot read a %s", event)
            return None

    return guarded


@dataclass(frozen=True, slots=True)
class Upload:
    name: str
    media_type: str
    data: bytes


class Api:
    """REST calls through the client that is logged in. Raises `NotReadyError` before there is one, and else what the
    library raises (`errors.REQUEST_ERRORS`)."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self.client: Client | None = None

    async def call(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        files: Sequence[Upload] = (),
        query: Mapping[str, str] | None = None,
        channel_id: int | None = None,
        message_id: int | None = None,
        guild_id: int | None = None,
        application_id: int | None = None,
        interaction_id: int | None = None,
        webhook_token: str | None = None,
    ) -> Any:
        """The answer's JSON. Ids fill the path; `channel_id`, `guild_id`, `webhook_token` also name the limits."""
        client = self._logged_in()
        more: dict[str, Any] = {"timeout": FILE_TIMEOUT if files else TIMEOUT}
        if query is not None:
            more["params"] = query
        if files:
            more["form"] = _form(json, files)
        elif json is not None:
            more["json"] = json
        route = Route(
            method,
            path,
            channel_id=channel_id,
            message_id=message_id,
            guild_id=guild_id,
            application_id=application_id,
            interaction_id=interaction_id,
            webhook_token=webhook_token,
        )
        return await self._to_its_end(client.http.request(route, **more), f"{method} {path}")

    async def members(self, guild: int) -> tuple[int, ...] | None:
        """People in a guild; None where the platform does not say, or they are too many to be kept. Raises
        `errors.REQUEST_ERRORS`."""
        client = self.client
        found = client.get_guild(guild) if client is not None and client.intents.members else None
        if client is None or found is None or (found.member_count or 0) > MOST_MEMBERS:
            return None
        return await client.members(found)

    async def download(self, url: str) -> bytes:
        """A file of Discord's, asked for without our token."""
        data: bytes = await self._to_its_end(self._logged_in().http.get_from_cdn(url), "download")
        return data

    @property
    def ready(self) -> bool:
        return self.client is not None and not self.client.is_closed()

    def _logged_in(self) -> Client:
        if self.client is None or self.client.is_closed():
            raise NotReadyError("not connected to Discord")
        return self.client

    async def _to_its_end(self, work: Any, name: str) -> Any:
        """A call is never cut short: the library would keep all others waiting for ever if it was cancelled while it
        waits out a limit that holds for everything."""

        client = self._logged_in()

        async def outcome() -> tuple[Any, RequestError | NotReadyError | None]:
            try:
                return await work, None
            except REQUEST_ERRORS as error:
                return None, error
            except RuntimeError:
                if not client.is_closed():
                    raise
                return None, NotReadyError("the connection to Discord was closed before this was tried")

        job = self._supervisor.job(f"discord {name}", outcome())
        # Shielded, so that only the caller's own wait ends when the caller is cancelled.
        result, error = await asyncio.shield(job)
        if error is not None:
            raise error
        return result


def _form(payload: object, files: Sequence[Upload]) -> list[dict[str, Any]]:
    form: list[dict[str, Any]] = [{"name": "payload_json", "value": json.dumps(payload)}]
    form += [
        {"name": f"files[{n}]", "value": file.data, "filename": file.name, "content_type": file.media_type}
        for n, file in enumerate(files)
    ]
    return form
