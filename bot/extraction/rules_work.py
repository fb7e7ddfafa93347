"""Initiatives and commitments: what is begun, who does what until when, and how it stands. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from bot.extraction import amendments, dates, phrases, topics
from bot.extraction.days import DAYS, MONTHS
from bot.extraction.model import Candidate
from bot.extraction.phrases import group
from bot.extraction.reading import NOBODY, Owner, Reading, capital, due, owner_called, promise, proposal
from bot.extraction.subjects import key
from bot.kernel.ids import PersonId
from bot.memory.model import Kind, Work

_ACTION_WORDS = """
    send prepare write review deliver finish draft call organise organize lead set build fix handle take contact
    present update create publish launch ship sign hire interview plan book order arrange complete design test
    migrate move clean close run own research evaluate report check translate compile collect submit file schicken
    vorbereiten schreiben prüfen liefern erstellen organisieren anrufen senden planen buchen bestellen übernehmen
    fertigstellen
"""
_ACTIONS = frozenset(_ACTION_WORDS.split())
_NO_NAME_WORDS = """
    we they it this that there he she you everyone everybody nobody somebody someone anyone who what people
    customers sales revenue prices price costs management finance marketing engineering support hr legal operations
    product wir sie es das dies man jeder alle niemand decision entscheidung note update initiative project budget
    deadline launch
"""
_NO_NAME = frozenset(_NO_NAME_WORDS.split())


def progress(reading: Reading) -> Candidate | None:
    match = phrases.PROGRESS.match(reading.text) or phrases.DID.match(reading.text)
    if match is None:
        return _due_changed(reading)
    groups = {name.rstrip("0123456789") for name, value in match.groupdict().items() if value is not None}
    work = next(work for name, work in _WORKS.items() if name in groups)
    what = group(match, "what")
    if re.search(r"\b(?:not|n[’']t|never|nicht|noch nicht|almost|nearly|fast|partly|half)$", what, re.IGNORECASE):
        return None
    subject = _initiative(reading, what)
    if subject is None:
        return None
    return replace(proposal(reading, Kind.INITIATIVE, subject), work=work, progress=True)


def _due_changed(reading: Reading) -> Candidate | None:
    """ "The deck is now due on Monday": the initiative, told again with the new day."""
    match = phrases.DUE.match(reading.text)
    subject = _initiative(reading, group(match, "what")) if match is not None else None
    if match is None or subject is None:
        return None
    own = [each for each in reading.told if each.subject == subject and each.speaker == reading.by.speaker]
    told = amendments.valued(own[-1], group(match, "day"), reading.by, reading.people) if own else None
    if told is None:
        return None
    base = proposal(reading, Kind.INITIATIVE, subject)
    return replace(
        base,
        statement=told.statement,
        amends=True,
        owner=told.of.owner,
        owner_name=told.of.owner_name,
        due=due(reading),
    )


_WORKS = {"done": Work.COMPLETED, "blocked": Work.BLOCKED, "dropped": Work.DROPPED, "going": Work.ACTIVE}


def _initiative(reading: Reading, what: str) -> str | None:
    """The initiative that is spoken of; "it" and "that" are the speaker's last one."""
    offered = [each for each in reading.told if each.kind is Kind.INITIATIVE]
    if re.fullmatch(r"(?:it|this|that|das|es|dies)", what.strip(), re.IGNORECASE):
        last = amendments.last(reading.told, reading.by.speaker)
        return last.subject if last is not None and last.kind is Kind.INITIATIVE else None
    named = topics.of_noun(what, reading.by.speaker)
    if named is not None and any(each.subject == named for each in offered):
        return named
    return topics.nearest(
        what, [(each.subject, f"{each.statement} {each.subject.replace('/', ' ')}") for each in offered]
    )


def labelled(reading: Reading) -> Candidate | None:
    match = phrases.LABELLED.match(reading.text)
    if match is None or len(match["rest"].split()) < 2:
        return None
    inner = replace(reading, text=match["rest"])
    promised = commitment(inner)
    if promised is not None:
        return replace(promised, statement=capital(reading.text))
    name = match["name"] or _leading_name(match["rest"])
    subject = key(name, "project") if name else reading.key_of_verb(match["rest"])
    return promise(reading, subject, _owner_in(match["rest"], reading), Work.PROPOSED)


def _leading_name(text: str) -> str | None:
    """ "Kestrel, rebuild the billing": a name set apart at the beginning."""
    match = re.match(r"^([A-ZÄÖÜ][\w-]+(?:\s[A-ZÄÖÜ][\w-]+)?)\s*(?:[,:(–—]|-\s|$)", text)
    return match[1] if match is not None else None


def _owner_in(text: str, reading: Reading) -> Owner:
    match = re.search(
        r"\b(?:owner|owned by|led by|lead|responsible|verantwortlich|geleitet von|by)\s*:?\s*(\w+)", text, re.IGNORECASE
    )
    if match is None:
        return NOBODY
    called = owner_called(match[1], reading)
    return called if called.person is not None or _is_name(match[1]) else NOBODY


def _is_name(word: str) -> bool:
    return word[:1].isupper() and word.casefold() not in (*_NO_NAME, *MONTHS, *DAYS)


def commitment(reading: Reading) -> Candidate | None:
    match = phrases.COMMITMENT.match(reading.text)
    if match is None:
        return None
    who, what = group(match, "who"), group(match, "what")
    me = who.casefold() in ("i", "ich")
    owner = Owner(PersonId(reading.by.speaker)) if me else owner_called(who, reading)
    until = due(reading)
    verb = what.split()[0].lower() if what.split() else ""
    named = _is_name(who)
    if owner.person is None and not (named and (_leads(match) or (until is not None and verb in _ACTIONS))):
        return None
    if len(what.split()) < 2 or (
        me and until is None and verb not in _ACTIONS and "take care" not in what and not _leads(match)
    ):
        return None
    kept = owner if owner.person is not None or named else NOBODY
    return promise(reading, reading.key_of_verb(_object(what)), kept, Work.PROPOSED)


def _leads(match: re.Match[str]) -> bool:
    return match.groupdict().get("what2") is not None or match.groupdict().get("what5") is not None


def _object(what: str) -> str:
    """German puts the verb last, and "um" before what is cared for."""
    cared = re.match(r"^.*?\bum\s+(.+)$", what)
    return cared[1] if cared is not None else re.sub(r"^(?:take care of|be responsible for|look after)\s+", "", what)


_FURTHER = re.compile(
    r"\s+(?:starts|is starting|kicks off|is kicking off|begins|has started|has begun|startet|beginnt|läuft|to"
    r"|in order to|that|which|um|with|mit|led by|owned by)\b.*$",
    re.IGNORECASE,
)


def started(reading: Reading) -> Candidate | None:
    match = phrases.STARTED.match(reading.text)
    if match is None:
        return None
    what = topics.undated(group(match, "what"), reading.by.said_at, reading.by.zone)
    bare = _FURTHER.sub("", what)
    subject = topics.of_noun(bare) or reading.key_of_verb(what)
    promised = promise(reading, subject, _owner_in(what, reading), Work.ACTIVE)
    return replace(promised, due=dates.due(reading.whens, loosely=False))
