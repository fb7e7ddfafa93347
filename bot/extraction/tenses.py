"""What is, what will be and what was, of one subject: they stand beside each other, each under a key of its own, and
none takes another's place. Pure.

`own`: what the speaker has said before, stands, and is no person's own wording.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from zoneinfo import ZoneInfo

from bot.extraction import dates, topics
from bot.extraction.model import Candidate
from bot.extraction.support import Words
from bot.kernel import days
from bot.memory.model import Claim, Kind
from bot.memory.normal import normal

_DATED = frozenset({Kind.DECISION, Kind.FACT, Kind.PREFERENCE})
"""Kinds that say what is at a time: an initiative has a day of its own."""
_FROM = " from "
_WAS = re.compile(r"\b(?:was|were|war|waren)\b(?! (?:moved|changed|set|raised|lowered|cut|renamed)\b)", re.IGNORECASE)
"""What was moved, or set, is so since."""


def at_its_time(candidate: Candidate, words: Words, at: datetime) -> Candidate:
    """Under the key of its time, if that is not the one at which it was said."""
    if candidate.kind not in _DATED or candidate.amends:
        return candidate
    begins, ends = candidate.valid_from, candidate.valid_to
    if begins is not None and begins > at:
        key = f"{candidate.subject}{_FROM}{begins.astimezone(ZoneInfo(words.zone)).date()}"
    elif ends is not None and ends <= at:
        key = f"{candidate.subject} until {days.last(ends, words.zone)}"
    elif (day := _day_of_the_past(candidate, words, at)) is not None:
        key = f"{candidate.subject} in {day}"
    else:
        return candidate
    return replace(candidate, subject=key)


def given_up(own: Sequence[Claim], subject: str, candidate: Candidate, words: Words, at: datetime) -> list[Claim]:
    """What was to come and is told otherwise by now: it has begun and something else is, or it is to begin on another
    day. `subject`: of the candidate at whatever time."""
    later = [each for each in own if each.subject.startswith(f"{subject}{_FROM}") and each.valid_from is not None]
    if candidate.subject == subject:
        return [each for each in later if each.valid_from is not None and each.valid_from <= at]
    told = _undated(candidate.statement, at, words.zone)
    return [
        each
        for each in later
        if each.subject != candidate.subject
        and each.valid_from is not None
        and each.valid_from > at
        and _undated(each.statement, each.said_at, words.zone) == told
    ]


def until_then(own: Sequence[Claim], subject: str, candidate: Candidate, at: datetime) -> list[Claim]:
    """What is, and holds until what the candidate tells begins."""
    begins = candidate.valid_from
    if candidate.subject == subject or begins is None or begins <= at:
        return []
    return [
        each
        for each in own
        if each.subject == subject
        and (each.valid_to is None or each.valid_to > begins)
        and (each.valid_from is None or each.valid_from <= begins)
    ]


def _day_of_the_past(candidate: Candidate, words: Words, at: datetime) -> date | None:
    """The last day of the time in which something was: "Our price was 39 euros in 2025"."""
    if candidate.kind is not Kind.FACT or not _WAS.search(candidate.statement):
        return None
    whens = dates.find(words.quote, words.at, words.zone)
    today = at.astimezone(ZoneInfo(words.zone)).date()
    past = [each for each in whens if each.sense is dates.Sense.ON and each.last < today]
    return past[0].last if past and len(past) == len(whens) else None


def _undated(statement: str, at: datetime, zone: str) -> str:
    return normal(topics.undated(statement, at, zone))
