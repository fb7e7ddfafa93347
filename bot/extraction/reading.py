"""One clause in its circumstances, and what every form of the rules makes of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from bot.extraction import amendments, dates, topics
from bot.extraction.amendments import Told
from bot.extraction.model import Candidate, Heard, Quote
from bot.extraction.sentences import Sentence
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.memory.model import Kind, Work
from bot.memory.normal import normal


@dataclass(frozen=True, slots=True)
class Reading:
    """One clause in its circumstances."""

    by: Heard
    clause: Sentence
    text: str
    """Without what only leads to it."""
    correcting: bool
    told: Sequence[Told]
    people: Mapping[PersonId, str]
    topic: str = ""
    """What the sentence says first that it is about: "As for hosting, …"."""
    lead: str = ""
    """The words that say so."""

    def key_of_verb(self, phrase: str) -> str:
        return topics.of_verb(phrase, self.by.said_at, self.by.zone)

    @property
    def whens(self) -> list[dates.When]:
        return dates.find(self.text, self.by.said_at, self.by.zone)


@dataclass(frozen=True, slots=True)
class Owner:
    person: PersonId | None = None
    name: str | None = None
    """As it is written, if it is nobody known."""


NOBODY = Owner()


def proposal(reading: Reading, kind: Kind, subject: str) -> Candidate:
    named = [each.subject for each in reading.told if each.kind is kind or kind in (Kind.FACT, Kind.DECISION)]
    matched = amendments.met(subject, named, reading.text, correcting=reading.correcting)
    return Candidate(
        kind,
        capital(f"{reading.lead}{reading.text}"),
        (Quote(reading.by.message, reading.clause.text),),
        matched,
        keyed=True,
    )


def promise(reading: Reading, subject: str, owner: Owner, work: Work) -> Candidate:
    base = proposal(reading, Kind.INITIATIVE, subject)
    return replace(base, owner=owner.person, owner_name=owner.name, due=due(reading), work=work)


def owner_called(name: str, reading: Reading) -> Owner:
    """The one person of the roster who is called that, else the name as it is written."""
    person = person_called(name, reading)
    return Owner(person) if person is not None else Owner(None, name.strip())


def due(reading: Reading) -> date | None:
    return dates.due(reading.whens)


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def person_called(name: str, reading: Reading) -> PersonId | None:
    """The one person of the roster who is called that."""
    wanted = normal(name).split()
    found = [
        person for person, full in reading.people.items() if wanted and wanted == normal(full).split()[: len(wanted)]
    ]
    return found[0] if len(found) == 1 else None


_SILENT_STEMS = (
    "mov rais increas clos hir paus freez discontinu chang us tak choos reduc delet postpon reschedul replac mak"
)
_SILENT = frozenset(_SILENT_STEMS.split())
"""Stems of verbs that end in an e."""


def infinitive(phrase: str) -> str:
    """ "moving the launch", "going with": the verb as it is when it stands alone."""
    match = re.match(r"^(\w+?)ing\b(.*)$", phrase)
    if match is None:
        return phrase
    stem = match[1]
    if stem in _SILENT:
        stem += "e"
    elif len(stem) > 3 and stem[-1] == stem[-2] and (stem[-1] not in "ls" or stem == "cancell"):
        stem = stem[:-1]
    return stem + match[2]
