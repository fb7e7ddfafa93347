"""Plain statements of how something is: "our runway is 14 months", "Budget for Aurora: 20k". Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.extraction import dates, phrases, topics
from bot.extraction.reading import Reading, person_called
from bot.extraction.subjects import key
from bot.memory.normal import normal


def key_of(reading: Reading, text: str) -> str | None:
    at, zone, speaker = reading.by.said_at, reading.by.zone, reading.by.speaker
    have = phrases.WE_HAVE.match(text)
    if have is not None:
        of = re.match(r"^\w+ (?:of|an)\s+(?P<what>.+)$", have["subject"]) if _UNIT.match(have["subject"]) else None
        return topics.of_noun(f"our {of['what'] if of is not None else have['subject']}")
    use = phrases.WE_USE.match(text)
    if use is not None:
        return topics.of_verb(f"use {use['what']}", at, zone)
    match = phrases.FACT.match(text)
    if match is None:
        label = phrases.LABEL.match(text)
        return _label_key(label, reading) if label is not None else None
    noun, copula, predicate = match["subject"].strip(), match["copula"].lower(), match["predicate"].strip()
    ahead = dates.find(noun, at, zone)
    if ahead and ahead[0].start == 0:  # "From March our price is …": the day is no part of what it is about
        noun = noun[ahead[0].end :].lstrip(" ,")
    if (
        phrases.VAGUE_SUBJECT.match(noun)
        or phrases.VAGUE_PREDICATE.match(predicate)
        or len(noun.split()) > topics.LONGEST
    ):
        return None
    if re.search(r"[,;]|\b(?:and|und|will|that|which|who|decided|prefer)\b", noun, re.IGNORECASE):
        return None
    whens = dates.find(
        predicate if copula.split()[-1] not in ("on", "in", "from", "until", "at") else f"on {predicate}", at, zone
    )
    named = re.match(
        r"^(?:no longer |not |nicht mehr )?(?:the|our|unser\w*|der|die)\s+(?P<role>[\w -]{2,40}?)"
        r"(?:\s+(?:of|for|für|von)\s+(?P<of>[^,]+))?(?:,.*)?$",
        predicate,
        re.IGNORECASE,
    )
    if (
        named is not None
        and copula in ("is", "ist", "is now", "ist jetzt", "ist nun")
        and noun[:1].isupper()
        and len(noun.split()) <= 3
    ):
        return topics.of_noun(f"{named['role']} of {named['of']}" if named["of"] else f"our {named['role']}", speaker)
    if copula in (
        "has",
        "have",
        "gets",
        "receives",
        "lives in",
        "works in",
        "works at",
        "works from",
        "works as",
        "reports to",
        "belongs to",
    ):
        return _relation(noun, copula, predicate, reading)
    if copula in ("costs", "cost", "kostet", "kosten"):
        return (topics.of_noun(noun, speaker) or "").replace("/state", "/price") or None
    found = topics.of_timed(noun, speaker) if whens and _on_a_day(predicate, whens) else topics.of_noun(noun, speaker)
    if found is None or not (_tells(predicate) or whens or _definite(noun)):
        return None
    state = re.match(
        r"^(?:now |still |currently )?(?:closed|open|down(?! to)|broken|available|unavailable|full|empty|reachable"
        r"|geschlossen|offen|zu)\b",
        predicate,
        re.IGNORECASE,
    )
    return f"{found} state" if state is not None and not found.endswith("/state") else found


_UNIT = re.compile(r"(?:days?|weeks?|months?|years?|tage|wochen|monate|jahre)\b", re.IGNORECASE)


def _on_a_day(predicate: str, whens: Sequence[dates.When]) -> bool:
    """The predicate is a day and little else."""
    if whens[0].sense in (dates.Sense.UNTIL, dates.Sense.SINCE):
        return False
    head, tail = predicate[: max(0, whens[0].start)].split(), predicate[whens[0].end :].split()
    return len(tail) <= 3 and all(
        word.lower() in ("now", "planned", "scheduled", "set", "due", "moved", "on", "in") for word in head
    )


def _relation(noun: str, copula: str, predicate: str, reading: Reading) -> str | None:
    if not noun[:1].isupper() and not re.match(r"^(?:the|our)\b", noun, re.IGNORECASE):
        return None
    of = re.match(r"^(?:an?|the)\s+(?P<what>[a-zäöüß][\w -]{2,30}?)\s+of\s+\S", predicate)
    if copula in ("has", "have", "gets", "receives") and of is not None:
        return key(topics.named(noun), of["what"])
    if copula in ("has", "have", "gets", "receives"):
        counted = re.match(
            r"^(?:\d[\d.,]*\s*\w?|two|three|four|five|six|seven|eight|nine|ten|twelve)\s+(?P<what>[\w -]{2,30})$",
            predicate,
        )
        return key(topics.named(noun), counted["what"]) if counted is not None else None
    return key(topics.named(noun), copula.split()[0].rstrip("s"))


def _label_key(match: re.Match[str], reading: Reading) -> str | None:
    noun, predicate = match["subject"].strip(), match["predicate"].strip()
    if len(noun.split()) > 5 or phrases.VAGUE_SUBJECT.match(noun) or phrases.VAGUE_PREDICATE.match(predicate):
        return None
    if normal(noun).split()[0] in _NO_LABEL or (person_called(noun, reading) is not None and not _tells(predicate)):
        return None
    if not _tells(predicate) and len(predicate.split()) > 4:
        return None
    whens = dates.find(f"on {predicate}", reading.by.said_at, reading.by.zone)
    return topics.of_timed(noun) if whens and len(predicate.split()) <= 4 else topics.of_noun(noun)


_NO_LABEL_WORDS = """
    question frage note hinweis update reminder example beispiel subject betreff re fwd aw wg from von to an cc hi
    hello ps edit warning idea idee proposal vorschlag option todo attention summary agenda tl dr tldr http https
"""
_NO_LABEL = frozenset(normal(word) for word in _NO_LABEL_WORDS.split())


def _tells(predicate: str) -> bool:
    """A number, or a name: something that can be right or wrong."""
    return bool(re.search(r"\d|[€$£]|\b[A-ZÄÖÜ][\w-]+", predicate)) or bool(
        re.search(
            r"\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|zwei|drei|vier|fünf|zehn)\b",
            predicate,
            re.IGNORECASE,
        )
    )


def _definite(noun: str) -> bool:
    """Of the company, or of something that is named."""
    bare = noun.strip()
    return bool(
        re.match(r"^(?:our|my|unser\w*|mein\w*)\b", bare, re.IGNORECASE)
        or re.search(r"[’']s?\s|\s(?:for|of|für|von)\s", bare)
        or (" " in bare and any(word[:1].isupper() for word in bare.split()[1:]))
    )
