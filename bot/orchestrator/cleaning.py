"""Making addresses inert without holding up everybody else: a long answer takes a second of reading and writing."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from bot.gateway.text_links import inert

AT_ONCE = 2_000
"""Characters that are looked through on the event loop: changing threads for them would take longer."""


async def cleaned(markdown: str, permitted: Collection[str]) -> str:
    """`bot.gateway.text_links.inert`, of a long text in a thread."""
    if len(markdown) <= AT_ONCE:
        return inert(markdown, permitted)
    return await asyncio.to_thread(inert, markdown, permitted)
