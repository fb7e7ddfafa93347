"""How receiving goes, in one place: what `health` says."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import field
from datetime import datetime

from bot.gateway.channel import Health
from bot.kernel.clock import Clock
from bot.kernel.values import dataclass
from channels.slack.errors import CREDENTIALS, CREDENTIALS_REFUSED, code_of, scope_of
from channels.slack.manifest import HEARING, explain

log = logging.getLogger(__name__)


@dataclass(slots=True)
class State:
    """`reason` is set while nothing is received. `lacking`: scopes that a call or the token itself named as missing."""

    clock: Clock
    where: str | None = None
    receiving: bool = False
    reason: str | None = "starting: not connected to Slack yet"
    since: datetime | None = None
    lacking: list[str] = field(default_factory=list)
    shared_with: int = 0
    """Connections of other programs that take a share of the events."""
    dead: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when Slack says that the app's own token or installation is gone: who we are has to be asked again."""

    def good(self) -> None:
        if not self.receiving:
            self.receiving, self.reason, self.since = True, None, self.clock.now()
            log.info("slack: receiving")

    def bad(self, reason: str) -> None:
        if self.receiving or self.since is None:
            self.since = self.clock.now()
        if self.receiving or self.reason != reason:
            log.warning("slack: not receiving: %s", reason)
        self.receiving, self.reason = False, reason

    def lacks(self, scope: str) -> None:
        if scope and scope not in self.lacking:
            self.lacking.append(scope)
            log.warning("slack: %s", explain([scope]))

    def died(self, code: str) -> None:
        self.bad(CREDENTIALS_REFUSED.format(code=code))
        self.dead.set()

    def saw(self, error: BaseException) -> None:
        """Draw from a failed call what concerns the whole channel."""
        self.lacks(scope_of(error))
        if code_of(error) in CREDENTIALS:
            self.died(code_of(error))

    def health(self) -> Health:
        """A missing scope is told even while the rest is received; one without which words do not arrive counts as
        not receiving."""
        if not self.receiving:
            return Health(False, self.reason, self.since, self.where)
        if self.shared_with:
            reason = f"{self.shared_with} more connection(s) with this app token take a share of the events: stop them"
            return Health(False, reason, self.since, self.where)
        if self.lacking:
            deaf = any(scope in HEARING for scope in self.lacking)
            return Health(not deaf, explain(self.lacking), self.since, self.where)
        return Health(True, None, self.since, self.where)
