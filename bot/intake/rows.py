"""The rows of a batch: gathered, then written together; free lanes take their rows in the same statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from bot.audit.events import SYSTEM, Record, TurnStarted
from bot.gateway.codec import dump_event
from bot.gateway.events import InboundEvent
from bot.intake import store
from bot.intake.model import Context
from bot.intake.tables import Hold, InState
from bot.kernel.ids import InboxId, SessionId
from bot.people.model import Person
from bot.sessions import threads, turns
from bot.sessions.threads import Session
from bot.sessions.turns import Turn

_Fresh = tuple[dict[str, Any], store.Row]


class Rows:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._fresh: list[_Fresh] = []
        self._fresh_keys: dict[str, InboxId] = {}
        self._keys: Sequence[str] = ()
        self.seen: dict[str, InboxId] = {}
        """Identities that were accepted before, in this batch or earlier, and as which row."""
        self.sessions: dict[str, Session] = {}
        """Sessions of the batch by thread key."""
        self.participants: dict[tuple[SessionId, str], None] = {}
        self.begun: list[tuple[Turn, tuple[store.Row, ...]]] = []
        self.waiting: dict[SessionId, None] = {}
        self.immediate: list[store.Row] = []

    def load(self, keys: Sequence[str]) -> None:
        """Look up the sessions of the threads that the batch speaks of."""
        self._keys = keys
        self.reload()

    def reload(self) -> None:
        """Thread keys lead elsewhere now."""
        self.sessions = threads.by_thread(self._context.tx.connection, self._keys)

    def holds(self, refs: Sequence[str]) -> bool:
        """Whether a message with one of these refs has gathered and is not written yet."""
        return any(row.event.kind == "message" and row.event.ref in refs for _, row in self._fresh)

    def add(
        self,
        row_id: InboxId,
        event: InboundEvent,
        session: SessionId | None,
        person: Person | None,
        *,
        lane: bool = False,
        hold: Hold = Hold.NO,
        album: str | None = None,
        ready_at: datetime | None = None,
        refused: str | None = None,
        answered: str | None = None,
    ) -> None:
        channel, now = self._context.channel, self._context.now
        state = InState.REFUSED if refused else InState.ANSWERED if answered else InState.QUEUED
        values: dict[str, Any] = {
            "id": row_id,
            "channel": channel,
            "kind": event.kind,
            "lane": lane,
            "session_id": session,
            "turn_id": None,
            "ref": getattr(event, "ref", None),
            "address": event.sender.address if hasattr(event, "sender") else None,
            "person_id": person.id if person else None,
            "event": dump_event(event),
            "album": album,
            "hold": hold.value,
            "state": state.value,
            "reason": refused or answered,
            "received_at": now,
            "ready_at": ready_at or now,
            "ended_at": None if state is InState.QUEUED else now,
        }
        row = store.Row(row_id, channel, session, None, person.id if person else None, event, None, hold, state, now)
        self._fresh.append((values, row))
        self.remember(event, row_id)

    def remember(self, event: InboundEvent, row_id: InboxId) -> None:
        """The event is accepted, as this row."""
        for key in event.keys:
            self.seen[key] = row_id
            self._fresh_keys[key] = row_id

    def album(self, session: SessionId, album: str, until: datetime) -> None:
        """All parts of an album wait until then."""
        for values, _ in self._fresh:
            if values["session_id"] == session and values["album"] == album:
                values["ready_at"] = until
        store.album_waits(self._context.tx, session, album, until)

    def flush(self) -> None:
        """Write what has gathered; free lanes take their rows at once."""
        threads.add_participants(self._context.tx, list(self.participants), self._context.now)
        if self._fresh:
            self._claim_free_lanes()
            store.insert(self._context.tx, [values for values, _ in self._fresh])
        store.remember(self._context.tx, self._fresh_keys)
        self.immediate += [r for v, r in self._fresh if not v["lane"] and v["state"] == InState.QUEUED.value]
        self._fresh, self._fresh_keys = [], {}

    def _claim_free_lanes(self) -> None:
        fresh: dict[SessionId, list[_Fresh]] = {}
        for values, row in self._fresh:
            if values["lane"] and row.session is not None:
                fresh.setdefault(row.session, []).append((values, row))
        by_id = {session.id: session for session in self.sessions.values()}
        idle = [session for session in fresh if not by_id[session].lane_busy]
        blocked = store.has_waiting(self._context.tx.connection, idle) if idle else set()
        ready = [s for s in idle if s not in blocked and self._may_start(fresh[s])]
        begun = turns.begin(
            self._context.tx,
            [(s, (by_id[s].history_epoch, by_id[s].audience_epoch)) for s in ready],
            self._context.boot,
            self._context.now,
        )
        for turn in begun:
            claimed = self._claim_prefix(turn, fresh[turn.session])
            self.begun.append((turn, claimed))
            started = TurnStarted(tuple(row.id for row in claimed), 1)
            self._context.recorder.record(self._context.tx, Record(started, SYSTEM, turn.session, turn.id))
            self._set_busy(turn.session)
        self.waiting |= dict.fromkeys(s for s in fresh if s not in ready)

    def _may_start(self, rows: Sequence[_Fresh]) -> bool:
        return all(v["ready_at"] <= self._context.now and v["hold"] == Hold.NO.value for v, _ in rows)

    def _claim_prefix(self, turn: Turn, rows: Sequence[_Fresh]) -> tuple[store.Row, ...]:
        """The rows of a turn: all messages up to the first command, or one command alone."""
        claimed: list[store.Row] = []
        for values, row in rows:
            if claimed and "command" in (values["kind"], claimed[0].event.kind):
                break
            values["state"], values["turn_id"] = InState.CLAIMED.value, turn.id
            claimed.append(replace(row, turn=turn.id, state=InState.CLAIMED))
        return tuple(claimed)

    def _set_busy(self, session_id: SessionId) -> None:
        for key, session in self.sessions.items():
            if session.id == session_id:
                self.sessions[key] = replace(session, lane_busy=True)
