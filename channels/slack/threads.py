"""The threads that the executive takes part in: a small durable fact, kept beside the cursors.

Slack does not say in an event whether we wrote in its thread. Each conversation has one record, `threads:<id>`, of the
roots that mattered last; it is committed together with the event that adds to it.
"""

from __future__ import annotations

import json

from bot.gateway.channel import Cursor, Inbox

KEPT = 300
"""Threads remembered for each conversation; the longest unused go first."""


class Threads:
    def __init__(self) -> None:
        self._known: dict[str, dict[str, str]] = {}

    async def load(self, inbox: Inbox, channel: str) -> None:
        """Read the record of a conversation, once."""
        if channel not in self._known:
            self._known[channel] = _read(await inbox.cursor(_name(channel)))

    def has(self, channel: str, root: str) -> bool:
        return root in self._known.get(channel, {})

    def since(self, channel: str, ts: str) -> list[str]:
        """Roots of the threads that were used after `ts`."""
        return [root for root, used in self._known.get(channel, {}).items() if float(used) >= float(ts)]

    def noted(self, channel: str, root: str, ts: str) -> Cursor | None:
        """The record to commit with a message of `ts` in this thread; None if what is kept is near enough. Call
        `settle` when it is committed."""
        known = self._known.get(channel, {})
        if root in known and float(ts) - float(known[root]) < 3600:
            return None
        kept = {**{r: t for r, t in known.items() if r != root}, root: ts}
        for oldest in list(kept)[: max(0, len(kept) - KEPT)]:
            del kept[oldest]
        return Cursor(_name(channel), json.dumps(kept, separators=(",", ":")))

    def settle(self, channel: str, cursor: Cursor) -> None:
        self._known[channel] = _read(cursor.value)


def _name(channel: str) -> str:
    return f"threads:{channel}"


def _read(value: str | None) -> dict[str, str]:
    try:
        found = json.loads(value or "{}")
    except ValueError:
        return {}
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}
