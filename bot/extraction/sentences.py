"""A message's own words as sentences with their places, and in which mood each is said. Pure; English and German.

A question, a supposition, words reported of somebody else and words in quotation marks assert nothing of their writer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto

from bot.kernel.values import dataclass

NEAR = 300
"""Characters on both sides of a quote that are looked at, if its sentence is longer."""


class Mood(Enum):
    SAID = auto()
    ASKED = auto()
    SUPPOSED = auto()
    REPORTED = auto()
    QUOTED = auto()


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    """Without white space and list marks around it; it stands in the message letter for letter."""
    start: int
    end: int
    """Half-open, in code points of the message."""


_MONTH = r"(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-zä]*\b"  # after "1." in German
_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s|$)|;(?=\s)|\n+")
_ABBREVIATED = re.compile(
    r"(?:\b(?:[A-Za-z]|e\.g|i\.e|Dr|Mr|Mrs|Ms|Prof|St|vs|No|Nr|Inc|Ltd|Corp|approx|ca|bzw|z\.B|d\.h|u\.a|usw|etc|incl"
    r"|inkl|max|min|Mio|Mrd|Tsd)\.)$"
)
_MARK = re.compile(r"\s*(?:[-*•–—+]\s+|\(?\d{1,2}[.)]\s+|[a-z]\)\s+|\[[ x]\]\s+)*")
_QUOTES = "\"'“”„‟«»‘’‚`"
_CLAUSE = re.compile(
    r"(?:,\s*|\s+)(?:and|but|und|aber)\s+(?=(?:also\s+|auch\s+)?(?:we|i|our|my|the|wir|ich|unser\w*|mein\w*|der"
    r"|die|das"
    r"|(?-i:[A-ZÄÖÜ])[\w’'-]+)\b[^,;]{0,60}?\b(?:will|’ll|'ll|is|are|was|were|has|have|decided|agreed|chose|prefer|want"
    r"|going"
    r"|wird|werden|ist|sind|hat|haben|beträgt|kümmert|übernimmt|bevorzuge|entschieden|beschlossen)\b)",
    re.IGNORECASE,
)

_SUPPOSITION = re.compile(
    r"^(?:(?:and|but|so|well|ok(?:ay)?|also|und|aber)[, ]+)*(?:if|what if|suppose|supposing|assuming|assume|imagine"
    r"|let[’']?s (?:say|assume|suppose|imagine|discuss|think|consider|see)|unless|whether|in case|provided|even if"
    r"|maybe"
    r"|perhaps|possibly|probably|hypothetically|ideally|in theory|say,|for example|e\.g\.|for instance|one option"
    r"|option"
    r"|idea:|proposal:|suggestion:|question:|draft:|tbd|wenn|falls|angenommen|vielleicht|eventuell|evtl\.?"
    r"|möglicherweise"
    r"|wahrscheinlich|ob|mal angenommen|idee:|vorschlag:|frage:|entwurf:|zum beispiel|z\.b\.)(?=[\s,:]|$)"
    r"|\b(?:might|could|would(?!n[’']t (?:accept|allow))|may(?= (?:be|also|still|want|need|have|decide|go|use|hire"
    r"|move))|should"
    r"|shall we|ought|maybe|perhaps|possibly|probably|presumably|potentially|tentatively|supposedly|hypothetically"
    r"|unsure|not sure|undecided|unclear|i (?:think|guess|suppose|assume|wonder|hope|wish|doubt|feel|believe)"
    r"|we (?:think|hope|wonder|believe)|thinking (?:of|about)|considering|wondering|toying|leaning|debating"
    r"|discussing"
    r"|what if|if we|if i|propose|proposes|proposal|suggestion is|(?:not|n[’']t) (?:yet )?decided|no decision|yet to"
    r"|to be decided|tbd|könnte[nst]*|würde[nst]*|wäre[nst]*|sollte[nst]*|hätte[nt]*(?! gern)|vielleicht|eventuell"
    r"|evtl"
    r"|möglicherweise|wahrscheinlich|vermutlich|überlege[n]?|glaube|denke|hoffe|falls|noch nicht (?:entschieden"
    r"|beschlossen)|noch offen|unentschieden)\b",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"\b(?:(?!(?:i|we|ich|wir|second)\b)[\w’'.-]+) (?:just |also |once |recently |always )?(?:said|says|told|tells"
    r"|thinks|thought|believes"
    r"|believed|claims(?= that)|claimed|mentioned|mentions(?= that)|wrote|writes|reported|reports(?= that)"
    r"|asked|asks(?= that)|suggested|suggests|insists"
    r"|insisted|argues|argued|heard|announced|wants us|wanted us|sagt|sagte|meint|meinte|schreibt|schrieb|behauptet"
    r"|behauptete|glaubt|findet|erzählt|erzählte|fragt|fragte|hat gesagt|hat erzählt|hat geschrieben)\b"
    r"|\b(?:according to|apparently|allegedly|reportedly|rumou?r|i heard|i[’']?ve heard|i have heard|i read"
    r"|we heard|i was told"
    r"|we were told|it is said|word is|laut|angeblich|anscheinend|ich habe gehört|ich hörte|gerüchte"
    r"|soll angeblich"
    r")\b",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"^(?:(?:and|but|so|ok(?:ay)?|well|also|hi|hey|hello|und|aber)[, ]+)*(?:what|who|whom|whose|when|where|why"
    r"|which|how"
    r"|is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|should|shall|may|might"
    r"|wer|was|wann|wo|warum|wieso|wie|welche[rsmn]?|ist|sind|war|hat|haben|kann|können|soll|sollen|wird|werden"
    r"|i wonder|any idea|do you know|tell me|remind me|can you|could you|would you|kannst du|könntest du)\b",
    re.IGNORECASE,
)
_STARTS = re.compile(r"^(?:who|what|when|where|how|why) (?:we|i|they)\b", re.IGNORECASE)


_REASON = re.compile(
    r"(?<=\w),?\s+(?:because|so that|so we|in order to|weil|damit|since we)\b.*$", re.IGNORECASE | re.DOTALL
)
"""Why something is so: it may be a supposition when the thing itself is none."""


def sentences(text: str, own: Sequence[tuple[int, int]]) -> list[Sentence]:
    """The sentences of the writer's own words, and the clauses of those that say two things."""
    found: list[Sentence] = []
    for start, end in own:
        for first, last in _spans(text, start, end):
            found += _trimmed(text, first, last)
    return found


def clauses(sentence: Sentence) -> list[Sentence]:
    """The sentence cut where "and" or "but" begins another one."""
    found: list[Sentence] = []
    at = 0
    for cut in _CLAUSE.finditer(sentence.text):
        found.append(_part(sentence, at, cut.start()))
        at = cut.end()
    found.append(_part(sentence, at, len(sentence.text)))
    return [each for each in found if each.text]


def around(text: str, own: Sequence[tuple[int, int]], start: int, end: int) -> str:
    """The sentences that a span of the text touches; of very long ones, what stands near it."""
    touched = [each for each in sentences(text, own) if each.start < end and start < each.end]
    near = [text[max(each.start, start - NEAR) : min(each.end, end + NEAR)] for each in touched]
    return " ".join(near) or text[start:end]


def mood(sentence: str) -> Mood:
    """How the whole sentence is meant."""
    bare = sentence.strip()
    if bare.startswith(">") or (bare[:1] in _QUOTES and bare.rstrip(".,;:!?")[-1:] in _QUOTES and len(bare) > 1):
        return Mood.QUOTED
    if "?" in bare[-3:] or _is_question(bare):
        return Mood.ASKED
    if _REPORT.search(bare):
        return Mood.REPORTED
    return Mood.SUPPOSED if _SUPPOSITION.search(_REASON.sub("", bare)) else Mood.SAID


def _is_question(bare: str) -> bool:
    return bool(_ASKING.match(bare)) and not _STARTS.match(bare)


def _spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    first = start
    for cut in _END.finditer(text, start, end):
        if cut[0].startswith(".") and not cut[0].startswith("..") and _goes_on(text, first, cut.end(), end):
            continue
        found.append((first, cut.end()))
        first = cut.end()
    if first < end:
        found.append((first, end))
    return found


def _goes_on(text: str, first: int, at: int, end: int) -> bool:
    """The dot belongs to an abbreviation, an ordinal or a list number."""
    head, rest = text[max(first, at - 14) : at], text[at:end].lstrip(" \t")
    if _ABBREVIATED.search(head):
        return True
    if not re.search(r"\b\d{1,2}\.$", head) or text[at : at + 1] == "\n" or not rest:
        return False
    return (
        rest[0].islower()
        or bool(re.match(_MONTH, rest, re.IGNORECASE))
        or not text[first:at].strip()[:-1].strip("0123456789")
    )


def _trimmed(text: str, start: int, end: int) -> list[Sentence]:
    piece = text[start:end]
    lead = len(piece) - len(piece.lstrip())
    mark = _MARK.match(piece)
    lead = max(lead, mark.end() if mark else 0)
    bare = piece[lead:].rstrip().rstrip(";")
    return [Sentence(bare, start + lead, start + lead + len(bare))] if bare else []


def _part(of: Sentence, start: int, end: int) -> Sentence:
    piece = of.text[start:end]
    lead = len(piece) - len(piece.lstrip())
    bare = piece.strip()
    return Sentence(bare, of.start + start + lead, of.start + start + lead + len(bare))
