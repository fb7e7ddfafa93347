"""Receiving by webhook. The platform is answered 200 only after its update was committed; anything else makes it
deliver again (Bot API setWebhook)."""

from __future__ import annotations

import hmac
import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from telegram import WebhookInfo
from telegram.error import InvalidToken, TelegramError

from bot.gateway.channel import HttpRequest, HttpResponse, HttpRoute, Inbox
from bot.kernel.clock import Clock
from bot.kernel.errors import TransientError
from bot.kernel.retry import Backoff
from channels.telegram.client import ALLOWED_UPDATES, Client
from channels.telegram.errors import CREDENTIALS_REFUSED, translate
from channels.telegram.receive import Receiver, State

log = logging.getLogger(__name__)

PATH = "/telegram/updates"
SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105 - a header's name
CHECK = timedelta(minutes=1)
RETRY = Backoff(first=timedelta(seconds=1), cap=timedelta(minutes=5))
TROUBLE_LASTS = timedelta(minutes=5)
"""A delivery error that the platform reports counts so long, unless something has arrived since."""


class Webhook:
    def __init__(
        self, client: Client, state: State, clock: Clock, public_url: str, secret: str, on_good: Callable[[], None]
    ) -> None:
        self._client = client
        self._state = state
        self._clock = clock
        self._url = public_url.rstrip("/") + PATH
        self._secret = secret
        self._on_good = on_good
        self._receiver: Receiver | None = None
        self._inbox: Inbox | None = None
        self._arrived: datetime | None = None

    def routes(self) -> tuple[HttpRoute, ...]:
        return (HttpRoute("POST", PATH, self.handle),)

    async def run(self, receiver: Receiver, inbox: Inbox) -> None:
        """Take updates from now on, register with the platform, and look after the registration."""
        self._receiver, self._inbox = receiver, inbox
        failures = 0
        while True:
            try:
                await self._check()
                failures, wait = 0, CHECK
            except InvalidToken:
                self._state.bad(CREDENTIALS_REFUSED)
                wait = RETRY.cap
            except TelegramError as error:
                failures += 1
                self._state.bad(translate(error, effect=False).message)
                wait = RETRY.delay(failures)
            await self._clock.sleep(wait)

    async def handle(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get(SECRET_HEADER, "")
        if not hmac.compare_digest(given.encode(), self._secret.encode()):
            return HttpResponse(403)
        if self._receiver is None or self._inbox is None:
            return HttpResponse(503)
        try:
            raw = json.loads(request.body)
        except ValueError:
            return HttpResponse(400)
        if not isinstance(raw, dict):
            return HttpResponse(400)
        try:
            await self._receiver.take([raw], self._inbox)
        except TransientError as error:
            log.warning("telegram: what arrives cannot be stored: %s", error.message)
            return HttpResponse(503)
        self._arrived = self._clock.now()
        return HttpResponse(200)

    async def _check(self) -> None:
        info = await self._client.get_webhook_info()
        if info.url != self._url:
            # One delivery at a time: they would overtake each other otherwise.
            await self._client.set_webhook(
                self._url,
                max_connections=1,
                allowed_updates=ALLOWED_UPDATES,
                drop_pending_updates=False,
                secret_token=self._secret,
            )
        elif trouble := self._trouble(info):
            self._state.bad(trouble)
            return
        if self._state.good():
            self._on_good()

    def _trouble(self, info: WebhookInfo) -> str | None:
        at = info.last_error_date
        if at is None or (self._arrived is not None and self._arrived >= at.astimezone(UTC)):
            return None
        if self._clock.now() - at > TROUBLE_LASTS and not info.pending_update_count:
            return None
        return f"Telegram cannot deliver to {self._url}: {info.last_error_message or 'no reason given'}"
