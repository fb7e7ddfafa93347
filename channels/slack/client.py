"""The library's client as this channel uses it: one pool of connections, no retries of its own, a silent log."""

from __future__ import annotations

import logging

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

TIMEOUT = 30
SOCKET_CLOSE = 1.0
"""Seconds that a socket which is being closed is given to answer."""


def library_log() -> logging.Logger:
    """Where the library writes. It logs requests, texts and socket addresses below WARNING, so it starts there."""
    log = logging.getLogger("channels.slack.library")
    log.setLevel(logging.WARNING)
    return log


class Client:
    """The Web API and plain HTTP over one session, which is opened with the first use in the running loop."""

    def __init__(self, token: str, base_url: str) -> None:
        self.token = token
        self._session: aiohttp.ClientSession | None = None
        self.web = AsyncWebClient(
            token=token,
            base_url=f"{base_url.rstrip('/')}/",
            timeout=TIMEOUT,
            retry_handlers=[],
            logger=library_log(),
        )

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            # A call that hangs is bounded here; a socket is bounded by its own watch.
            limits = aiohttp.ClientTimeout(total=TIMEOUT, connect=10)
            self._session = aiohttp.ClientSession(timeout=limits, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    def open(self) -> None:
        self.web.session = self.session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
