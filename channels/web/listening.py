"""Which pages are open, and what each has not heard yet."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import timedelta

from bot.gateway.pages import Drafted, News

MOST = 128
"""Pages that listen at a time; others show what was so when they were drawn."""
MOST_OF_ONE = 6
"""Of one conversation."""
MOST_OF_ACCOUNT = 12
"""Of all conversations of one account."""
WAITING = 200
"""News that a page may be behind; one that is further behind is ended and comes back by itself."""


class Page:
    """Implements `bot.gateway.pages.Listening`."""

    def __init__(self, account: str, gone: Callable[[Page], None]) -> None:
        self.account = account
        self._gone = gone
        self._news: deque[News] = deque()
        self._rung = asyncio.Event()
        self.ended = False

    def tell(self, news: News) -> None:
        if isinstance(news, Drafted) and self._news and isinstance(self._news[-1], Drafted):
            self._news.pop()
        self._news.append(news)
        if len(self._news) > WAITING:
            self.end()
        self._rung.set()

    def end(self) -> None:
        self.ended = True
        self._rung.set()

    async def next(self, within: timedelta) -> News | None:
        if not self._news and not self.ended:
            self._rung.clear()
            try:
                async with asyncio.timeout(within.total_seconds()):
                    await self._rung.wait()
            except TimeoutError:
                return None
        return self._news.popleft() if self._news else None

    def close(self) -> None:
        self._gone(self)


class Listeners:
    def __init__(self) -> None:
        self._pages: dict[str, list[Page]] = {}

    def add(self, account: str, thread: str) -> Page | None:
        """`thread`: one of this account's. None where too many listen."""
        of_account = [page.account == account for pages in self._pages.values() for page in pages]
        if len(of_account) >= MOST or sum(of_account) >= MOST_OF_ACCOUNT:
            return None
        of_thread = self._pages.setdefault(thread, [])
        if len(of_thread) >= MOST_OF_ONE:
            return None

        def gone(page: Page) -> None:
            if page in of_thread:
                of_thread.remove(page)
            if not of_thread and self._pages.get(thread) is of_thread:
                del self._pages[thread]

        page = Page(account, gone)
        of_thread.append(page)
        return page

    def tell(self, thread: str, news: News) -> None:
        for page in self._pages.get(thread, ()):
            page.tell(news)

    def end(self) -> None:
        for pages in self._pages.values():
            for page in pages:
                page.end()
