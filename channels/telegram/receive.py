"""What both ways of receiving share: reading updates, mapping them, handing them over, and saying how it goes."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime

from telegram import Update

from bot.gateway.channel import Health, Inbox
from bot.gateway.events import Addressed, InboundEvent, MessageEdited, MessageReceived
from bot.kernel.clock import Clock
from bot.kernel.values import dataclass
from channels.telegram import forms
from channels.telegram.client import Client, JsonObject
from channels.telegram.content import Me
from channels.telegram.forms import Asked
from channels.telegram.mapping import changes_members, group_of, map_update
from channels.telegram.members import MemberCounts

log = logging.getLogger(__name__)


@dataclass(slots=True)
class State:
    """Health as it is now. `reason` is set while nothing is received."""

    clock: Clock
    receiving: bool = False
    reason: str | None = "starting: not connected to Telegram yet"
    since: datetime | None = None

    def good(self) -> bool:
        """Note that receiving works; True if it did not before."""
        if self.receiving:
            return False
        self.receiving, self.reason, self.since = True, None, self.clock.now()
        log.info("telegram: receiving")
        return True

    def bad(self, reason: str) -> None:
        if self.receiving or self.since is None:
            self.since = self.clock.now()
        if self.receiving or self.reason != reason:
            log.warning("telegram: not receiving: %s", reason)
        self.receiving, self.reason = False, reason

    def health(self) -> Health:
        return Health(self.receiving, self.reason, self.since)


class Receiver:
    """Maps and hands over. Holds the verified identity: without it no update is looked at."""

    def __init__(self, client: Client, me: Me, members: MemberCounts, clock: Clock, limit: int) -> None:
        self._client = client
        self._me = me
        self._members = members
        self._clock = clock
        self._limit = limit
        self._forms: Mapping[tuple[int, int], Asked] = {}

    async def take(self, raw: Sequence[JsonObject], inbox: Inbox) -> None:
        """Commit what these updates say. When it returns they may be confirmed; a `TransientError` of the inbox
        passes through, and then none may be.

        Groups whose size is not known wait for it in a second commit, so that they keep nobody else waiting.
        """
        updates = [update for one in raw if (update := self._read(one)) is not None]
        self._forms = await forms.answered(updates, self._me, inbox)
        for update in updates:
            if (chat := group_of(update)) is not None and changes_members(update):
                self._members.forget(chat)
        unsized = self._unsized(updates)
        at_once = [update for update in updates if group_of(update) not in unsized]
        if events := self._map(at_once):
            await inbox.accept(events)
        if unsized:
            await self._members.refresh(sorted(unsized))
            await inbox.accept(self._map([update for update in updates if group_of(update) in unsized]))

    def _unsized(self, updates: Sequence[Update]) -> set[int]:
        """Groups of unknown size in which something concerns the executive."""
        return {
            chat
            for update in updates
            if (chat := group_of(update)) is not None
            and not self._members.asked(chat)
            and any(_concerns(event) for event in self._map([update]))
        }

    def _map(self, updates: Sequence[Update]) -> list[InboundEvent]:
        now = self._clock.now()
        found: list[InboundEvent] = []
        for update in updates:
            try:
                found += map_update(update, self._me, self._members.get, self._limit, now, self._forms)
            except (AttributeError, KeyError, TypeError, ValueError):
                # One update of a shape nobody foresaw must not keep all later ones from being confirmed.
                log.exception("telegram update %s cannot be mapped and is passed over", update.update_id)
        return found

    def _read(self, raw: JsonObject) -> Update | None:
        try:
            return Update.de_json(dict(raw), self._client)
        except (AttributeError, KeyError, TypeError, ValueError):
            log.exception("telegram update %s cannot be read and is passed over", raw.get("update_id"))
            return None


def _concerns(event: InboundEvent) -> bool:
    return not (isinstance(event, MessageReceived | MessageEdited) and event.addressed is Addressed.NOT)
