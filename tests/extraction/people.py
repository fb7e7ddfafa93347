"""A roster, messages and a small memory for tests of extraction: what is admitted stands for the next turn."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.extraction import rules
from bot.extraction.admission import Admission, Forgotten
from bot.extraction.model import Candidate, Confirm, Decision, Heard, Known, Progress, Quote, Room, Withdraw, Write
from bot.kernel.ids import ClaimId, MessageId, PersonId, SessionId, TurnId, new_id
from bot.memory.model import EXECUTIVE, OPEN, STANDING, Author, Claim, Kind, Status, Trust
from bot.sessions.audience import Audience

ZONE = "Europe/Berlin"
START = datetime(2026, 10, 14, 9, 30, tzinfo=UTC)
PEOPLE = {
    PersonId("marta"): "Marta Keller",
    PersonId("jonas"): "Jonas Weber",
    PersonId("maria"): "Maria Rossi",
    PersonId("anna"): "Anna Lang",
}


def heard(
    text: str,
    speaker: str = "marta",
    *,
    at: datetime = START,
    message: str = "m1",
    trust: Trust | None = None,
    own: tuple[tuple[int, int], ...] | None = None,
) -> Heard:
    name = PEOPLE.get(PersonId(speaker), "the executive" if speaker == EXECUTIVE else speaker)
    usual = Trust.OWN if speaker == EXECUTIVE else Trust.PROVEN
    spans = ((0, len(text)),) if own is None else own
    return Heard(MessageId(message), text, spans, speaker, name, trust or usual, at, ZONE)


def candidate(
    statement: str, quote: str | None = None, kind: Kind = Kind.FACT, message: str = "m1", **values: Any
) -> Candidate:
    quotes = (Quote(message, statement if quote is None else quote),)
    return replace(Candidate(kind, statement, quotes), **values)


def room(audience: Audience = Audience.ROOM, *, tainted: bool = False, session: str = "s1", turn: str = "t1") -> Room:
    return Room(SessionId(session), TurnId(turn), 0, 0, audience, START, tainted)


def never(candidate: Candidate) -> None:
    return None


@dataclass
class Desk:
    """Turns in one room, one after the other."""

    audience: Audience = Audience.ROOM
    tainted: bool = False
    session: str = "s1"
    forgotten: Forgotten = never
    claims: dict[ClaimId, Claim] = field(default_factory=dict)
    now: datetime = START
    turns: int = 0

    def hears(self, text: str, speaker: str = "marta", trust: Trust | None = None) -> list[Decision]:
        """A turn of one message, read by the rules."""
        self.turns += 1
        self.now += timedelta(minutes=5)
        said = heard(text, speaker, at=self.now, message=f"m{self.turns}", trust=trust)
        return self.decides([said], rules.candidates([said], self.known))

    def decides(self, said: list[Heard], proposed: list[Candidate]) -> list[Decision]:
        admission = Admission(
            said,
            room(self.audience, tainted=self.tainted, session=self.session, turn=f"t{self.turns}"),
            self.known,
            Author("extractor", "test/1"),
            self.now,
            self.forgotten,
            lambda: new_id(self.now),
        )
        decisions = admission.decide(proposed)
        for each in decisions:
            self._apply(each)
        return decisions

    @property
    def known(self) -> Known:
        return Known([each for each in self.claims.values() if each.status.value in OPEN], PEOPLE)

    @property
    def standing(self) -> list[Claim]:
        return [each for each in self.claims.values() if each.status.value in STANDING]

    @property
    def pending(self) -> list[Claim]:
        return [each for each in self.claims.values() if each.status is Status.PENDING]

    def told(self) -> list[str]:
        return [each.statement for each in self.standing]

    def _apply(self, decision: Decision) -> None:
        match decision:
            case Write():
                self._move(decision.supersedes, Status.SUPERSEDED)
                self._move(decision.disputes, Status.DISPUTED)
                for each in decision.ends:
                    self.claims[each] = replace(self.claims[each], valid_to=decision.claim.valid_from)
                self.claims[decision.claim.id] = decision.claim
            case Confirm():
                self._move(decision.replaces, Status.SUPERSEDED)
                if decision.settles:
                    self._move((decision.claim,), Status.ACTIVE)
            case Progress():
                of = self.claims[decision.claim]
                moved = replace(of, work=decision.work or of.work, due=decision.due or of.due)
                if decision.owner is not None or decision.owner_name is not None:
                    moved = replace(moved, owner=decision.owner, owner_name=decision.owner_name)
                self.claims[of.id] = moved
            case Withdraw():
                self._move((decision.claim,), Status.RETRACTED)
            case _:
                pass

    def _move(self, ids: tuple[ClaimId, ...], status: Status) -> None:
        for each in ids:
            self.claims[each] = replace(self.claims[each], status=status)
