"""How it goes: what keeps the channel from receiving, and since when."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from bot.gateway.channel import Health
from bot.kernel.clock import Clock
from bot.kernel.values import dataclass

log = logging.getLogger(__name__)

STARTING = "starting: not connected to Discord yet"
_PATIENCE = 1.25
"""Heartbeats are answered at once; one interval and a quarter without an answer is a dead link."""


@dataclass(slots=True)
class State:
    """`link` and `store` say what is wrong with the connection and with taking in what it brings."""

    clock: Clock
    link: str | None = STARTING
    store: str | None = None
    since: datetime | None = None
    name: str | None = None
    missing: str | None = None
    """What an intent that is switched off keeps from us; receiving goes on without."""
    interval: timedelta | None = None
    beaten: float = 0.0
    """When the last heartbeat was answered, on the clock's own scale."""

    def linked(self, fault: str | None) -> None:
        self._note(self.link, fault)
        self.link = fault

    def stored(self, fault: str | None) -> None:
        self._note(self.store, fault)
        self.store = fault

    def hello(self, interval: timedelta) -> None:
        self.interval = interval
        self.beat()

    def beat(self) -> None:
        self.beaten = self.clock.monotonic()

    def silent(self) -> timedelta | None:
        """For how long heartbeats have not been answered, if that is too long."""
        if self.interval is None:
            return None
        passed = timedelta(seconds=self.clock.monotonic() - self.beaten)
        return passed if passed > self.interval * _PATIENCE else None

    def health(self) -> Health:
        reason = self.link or self.store
        silent = self.silent()
        if reason is None and silent is not None:
            reason = f"Discord's gateway has not answered for {silent.total_seconds():.0f} s; connecting anew"
        where = " ".join(part for part in (self.name, f"({self.missing})" if self.missing else None) if part)
        return Health(reason is None, reason, self.since, where or None)

    def _note(self, before: str | None, after: str | None) -> None:
        if before == after:
            return
        if (before is None) != (after is None) or self.since is None:
            self.since = self.clock.now()
        if after is None:
            log.info("discord: receiving")
        else:
            log.warning("discord: not receiving: %s", after)
