"""The rooms that a batch speaks of: looked at before anything is said to belong to them."""

from __future__ import annotations

from bot.gateway.events import Place, PlaceKind, Sender
from bot.gateway.operations import Reply
from bot.intake.model import Context, RoomFact
from bot.intake.rows import Rows
from bot.sessions import places, threads
from bot.sessions.places import Shift


class Rooms:
    def __init__(self, context: Context, rows: Rows) -> None:
        self._context = context
        self._rows = rows
        self.facts: dict[str, RoomFact] = {}
        """What the batch has seen; familiar once it is committed."""
        self.forgotten: set[str] = set()

    def forget(self, place_key: str) -> None:
        """Look anew the next time."""
        self.forgotten.add(place_key)
        # Others may be waiting to run in this very transaction: forgetting too much costs them a look, no more.
        self._context.familiar.rooms.pop(place_key, None)
        self.facts.pop(place_key, None)

    def look_around(self, place_key: str, seen: Place, sender: Sender) -> None:
        """Take in what an event tells of its room, unless all of it is familiar."""
        present = frozenset({sender.address, *(other.address for other in seen.others)})
        fact = (seen.title, seen.members, present, seen.insiders)
        known = self.facts.get(place_key) or self._context.familiar.rooms.get(place_key)
        if known is not None and place_key not in self.forgotten and _nothing_new(known, fact):
            return
        self.after_shift(
            places.see(
                self._context.tx,
                self._context.recorder,
                self._context.channel,
                place_key,
                seen,
                present,
                self._context.now,
            )
        )
        together = present | (known[2] if known else frozenset())
        insiders = known[3] if known and seen.insiders is None else seen.insiders
        self.facts[place_key] = (seen.title, seen.members, together, insiders)
        self.forgotten.discard(place_key)

    def after_shift(self, shift: Shift | None) -> None:
        """A room is judged differently: its sessions have new epochs, and the room is told."""
        if shift is None:
            return
        stale = [key for key, session in self._rows.sessions.items() if session.place == shift.place.key]
        self._rows.flush()
        self._rows.sessions |= threads.by_thread(self._context.tx.connection, stale)
        if shift.place.kind in (PlaceKind.GROUP, PlaceKind.CHANNEL):
            path = places.path_into(shift.place)
            self._context.say(Reply(path, shift.place.verdict))


def _nothing_new(known: RoomFact, fact: RoomFact) -> bool:
    title, members, present, insiders = fact
    told = (members is None or members == known[1]) and (insiders is None or insiders == known[3])
    return known[0] == title and told and present <= known[2]
