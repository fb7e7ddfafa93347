"""The connection to the gateway: log in, connect, watch, and begin again, for ever.

The library reconnects and resumes by itself; here is what it does not do: saying why nothing is received, beginning
anew when it gives up, and giving up a link whose heartbeats are no longer answered. Privileged intents are asked for
only where the portal allows them, because asking for others closes the connection for good (close code 4014).
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import discord
from discord.gateway import DiscordWebSocket, KeepAliveHandler

from bot.kernel.clock import Clock
from bot.kernel.errors import TransientError
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Bug, attempt, cancel, start
from bot.kernel.values import dataclass
from channels.discord.client import Api, Client, point_at, wanted_intents
from channels.discord.errors import CREDENTIALS_REFUSED, REQUEST_ERRORS, translate
from channels.discord.state import State
from channels.discord.where import Me
from config.schema import Discord as Settings

log = logging.getLogger(__name__)

CONNECT = Backoff(first=timedelta(seconds=0.5), cap=timedelta(minutes=2))
"""Its pauses keep a day of failures below the thousand IDENTIFYs that a bot may send in one."""
SLOW = timedelta(minutes=5)
"""Between tries while only a person can change what is wrong."""
LOOK = timedelta(seconds=5)
GIVE_UP = timedelta(seconds=90)
"""So long the library may try to come back by itself; then a new client begins."""
CLOSING = timedelta(seconds=5)
AGAIN = timedelta(milliseconds=250)
_DISPATCH, _HELLO, _ACK = 0, 10, 11
PORTAL = "switch it on in the developer portal (Bot, Privileged Gateway Intents)"
NO_CONTENT = f"Message Content intent is off: only direct messages and mentions can be read; {PORTAL}"
NO_MEMBERS = f"Server Members intent is off: who reads in a channel is not known; {PORTAL}"
FATAL = {
    4004: CREDENTIALS_REFUSED,
    4010: "Discord refuses the shard that was asked for",
    4011: "the bot is in so many servers that Discord asks for shards, which this program does not use",
    4012: "Discord no longer speaks this version of the gateway: update openexecutive",
    4013: "Discord does not know an intent that was asked for: update openexecutive",
    4014: f"Discord refuses an intent: switch on Message Content and Server Members, or neither; {PORTAL}",
}
"""Close codes after which connecting again is no use (Discord, Gateway Close Event Codes)."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """Why a connection came to its end, and whether only a person can change that."""

    reason: str
    lasting: bool
    pause: timedelta | None = None
    """What the platform asked for."""


class Link:
    def __init__(
        self,
        settings: Settings,
        token: str,
        api: Api,
        state: State,
        clock: Clock,
        hear: Callable[[str, Any], None],
        on_login: Callable[[Me], None],
    ) -> None:
        self._settings = settings
        self._token = token
        self._api = api
        self._state = state
        self._clock = clock
        self._hear = hear
        self._on_login = on_login
        self._failures = 0
        self._lost_at: float | None = None
        self._connection: asyncio.Task[None] | None = None

    async def run(self) -> None:
        watch = start("discord watch", self._watch())
        try:
            while True:
                ended = await self._once()
                self._state.linked(ended.reason)
                self._failures += 1
                await self._clock.sleep(SLOW if ended.lasting else CONNECT.delay(self._failures, ended.pause))
        finally:
            await cancel(watch)  # the client stays for the sends that still run; `close` comes after them

    async def close(self) -> None:
        client, self._api.client = self._api.client, None
        if client is None:
            return
        try:
            async with asyncio.timeout(CLOSING.total_seconds()):
                await client.close()
        except TimeoutError:  # a dead link does not say goodbye
            await client.http.close()
        _stop_heartbeats(client)

    async def _once(self) -> _Ended:
        """One client from its login to its end."""
        ended = await self._login()
        if ended is None:
            client = self._api.client
            if client is None:
                raise AssertionError("logged in without a client")
            result = await attempt(self._connect(client), "discord gateway")
            ended = _Ended(f"the gateway's client failed ({result})", False) if isinstance(result, Bug) else result
        # The client stays for what has to be sent meanwhile, unless the library has closed it itself.
        self._state.interval = None
        return ended

    async def _login(self) -> _Ended | None:
        """Log in, with the intents that the portal allows. None if that worked."""
        point_at(self._settings.base_url, self._settings.gateway_url)
        content = members = True
        while True:
            await self.close()
            client = Client(wanted_intents(content, members), self._clock, self._frame, self._lost)
            try:
                await client.login(self._token)
                self._api.client = client
                flags = client.application_flags
                may_content = flags.gateway_message_content or flags.gateway_message_content_limited
                may_members = flags.gateway_guild_members or flags.gateway_guild_members_limited
                if (content and not may_content) or (members and not may_members):
                    content, members = content and may_content, members and may_members
                    continue
                await self._find_gateway()
            except discord.LoginFailure:
                await client.close()
                return _Ended(CREDENTIALS_REFUSED, True)
            except REQUEST_ERRORS as error:
                await client.close()
                failure = translate(error, effect=False)
                pause = failure.retry_after if isinstance(failure, TransientError) else None
                return _Ended(failure.message, False, pause)
            except TransientError as error:
                return _Ended(error.message, False)
            if client.user is None or client.application_id is None:
                return _Ended("Discord does not say who the bot is", False)
            self._state.missing = NO_CONTENT if not content else NO_MEMBERS if not members else None
            if self._state.missing is not None:
                log.warning("discord: %s", self._state.missing)
            self._state.name = f"@{client.user.name}"
            self._on_login(Me(client.user.id, client.user.display_name, client.application_id))
            return None

    async def _find_gateway(self) -> None:
        """Without a setting the REST API says where the gateway is."""
        if self._settings.gateway_url is None:
            answer = await self._api.call("GET", "/gateway")
            point_at(self._settings.base_url, str(answer["url"]))

    async def _connect(self, client: Client) -> _Ended:
        self._lost_at = self._clock.monotonic()
        connection = self._connection = start("discord gateway", client.connect(reconnect=True))
        try:
            await asyncio.wait({connection})
        finally:
            await _end(connection)
        if connection.cancelled():
            return _Ended("Discord's gateway could not be reached again; beginning anew", False)
        try:
            await connection
        except discord.PrivilegedIntentsRequired:
            return _Ended(FATAL[4014], True)
        except discord.ConnectionClosed as error:
            if error.code in FATAL:
                return _Ended(FATAL[error.code], True)
            return _Ended(f"Discord closed the connection ({error.code})", False)
        except REQUEST_ERRORS as error:
            return _Ended(translate(error, effect=False).message, False)
        except AttributeError:
            # If the very first connection fails, the library trips over the socket that it does not have yet.
            if _socket(client) is not None:
                raise
            return _Ended("Discord's gateway cannot be reached: check the network and gateway_url", False)
        return _Ended("the connection to Discord was closed", False)

    def _frame(self, op: int, event: str | None, data: Any) -> None:
        if op == _HELLO:
            self._state.hello(timedelta(milliseconds=int(data["heartbeat_interval"])))
        elif op == _ACK:
            self._state.beat()
        elif op == _DISPATCH and event is not None:
            if event in ("READY", "RESUMED"):
                self._failures = 0
                self._lost_at = None
                self._state.linked(None)
            self._hear(event, data)

    def _lost(self) -> None:
        if self._lost_at is None:
            self._lost_at = self._clock.monotonic()
        self._state.linked("the connection to Discord's gateway broke; connecting anew")

    async def _watch(self) -> None:
        """Give up a link that is silent: closing it makes the library connect anew and resume. And give up the library
        when it does not come back: its pauses grow to a quarter of an hour."""
        while True:
            await self._clock.sleep(LOOK)
            lost = self._lost_at
            if lost is not None and self._clock.monotonic() - lost > GIVE_UP.total_seconds():
                self._lost_at = None
                if self._connection is not None:
                    self._connection.cancel()
            silent = self._state.silent()
            socket = _socket(self._api.client)
            if silent is None or socket is None or not socket.open:
                continue
            seconds = silent.total_seconds()
            self._state.linked(f"Discord's gateway has not answered for {seconds:.0f} s; connecting anew")
            self._state.interval = None
            try:
                async with asyncio.timeout(10):
                    await socket.close(code=4000)
            except (TimeoutError, *REQUEST_ERRORS) as error:
                log.info("discord: the silent link did not close in order: %s", type(error).__name__)


async def _end(connection: asyncio.Task[None]) -> None:
    """Cancel until it has ended. The library connects within `asyncio.wait_for`, which in Python 3.11 drops a
    cancellation that comes in the very moment in which the connection is made (bpo-42130); then the library would go on
    for ever, and so would whoever waits for its end."""
    while not connection.done():
        connection.cancel()
        await asyncio.wait({connection}, timeout=AGAIN.total_seconds())


def _stop_heartbeats(client: Client) -> None:
    """Of sockets that the library does not know of: while one is made, its thread runs already, and a stop then leaves
    the thread behind, which goes on for ever."""
    for thread in threading.enumerate():
        if isinstance(thread, KeepAliveHandler) and thread.ws._connection is client._connection:  # noqa: SLF001 - no other way
            thread.stop()


def _socket(client: Client | None) -> DiscordWebSocket | None:
    """The library's socket; there is none before the first connection, whatever its types say."""
    return client.ws if client is not None else None
