"""The orchestrator as the other rooms see it: it listens to intake and takes up what an earlier process left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from bot.intake import store as inbox
from bot.kernel.ids import BootId, SessionId
from bot.orchestrator.immediate import Immediate
from bot.orchestrator.lanes import Lanes
from bot.sessions import turns
from bot.sessions.turns import Turn
from bot.storage.database import Database, Tx


class Orchestrator:
    """Implements `intake.service.Listener`."""

    def __init__(self, database: Database, lanes: Lanes, immediate: Immediate, boot: BootId) -> None:
        self._database = database
        self._lanes = lanes
        self._immediate = immediate
        self._boot = boot

    def begin(self, turn: Turn, rows: Sequence[inbox.Row]) -> None:
        self._lanes.begin(turn, rows)

    def waiting(self, session: SessionId) -> None:
        self._lanes.waiting(session)

    def immediate(self, row: inbox.Row) -> None:
        self._immediate.take(row)

    def recover(self, tx: Tx) -> int:
        """At start, under the data folder's lock. Returns how many turns an earlier process left running."""
        return len(turns.void_older_boots(tx, self._boot))

    async def start(self) -> None:
        """Take up what waits: interrupted turns, waiting rows, unanswered immediate ones."""
        for session in await self._database.read(turns.sessions_interrupted):
            self._lanes.waiting(session)
        for session in await self._database.read(inbox.sessions_waiting):
            self._lanes.waiting(session)
        for row in await self._database.read(inbox.outside_lanes):
            self._immediate.take(row)

    async def drain(self, within: timedelta) -> bool:
        return await self._lanes.drain(within)
