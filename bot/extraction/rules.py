"""Candidates by rules, for when there is no language model: plain sentences only, each its own quote. Pure.

A sentence that asks, supposes, reports or quotes proposes nothing, and what no form fits is left alone: a missed memory
is told again, a wrong one has to be found. Corrections ("actually, it is 25k") are read against what the same speaker
said before, and take its subject.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from bot.extraction import amendments, phrases, shapes, topics
from bot.extraction.amendments import Told
from bot.extraction.model import Candidate, Heard, Known, Quote
from bot.extraction.phrases import group
from bot.extraction.reading import Owner, Reading, due, infinitive, owner_called, proposal
from bot.extraction.rules_facts import key_of
from bot.extraction.rules_work import commitment, labelled, progress, started
from bot.extraction.sentences import Mood, Sentence, clauses, mood, sentences
from bot.extraction.subjects import key, weighty
from bot.memory.model import Kind
from bot.memory.normal import plain

MOST_SENTENCES = 200
"""Of one message; further ones are not read."""
LONGEST = 400
"""Characters of a sentence that may be a plain one."""


def candidates(heard: Sequence[Heard], known: Known) -> list[Candidate]:
    """What the messages plainly say, in their order."""
    standing = sorted((claim for claim in known.standing if claim.standing), key=lambda claim: claim.touched_at)
    told = [Told.of_claim(claim) for claim in standing]
    found: list[Candidate] = []
    for each in heard:
        for sentence in sentences(each.text, each.own)[:MOST_SENTENCES]:
            for proposed in _advice(each, sentence) if each.by_executive else _of_person(each, sentence, told, known):
                found.append(proposed)
                told.append(Told.of_candidate(proposed, each))
    return found


def may_tell(heard: Sequence[Heard]) -> bool:
    """Whether any sentence is one that people's words may be taken from, whatever is known: mostly they only ask."""
    return any(
        not _passed_over(sentence) for each in heard for sentence in sentences(each.text, each.own)[:MOST_SENTENCES]
    )


def _passed_over(sentence: Sentence) -> bool:
    return len(sentence.text) > LONGEST or mood(sentence.text) in (Mood.QUOTED, Mood.ASKED)


def _advice(by: Heard, sentence: Sentence) -> list[Candidate]:
    text = sentence.text.strip("*_ ")
    if mood(text) in (Mood.QUOTED, Mood.ASKED, Mood.REPORTED) or not phrases.ADVICE.match(text):
        return []
    if any(mark in text for mark in '"“”„«»'):
        return []
    return [
        Candidate(
            Kind.ADVICE, text, (Quote(by.message, sentence.text),), topics.undated(_key(text), by.said_at, by.zone)
        )
    ]


def _key(text: str) -> str:
    words = [
        word for word in weighty(text) if not re.match(r"advi[sc]|recomm|suggest|propos|empf", word, re.IGNORECASE)
    ]
    return key("advice", " ".join(words[:4]))


def _of_person(by: Heard, sentence: Sentence, told: Sequence[Told], known: Known) -> list[Candidate]:
    if _passed_over(sentence):
        return []
    found: list[Candidate] = []
    mark = ""
    for clause in clauses(sentence):
        text, correcting = _bare(clause.text)
        correcting = correcting or bool(mark)
        topic = _TOPIC.match(text)
        lead = topic[0] if topic is not None else ""
        text = text[len(lead) :]
        mark = "pending" if correcting and not text else ""
        reading = Reading(
            by,
            clause,
            text,
            correcting,
            [*told, *(Told.of_candidate(each, by) for each in found)],
            known.people,
            topic["topic"] if topic is not None else "",
            lead,
        )
        proposed = _one(reading) if text else None
        if proposed is not None:
            found.append(proposed)
    return found


def _bare(text: str) -> tuple[str, bool]:
    """The clause without greeting, lead and correction mark, and whether there was such a mark."""
    correcting = False
    bare = plain(text)
    for _ in range(4):
        mark = phrases.CORRECTION.match(bare)
        if mark is not None and not phrases.WITHDRAWAL.match(bare):
            bare, correcting = mark["rest"].strip(), True
            continue
        head = _HEAD.match(bare)
        if head is not None:
            bare = bare[head.end() :]
            continue
        lead = phrases.LEAD.match(bare)
        if lead is None or not bare[lead.end() :].strip():
            break
        rest = bare[lead.end() :].strip()
        if not re.search(r"[,:!.–—-]\s*$|\b(?:that|dass)\s+$", lead[0]) and not _is_form(rest):
            break
        if re.fullmatch(r"(?:action|decision|initiative|project)\W*", lead[0], re.IGNORECASE):
            break
        bare = rest
    return bare, correcting


_TOPIC = re.compile(
    r"^(?:as for|as to|regarding|concerning|about|on|for|re|bei|für|zum thema|was)\s+(?:the |our |das |die |den )?"
    r"(?P<topic>[^\W\d_][\w’' -]{1,30}?)(?: angeht| betrifft)?\s*[:,]?\s+(?=(?:we|wir)\b)",
    re.IGNORECASE,
)
_HEAD = re.compile(
    r"^(?!(?:final |our |the |my |board )*(?:decision|resolution|beschluss|entscheidung)\b|(?:proposal|idea|option"
    r"|question|example|draft|suggestion|vorschlag|idee|frage|entwurf|it|that|decided|agreed|settled|beschlossen|on"
    r"|for|about|as for|regarding|concerning|zum thema)\b)"
    r"[^\W\d_][\w’' ]{2,30}:\s+"
    r"(?=(?:we|i|our|wir|ich|unser\w*)\b)",
    re.IGNORECASE,
)
"""A heading before a sentence of its own: "Quick one: we decided …"."""


def _is_form(text: str) -> bool:
    return any(form.match(text) for form in (phrases.DECISION, phrases.PREFERENCE, phrases.STARTED)) or bool(
        re.match(r"(?:we|i|our|the|my|wir|ich|unser\w*|mein\w*|der|die|das)\b", text, re.IGNORECASE)
    )


def _one(reading: Reading) -> Candidate | None:
    """The first form that fits, from the most particular to the most general."""
    if phrases.WITHDRAWAL.match(reading.text):
        return _withdrawn(reading)
    meant = mood(reading.text)
    if meant is Mood.REPORTED or meant is Mood.QUOTED or meant is Mood.ASKED:
        return None
    wish = _preference(reading)
    if wish is not None:
        return wish
    if meant is Mood.SUPPOSED:
        return None
    for form in (progress, labelled, _shaped, _amended, _changed, commitment, started, _decision, _decided_anew, _fact):
        found = form(reading)
        if found is not None:
            return found
    return None


# --- forms ------------------------------------------------------------------------------------------------------------


def _withdrawn(reading: Reading) -> Candidate | None:
    match = phrases.WITHDRAWAL.match(reading.text)
    own = [each for each in reading.told if each.speaker == reading.by.speaker]
    if match is not None and match["what"] is not None:
        words = [(each.subject, f"{each.statement} {each.subject.replace('/', ' ')}") for each in own]
        subject = topics.nearest(match["what"], words)
        own = [each for each in own if each.subject == subject]
    last = amendments.last(own, reading.by.speaker)
    if last is None:
        return None
    return replace(proposal(reading, last.kind, last.subject), withdraws=True, statement=last.statement)


def _preference(reading: Reading) -> Candidate | None:
    match = phrases.PREFERENCE.match(reading.text)
    if match is None:
        return None
    subject = key(reading.by.speaker, _wish(group(match, "what") or reading.text))
    if reading.correcting:
        last = amendments.last(reading.told, reading.by.speaker, Kind.PREFERENCE)
        if last is not None and not any(each.subject == subject for each in reading.told):
            subject = last.subject
    return proposal(reading, Kind.PREFERENCE, subject)


_WISHES: tuple[tuple[str, str], ...] = (
    (r"\b(?:call me|address me|nenn mich|first name|last name|duzen|siezen)\b", "address"),
    (r"\b(?:german|english|french|spanish|italian|deutsch|englisch|language|sprache)\b", "language"),
    (r"\b(?:emojis?|smileys?)\b", "emojis"),
    (r"\b(?:units?|metric|imperial|celsius|currency|euros?|dollars?|kilomet\w+|miles)\b", "units"),
    (
        (
            r"\b(?:meet\w*|calls?|appointments?|standups?|termine?|besprechung\w*|mornings?|afternoons?|vormittag\w*"
            r"|nachmittag\w*)\b"
        ),
        "meetings",
    ),
    (r"\b(?:e-?mails?|slack|phone|telegram|discord|whatsapp|sms|telefon|anrufe?|mails?|channel|dms?)\b", "channel"),
    (r"\b(?:weekly|daily|monthly|reports?|summar\w+|updates?|digest|bericht\w*|zusammenfassung\w*)\b", "reports"),
    (
        (
            r"\b(?:answers?|repl(?:y|ies)|responses?|messages?|short|long|brief|concise|detailed|bullet\w*|tables?"
            r"|prose|kurz\w*"
            r"|ausführlich\w*|stichpunkt\w*|antwort\w*|knapp\w*|formal|informal|jargon|tone|prosa|lists?)\b"
        ),
        "answers",
    ),
)


def _wish(what: str) -> str:
    """What a preference is about: of a few things that people have preferences about, else its own words."""
    over = re.split(r"\b(?:over|to|than|instead of|rather than|statt|als)\b", what, maxsplit=1)[0]
    for text in (over, what):
        for form, name in _WISHES:
            if re.search(form, text, re.IGNORECASE):
                return name
    return " ".join(weighty(over)[:3]) or "preference"


def _amended(reading: Reading) -> Candidate | None:
    """A correction of what was said before, by its own words or by what it says instead."""
    amended = amendments.amended(
        reading.text, reading.told, reading.by, correcting=reading.correcting, people=reading.people
    )
    if amended is None:
        return None
    base = proposal(reading, amended.of.kind, amended.of.subject)
    before = Owner(amended.of.owner, amended.of.owner_name)
    owner = owner_called(amended.owner, reading) if amended.owner else before
    return replace(
        base,
        statement=amended.statement,
        amends=True,
        quotes=(*amended.of.quotes_in(reading.by.message), *base.quotes),
        owner=owner.person,
        owner_name=owner.name,
        due=due(reading) or amended.of.due,
        work=None,
    )


def _decision(reading: Reading) -> Candidate | None:
    match = phrases.DECISION.match(reading.text)
    if match is None or phrases.NO_DECISION.search(reading.text):
        return None
    what = group(match, "rest").strip()
    verb = group(match, "verb")
    plainly = match.groupdict().get("rest10") is not None
    if len(what) < 3 or (plainly and re.match(phrases.SMALL_TALK, what, re.IGNORECASE)):
        return None
    if group(match, "who").casefold() == "i" and verb.lower() not in ("decided", "") and not reading.correcting:
        return None
    what = re.split(r"\s+and (?:will|now|we will) ", what)[-1]
    inner = re.sub(r"^(?:that|to|on|for|against|zu|dass)\s+", "", what, flags=re.IGNORECASE)
    if reading.topic and not re.search(r"\b(?:for|für|as|als)\b", inner):
        inner = f"{inner.rstrip('.! ')} for {reading.topic}"
    inner = re.sub(
        r"^(?:we|the company|wir)(?:[’']ll| will|[’']re| are| werden)?\s+(?:now |not )*", "", inner, flags=re.IGNORECASE
    )
    subject = shapes.decision(inner.rstrip(".! "), reading.by.said_at, reading.by.zone) or key_of(reading, inner)
    if subject is None:
        chosen = verb.lower() not in (
            "",
            "approved",
            "approve",
            "rejected",
            "reject",
            "cancelled",
            "canceled",
            "dropped",
        )
        chosen = (chosen or _chosen_on(what)) and _AGAINST_DOING.match(what) is None
        subject = reading.key_of_verb(f"choose {inner}" if chosen else infinitive(inner))
    return proposal(reading, Kind.DECISION, subject)


def _decided_anew(reading: Reading) -> Candidate | None:
    """After "change of plan:" plain words ("we launch in May") are a decision, if something stands on the subject."""
    match = re.match(r"^(?:we|wir)(?:[’']re| are)?\s+(?P<what>\w.+)$", reading.text, re.IGNORECASE)
    if match is None or not reading.correcting:
        return None
    subject = reading.key_of_verb(infinitive(match["what"]))
    found = proposal(reading, Kind.DECISION, subject)
    return found if any(each.subject == found.subject for each in reading.told) else None


def _changed(reading: Reading) -> Candidate | None:
    """ "We moved the launch to May" stands by itself, whether or not it corrects what was said before."""
    subject = shapes.changed(reading.text, reading.by.said_at, reading.by.zone)
    return None if subject is None else proposal(reading, Kind.DECISION, subject)


def _shaped(reading: Reading) -> Candidate | None:
    subject = shapes.fact(reading.text, reading.by.said_at, reading.by.zone)
    return None if subject is None else proposal(reading, Kind.FACT, subject)


_AGAINST_DOING = re.compile(r"^against\s+\w{3,}ing\s+(?:an?|the|our|any|to|with|in)\b", re.IGNORECASE)
"""Not to do it, said of the same thing as to do it."""


def _chosen_on(what: str) -> bool:
    return bool(re.match(r"^(?:on|for|against)\s+", what, re.IGNORECASE))


def _fact(reading: Reading) -> Candidate | None:
    subject = key_of(reading, reading.text)
    return None if subject is None else proposal(reading, Kind.FACT, subject)
