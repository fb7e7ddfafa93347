"""Copies of answers in the mailbox's Sent folder. A connection per copy: answers are few, and reading has its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from channels.email.imap_login import log_in
from config.schema import Email


class ImapSent:
    def __init__(self, settings: Email, access_token: Callable[[], Awaitable[str]]) -> None:
        self._settings = settings
        self._access_token = access_token
        self._one_at_a_time = asyncio.Lock()

    async def keep(self, content: bytes, at: datetime) -> None:
        """Raises `OpenExecutiveError` if it cannot be kept."""
        folder = self._settings.imap.sent
        if folder is None:
            return
        async with self._one_at_a_time:
            client = await log_in(self._settings, self._access_token)
            try:
                await client.append(folder, content)
                await client.logout()
            finally:
                await client.close()
