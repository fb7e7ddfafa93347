"""What people say about files and documents, read out of their own words: pure, and without a model.

A request to keep files is a sentence that asks for it and for nothing else, or the word `/keep` (`/learn`) at the
start; an answer to the question about a document is `yes` or `no`, alone or with its name. Whatever is put in another
way is an ordinary message.
"""

from __future__ import annotations

import re

from bot.kernel.values import dataclass

LONGEST = 2_000
"""Characters of own words in which a request is looked for."""
_REQUEST = 300
"""Characters of a sentence that may be one."""
_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?\n](?=\s|$)|\.(?=\S)[^.!?\n]*)*", re.DOTALL)

_POLITE = r"(?:(?:and|please|pls|kindly|bitte|und|(?:can|could|would|will) you|kannst du|könntest du|können sie)[ ,]+)*"
_THINGS = (
    r"(?:documents?|files?|attachments?|pdfs?|reports?|contracts?|polic(?:y|ies)|handbooks?|presentations?|slides|"
    r"spreadsheets?|papers?|notes?|plans?|mails?|"
    r"dokumente?n?|datei(?:en)?|anh[aä]nge?|anlagen?|berichte?|vertr[aä]ge?|richtlinien?|pr[aä]sentation(?:en)?|"
    r"tabellen?|unterlagen?|handb(?:uch|ücher)|pl[aä]ne?)"
)
_THESE = r"(?:this|these|that|the|it|them|dies(?:e|es|er|en)?|das|den|die|es|sie)"
_WORDS = r"(?:[\w'’&.-]+[ ,]+){0,6}?"
_SHELF = (
    r"(?:knowledge(?: base)?|documents|library|wissen|wissensbasis|wissensdatenbank|unterlagen|dokumenten?|bibliothek)"
)
_TAIL = r"(?:[ ,]+(?:please|bitte|for us|for later|for good|in mind|thanks|thank you|danke|auf|ab|hinzu|für uns))*"
_TAKE_IN = r"(?:add|put|take|file|save|store|keep|nimm|nehmen sie|f[üu]ge|lege?|speichere?|speichern sie)"
_KEEP = r"(?:keep|remember|save|store|learn|archive|behalte|behalten sie|merke? dir|speichere?|bewahre?)"
_ADD_TO = (
    rf"{_TAKE_IN}\b[ ,]+{_WORDS}{_THESE}\b[ ,]*{_WORDS}(?:to|in|into|among|in|zu|zum|zur|unter)[ ]+{_WORDS}{_SHELF}"
)
"""Add this to our knowledge; nimm das in unser Wissen auf."""
_KEEP_IT = rf"{_KEEP}\b[ ,]+(?:bitte[ ]+)?{_THESE}[ ]+(?:[\w'’&.-]+[ ]+){{0,3}}?{_THINGS}"
"""Keep this document; merk dir diese Datei."""
_REQUESTS = tuple(re.compile(rf"{_POLITE}{form}{_TAIL}", re.IGNORECASE) for form in (_ADD_TO, _KEEP_IT))
_COMMAND = re.compile(
    r"\s*(?:@[^/\n]{1,80}\s+)?/(?:keep|learn)(?:@\w+)?(?:[ \t]+(?P<rest>[^\n]*))?(?:\n|$)", re.IGNORECASE
)
_AUDIENCE = re.compile(r"(public|company|department:[^\s:][^:\s]{0,79})(?:\s+|$)", re.IGNORECASE)
_POLITENESS = re.compile(
    r"(?:hi|hello|hey|dear|hallo|liebe[rs]?|moin|guten (?:tag|morgen)|good (?:morning|afternoon|evening)|thanks?|"
    r"thank you|many thanks|danke|vielen dank|cheers|best|kind|warm|regards|best regards|kind regards|sincerely|yours|"
    r"viele|liebe|beste|herzliche|mit freundlichen|gr(?:u|ü)(?:ß|ss)e?n?|lg|vg|mfg)\b[^.!?\n]{0,60}",
    re.IGNORECASE,
)
_MENTION = re.compile(r"@\S+")

_YES = r"(?:yes|y|yep|yes please|ja|ja bitte|ok|okay|approve|approved|go ahead)"
_NO = r"(?:no|n|nope|no thanks|nein|reject|rejected)"
_ANSWER = re.compile(
    rf"(?:@\S+\s+)?(?:(?P<yes>{_YES})|(?P<no>{_NO}))(?:(?=[\s:,.!])[\s:,]*(?P<rest>.*?))?[.!\s]*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Wish:
    """Somebody asks to keep files."""

    command: bool
    """By the word `/keep`; else in a sentence."""
    alone: bool
    """Nothing else was said that wants an answer."""
    audience: str | None = None
    name: str | None = None
    """Of the file that is meant, if one was named."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A plain yes or no."""

    yes: bool
    about: str | None
    """The name that was said with it."""


def wish(own: str) -> Wish | None:
    """What the sender's own words ask for."""
    own = own.strip()[:LONGEST]
    command = _COMMAND.match(own)
    if command is not None:
        rest = (command["rest"] or "").strip()
        audience = _AUDIENCE.match(rest)
        name = rest[audience.end() :].strip() if audience else rest
        alone = _says_nothing_else(_sentences(own[command.end() :]))
        return Wish(True, alone, _audience(audience[1]) if audience else None, name or None)
    sentences = _sentences(own)
    asking = [each for each in sentences if len(each) <= _REQUEST and any(form.fullmatch(each) for form in _REQUESTS)]
    if not asking:
        return None
    return Wish(False, _says_nothing_else([each for each in sentences if each not in asking]))


def verdict(own: str) -> Verdict | None:
    """A yes or no on the first line, with nothing behind it but a name and a greeting."""
    first, _, more = own.strip()[:LONGEST].partition("\n")
    answer = _ANSWER.fullmatch(first.strip())
    if answer is None or not _says_nothing_else(_sentences(more)):
        return None
    about = (answer["rest"] or "").strip(" \t\"'“”„«»`*.!,:")
    return Verdict(answer["yes"] is not None, about or None)


def _sentences(text: str) -> list[str]:
    found = (each[0].strip(" \t\r\n.!?:;,…–-") for each in _SENTENCE.finditer(text))
    return [_MENTION.sub("", each).strip(" ,:") for each in found if each]


def _says_nothing_else(sentences: list[str]) -> bool:
    """Greetings, thanks and a name below them want no answer."""
    polite = False
    for each in sentences:
        if not each or _POLITENESS.fullmatch(each):
            polite = True
        elif not (polite and len(each.split()) <= 4):
            return False
    return True


def _audience(said: str) -> str:
    kind, colon, name = said.partition(":")
    return kind.lower() + colon + name
