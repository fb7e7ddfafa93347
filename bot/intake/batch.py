"""One transaction's worth of intake: everything a platform delivered together.

Facts about all events are read first, in a few statements whatever their number; rows are written last, together. An
event that has to see the rows of an earlier one (an edit, a deletion, a move) has them written before its turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bot.audit.events import MessageDuplicate
from bot.gateway.channel import Accepted
from bot.gateway.events import (
    ButtonPressed,
    CommandInvoked,
    DeliveryReported,
    FormSubmitted,
    InboundEvent,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    MessageReceived,
    Thread,
)
from bot.intake import store
from bot.intake.happenings import Happenings
from bot.intake.model import Context, Rules, Taken
from bot.intake.rooms import Rooms
from bot.intake.rows import Rows
from bot.intake.speech import Speech
from bot.people import store as people

__all__ = ["Batch", "Rules"]


class Batch:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._rows = Rows(context)
        self._rooms = Rooms(context, self._rows)
        self._speech = Speech(context, self._rows, self._rooms)
        self._happenings = Happenings(context, self._rows, self._rooms)

    def take(self, events: Sequence[InboundEvent]) -> Taken:
        context, rows = self._context, self._rows
        connection = context.tx.connection
        rows.seen = store.seen_before(connection, [key for event in events for key in event.keys])
        context.owners.update(people.by_handle(connection, context.channel, _addresses(events)))
        rows.load(_thread_keys(events))
        answers = tuple(self._take_one(event) for event in events)
        rows.flush()
        return Taken(
            answers,
            tuple(rows.begun),
            tuple(rows.waiting),
            tuple(rows.immediate),
            tuple(context.queued),
            self._rooms.facts,
            frozenset(rows.participants),
            frozenset(self._rooms.forgotten),
            tuple(context.notes),
        )

    def _take_one(self, event: InboundEvent) -> Accepted:
        seen = self._rows.seen
        duplicate_of = next((seen[key] for key in event.keys if key in seen), None)
        if duplicate_of is not None:
            self._context.record(MessageDuplicate(self._context.channel, event.kind, duplicate_of))
            return Accepted.DUPLICATE
        match event:
            case MessageReceived() | CommandInvoked():
                return self._speech.take(event)
            case MessageEdited():
                return self._happenings.edited(event)
            case MessageDeleted():
                return self._happenings.deleted(event)
            case ButtonPressed() | FormSubmitted():
                return self._happenings.pressed(event)
            case MembershipChanged():
                return self._happenings.membership(event)
            case DeliveryReported():
                return self._happenings.reported(event)


def _addresses(events: Iterable[InboundEvent]) -> list[str]:
    found: list[str] = []
    for event in events:
        if not isinstance(event, _WITHOUT_SENDER):
            found.append(event.sender.address)
        if isinstance(event, MessageReceived):
            found += event.invited
    return found


_WITHOUT_SENDER = (MessageDeleted, MembershipChanged, DeliveryReported)


def _thread_keys(events: Iterable[InboundEvent]) -> list[str]:
    return [
        event.thread.key
        for event in events
        if not isinstance(event, MembershipChanged | DeliveryReported) and isinstance(event.thread, Thread)
    ]
