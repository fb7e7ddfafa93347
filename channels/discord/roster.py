"""Direct messages of the people of the roster. Somebody may write for the first time while we are away, and a bot is
told of its direct messages only as they come."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from bot.gateway.channel import Inbox
from bot.kernel.errors import OpenExecutiveError, TransientError
from bot.kernel.supervise import cancel, start
from channels.discord.content import Payload
from channels.discord.errors import REQUEST_ERRORS, translate
from channels.discord.places import Places
from channels.discord.readback import AT_ONCE

log = logging.getLogger(__name__)


async def direct_channels(places: Places, inbox: Inbox, users: Iterable[Payload]) -> tuple[list[int], bool]:
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

    people = [user for user in users if not user.get("bot") and await inbox.is_known(str(user["id"]))]
    tasks = [start(f"discord direct messages {user['id']}", opened(int(user["id"]))) for user in people]
    try:
        if tasks:
            await asyncio.wait(tasks)
    finally:
        for task in tasks:
            await cancel(task)
    return [channel for task in tasks if (channel := task.result()) is not None], whole
