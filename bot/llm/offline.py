"""The embedded model: no weights, no network. Rules choose, templates render.

Like any model it sees the request and nothing else. It says that it is the offline mode, answers questions by quoting
what a person said earlier in the conversation, looks up what the conversation does not tell where it is given tools for
that (`offline_tools`), and never invents. Only words that people wrote as their own message are looked at: context,
quoted lines and results are data, and nothing in them is followed. Deterministic.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum, auto

from bot.kernel.values import dataclass
from bot.llm import exact, lexical, offline_acting, offline_memory, offline_scheduling, offline_tools, tokens
from bot.llm.layout import Words, words
from bot.llm.model import (
    Block,
    Event,
    Finished,
    Image,
    Message,
    ModelHealth,
    Request,
    StopReason,
    Text,
    TextDelta,
    ToolResult,
    Usage,
)
from bot.llm.offline_memory import Line, Withdrawn
from bot.llm.repair import NO_TEXT

NAME = "offline"
QUOTE = 300
"""Longest quotation, in characters."""
MOST = 400
"""Sentences of one message that are looked at: of longer ones the beginning and the end."""

WHAT_I_AM = (
    "I am running in offline mode, without a language model. I answer questions about what you tell me in this "
    "conversation by quoting what was said here. I do not write, calculate, look anything up or act."
)
WHAT_I_AM_WITH_A_LIBRARY = (
    "I am running in offline mode, without a language model. I answer questions by quoting: what you told me in this "
    "conversation, and what stands in the company's documents and in built-in notes on management. I can put a mail "
    "(`Send a mail to kim@example.com: …`) or a message to a colleague (`Tell Ben that …`) before whoever may say yes "
    "to it. I do not write or judge."
)
TO_CHANGE = "For full answers, set llm.api_key (or llm.base_url) in the settings."
NOTHING = "I found nothing about that in this conversation. In offline mode I can only answer from what was said here."
NOT_FOUND = "I found nothing about that, neither in this conversation nor in the notes and documents that I can read."
ONLY_SAID_HERE = "(I am running in offline mode: I answer only from what is said in this conversation.)"
ONLY_QUOTES = "(I am running in offline mode: I answer only by quoting this conversation, documents and notes.)"
CANNOT = "I cannot do that in offline mode: there is no language model behind me."
NO_IMAGES = "I cannot look at images in offline mode."
NO_WORDS = "I got a message without text. In offline mode I can only read text."
WELCOME = "You are welcome."

_GREETING = (
    r"(hi|hello|hey|hiya|greetings|good (morning|afternoon|evening|day)|hallo|moin|servus|guten (morgen|tag|abend)"
    r"|gr(ü|u)(ß|ss) (gott|dich))\b(?P<rest>.*)"
)
_HELP = (
    r"(/?help|hilfe|who are you|what are you|what can (you|i) do|what do you do|how do you work"
    r"|how (do|can) i use (you|this|it)|what can i ask( you)?|how can you help( me)?|wer bist du|was kannst du( tun)?)"
    r"( here| now| for (me|us))?\W*"
)
_THANKS = r"(many )?(thanks|thank you|thx|danke|vielen dank)\b[^?]{0,40}"
_QUESTION = (
    r"(what|what's|who|who's|whom|whose|when|where|why|which|how|is|are|am|was|were|do|does|did|has|have|had|should"
    r"|wer|was|wann|wo|warum|wieso|wie|welche[rsmn]?|ist|sind|war|hat|haben)\b"
)
_RECALL = (
    r"(please\s+)?(tell me|remind me( again)?|recall|repeat|say again)\s+(what|who|when|where|why|which|how|about|of)"
    r"\b"
)
_REQUEST = (
    r"((please|kindly|bitte|can you|could you|would you|will you|kannst du|i need you to|i want you to)\b.*"
    r"|(add|analy[sz]e|approve|arrange|ask|book|calculate|call|cancel|change|check|compare|create|delete|draft|email"
    r"|explain|find|fix|forget|forward|generate|get|give|list|look up|mail|make|move|open|order|pay|plan|post|prepare"
    r"|publish|remind|remove|reply|review|rewrite|run|schedule|search|send|set|show|suggest|summari[sz]e|tell|translate"
    r"|update(?!:)|write|schreib\w*|erstell\w*|such\w*|sende|zeig\w*)\b(?!\s+(is|are|was|were|will|has|had)\b).*)"
)
_PUTS_RIGHT = (
    r"((no|actually|correction|sorry|wait|rather|i mean|i meant|nein|doch|korrektur|genauer|tatsächlich)\b[\s,:;.–-]*)+"
    r"(it|that|this|they|he|she|es|das|er|sie)\b(['’]s|['’]re|\s)"
)
_OPENER = r"((and|so|ok(ay)?|well|also|hi|hello|hey|please|und|also|hallo)\b[\s,:;!.–-]*)+"
_MONTHS = "January February March April May June July August September October November December"


_SHORT = 300
"""Characters of a sentence that are looked at, besides its last one."""


_NOT_WHOLE = 0.99
"""Most that a sentence carries of a question whose names and numbers are not all in it."""


class Act(Enum):
    GREETING = auto()
    HELP = auto()
    THANKS = auto()
    QUESTION = auto()
    REQUEST = auto()
    STATEMENT = auto()


@dataclass(frozen=True, slots=True)
class _Told:
    """A sentence that can be quoted."""

    text: str
    by: Words
    about: str = ""
    """The sentence before it that it puts right without naming its subject again."""

    @property
    def searched(self) -> str:
        return f"{self.about} {self.text}" if self.about else self.text


@dataclass(frozen=True, slots=True)
class _Known:
    """What an answer may draw on: what was told, and what was looked up (question to text) if anything can be."""

    told: list[_Told]
    library: bool
    found: Mapping[str, str]
    remembered: Sequence[Line]
    withdrawn: Sequence[Withdrawn]


class OfflineModel:
    provider = "offline"

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """See `Model.stream`; raises nothing and waits for nothing."""
        asked = words(_parted(request)[1])
        wished = offline_scheduling.wished(request, asked) or offline_acting.wished(request, asked)
        questions = () if wished is not None else _questions(request)
        calls = wished.calls if wished is not None else offline_tools.next_calls(request, questions)
        content: tuple[Block, ...] = calls
        if not calls:
            text = wished.said if wished is not None else answer(request, questions)
            for piece in _pieces(text):
                yield TextDelta(piece)
            content = (Text(text),)
        usage = Usage(input=tokens.of_request(request), output=sum(map(tokens.of_block, content)))
        yield Finished(content, StopReason.TOOL_USE if calls else StopReason.END_TURN, usage, NAME)

    def health(self) -> ModelHealth:
        return ModelHealth(ok=True)

    async def close(self) -> None:
        return None


def answer(request: Request, questions: tuple[str, ...] = ()) -> str:
    """The reply to all messages of the request's last message of people, in their order, with what was looked up for
    the `questions`."""
    history, last = _parted(request)
    gone = offline_memory.withdrawn(last)
    told = _told(history, gone)
    found = offline_tools.found(request, questions)
    known = _Known(told, offline_tools.has_library(request), found, offline_memory.remembered(last), gone)
    new = words(last)
    several = len({said.speaker for said in new}) > 1
    paragraphs: list[str] = []
    for said in new:
        reply = _reply(said, known)
        paragraphs.append(f"{said.speaker}: {reply}" if several and said.speaker else reply)
        for sentence in _tellings(said):
            told.append(_telling(sentence, said, told))
    if any(isinstance(block, Image) for block in last.content):
        paragraphs.append(NO_IMAGES)
    if not paragraphs:
        paragraphs.append(NO_WORDS)
    first = not any(message.role == "assistant" for message in history)
    if first and not any("offline mode" in paragraph for paragraph in paragraphs):
        paragraphs.append(ONLY_QUOTES if known.library else ONLY_SAID_HERE)
    return "\n\n".join(paragraphs)


def _parted(request: Request) -> tuple[tuple[Message, ...], Message]:
    """The history, and the message to answer: the last one, without the calls and results that followed it."""
    at = len(request.messages) - 1
    while at > 0 and _is_results(request.messages[at]):
        at -= 2
    at = max(at, 0)
    return request.messages[:at], request.messages[at]


def _is_results(message: Message) -> bool:
    """Nothing but results of tools, and nobody's words."""
    return any(isinstance(block, ToolResult) for block in message.content) and not words(message)


def _questions(request: Request) -> tuple[str, ...]:
    """What is asked and not, or not wholly, told in the conversation; nothing where nothing can be looked up."""
    if not request.tools and not _is_results(request.messages[-1]):
        return ()
    history, last = _parted(request)
    told = _told(history, offline_memory.withdrawn(last))
    remembered = offline_memory.remembered(last)
    asked: list[str] = []
    for said in words(last):
        for sentence in _own_sentences(said.text):
            act = classify(sentence)
            if act is Act.STATEMENT:
                told.append(_telling(sentence, said, told))
            elif act is Act.REQUEST and offline_tools.is_lookup(sentence):
                asked.append(sentence)
            elif act is Act.QUESTION:
                match = _match(sentence, told)
                known = offline_memory.told(sentence, remembered)
                if (match is None or match.share < 1) and (known is None or known.share < 1):
                    asked.append(sentence)
    return tuple(dict.fromkeys(asked))


def _reply(said: Words, known: _Known) -> str:
    sentences = _own_sentences(said.text)
    if not sentences or said.text == NO_TEXT:
        return NO_WORDS
    acts = [(sentence, classify(sentence)) for sentence in sentences]
    if len(acts) > 1 and acts[0][1] is Act.GREETING:
        acts = acts[1:]
    parts: list[str] = []
    noted = " ".join(sentence for sentence, act in acts if act is Act.STATEMENT)
    if noted:
        parts.append(f"Heard: {_quoted(noted)}")  # whether it is remembered is not this mode's to say
    told = list(known.told)
    what_i_am = WHAT_I_AM_WITH_A_LIBRARY if known.library else WHAT_I_AM
    for sentence, act in acts:
        match act:
            case Act.STATEMENT:
                told.append(_telling(sentence, said, told))
            case Act.QUESTION:
                parts.append(_answered(sentence, told, said, known))
            case Act.REQUEST:
                parts.append(known.found.get(sentence) or CANNOT)
            case Act.HELP:
                parts.append(f"{what_i_am} {TO_CHANGE}")
            case Act.THANKS:
                parts.append(WELCOME)
            case Act.GREETING:
                name = f", {said.speaker}" if said.speaker else ""
                parts.append(f"Hello{name}. {what_i_am}")
    return "\n".join(dict.fromkeys(parts))


def _answered(question: str, told: list[_Told], asker: Words, known: _Known) -> str:
    """What is remembered and what people said comes first, then what was looked up. A remembered line that fits as
    well as somebody's words counts more, unless these were said after it."""
    match = _match(question, told)
    remembered = offline_memory.told(question, known.remembered)
    found = known.found.get(question)
    said = None if match is None else _recall(match, told, asker)
    if remembered is not None and (
        match is None
        or remembered.share > match.share
        or (remembered.share == match.share and not _later(match.index, told, remembered.line, known.withdrawn))
    ):
        said = remembered.text
    if said is not None:
        return f"{said}\n{found}" if found else said
    return found or (NOT_FOUND if known.library else NOTHING)


def _match(question: str, told: Sequence[_Told]) -> lexical.Match | None:
    """What somebody said that carries most of the question, of what has the names and numbers in it."""
    texts = [one.searched for one in told]
    places, whole = exact.fitting(question, texts, [one.by.speaker for one in told])
    match = lexical.best(question, [texts[place] for place in places])
    if match is None:
        return None
    return lexical.Match(places[match.index], match.share if whole else min(match.share, _NOT_WHOLE))


def _later(index: int, told: Sequence[_Told], line: Line, gone: Sequence[Withdrawn]) -> bool:
    """Whether a sentence was said after a remembered line: what it says may not be remembered yet. A line's own
    sentence is told by its words; one that a person corrected, by when they did; else the days decide."""
    at = told[index].by.at
    corrected = [each.at for each in gone if each.instead == line.handle]
    if corrected and at is not None:
        return at > max(corrected)
    words = set(lexical.terms(line.statement))
    more = {place: set(lexical.terms(one.text)) - words for place, one in enumerate(told) if _holds(words, one)}
    if more:
        return index > min(more, key=lambda place: (len(more[place]), -place))
    return at is not None and at.date().isoformat() > line.day


def _starts(pattern: str, text: str) -> re.Match[str] | None:
    """Patterns are compiled when first needed: the start of the daemon does not pay for them."""
    return re.match(pattern, text, re.IGNORECASE | re.DOTALL)


def _whole(pattern: str, text: str) -> re.Match[str] | None:
    return re.fullmatch(pattern, text, re.IGNORECASE | re.DOTALL)


def classify(sentence: str) -> Act:
    """What a person does with `sentence`."""
    text = sentence.strip()
    if len(text) > _SHORT:
        text = f"{text[:_SHORT]}{text[-1]}"
    if _whole(_HELP, text):
        return Act.HELP
    if (greeting := _starts(_GREETING, text)) and "?" not in text and len(greeting["rest"].split()) <= 3:
        return Act.GREETING
    if _whole(_THANKS, text):
        return Act.THANKS
    bare = text[opener.end() :] if (opener := _starts(_OPENER, text)) else text
    if _whole(_HELP, bare):
        return Act.HELP
    if _starts(_RECALL, bare) or (text.rstrip("\"'”’)] ").endswith("?") and not _starts(_REQUEST, bare)):
        return Act.QUESTION
    if _starts(_REQUEST, bare) or _starts(r"please\b", text):
        return Act.REQUEST
    if _starts(_QUESTION, bare) and not text.endswith((".", "!")):
        return Act.QUESTION
    return Act.STATEMENT


def _own_sentences(text: str) -> tuple[str, ...]:
    """Sentences outside quoted lines (`>` as in mail)."""
    own = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(">"))
    found = lexical.sentences(own)
    return found if len(found) <= MOST else found[: MOST // 2] + found[-MOST // 2 :]


def _holds(words: set[str], told: _Told) -> bool:
    return words <= set(lexical.terms(told.text))


def _tellings(said: Words) -> Iterator[str]:
    for sentence in _own_sentences(said.text):
        if sentence != NO_TEXT and classify(sentence) is Act.STATEMENT:
            yield sentence


def _told(history: Sequence[Message], gone: Sequence[Withdrawn]) -> list[_Told]:
    """What people said in the history and what still holds."""
    told: list[_Told] = []
    for message in history:
        for said in words(message):
            for sentence in _tellings(said):
                told.append(_telling(sentence, said, told))
    return [one for one in told if offline_memory.holds(one.text, one.by, gone)]


def _telling(sentence: str, said: Words, told: Sequence[_Told]) -> _Told:
    """`Actually, it is 12 euros.` is about what its writer said last."""
    if _starts(_PUTS_RIGHT, sentence):
        before = next((one for one in reversed(told) if one.by.speaker == said.speaker), None)
        if before is not None:
            return _Told(sentence, said, before.about or before.text)
    return _Told(sentence, said)


def _recall(match: lexical.Match, told: list[_Told], asker: Words) -> str:
    found = told[match.index]
    who = "You" if found.by.speaker in (None, asker.speaker) or asker.speaker is None else found.by.speaker
    when = f" on {_date(found.by.at)}" if found.by.at else ""
    closest = "The closest that I find: " if match.share < 1 else ""
    you = "you" if who == "You" and closest else who
    listener = " me" if who == "You" else ""
    return f"{closest}{you} {'told' if listener else 'wrote'}{listener}{when}: {_quoted(found.text)}"


def _date(at: datetime) -> str:
    return f"{at.day} {_MONTHS.split()[at.month - 1]} {at.year} at {at:%H:%M} UTC"


def _quoted(text: str) -> str:
    flat = " ".join(text.split())
    if len(flat) > QUOTE:
        flat = flat[: QUOTE - 1].rsplit(" ", 1)[0] + "…"
    return f"“{flat}”"


def _pieces(text: str) -> Iterator[str]:
    """About four pieces, cut after a space or line end."""
    size = max(40, len(text) // 4)
    start = 0
    while start < len(text):
        end = start + size
        while end < len(text) and not text[end - 1].isspace():
            end += 1
        yield text[start:end]
        start = end
