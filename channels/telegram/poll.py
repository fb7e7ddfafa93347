"""Receiving by long poll. An offset is confirmed by the next call (Bot API getUpdates), and the next call is made only
after what came was committed; the platform keeps the rest for 24 hours. No offset is stored: the server knows it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta

from telegram.error import Conflict, InvalidToken, RetryAfter, TelegramError

from bot.gateway.channel import Inbox
from bot.kernel.clock import Clock
from bot.kernel.errors import TransientError
from bot.kernel.retry import Backoff
from channels.telegram.client import Client
from channels.telegram.errors import CREDENTIALS_REFUSED, translate
from channels.telegram.receive import Receiver, State

log = logging.getLogger(__name__)

PATIENCE = 3
"""So many polls in a row may fail before health says that nothing is received."""
WEDGED = 3
"""A client that has completed no poll for so many poll timeouts is replaced."""
RETRY = Backoff(first=timedelta(seconds=0.5), cap=timedelta(seconds=60))
SLOW = timedelta(minutes=5)
"""Between tries while the token is refused: only a person can change that."""


class Poller:
    def __init__(
        self,
        client: Client,
        receiver: Receiver,
        state: State,
        clock: Clock,
        timeout: timedelta,
        on_good: Callable[[], None],
    ) -> None:
        self._client = client
        self._receiver = receiver
        self._state = state
        self._clock = clock
        self._timeout = timeout
        self._on_good = on_good
        self._offset: int | None = None
        self._failures = 0
        self._completed = clock.monotonic()

    async def run(self, inbox: Inbox) -> None:
        while True:
            wait = await self._once(inbox)
            if wait is not None:
                await self._clock.sleep(wait)

    def stalled(self) -> timedelta | None:
        """How long ago the last poll was completed, if that is too long."""
        idle = timedelta(seconds=self._clock.monotonic() - self._completed)
        return idle if idle > WEDGED * self._timeout else None

    async def _once(self, inbox: Inbox) -> timedelta | None:
        """One poll; the time to wait before the next if it failed."""
        try:
            # Until it is known that polls work, ask without waiting: health must not lag a whole long poll behind.
            wait = max(self._timeout, timedelta(seconds=1)) if self._state.receiving else timedelta()
            # The library's own time limits have failed to end a poll before, so there is one around them.
            async with asyncio.timeout((2 * self._timeout).total_seconds() + 10):
                raw = await self._client.raw_updates(self._offset, wait)
            self._completed = self._clock.monotonic()
            if raw:
                await self._receiver.take(raw, inbox)
                self._offset = max(int(str(update["update_id"])) for update in raw) + 1
        except TransientError as error:
            return self._failed(f"what arrives cannot be stored: {error.message}", error.retry_after)
        except Conflict as error:
            if "webhook is active" in error.message.lower():
                return await self._end_webhook()
            return self._failed(translate(error, effect=False).message)
        except InvalidToken:
            self._state.bad(CREDENTIALS_REFUSED)
            return SLOW
        except RetryAfter as error:
            failure = translate(error)
            return self._failed(failure.message, failure.retry_after if isinstance(failure, TransientError) else None)
        except TelegramError as error:
            await self._replace_if_wedged()
            return self._failed(translate(error, effect=False).message)
        except TimeoutError:
            await self._replace_if_wedged()
            return self._failed("a poll did not end in time")
        failed, self._failures = self._failures > 0, 0
        # Also after failures too few to be told: what could not be sent meanwhile waits for this.
        if self._state.good() or failed:
            self._on_good()
        return None

    def _failed(self, reason: str, retry_after: timedelta | None = None) -> timedelta:
        self._failures += 1
        if self._failures >= PATIENCE or not self._state.receiving:
            self._state.bad(reason)
        else:
            log.info("telegram: poll failed: %s", reason)
        return RETRY.delay(self._failures, retry_after)

    async def _replace_if_wedged(self) -> None:
        """Begin with fresh connections when no poll, not even an empty one, was completed for long."""
        idle = self.stalled()
        if idle is None:
            return
        log.warning("telegram: no completed poll for %.0f s, connecting anew", idle.total_seconds())
        self._completed = self._clock.monotonic()
        await self._client.renew_polling()

    async def _end_webhook(self) -> timedelta:
        """Polling was chosen, but a webhook of an earlier configuration is set. What waits is kept."""
        try:
            await self._client.delete_webhook(drop_pending_updates=False)
        except TelegramError as error:
            return self._failed(translate(error, effect=False).message)
        return timedelta()
