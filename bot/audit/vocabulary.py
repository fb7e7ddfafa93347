"""All types of events that may be logged, by name."""

from __future__ import annotations

from bot.audit import events, events_ledger, events_memory
from bot.audit.events import Payload

VOCABULARY: dict[str, type[Payload]] = {
    each.type: each
    for room in (events, events_memory, events_ledger)
    for each in vars(room).values()
    if isinstance(each, type) and issubclass(each, Payload) and each.__module__ == room.__name__ and each is not Payload
}
