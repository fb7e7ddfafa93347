"""Requests to schedule something, read out of a person's own sentence, in English and German. Pure, and small: what is
put in another way is no request here, and what is unclear is asked back (`UnclearError`), never guessed.

    remind me in two minutes to call Ben          every weekday at 8:30 send me the brief
    ask Ben on Friday whether the lease is signed every Monday at 10 tell me how the pipeline stands
    erinnere mich morgen um 9 an die Miete        jeden Werktag um 8:30 schick mir das Briefing
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from bot.kernel.values import dataclass
from bot.scheduler.model import Cron, Every, Kind, Once, Rule
from bot.scheduler.when import Read, read
from bot.scheduler.when_rule import UnclearError

LONGEST = 500
"""Characters of a sentence that may be a request."""
_TAIL = 6
"""Words at the end of a sentence among which a time is looked for that is unclear; in the middle it is text."""
WHEN = "When? Say it like `in two hours`, `tomorrow at 9`, `on Friday at 14:00` or `every weekday at 8:30`."


@dataclass(frozen=True, slots=True)
class Wanted:
    kind: Kind
    text: str
    """What is said then, or asked; empty for a brief."""
    rule: Rule
    to: str | None
    """Whom it goes to, as they were called; None: whoever asks."""
    asks: bool = False
    """It is to be asked, not told."""


_POLITE = (
    r"(?:(?:please|kindly|hi|hello|hey|hallo|ok|okay|and|und|bitte|can you|could you|would you|will you|kannst du"
    r"|könntest du|können sie|i want you to|ich möchte, dass du)[\s,]+)*"
)
_NO_NAME = r"(?:the|a|an|every|each|on|in|at|tomorrow|today|den|die|das|am|um|jede[nrs]?|morgen|heute)\b"
_NAME = rf"(?P<name>(?!{_NO_NAME})[\w'’.-]+(?:\s(?-i:[A-ZÄÖÜ])[\w'’-]+)?)"
_ME = r"(?P<me>me|us|myself|mich|mir|uns)"
_TO_DO = r"(?:(?P<remind>remind|erinnere?|erinnern sie)|(?P<ask>ask|frag(?:e|en sie)?))"
_WHOM = rf"{_TO_DO}\s+(?:{_ME}|{_NAME})(?:\s+(?:bitte|please))?\b"
_TELL = r"(?P<tell>(?:tell|show|give|send|write)\s+(?:me|us)|(?:sag|zeig|schick|gib|sende?|schreib)e?\s+(?:mir|uns))\b"
_LOOK = r"(?P<look>check|look up|look at|summari[sz]e|report(?: to me)?|prüfe?|fasse?)\b"
_LEAD = re.compile(rf"{_POLITE}(?:{_WHOM}|{_TELL}|{_LOOK})[\s,:]*", re.IGNORECASE)
_VERB_LAST = re.compile(
    rf"{_POLITE}(?:(?:kannst|könntest)\s+du\s+)?(?:bitte\s+)?(?P<me>mich|uns)\s+(?P<rest>.+)\s+erinnern", re.IGNORECASE
)
_RECALL = re.compile(
    r"(?:again\s+)?(?:what|who|when|where|why|which|how|was|wer|wann|wo|warum|wie|welche\w*)\b", re.IGNORECASE
)
_LINK = re.compile(
    r"(?:to|that|about|of|daran|dass|an|zu|whether|if|ob|wegen|for)\b[\s,:]*(?:dass\b\s*|zu\b\s*)?", re.IGNORECASE
)
_BRIEF = re.compile(
    r"(?:(?:the|my|a|an|das|den|die|mein(?:e|en)?|ein(?:en)?)\s+)?(?P<which>morning|evening|daily|morgen|abend|tages)?"
    r"[\s-]?(?:brief|briefing|lage(?:bericht)?|überblick)",
    re.IGNORECASE,
)
_REVIEW = re.compile(
    r"(?:(?:the|my|a|den|die|einen|meinen)\s+)?(?:weekly\s+review|review of the week|wochenrückblick|wochenbericht)",
    re.IGNORECASE,
)
_WORD = re.compile(r"(?<!\S)\S")


def wanted(sentence: str, now: datetime, zone: str) -> Wanted | None:
    """What a sentence asks to have scheduled; None if it asks for no such thing. Raises `UnclearError`."""
    text = sentence.strip().rstrip(".!?").strip()
    if not text or len(text) > LONGEST:
        return None
    text = _verb_first(text)
    at, rest = _at_the_beginning(text, now, zone)
    lead = _LEAD.match(rest)
    if lead is None:
        return None
    behind = rest[lead.end() :].strip()
    if lead["remind"] and lead["me"] and at is None and _RECALL.match(behind):
        return None
    if at is None:
        whole = behind
        at, behind = _behind(behind, now, zone)
        # `Tell me what we decided on Friday` looks back; only what comes again is meant by a time at the end.
        looks = lead["remind"] is None and lead["ask"] is None and at is not None and isinstance(at.rule, Once)
        if looks and not (behind and whole.endswith(behind)):
            return None
    if at is None:
        if lead["remind"] and re.match(r"(?:to|daran)\b", behind, re.IGNORECASE):
            raise UnclearError(WHEN)
        return None
    return _made(lead, at.rule, behind.strip(" ,:;"), zone)


def _verb_first(text: str) -> str:
    last = _VERB_LAST.fullmatch(text)
    return f"erinnere {last['me']} {last['rest']}" if last is not None else text


def _at_the_beginning(text: str, now: datetime, zone: str) -> tuple[Read | None, str]:
    """`Every Monday at 10, send me …`. Only where a request follows: a sentence may begin with a day and tell."""
    polite = re.match(_POLITE, text, re.IGNORECASE)
    start = polite.end() if polite else 0
    if _LEAD.match(text):
        return None, text
    try:
        found = read(text, start, now, zone)
    except UnclearError:
        if _follows(text[start:]):
            raise
        return None, text
    return (found, text[found.end :].lstrip(" ,:")) if found is not None else (None, text)


def _follows(text: str) -> bool:
    """Whether a request stands somewhere behind a time that could not be read."""
    return any(_LEAD.match(text, place.start()) for place in _WORD.finditer(text[:80]))


def _behind(text: str, now: datetime, zone: str) -> tuple[Read | None, str]:
    """The time, and the text without it: right behind the verb, or at the end."""
    found = read(text, 0, now, zone)
    if found is not None:
        return found, text[found.end :]
    for place in _WORD.finditer(text):
        try:
            found = read(text, place.start(), now, zone)
        except UnclearError:
            found = None
            if len(text[place.start() :].split()) <= _TAIL:
                raise
        if found is not None and not text[found.end :].strip(" ,"):
            return found, text[: place.start()]
    return None, text


def _made(lead: re.Match[str], rule: Rule, behind: str, zone: str) -> Wanted | None:
    name = lead["name"]
    text = _LINK.sub("", behind, count=1).strip(" ,:;") if _LINK.match(behind) else behind
    if lead["remind"]:
        if not text:
            raise UnclearError("Of what? Say it like `remind me tomorrow at 9 to call Ben`.")
        return Wanted(Kind.REMINDER, text, rule, name)
    if lead["ask"]:
        if not behind:
            raise UnclearError("What is to be asked?")
        return Wanted(Kind.REMINDER, behind, rule, name, asks=True)
    if lead["tell"]:
        brief = _BRIEF.fullmatch(behind)
        if brief is not None:
            return Wanted(_which(brief["which"], rule, zone), "", rule, None)
        if _REVIEW.fullmatch(behind):
            return Wanted(Kind.WEEKLY_REVIEW, "", rule, None)
    if not behind:
        return None
    return Wanted(Kind.QUESTION, f"{(lead['tell'] or lead['look']).strip()} {behind}", rule, None)


def _which(said: str | None, rule: Rule, zone: str) -> Kind:
    if said:
        return Kind.EVENING_BRIEF if said.lower() in ("evening", "abend") else Kind.MORNING_BRIEF
    hour = next(_hours(rule, zone), 9)
    return Kind.EVENING_BRIEF if hour >= 14 else Kind.MORNING_BRIEF


def _hours(rule: Rule, zone: str) -> Iterator[int]:
    match rule:
        case Once(at):
            yield at.astimezone(ZoneInfo(zone)).hour
        case Cron(text):
            yield int(text.split()[1])
        case Every():
            return
