"""Which channels are in use, and how far each was read: the register of what is fetched after a gap.

A bot cannot ask for its direct messages or archived threads, so the register is kept with the cursors: one row for the
list, one cursor per channel, which moves in the transaction of what it stands behind. A channel enters the list before
its first message is committed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, timedelta

from bot.gateway.channel import Cursor, Inbox
from bot.kernel.clock import Clock
from bot.kernel.values import dataclass
from channels.discord.keys import cursor_name, snowflake_at

log = logging.getLogger(__name__)

LIST = "discord:channels"
BEGAN = "discord:began"
HEARD = "discord:heard"
CLOCK_SKEW = timedelta(seconds=30)
"""The platform's clock, which dates ids, may be behind ours."""
STEP = timedelta(minutes=1)
"""How often it is written again up to where everything was heard, and how far that stays behind: events of different
places overtake each other a little."""
_AT_MOST = 1000
_BEHIND = int(STEP / timedelta(milliseconds=1)) << 22
_DAY = timedelta(days=1)
_FIRST_DAY = date(2020, 1, 1)


@dataclass(frozen=True, slots=True)
class Entry:
    guild: int
    """0 for direct messages."""
    since: int
    """Id before which nothing has to be read."""
    day: int
    """Of the last use, counted from 2020."""
    thread: bool = False


class Register:
    def __init__(self, clock: Clock, days: int) -> None:
        self._clock = clock
        self._days = days
        self._entries: dict[int, Entry] = {}
        self._positions: dict[int, int] = {}
        self._unsaved = False
        self._noted: int | None = None
        self._began = 0
        self._sessions = 0
        self._heard = 0
        self._written = 0

    async def load(self, inbox: Inbox) -> None:
        """Before anything is received. Raises `TransientError`."""
        stored = await inbox.cursor(LIST)
        try:
            listed = json.loads(stored) if stored else {}
            self._entries = {int(channel): Entry(*values) for channel, values in listed.items()}
        except (AttributeError, TypeError, ValueError):
            log.exception("discord: the list of channels in use cannot be read; it begins anew")
            self._entries = {}
        for channel in self._entries:
            position = await inbox.cursor(cursor_name(channel))
            if position and position.isdigit():
                self._positions[channel] = int(position)
        noted = await inbox.cursor(BEGAN)
        self._noted = int(noted) if noted and noted.isdigit() else None
        if self._noted is None:
            await self._note(inbox)
        else:
            self._began = self._noted
        heard = await inbox.cursor(HEARD)
        self._heard = self._written = int(heard) if heard and heard.isdigit() else 0

    async def _note(self, inbox: Inbox) -> None:
        """Note, once for ever, since when we listen: the first message of all may come just before we die."""
        noted = snowflake_at(self._clock.now() - CLOCK_SKEW)
        await inbox.accept((), Cursor(BEGAN, str(noted)))
        self._noted = noted

    def ready(self) -> None:
        """A session with the platform begins."""
        if self._sessions:
            self._began = self._noted or 0
        self._sessions += 1

    def __contains__(self, channel: int) -> bool:
        return channel in self._entries

    def of_guild(self, guild: int) -> tuple[int, ...]:
        """Channels in use; 0: direct messages."""
        return tuple(channel for channel, entry in self._entries.items() if entry.guild == guild)

    def threads(self) -> set[int]:
        return {channel for channel, entry in self._entries.items() if entry.thread}

    def heard(self) -> int:
        """The id up to which everything was heard, in channels that are not in the register too; at least since the
        first start (within the first session itself 0)."""
        return max(self._heard, self._began)

    def hear(self, message: int) -> None:
        """All that was said before this message, wherever, is committed; nothing is being read back."""
        self._heard = max(self._heard, message - _BEHIND)

    def position(self, channel: int) -> int | None:
        """Id after which a channel has to be read: within the last days at most."""
        entry = self._entries.get(channel)
        if entry is None:
            return None
        floor = snowflake_at(self._clock.now() - timedelta(days=self._days))
        return max(entry.since, self._positions.get(channel, 0), floor)

    def recent(self, channels: Iterable[int]) -> tuple[int, ...]:
        """Those that were used today or yesterday."""
        today = self._today()
        return tuple(c for c in channels if today - self._entries[c].day <= 1)

    def cursor(self, channel: int, message: int) -> Cursor | None:
        """What to commit with a message; None while the channel is not in use or was read further already."""
        if channel not in self._entries or message <= self._positions.get(channel, 0):
            return None
        return Cursor(cursor_name(channel), str(message))

    def committed(self, channel: int, message: int) -> None:
        self._positions[channel] = max(message, self._positions.get(channel, 0))

    def used_today(self, channel: int) -> bool:
        known = self._entries.get(channel)
        return known is not None and known.day == self._today()

    def enter(self, channel: int, guild: int, since: int, *, thread: bool) -> None:
        """Note that a channel is used now. The list has to be saved before what it is used for is committed."""
        known, today = self._entries.get(channel), self._today()
        if known is not None and known.day == today and (known.thread or not thread):
            return
        taking_part = thread or (known is not None and known.thread)
        self._entries[channel] = replace(known or Entry(guild, since, today), day=today, thread=taking_part)
        latest = sorted(self._entries.items(), key=lambda item: item[1].day, reverse=True)
        self._entries = {c: e for c, e in latest[:_AT_MOST] if today - e.day <= max(self._days, 1)}
        self._unsaved = True

    def leave(self, channels: Iterable[int]) -> None:
        """Forget channels that are gone."""
        for channel in channels:
            self._unsaved = self._entries.pop(channel, None) is not None or self._unsaved

    async def save(self, inbox: Inbox) -> None:
        """Write the list if it has changed. Raises `TransientError`; then it is still to be written."""
        if self._unsaved:
            listed = {str(c): [e.guild, e.since, e.day, e.thread] for c, e in self._entries.items()}
            await inbox.accept((), Cursor(LIST, json.dumps(listed, separators=(",", ":"))))
            self._unsaved = False
        if self._heard - self._written >= _BEHIND:
            await inbox.accept((), Cursor(HEARD, str(self._heard)))
            self._written = self._heard

    def _today(self) -> int:
        return (self._clock.now().date() - _FIRST_DAY) // _DAY
