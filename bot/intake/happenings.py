"""What happens to messages and rooms: edits, deletions, presses, members, news of what was sent."""

from __future__ import annotations

from dataclasses import replace

from bot.audit import events as audited
from bot.gateway.channel import Accepted
from bot.gateway.events import (
    Body,
    ButtonPressed,
    Chain,
    Change,
    DeliveryReported,
    FormSubmitted,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    MessageReceived,
    Outcome,
)
from bot.intake import store
from bot.intake.model import Context
from bot.intake.rooms import Rooms
from bot.intake.rows import Rows
from bot.intake.speech import fit_body
from bot.intake.tables import InState
from bot.kernel.ids import InboxId, new_id
from bot.memory import sources
from bot.outbox import store as outbox_store
from bot.people import store as people
from bot.sessions import places, threads, transcript


class Happenings:
    def __init__(self, context: Context, rows: Rows, rooms: Rooms) -> None:
        self._context = context
        self._rows = rows
        self._rooms = rooms

    def edited(self, event: MessageEdited) -> Accepted:
        self._rows.flush()
        row = store.by_ref(self._context.tx.connection, event.ref)
        if row is None or not isinstance(row.event, MessageReceived) or row.session is None:
            return Accepted.IGNORED
        owner = self._context.owners.get(event.sender.address)
        if row.event.sender.address != event.sender.address or owner is None or not owner.active:
            return Accepted.IGNORED
        event = replace(event, body=fit_body(event.body, self._context.rules.max_text))
        changed = replace(row.event, body=event.body)
        if row.edit is not None and row.edit.edited_at > event.edited_at:
            pass  # a newer one has come before it
        elif store.replace_event(self._context.tx, row.id, changed):
            self._context.record(audited.MessageEdited(row.id, "before_turn"), session=row.session)
        elif store.note_edit(self._context.tx, row.id, event):
            self._context.record(audited.MessageEdited(row.id, "after_turn"), session=row.session)
        elif transcript.mark_edited(self._context.tx, event.ref, event.body, event.edited_at):
            self._context.record(audited.MessageEdited(row.id, "after_turn"), session=row.session)
            self._read_again(event.ref)
        self._rows.remember(event, row.id)
        return Accepted.NEW

    def deleted(self, event: MessageDeleted) -> Accepted:
        self._rows.flush()
        row = store.by_ref(self._context.tx.connection, event.ref)
        if row is None:
            return Accepted.IGNORED
        if store.end(self._context.tx, row.id, InState.STOPPED, self._context.now, "deleted by its writer"):
            self._context.record(audited.MessageDeleted(row.id, "before_turn"), session=row.session)
        elif self._emptied(row, event):
            self._context.record(audited.MessageDeleted(row.id, "after_turn"), session=row.session)
        elif transcript.mark_deleted(self._context.tx, event.ref, event.deleted_at):
            self._context.record(audited.MessageDeleted(row.id, "after_turn"), session=row.session)
            sources.deleted(self._context.tx, self._context.recorder, event.ref, self._context.now)
        self._rows.remember(event, row.id)
        return Accepted.NEW

    def _read_again(self, ref: str) -> None:
        """What rests on a changed message is marked, and what it says now is read."""
        context = self._context
        for each in sources.edited(context.tx, context.recorder, ref, context.now):
            if context.reread is not None:
                context.reread.edited(context.tx, each.session, each.turn, each.id, context.now)

    def _emptied(self, row: store.Row, event: MessageDeleted) -> bool:
        """A message whose turn is running: what is kept of it afterwards is that it was deleted."""
        said = row.event
        if row.state is not InState.CLAIMED or not isinstance(said, MessageReceived) or isinstance(said.thread, Chain):
            return False
        emptied = MessageEdited(
            event.keys,
            said.ref,
            said.thread,
            said.place,
            said.sender,
            Body(transcript.DELETED),
            event.deleted_at,
            said.addressed,
            said.reply_path,
        )
        return store.note_edit(self._context.tx, row.id, emptied)

    def pressed(self, event: ButtonPressed | FormSubmitted) -> Accepted:
        person = self._context.owners.get(event.sender.address)
        row_id = InboxId(new_id(self._context.now))
        session = self._rows.sessions.get(event.thread.key)
        known = person if person is not None and person.active else None
        self._rows.add(row_id, event, session.id if session else None, known, lane=False)
        return Accepted.NEW

    def membership(self, event: MembershipChanged) -> Accepted:
        tx, recorder, channel, now = self._context.tx, self._context.recorder, self._context.channel, self._context.now
        self._rows.flush()
        self._rooms.forget(event.place_key)
        match event.change:
            case Change.JOINED:
                places.doubt(tx, event.place_key)
                present = () if event.who is None else (event.who.address,)
                self._rooms.after_shift(places.see(tx, recorder, channel, event.place_key, event.place, present, now))
            case Change.LEFT if event.who is not None:
                self._rooms.after_shift(
                    places.leave(tx, recorder, event.place_key, event.who.address, now, event.place.members)
                )
            case Change.BLOCKED | Change.UNBLOCKED if event.who is not None:
                people.set_reachable(tx, channel, event.who.address, reachable=event.change is Change.UNBLOCKED)
            case Change.MOVED if event.moved_to is not None:
                shift = places.move(tx, recorder, event.place_key, event.moved_to, now)
                threads.move_threads(tx, recorder, event.place_key, event.moved_to, now)
                self._rooms.forget(event.moved_to)
                self._rows.reload()
                self._rooms.after_shift(shift)
            case Change.REMOVED:
                places.close(tx, event.place_key, now)
            case _:
                pass
        self._rows.remember(event, InboxId(event.place_key))
        return Accepted.NEW

    def reported(self, event: DeliveryReported) -> Accepted:
        row = outbox_store.by_ref(self._context.tx.connection, event.of)
        self._context.record(
            audited.DeliveryReported(row.id if row else None, self._context.channel, event.outcome.value),
            session=row.session if row else None,
            text=event.detail,
        )
        if row is not None and event.outcome is Outcome.FAILED and self._context.bounces is not None:
            self._context.bounces.came_back(self._context.tx, row, event.detail, self._context.now)
        row_id = InboxId(new_id(self._context.now))
        self._rows.add(row_id, event, row.session if row else None, None, answered="delivery report")
        return Accepted.NEW
