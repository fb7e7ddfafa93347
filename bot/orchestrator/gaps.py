"""Stretches in which presses cannot have come in: the daemon was away, or a channel received nothing. No platform hands
a press over again, so whoever was shown a question before the end of such a stretch is asked once more, once.

When a stretch ended stands beside the channel's cursors, and so does when somebody was asked again because of it: both
outlive the process.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

import sqlalchemy as sa

from bot.gateway.channel import Channel
from bot.gateway.pages import last_resort
from bot.intake import store as inbox
from bot.kernel.clock import Clock
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.scheduler import gate
from bot.storage.database import Database, Tx

AWAY = timedelta(minutes=1)
"""Shorter ones do not count: whoever presses then is told by their platform that it failed, and presses again."""
SETTLE = timedelta(seconds=30)
"""What a platform has kept after all comes in first."""
_GAP = "gap"
_ASKED = "asked again:"


class Gaps:
    def __init__(self, database: Database, clock: Clock, channels: Mapping[str, Channel]) -> None:
        self._database = database
        self._clock = clock
        self._channels = channels
        self._receives: set[str] = set()
        self._silent: dict[str, datetime] = {}
        """Channels that have received, and do not, since when."""

    def recover(self, tx: Tx) -> None:
        """At a start: since when no process has been there tells the gate, which a living one holds."""
        left, now = gate.left(tx.connection), self._clock.now()
        if left is None or now - left < AWAY:
            return
        for name in self._with_buttons():
            _note(tx, name, _GAP, now)
            self._silent[name] = left

    async def watch(self) -> None:
        """Look which channels receive. Raises `TransientError`."""
        now = self._clock.now()
        ended = []
        for name in self._with_buttons():
            if not self._channels[name].health().receiving:
                if name in self._receives:
                    self._receives.discard(name)
                    self._silent[name] = now
                continue
            self._receives.add(name)
            since = self._silent.pop(name, now)
            if now - since >= AWAY:
                ended.append(name)

        def unit(tx: Tx) -> None:
            for name in ended:
                _note(tx, name, _GAP, now)

        if ended:
            await self._database.write(unit)

    def over(self, connection: sa.Connection) -> Mapping[str, Gap]:
        """The last one of each channel, where it receives again."""
        found = {name: _noted(connection, name, _GAP) for name in self._receives}
        return {name: Gap(name, at) for name, at in found.items() if at is not None}

    def _with_buttons(self) -> Collection[str]:
        """A press in a page of ours is answered at once, or fails before the presser's eyes."""
        return [name for name, known in self._channels.items() if known.has_buttons and not last_resort(known)]


@dataclass(frozen=True, slots=True)
class Gap:
    """A channel received nothing until then."""

    channel: str
    ended_at: datetime


def asked_since(connection: sa.Connection, gap: Gap, person: PersonId) -> bool:
    """Whether they were asked again because of it."""
    at = _noted(connection, gap.channel, f"{_ASKED}{person}")
    return at is not None and at >= gap.ended_at


def ask(tx: Tx, gap: Gap, person: PersonId, now: datetime) -> bool:
    """They are asked again with this transaction. False if they were already."""
    if asked_since(tx.connection, gap, person):
        return False
    _note(tx, gap.channel, f"{_ASKED}{person}", now)
    return True


def _note(tx: Tx, channel: str, name: str, at: datetime) -> None:
    inbox.set_cursor(tx, channel, name, at.isoformat())


def _noted(connection: sa.Connection, channel: str, name: str) -> datetime | None:
    value = inbox.get_cursor(connection, channel, name)
    return None if value is None else datetime.fromisoformat(value)
