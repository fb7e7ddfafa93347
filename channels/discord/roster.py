"""Direct messages of the people of the roster. Somebody may write for the first time while we are away, and a bot is
told of its direct messages only as they come: so the members of each guild are listed, and the chats of those whom we
know are looked at."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from datetime import timedelta

from bot.gateway.channel import Inbox
from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError, TransientError
from bot.kernel.retry import Backoff
from bot.kernel.supervise import attempt, cancel, start
from bot.kernel.values import dataclass
from channels.discord.client import Api
from channels.discord.errors import REQUEST_ERRORS, translate
from channels.discord.places import Places
from channels.discord.readback import AT_ONCE

log = logging.getLogger(__name__)

RETRY = Backoff(first=timedelta(minutes=1), cap=timedelta(hours=1))
"""A guild's members may be asked for twice in a minute at most (Discord, Request Guild Members)."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The members of a guild, and in which session they were asked for."""

    session: int
    guild: int
    users: tuple[int, ...]


class Roster:
    """`unknown`: guilds of this session whose people may have written to us without our having looked."""

    def __init__(self, api: Api, clock: Clock, listed: Callable[[Listed], None]) -> None:
        self._api = api
        self._clock = clock
        self._listed = listed
        self._asking: dict[int, asyncio.Task[object]] = {}
        self.session = 0
        self.unknown: set[int] = set()

    async def begin(self, guilds: Iterable[int]) -> None:
        """A session with the platform begins; its guilds become known one by one."""
        await self.stop()
        self.session += 1
        self.unknown = set(guilds)

    def ask(self, guild: int) -> None:
        """Have the members listed. Unasked the platform says it only to those who may see who is online."""
        if guild not in self._asking:
            task = start(f"discord members of {guild}", attempt(self._ask(guild), f"discord members of {guild}"))
            self._asking[guild] = task
            task.add_done_callback(lambda _: self._asking.pop(guild, None))

    async def ask_again(self) -> None:
        """After a gap: a question or its answer may have been lost in it."""
        await self.stop()
        for guild in self.unknown:
            self.ask(guild)

    def known(self, guild: int) -> None:
        """Its people were looked at, or it is ours no longer."""
        self.unknown.discard(guild)

    async def stop(self) -> None:
        for task in list(self._asking.values()):
            await cancel(task)

    async def _ask(self, guild: int) -> None:
        session, failures = self.session, 0
        while True:
            try:
                users = await self._api.members(guild)
            except REQUEST_ERRORS as error:
                failures += 1
                log.info("discord: who is in %s is not known yet: %s", guild, translate(error, effect=False).message)
                await self._clock.sleep(RETRY.delay(failures))
            else:
                if users is not None:
                    self._listed(Listed(session, guild, users))
                return


async def direct_channels(places: Places, inbox: Inbox, users: Iterable[int]) -> tuple[list[int], bool]:
    """The channels of direct messages with those of `users` who are on the roster, and whether these are all that there
    can be; a few are asked for at a time, and who cannot be reached is left out."""
    whole = True
    slots = asyncio.Semaphore(AT_ONCE)

    async def opened(user: int) -> int | None:
        nonlocal whole
        async with slots:
            try:
                return await places.open_direct(user)
            except REQUEST_ERRORS as error:
                failure = translate(error, effect=False)
            except OpenExecutiveError as error:
                failure = error
            reason = failure.message
            whole = whole and not isinstance(failure, TransientError)
            log.info("discord: no direct messages with %s: %s", user, reason)
            return None

    people = [user for user in users if await inbox.is_known(str(user))]
    tasks = [start(f"discord direct messages {user}", opened(user)) for user in people]
    try:
        if tasks:
            await asyncio.wait(tasks)
    finally:
        for task in tasks:
            await cancel(task)
    return [channel for task in tasks if (channel := task.result()) is not None], whole
