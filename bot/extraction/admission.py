"""What becomes of what was proposed: pure. The same for rules and for every model.

Nothing that a message or a model says can raise trust: who spoke, on which channel, in which room and what the session
has read are handed in by code; the words are only compared with what was said. In order: the form; the quote stands in
own words of the turn; its speaker may assert it; the words carry it; what it is about may be remembered without asking;
it was not forgotten; then what already stands decides whether it is new, a repetition, a correction or a dispute.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from bot.extraction import caution, dates, domains, quotes, subjects, tenses
from bot.extraction.model import (
    LONGEST_QUOTE,
    LONGEST_STATEMENT,
    MOST_CANDIDATES,
    Candidate,
    Confirm,
    Decision,
    Heard,
    Known,
    Progress,
    Refuse,
    Room,
    Why,
    Withdraw,
    Write,
)
from bot.extraction.quotes import Missing
from bot.extraction.sentences import around
from bot.extraction.support import NOTHING, Words, support
from bot.kernel.ids import ClaimId, EvidenceId, MessageId, PersonId
from bot.kernel.values import dataclass
from bot.memory.model import (
    Author,
    Claim,
    Evidence,
    Held,
    Kind,
    Source,
    Status,
    Support,
    Trust,
    Visibility,
    Work,
)
from bot.memory.normal import normal, plain
from bot.sessions.audience import Audience

Forgotten = Callable[[Candidate], datetime | None]
"""When something like it was last forgotten; None: never."""

_STOPPED = (Work.COMPLETED, Work.DROPPED, Work.BLOCKED)
"""Such words tell how an initiative stands, not anew what it is."""
_MIND = (
    r"(?:prefers?|wants?|wishes|likes?|dislikes?|loves?|hates?|favou?rs?|would rather|would like|thinks?|believes?"
    r"|feels?|decided|decides|has decided|insists?|demands?|bevorzugt|möchte|will lieber|mag|hasst|findet|glaubt"
    r"|hat entschieden)"
)
_WISHES = frozenset({Kind.ADVICE, Kind.PREFERENCE})
"""Kinds that are rightly put as a supposition: "I would", "you should"."""
_SHARED = frozenset({Kind.DECISION, Kind.INITIATIVE, Kind.FACT})
"""Kinds about something that is the same whoever speaks: preferences are each person's own."""


@dataclass(frozen=True, slots=True)
class Said:
    """A candidate's words, found."""

    by: Heard
    evidence: tuple[Evidence, ...]
    words: Words

    @property
    def at(self) -> datetime:
        return max(each.said_at for each in self.evidence)


class Admission:
    """One turn's: what it admits stands for what follows."""

    def __init__(
        self,
        heard: Sequence[Heard],
        room: Room,
        known: Known,
        author: Author,
        now: datetime,
        forgotten: Forgotten,
        new_id: Callable[[], str],
    ) -> None:
        self._heard: Mapping[str, Heard] = {each.message: each for each in heard}
        self._room = room
        self._known = known
        self._author = author
        self._now = now
        self._forgotten = forgotten
        self._new_id = new_id
        self._open = {each.id: each for each in known.standing}

    def decide(self, candidates: Sequence[Candidate]) -> list[Decision]:
        decided = [self._one(each) for each in candidates[:MOST_CANDIDATES]]
        return [*decided, *(Refuse(each, Why.TOO_MANY) for each in candidates[MOST_CANDIDATES:])]

    def _one(self, candidate: Candidate) -> Decision:
        statement = plain(candidate.statement)
        if not normal(statement) or len(statement) > LONGEST_STATEMENT or not candidate.quotes:
            return Refuse(candidate, Why.SHAPE)
        if any(len(quote.text) > LONGEST_QUOTE for quote in candidate.quotes):
            return Refuse(candidate, Why.SHAPE)
        candidate = replace(candidate, statement=statement)
        said = self._said(candidate)
        if isinstance(said, Why):
            return Refuse(candidate, said)
        if not self._entitled(candidate, said.by):
            return Refuse(candidate, Why.NOT_ENTITLED)
        corrected = self._corrected(candidate, said)
        if candidate.withdraws:
            return self._withdrawn(candidate, corrected, said)
        if corrected is not None:
            said = replace(said, words=replace(said.words, allowed=(*said.words.allowed, corrected.statement)))
        carried = support(statement, said.words, wish=candidate.kind in _WISHES)
        if carried.share < NOTHING:
            return Refuse(candidate, Why.UNSUPPORTED)
        candidate = self._cleaned(candidate, said, corrected)
        held = self._held(candidate, said, whole=carried.whole)
        at = self._forgotten(candidate)
        if at is not None:
            if said.at <= at:
                return Refuse(candidate, Why.FORGOTTEN)
            held.append(Held.FORGOTTEN)
        return self._against_what_stands(candidate, said, held)

    # --- the words ----------------------------------------------------------------------------------------------------

    def _said(self, candidate: Candidate) -> Said | Why:
        evidence: list[Evidence] = []
        by: Heard | None = None
        for quote in candidate.quotes:
            heard = self._heard.get(quote.message)
            if heard is None:
                return Why.NOT_SAID
            span = quotes.place(quote.text, heard.text, heard.own)
            if isinstance(span, Missing):
                return Why.NOT_OWN if span is Missing.NOT_OWN else Why.NOT_SAID
            if by is not None and by.speaker != heard.speaker:
                return Why.MIXED
            by = by or heard
            evidence.append(self._evidence(heard, span))
        assert by is not None  # noqa: S101 - there are quotes
        # A statement is carried by one message: what is put together from several was said by nobody.
        texts: dict[MessageId, list[Evidence]] = {}
        for each in evidence:
            texts.setdefault(each.message, []).append(each)
        fullest = max(texts.values(), key=lambda each: sum(len(one.quote) for one in each))
        heard = self._heard[fullest[0].message]
        whole = " ".join(dict.fromkeys(around(heard.text, heard.own, one.start, one.end) for one in fullest))
        words = Words(
            " ".join(one.quote for one in fullest), whole, heard.said_at, heard.zone, (heard.name,), len(texts) == 1
        )
        return Said(heard, tuple(evidence), words)

    def _evidence(self, heard: Heard, span: tuple[int, int]) -> Evidence:
        start, end = span
        digest = hashlib.sha256(heard.text.encode()).hexdigest()
        return Evidence(
            EvidenceId(self._new_id()),
            heard.message,
            start,
            end,
            heard.text[start:end],
            digest,
            heard.speaker,
            heard.trust,
            heard.said_at,
        )

    def _entitled(self, candidate: Candidate, by: Heard) -> bool:
        """Advice is the executive's own, and nothing else of it counts; nobody tells what another one prefers."""
        if (candidate.kind is Kind.ADVICE) != by.by_executive or by.trust is Trust.FOREIGN:
            return False
        if candidate.kind is not Kind.PREFERENCE:
            return True
        others = [name for person, name in self._known.people.items() if person != by.speaker]
        lead = normal(" ".join(candidate.statement.split()[:3]))
        return not any(set(normal(name).split()[:1]) & set(lead.split()) for name in others)

    def _corrected(self, candidate: Candidate, said: Said) -> Claim | None:
        """Only what the same speaker asserted, only what stands, and nothing that a person put right."""
        if not (candidate.amends or candidate.withdraws):
            return None
        own = [
            each
            for each in self._open.values()
            if each.speaker == said.by.speaker and each.standing and not each.by_person and self._reachable(each)
        ]
        wanted = subjects.same(subjects.given(candidate.subject) or "", [each.subject for each in own])
        return next((each for each in reversed(own) if each.subject == wanted), None)

    def _cleaned(self, candidate: Candidate, said: Said, corrected: Claim | None) -> Candidate:
        """What the words do not tell goes; the key is one that is offered, or fits the words."""
        whens = dates.find(said.words.quote, said.words.at, said.words.zone)
        valid = dates.validity(whens, said.words.zone)
        told = {each.last for each in whens} | {each.first for each in whens}
        due = candidate.due if candidate.due in told else None
        if candidate.kind is Kind.INITIATIVE and due is None:
            due = dates.due(whens, loosely=False)
        owner = candidate.owner if self._names(candidate.owner, said) else None
        name = self._written(candidate.owner_name, said) if owner is None else None
        work = candidate.work
        if corrected is not None and corrected.kind is Kind.INITIATIVE:
            if owner is None and name is None:
                owner, name = corrected.owner, corrected.owner_name
            due, work = due or corrected.due, work or corrected.work
        return replace(
            candidate,
            subject=corrected.subject if corrected is not None else self._subject(candidate, said),
            rationale=self._carried(candidate.rationale, said),
            outcome=self._carried(candidate.outcome, said),
            domain=self._domain(candidate),
            department=candidate.department if candidate.department in self._known.departments else None,
            owner=owner if candidate.kind is Kind.INITIATIVE else None,
            owner_name=name if candidate.kind is Kind.INITIATIVE else None,
            due=due if candidate.kind is Kind.INITIATIVE else None,
            valid_from=valid[0],
            valid_to=None if due is not None and candidate.kind is Kind.INITIATIVE else valid[1],
            work=(work or Work.PROPOSED) if candidate.kind is Kind.INITIATIVE else None,
            confidence=min(1.0, max(0.0, candidate.confidence)),
        )

    def _domain(self, candidate: Candidate) -> str | None:
        if candidate.domain in self._known.domains:
            return candidate.domain
        return domains.of(candidate.statement, self._known.domains)

    def _names(self, owner: PersonId | None, said: Said) -> bool:
        """The words name the owner, or the owner speaks of themselves."""
        name = self._known.people.get(owner) if owner is not None else None
        if owner is None or name is None:
            return False
        return owner == said.by.speaker or bool(set(normal(name).split()) & set(normal(said.words.around).split()))

    @staticmethod
    def _written(name: str | None, said: Said) -> str | None:
        """The name of an owner who is not of the roster, if the words hold it."""
        wanted = normal(name or "").split()
        return plain(name or "") if wanted and set(wanted) <= set(normal(said.words.around).split()) else None

    def _carried(self, text: str | None, said: Said) -> str | None:
        told = plain(text or "")
        words = replace(said.words, quote=said.words.around)
        return told if told and len(told) <= LONGEST_STATEMENT and support(told, words).whole else None

    def _subject(self, candidate: Candidate, said: Said) -> str:
        offered = [each.subject for each in self._open.values() if self._reachable(each)]
        wanted = subjects.given(candidate.subject)
        words = f"{candidate.statement} {said.words.around} {said.by.name} {said.by.speaker}"
        again = candidate.keyed or ((candidate.progress or candidate.amends) and wanted in offered)
        if wanted is None or not (again or subjects.fits(wanted, words)):
            wanted = subjects.made_of(candidate.statement)
        return subjects.same(wanted, offered) or wanted

    def _held(self, candidate: Candidate, said: Said, *, whole: bool) -> list[Held]:
        held = list(caution.reasons(candidate.statement, candidate.rationale, candidate.outcome, said.words.around))
        if self._trust(said).rank > Trust.OWN.rank:
            held.append(Held.UNTRUSTED)
        if self._room.tainted or (self._room.tainted_before and candidate.kind is Kind.ADVICE):
            held.append(Held.TAINTED)
        if not whole or self._of_anothers_mind(said):
            held.append(Held.UNSUPPORTED)
        return held

    def _of_anothers_mind(self, said: Said) -> bool:
        """What somebody else wants, thinks or has decided is theirs to say, whatever it is proposed as."""
        others = [name for person, name in self._known.people.items() if person != said.by.speaker]
        firsts = {re.escape(word) for name in others for word in (name, name.split()[0])}
        if said.by.by_executive:
            return False
        who = "|".join([*sorted(firsts, key=len, reverse=True), "he", "she", "they"])
        return bool(re.search(rf"\b(?:{who})\b\W+(?:\w+\W+){{0,2}}?{_MIND}\b", said.words.around, re.IGNORECASE))

    def _trust(self, said: Said) -> Trust:
        return max((each.trust for each in said.evidence), key=lambda trust: trust.rank)

    # --- what stands --------------------------------------------------------------------------------------------------

    def _against_what_stands(self, candidate: Candidate, said: Said, held: list[Held]) -> Decision:
        now = candidate.subject
        candidate = tenses.at_its_time(candidate, said.words, said.at)
        there = [each for each in self._open.values() if each.subject == candidate.subject and self._reachable(each)]
        alike = [each for each in there if _says_the_same(each, candidate)]
        if any(self._taken_back(each, candidate, said) for each in self._known.retracted):
            return Refuse(candidate, Why.RETRACTED)
        if held:
            if any(each.standing or each.speaker == said.by.speaker for each in alike):
                return Refuse(candidate, Why.KNOWN)
            return self._write(candidate, said, tuple(dict.fromkeys(held)))
        standing = [each for each in there if each.standing]
        known = next((each for each in alike if each.standing), None)
        if known is not None:
            return self._confirmed(known, candidate, said, standing)
        if any(each.by_person for each in standing):
            return self._write(candidate, said, (Held.OUTRANKED,))
        initiative = self._moved(candidate, said, standing)
        if initiative is not None:
            return initiative
        own = [each for each in standing if each.speaker == said.by.speaker]
        if any(each.said_at > said.at for each in own):
            return Refuse(candidate, Why.OVERTAKEN)
        others = [each for each in standing if each not in own] if candidate.kind in _SHARED else []
        others = [each for each in others if each.kind in _SHARED]
        theirs = [each for each in self._open.values() if self._told_before(each, said)]
        given_up = tenses.given_up(theirs, now, candidate, said.words, said.at)
        ends = tenses.until_then(theirs, now, candidate, said.at)
        return self._write(candidate, said, (), [*own, *given_up], others, ends)

    def _told_before(self, of: Claim, said: Said) -> bool:
        """The speaker's own, and nobody has put it right."""
        mine = of.standing and not of.by_person and of.speaker == said.by.speaker
        return mine and of.said_at <= said.at and self._reachable(of)

    @staticmethod
    def _taken_back(of: Claim, candidate: Candidate, said: Said) -> bool:
        """The same was taken back after these words: they come late, or are read again."""
        late = of.retired_at is not None and said.at <= of.retired_at
        return late and of.speaker == said.by.speaker and _says_the_same(of, candidate)

    def _confirmed(self, known: Claim, candidate: Candidate, said: Said, standing: Sequence[Claim]) -> Decision:
        if known.kind is Kind.INITIATIVE and not known.by_person:
            moved = self._moved(candidate, said, [known])
            if moved is not None:
                return moved
        replaced = [each for each in standing if each.speaker == said.by.speaker and each.id != known.id]
        replaced = [each for each in replaced if not each.by_person and each.said_at <= said.at]
        left = [each for each in standing if each not in replaced and each.id != known.id]
        settles = known.status is Status.DISPUTED and bool(replaced) and not left
        for each in replaced:
            self._open[each.id] = replace(each, status=Status.SUPERSEDED)
        if settles:
            self._open[known.id] = replace(known, status=Status.ACTIVE)
        return Confirm(known.id, said.evidence, tuple(each.id for each in replaced), settles)

    def _moved(self, candidate: Candidate, said: Said, standing: Sequence[Claim]) -> Decision | None:
        """An initiative that goes on: the words tell how it stands, who has it or when it is due, not what it is."""
        if candidate.kind is not Kind.INITIATIVE:
            return None
        of = next((each for each in standing if each.kind is Kind.INITIATIVE and not each.by_person), None)
        if of is None or of.said_at > said.at:
            return None
        mine = said.by.speaker in (of.speaker, of.owner)
        stands = candidate.work if candidate.work not in (None, Work.PROPOSED, of.work) else None
        owner = name = due = None
        if candidate.work not in _STOPPED:
            owner = candidate.owner if candidate.owner not in (None, of.owner) else None
            name = candidate.owner_name if candidate.owner_name not in (None, of.owner_name) else None
            due = candidate.due if candidate.due not in (None, of.due) else None
            told_anew = not candidate.progress and not _says_the_same(of, candidate)
            if told_anew and (of.speaker == said.by.speaker or not mine):
                return None  # new words take the place of the speaker's own, and stand against those of others
        if stands is None and owner is None and name is None and due is None:
            return None
        moved = replace(of, work=stands or of.work, due=due or of.due)
        if owner is not None or name is not None:
            moved = replace(moved, owner=owner, owner_name=name)
        self._open[of.id] = moved
        return Progress(of.id, said.evidence, stands, owner, name, due)

    def _withdrawn(self, candidate: Candidate, corrected: Claim | None, said: Said) -> Decision:
        if corrected is None or corrected.said_at > said.at:
            return Refuse(candidate, Why.NOT_ENTITLED)
        if self._trust(said).rank > Trust.OWN.rank or self._room.tainted:
            return Refuse(candidate, Why.NOT_ENTITLED)
        self._open[corrected.id] = replace(corrected, status=Status.RETRACTED)
        return Withdraw(corrected.id, said.evidence)

    def _reachable(self, of: Claim) -> bool:
        """Of the same session and audience; of the company only where the whole company reads."""
        if of.visibility is Visibility.COMPANY:
            return self._room.audience is Audience.COMPANY
        return of.session == self._room.session and of.audience_epoch == self._room.audience_epoch

    def _write(
        self,
        candidate: Candidate,
        said: Said,
        held: tuple[Held, ...],
        supersedes: Sequence[Claim] = (),
        disputes: Sequence[Claim] = (),
        ends: Sequence[Claim] = (),
    ) -> Write:
        whole = Held.UNSUPPORTED not in held
        company = candidate.kind is Kind.INITIATIVE and self._room.audience is Audience.COMPANY and not held
        written = Claim(
            ClaimId(self._new_id()),
            candidate.kind,
            candidate.statement,
            candidate.rationale,
            candidate.outcome,
            candidate.domain,
            candidate.department,
            candidate.subject,
            said.by.speaker,
            self._room.session,
            self._room.turn,
            self._room.history_epoch,
            self._room.audience_epoch,
            Visibility.COMPANY if company else Visibility.SESSION,
            Status.PENDING if held else Status.DISPUTED if disputes else Status.ACTIVE,
            held,
            Source.FRESH,
            Support.QUOTE if whole else Support.NONE,
            self._trust(said),
            candidate.confidence,
            candidate.work,
            candidate.owner,
            candidate.due,
            said.at,
            self._room.heard_at,
            candidate.valid_from,
            candidate.valid_to,
            self._now,
            None,
            self._now,
            None,
            self._author,
            by_person=False,
            promotion_by=None,
            version=1,
            owner_name=candidate.owner_name,
        )
        for each in supersedes:
            self._open[each.id] = replace(each, status=Status.SUPERSEDED)
        for each in disputes:
            self._open[each.id] = replace(each, status=Status.DISPUTED)
        for each in ends:
            self._open[each.id] = replace(each, valid_to=written.valid_from)
        self._open[written.id] = written
        ids = [tuple(each.id for each in some) for some in (supersedes, disputes, ends)]
        return Write(written, said.evidence, *ids)


def _says_the_same(of: Claim, candidate: Candidate) -> bool:
    return of.kind is candidate.kind and normal(of.statement) == normal(candidate.statement)
