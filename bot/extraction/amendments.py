"""Corrections: which of the speaker's earlier words they change, and what is said now. Pure.

"Actually, it is 25k", "change of plan: Friday", "not Berlin but Munich", "we moved it from May to June": the earlier
statement is told again with the new value in its place, so that it stands by itself and supersedes the old one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date

from bot.extraction import dates, subjects
from bot.extraction.model import Candidate, Heard, Quote
from bot.extraction.phrases import VAGUE_PREDICATE
from bot.kernel.ids import MessageId, PersonId
from bot.kernel.values import dataclass
from bot.llm.lexical import terms
from bot.memory.model import Claim, Kind
from bot.memory.normal import normal

BACK = 12
"""Of the speaker's own statements, newest first, that a correction may mean."""


@dataclass(frozen=True, slots=True)
class Told:
    """Something said before: a claim that stands, or what the same messages proposed."""

    kind: Kind
    subject: str
    statement: str
    speaker: str
    owner: PersonId | None = None
    due: date | None = None
    quotes: tuple[Quote, ...] = ()
    """Of the messages that are being read; none for a claim."""
    owner_name: str | None = None

    @classmethod
    def of_claim(cls, claim: Claim) -> Told:
        return cls(
            claim.kind, claim.subject, claim.statement, claim.speaker, claim.owner, claim.due, (), claim.owner_name
        )

    @classmethod
    def of_candidate(cls, candidate: Candidate, by: Heard) -> Told:
        return cls(
            candidate.kind,
            candidate.subject,
            candidate.statement,
            by.speaker,
            candidate.owner,
            candidate.due,
            candidate.quotes,
            candidate.owner_name,
        )

    def quotes_in(self, message: MessageId) -> tuple[Quote, ...]:
        return tuple(each for each in self.quotes if each.message == message)


@dataclass(frozen=True, slots=True)
class Amended:
    of: Told
    statement: str
    owner: str | None = None
    """The name that took the place of the owner's."""


def last(told: Sequence[Told], speaker: str, kind: Kind | None = None) -> Told | None:
    own = [each for each in told if each.speaker == speaker and each.kind in ((kind,) if kind else _OWN)]
    return own[-1] if own else None


_OWN = (Kind.DECISION, Kind.INITIATIVE, Kind.FACT, Kind.PREFERENCE)


def met(subject: str, offered: Sequence[str], text: str, *, correcting: bool) -> str:
    """The offered key that the sentence speaks of again, else the one made of it."""
    found = subjects.same(subject, offered)
    if found is not None:
        return found
    entity, _, attribute = subject.partition("/")
    if entity == subjects.COMPANY and not re.search(r"\b(?:our|the company|unser\w*)\b", text, re.IGNORECASE):
        only = subjects.of_attribute(attribute, offered)
        if only is not None:
            return only
    if not correcting:
        return subject
    if attribute == "choice":
        return next((each for each in reversed(offered) if each.endswith("choice")), subject)
    wanted = set(terms(subject.replace("/", " "))) - {"company", "choice", "state", "date"}
    scored = [(_alike(wanted, each), number, each) for number, each in enumerate(offered)]
    best = max(scored, default=None)
    return best[2] if best is not None and best[0] >= 0.5 else subject


def _alike(wanted: set[str], subject: str) -> float:
    known = set(terms(subject.replace("/", " "))) - {"company", "choice", "state", "date"}
    return len(wanted & known) / len(wanted | known) if wanted and known else 0.0


_PRONOUN = re.compile(
    r"^(?:(?:it|that|this|they|es|das)(?:[’']s| is| are| will be| should be|[’']ll be| was| ist| sind| wird"
    r"| sollen?)?|make (?:it|that)|make that|let[’']?s"
    r" make it|let[’']?s say|let it be|we make it|machen wir|nehmen wir|sagen wir|i meant?|i mean|we meant"
    r"|the (?:right|correct) (?:one|number|figure|date|value) is)\s+"
    r"(?:now |actually |rather |going to be |supposed to be |more like |jetzt |doch )*(?P<value>.+?)[.!]*$",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(
    r"^(?P<head>.*?)\bnot\s+(?P<old>.+?),?\s+but(?: rather)?\s+(?P<new>.+?)[.!]*$"
    r"|^(?P<head2>.*?)\bnicht\s+(?P<old2>.+?),?\s+sondern\s+(?P<new2>.+?)[.!]*$",
    re.IGNORECASE,
)
_NEW_NOT = re.compile(r"^(?P<new>.+?),?\s+(?:and )?(?:not|nicht)\s+(?P<old>[^,]+?)[.!]*$", re.IGNORECASE)
_DENIES = re.compile(
    r"\b(?:is|are|was|were|am|do|does|did|will|would|can|could|should|has|have|had|ist|sind|war|wird|hat|haben"
    r"|to|decided|agreed|resolved|concluded|opted|voted|chose|chosen|prefer|beschlossen|entschieden|vereinbart)$",
    re.IGNORECASE,
)
_INSTEAD_OF = re.compile(
    r"^(?P<new>.+?),?\s+(?:instead of|rather than|in place of|statt|anstelle von|anstatt)\s+(?P<old>[^,]+?)[.!]*$",
    re.IGNORECASE,
)
_FROM_TO = re.compile(
    r"^(?P<head>.*?)\b(?:from|von|vom)\s+(?P<old>.+?)\s+(?:to|on to|auf(?: den)?|zu|nach)\s+(?P<new>.+?)[.!]*$",
    re.IGNORECASE,
)
_COPULA = re.compile(
    r"^(?P<head>.+?\b(?:is now|is|are|was|were|stands at|costs|amounts to|prefer|use|ist|sind|beträgt|liegt bei"
    r"|kostet)\s+|[^:]{2,45}:\s*)(?P<value>.+?)(?P<end>[.!]*)$",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|zwei|drei|vier|fünf|sechs|sieben|acht"
    r"|neun|zehn)\b|(?:[€$£]\s?)?\d[\d.,'’]*\s*(?:k|m|mn|bn|million|thousand|tsd|mio)?\b\s*(?:%|percent|prozent"
    r"|[€$£]|eur\b|usd\b|gbp\b|chf\b|euros?\b|dollars?\b|months?\b|weeks?\b|"
    r"days?\b|people\b|engineers?\b|hours?\b|monate?\b|wochen?\b|tage?\b)?",
    re.IGNORECASE,
)
_ONLY_VALUE = re.compile(
    r"^(?:(?:to|at|on|by|in|for|with|auf|am|bei|mit)\s+)?(?P<value>\S+(?:\s+\S+){0,4}?)[.!]*$", re.IGNORECASE
)
_INSTEAD = re.compile(r"^(?P<new>.+?)\s+(?:instead|stattdessen)[.!]*$", re.IGNORECASE)


_CLAUSE = re.compile(
    r"^(?:we|i|wir|ich)\b|\b(?:is|are|was|were|will|has|have|stands|costs|prefer|decided|ist|sind|wird|beträgt"
    r"|liegt|kostet)\b|:",
    re.IGNORECASE,
)
_LATER = re.compile(r"\b(?:instead|after all|stattdessen|doch)\W*$", re.IGNORECASE)
_CHOSEN = re.compile(
    r"^(?P<head>.*?\b(?:go(?:ing)?(?: ahead)? with|going for|use|using|choose|chose|chosen|pick(?:ed)?"
    r"|select(?:ed)?|adopt(?:ed)?|take|switch(?:ing|ed)? to|"
    r"opt(?:ed)? for|settle[d]? on|nehmen|für)\s+)(?P<what>.+?)(?P<rest>(?:\s+(?:for|as|für|als|entschieden)\b.*"
    r"|[.!]*))$",
    re.IGNORECASE,
)


def _chosen(text: str, own: Sequence[Told]) -> Amended | None:
    """ "Let's go with Scaleway instead", after "we will go with Hetzner for hosting"."""
    new = _CHOSEN.match(re.sub(r"\s+(?:instead|after all|stattdessen|doch)(?=\W*$)", "", text, flags=re.IGNORECASE))
    if new is None or re.search(r"\w", new["rest"]) or len(new["what"].split()) > 6:
        return None
    for each in reversed(own):
        old = _CHOSEN.match(each.statement) if each.kind is Kind.DECISION and each.subject.endswith("choice") else None
        if old is not None:
            return Amended(each, f"{old['head']}{new['what']}{old['rest']}")
    return None


def amended(
    text: str, told: Sequence[Told], by: Heard, *, correcting: bool, people: Mapping[PersonId, str]
) -> Amended | None:
    """None if the words change nothing that the speaker said before, or say by themselves what they mean."""
    own = [each for each in told if each.speaker == by.speaker and each.kind in _OWN][-BACK:]
    if not own:
        return None
    for form in (_NOT_BUT, _FROM_TO, _INSTEAD_OF, _NEW_NOT):
        match = form.match(text)
        if match is None:
            continue
        old = _grouped(match, "old")
        new = _grouped(match, "new")
        if form is _NEW_NOT and _DENIES.search(new):
            continue  # "it is not the supplier" denies, and says nothing instead
        found = _with(own, old, text)
        if found is not None and new:
            put = _bare_new(new, found, old, by) if form in (_INSTEAD_OF, _NEW_NOT) else new
            return _replaced(found, old, put, people) if put else None
    if not correcting and not _LATER.search(text):
        return _pronoun_now(text, own, by, people)
    chosen = _chosen(text, own)
    if chosen is not None or not correcting:
        return chosen
    match = _PRONOUN.match(text)
    if match is not None and (_is_value(match["value"], by) or _is_short(match["value"])):
        return valued(own[-1], match["value"], by, people)
    instead = _INSTEAD.match(text)
    value = _ONLY_VALUE.match(instead["new"] if instead is not None else text)
    if value is not None and not _CLAUSE.search(text) and _is_value(value["value"], by):
        return valued(own[-1], value["value"], by, people)
    return None


def _pronoun_now(text: str, own: Sequence[Told], by: Heard, people: Mapping[PersonId, str]) -> Amended | None:
    """ "It is now 25k", without another mark of correction."""
    match = re.match(
        r"^(?:it|that|es|das)(?:[’']s| is| ist)?\s+(?:now|jetzt|nun)\s+(?P<value>.+?)[.!]*$", text, re.IGNORECASE
    )
    if match is None or not _is_value(match["value"], by):
        return None
    return valued(own[-1], match["value"], by, people)


def _grouped(match: re.Match[str], name: str) -> str:
    return next(
        (value for found, value in match.groupdict().items() if value and found.rstrip("2") == name), ""
    ).strip()


def _with(own: Sequence[Told], old: str, text: str) -> Told | None:
    """The newest statement that holds the old value; of several, the one that the rest of the text speaks of."""
    holding = [each for each in own if _find(each.statement, old) is not None]
    if not holding:
        return None
    wanted = set(terms(text))
    return max(enumerate(holding), key=lambda each: (len(wanted & set(terms(each[1].statement))), each[0]))[1]


def _find(statement: str, old: str) -> tuple[int, int] | None:
    bare = re.sub(r"^(?:the|a|an|on|in|at|by|to|der|die|das|am|im|bis)\s+", "", old.strip(" .,!"), flags=re.IGNORECASE)
    if not normal(bare):
        return None
    match = re.search(rf"(?<!\w){re.escape(bare)}(?!\w)", statement, re.IGNORECASE)
    return match.span() if match is not None else None


def _bare_new(new: str, of: Told, old: str, by: Heard) -> str | None:
    """What stands in the place of the old value in "the launch is in May, not April"."""
    span = _find(of.statement, old)
    if dates.find(f"on {old}", by.said_at, by.zone):
        whens = dates.find(new, by.said_at, by.zone) or dates.find(f"on {new}", by.said_at, by.zone)
        if whens:
            source = new if dates.find(new, by.said_at, by.zone) else f"on {new}"
            return _unprepared(source[whens[-1].start : whens[-1].end])
    if re.search(r"\d", old):
        amounts = list(_AMOUNT.finditer(new))
        return amounts[-1][0].strip() if amounts else None
    copula = _COPULA.match(new)
    if copula is not None:
        return copula["value"]
    head = of.statement[: span[0]].rstrip() if span is not None else ""
    tail = normal(head).split()[-1:] if head else []
    words = new.split()
    if not head and words and words[0][:1].isupper():
        return words[0]
    for number, word in enumerate(words):
        if tail and normal(word) == tail[0]:
            return " ".join(words[number + 1 :]) or None
    return new if len(words) <= 4 else None


def _replaced(of: Told, old: str, new: str, people: Mapping[PersonId, str]) -> Amended | None:
    span = _find(of.statement, old)
    if span is None:
        return None
    head, put = of.statement[: span[0]], _trimmed(new)
    if head.split()[-1:] == put.split()[:1]:
        put = put.partition(" ")[2]
    return Amended(of, f"{head}{put}{of.statement[span[1] :]}", _owner(of, old, new, people))


def valued(of: Told, value: str, by: Heard, people: Mapping[PersonId, str]) -> Amended | None:
    """The statement with the new value where one of the same sort stands."""
    value = _trimmed(value)
    source = value if dates.find(value, by.said_at, by.zone) else f"on {value}"
    whens = dates.find(source, by.said_at, by.zone)
    old = dates.find(of.statement, by.said_at, by.zone)
    if whens and old:
        day = _unprepared(source[whens[0].start : whens[0].end])
        was = old[-1]
        prefix = of.statement[was.start : was.end]
        kept = prefix[: len(prefix) - len(_unprepared(prefix))]
        return Amended(of, f"{of.statement[: was.start]}{kept}{day}{of.statement[was.end :]}")
    amount = _AMOUNT.search(value)
    spare = _undated(of.statement, old)
    if amount is not None and (was_amount := _AMOUNT.search(spare)) is not None and not whens:
        new = value if len(value.split()) <= 2 else amount[0].strip()
        if not re.search(r"[^\W\d_]{3,}|[%€$£]", new.replace("million", "")) and (unit := _unit(was_amount[0])):
            new = f"{new}{unit}"
        rest = f"{_gap(was_amount[0])}{of.statement[was_amount.end() :]}"
        if " " in new and rest.strip(" .,!").split()[:1] == new.split()[-1:]:
            new = new.rsplit(" ", 1)[0]
        return Amended(of, f"{of.statement[: was_amount.start()]}{new}{rest}")
    person = next((name for name in people.values() if normal(name).split()[:1] == normal(value).split()[:1]), None)
    if person is not None and of.owner is not None and of.owner in people:
        first = people[of.owner].split()[0]
        if _find(of.statement, first) is not None:
            return _replaced(of, first, value, people)
    copula = _COPULA.match(of.statement)
    if copula is not None and len(value.split()) <= 12:
        return Amended(of, f"{copula['head']}{value}{copula['end']}")
    return None


def _undated(statement: str, whens: Sequence[dates.When]) -> str:
    for when in whens:
        statement = statement[: when.start] + " " * (when.end - when.start) + statement[when.end :]
    return statement


def _unit(amount: str) -> str:
    match = re.search(
        r"\s*(?:%|percent|prozent|[€$£]|eur|usd|gbp|chf|euros?|dollars?|[a-z]{4,})\s*$", amount, re.IGNORECASE
    )
    return match[0].rstrip() if match is not None else ""


def _gap(amount: str) -> str:
    return amount[len(amount.rstrip()) :]


def _is_value(text: str, by: Heard) -> bool:
    bare = re.sub(r"^(?:in|at|on|by|to|with|am|im|bei|mit)\s+", "", text, flags=re.IGNORECASE)
    dated = dates.find(f"on {bare}", by.said_at, by.zone)
    return len(bare.split()) <= 5 and bool(re.search(r"\d", bare) or dated or bare[:1].isupper() or _AMOUNT.match(bare))


def _is_short(text: str) -> bool:
    return len(text.split()) <= 3 and not VAGUE_PREDICATE.match(text)


def _owner(of: Told, old: str, new: str, people: Mapping[PersonId, str]) -> str | None:
    name = people.get(of.owner, of.owner_name) if of.owner is not None else of.owner_name
    if name is None:
        return None
    return new.strip() if normal(old).split()[:1] == normal(name).split()[:1] else None


def _unprepared(text: str) -> str:
    return re.sub(
        r"^(?:(?:no later than|as of|by|before|until|till|from|on|in|at|within|for|since|starting|bis(?: zum)?|ab"
        r"|am|im|zum|zur)\s+(?:the\s+)?)+",
        "",
        text,
        flags=re.IGNORECASE,
    )


def _trimmed(text: str) -> str:
    return re.sub(
        r"[,.!]?\s*(?:instead|please|sorry|now|bitte|stattdessen)?[.!]*$", "", text.strip(), flags=re.IGNORECASE
    )
