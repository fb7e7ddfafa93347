"""Memories as the operator is shown them.

What was told in a private conversation is shown for a reason only; that it was read is recorded in the same
transaction, and whoever it was told by hears of it (durable work, so also when no daemon runs now), unless it is who
speaks at this machine's terminal: as whom the operator acts in all that wants a person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.audit.events import ContentViewed, Record
from bot.audit.events_memory import MemoryViewed
from bot.audit.recorder import Recorder
from bot.control.request import OPERATOR
from bot.kernel.ids import ClaimId, PersonId, SessionId
from bot.kernel.scope import OperatorScope
from bot.kernel.values import dataclass
from bot.memory import reading
from bot.memory.model import Claim, Event, Visibility
from bot.memory.recall import names_of
from bot.people import store as people
from bot.people.model import Person
from bot.sessions import places, threads
from bot.sessions.audience import Audience
from bot.sessions.visible import visible
from bot.storage.database import Tx
from bot.tasks import store as tasks

VIEWED = "memory.viewed"
"""Kind of the task that tells a person."""
WITHHELD = "[private: say with --reason why you read it]"

Told = dict[str, object]


@dataclass(frozen=True, slots=True)
class Reader:
    tx: Tx
    recorder: Recorder
    now: datetime
    reason: str | None
    """None: nothing private is shown."""
    local_person: str | None
    """Who speaks at this machine's terminal, and need not be told what they did there; None: the first principal."""

    @classmethod
    def of(cls, tx: Tx, recorder: Recorder, now: datetime, reason: str | None, local_person: str | None) -> Reader:
        return cls(tx, recorder, now, " ".join((reason or "").split()) or None, local_person)

    def told(self, claims: Sequence[Claim]) -> list[Told]:
        """As lines of a list; nothing is noted of it."""
        names = names_of(self.tx.connection, claims)
        private = self._private(claims)
        return [
            described(each, names, withheld=each.id in private and self.reason is None and _of_session(each))
            for each in claims
        ]

    def listed(self, claims: Sequence[Claim]) -> list[Told]:
        """As lines of a list; that they were read is recorded, and told to whom it concerns."""
        told = self.told(claims)
        private = self._private(claims)
        self._note(claims, told, [each for each in claims if each.id in private and _of_session(each)])
        return told

    def whole(self, claims: Sequence[Claim], *, words: bool) -> list[Told]:
        """With their history, and (`words`) what they rest on and where they stood; noted like `listed`."""
        connection = self.tx.connection
        told = self.told(claims)
        private = self._private(claims)
        self._note(claims, told, [each for each in claims if each.id in private])
        view = visible(connection, OperatorScope(self.reason))
        for of, each in zip(claims, told, strict=True):
            closed = of.id in private and self.reason is None
            events = reading.history(connection, view, of.id)
            if closed:
                events = reading.as_outsider(of, events)
            each["events"] = [_event(one) for one in events]
            if not words:
                continue
            rests_on = [] if closed else reading.evidence_of(connection, view, of.id)
            each["evidence"] = [
                {
                    "message": one.message,
                    "speaker": one.speaker,
                    "at": one.said_at.isoformat(),
                    "trust": one.trust.value,
                    "quote": one.quote,
                }
                for one in rests_on
            ]
            answers, _ = reading.shown(connection, view, of.id, 50)
            each["answers"] = [
                {"turn": one.turn, "session": one.session, "at": one.at.isoformat(), "way": one.way} for one in answers
            ]
        return told

    def _note(self, claims: Sequence[Claim], told: Sequence[Told], private: Sequence[Claim]) -> None:
        seen = tuple(of.id for of, each in zip(claims, told, strict=True) if not each["withheld"])
        if seen:
            self.recorder.record(self.tx, Record(MemoryViewed("cli", seen), OPERATOR, text=self.reason))
        if self.reason is None:
            return
        concerned: dict[PersonId, int] = {}
        for session in dict.fromkeys(each.session for each in private):
            self.recorder.record(self.tx, Record(ContentViewed(session), OPERATOR, session, text=self.reason))
            count = sum(1 for each in private if each.session == session)
            for person in self._people(session):
                concerned[person.id] = concerned.get(person.id, 0) + count
        oneself = self._oneself()
        for person_id, count in concerned.items():
            if person_id == oneself:
                continue
            payload = {"person": person_id, "count": count, "reason": self.reason}
            tasks.enqueue(self.tx, VIEWED, f"{person_id}:{self.now.isoformat()}", payload, self.now, lane=VIEWED)

    def _oneself(self) -> PersonId | None:
        if self.local_person is not None:
            return PersonId(self.local_person)
        return next((each.id for each in people.principals(self.tx.connection)), None)

    def _private(self, claims: Sequence[Claim]) -> set[ClaimId]:
        """Those that were told in somebody's own conversation with the executive, or before more people came to read
        along."""
        sessions = {each.session: threads.get(self.tx.connection, each.session) for each in claims}
        private = set()
        for each in claims:
            session = sessions[each.session]
            if session is None or session.audience is Audience.PERSON or session.audience_epoch != each.audience_epoch:
                private.add(each.id)
        return private

    def _people(self, session_id: SessionId) -> list[Person]:
        session = threads.get(self.tx.connection, session_id)
        return [] if session is None else places.present(self.tx.connection, session.place, session.channel)


def notice(payload: Mapping[str, Any]) -> str:
    """What a person is told."""
    count = payload["count"]
    what = "a memory" if count == 1 else f"{count} memories"
    return f"Whoever runs me has read {what} of a private conversation of ours. The reason given: {payload['reason']}"


def described(of: Claim, names: Mapping[str, str], *, withheld: bool) -> Told:
    return {
        "id": of.id,
        "handle": of.handle,
        "kind": of.kind.value,
        "status": of.status.value,
        "statement": WITHHELD if withheld else of.statement,
        "rationale": None if withheld else of.rationale,
        "outcome": None if withheld else of.outcome,
        "subject": None if withheld else of.subject,
        "domain": of.domain,
        "department": of.department,
        "speaker": of.speaker,
        "speaker_name": names.get(of.speaker, of.speaker),
        "session": of.session,
        "visibility": of.visibility.value,
        "held": [each.value for each in of.held],
        "source": of.source.value,
        "support": of.support.value,
        "trust": of.trust.value,
        "work": of.work.value if of.work else None,
        "owner": of.owner,
        "owner_name": None if withheld else of.owner_name,
        "due": of.due.isoformat() if of.due else None,
        "said_at": of.said_at.isoformat(),
        "valid_from": _moment(of.valid_from),
        "valid_to": _moment(of.valid_to),
        "recorded_at": of.recorded_at.isoformat(),
        "retired_at": _moment(of.retired_at),
        "replaced_by": of.replaced_by,
        "author": of.author.name,
        "by_person": of.by_person,
        "promotion_by": of.promotion_by,
        "version": of.version,
        "withheld": withheld,
    }


def _event(of: Event) -> Told:
    return {
        "version": of.version,
        "op": of.op.value,
        "actor": of.actor,
        "at": of.at.isoformat(),
        "reason": of.reason,
        "before": of.before,
        "after": of.after,
    }


def _moment(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _of_session(of: Claim) -> bool:
    return of.visibility is Visibility.SESSION
