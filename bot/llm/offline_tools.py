"""The offline adapter's rules for tools: which call a question leads to, and what its results become. Pure.

A question that the conversation does not answer is searched for (`search_knowledge`), the best sections are read
(`read_section`), and the passages that fit best are quoted with where they stand. Sums and the time have tools of their
own. Everything is found again in the request: what was called stands in it with its results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bot.kernel.values import dataclass
from bot.llm import lexical
from bot.llm.layout import plain
from bot.llm.model import Request, ToolResult, ToolUse

SEARCH, READ, CALCULATE, TIME = "search_knowledge", "read_section", "calculate", "current_time"
MOST_QUESTIONS = 3
"""Of one turn that are looked up."""
SECTIONS = 2
"""Read for one question."""
QUOTE = 600
"""Characters of a passage that are quoted, at most about."""
LONGEST_QUERY = 500
FOUND = "From documents and notes that I can read:"
UNAVAILABLE = "I could not look that up: {why}"

_LOOKUP = (
    r"(please\s+|can you\s+|could you\s+)*(explain|suggest|find|look up|search|compare|show|tell|recommend|help"
    r"|erklär\w*|such\w*|zeig\w*)\b"
)
_SUM = (
    r"(what is|what's|how much is|calculate|compute|was ist|wieviel ist|berechne)\s+"
    r"(?P<sum>[\d.(-][\d\s.()+*/%^-]*[\d)])[\s?.]*"
)
_CLOCK = (
    r"(what|which) (time|day|date) is it\b.*|what is (the time|today's date|the date)\b.*|what day is (it )?today\W*"
    r"|wie (spät|viel uhr) ist es\W*"
)
_PASSAGE = re.compile(r"<passage((?:\s+[\w-]+=\"[^\"]*\")*)>\n(.*?)\n</passage>", re.DOTALL)
_ATTRIBUTE = re.compile(r"([\w-]+)=\"([^\"]*)\"")
_CUT = re.compile(r"\n\[cut here: [^\n]*\]\Z")


@dataclass(frozen=True, slots=True)
class Passage:
    section: str
    source: str
    at: str
    date: str
    text: str


def has_library(request: Request) -> bool:
    return _offered(request, SEARCH)


def is_lookup(sentence: str) -> bool:
    """Whether a request asks for something that can be looked up."""
    return bool(_whole(_SUM, sentence) or re.match(_LOOKUP, sentence.strip(), re.IGNORECASE))


def next_calls(request: Request, questions: Sequence[str]) -> tuple[ToolUse, ...]:
    """The calls that the next step needs; none if all that can be known is there."""
    made = _made(request)
    called = {call.name for call, _ in made}
    wanted: list[tuple[str, dict[str, object]]] = []
    for question in questions[:MOST_QUESTIONS]:
        name, arguments = _first_call(question)
        if name not in called and _offered(request, name):
            wanted.append((name, arguments))
    if not wanted and READ not in called and _offered(request, READ):
        sections = [p.section for question in questions for p in _searched(made, question)[:SECTIONS]]
        if sections:
            wanted.append((READ, {"sections": list(dict.fromkeys(sections))}))
    return tuple(ToolUse(f"offline_{len(made) + n}", name, arguments) for n, (name, arguments) in enumerate(wanted))


def found(request: Request, questions: Sequence[str]) -> Mapping[str, str]:
    """For each question what the results say to it, ready to be told; questions without any are left out."""
    made = _made(request)
    read = {passage.section: passage for call, result in made if call.name == READ for passage in _passages(result)}
    answers: dict[str, str] = {}
    for question in questions[:MOST_QUESTIONS]:
        name, arguments = _first_call(question)
        result = next((r for call, r in made if call.name == name and call.input == arguments), None)
        if result is None:
            continue
        if result.is_error:
            answers[question] = UNAVAILABLE.format(why=result.text)
        elif name != SEARCH:
            answers[question] = result.text
        elif best := _searched(made, question)[:SECTIONS]:
            quoted = [_quoted(question, read.get(passage.section, passage)) for passage in best]
            answers[question] = "\n\n".join((FOUND, *quoted))
    return answers


def _first_call(question: str) -> tuple[str, dict[str, object]]:
    if match := _whole(_SUM, question):
        return CALCULATE, {"expression": match["sum"].strip(" .,%")}
    if _whole(_CLOCK, question):
        return TIME, {}
    return SEARCH, {"query": question[:LONGEST_QUERY]}


def _whole(pattern: str, text: str) -> re.Match[str] | None:
    return re.fullmatch(pattern, text.strip(), re.IGNORECASE)


def _offered(request: Request, name: str) -> bool:
    return any(tool.name == name for tool in request.tools)


def _made(request: Request) -> list[tuple[ToolUse, ToolResult]]:
    """The calls of this turn with their results."""
    calls: dict[str, ToolUse] = {}
    made: list[tuple[ToolUse, ToolResult]] = []
    for message in request.messages:
        for block in message.content:
            if isinstance(block, ToolUse):
                calls[block.id] = block
            elif isinstance(block, ToolResult) and block.tool_use_id in calls:
                made.append((calls[block.tool_use_id], block))
    return made


def _searched(made: Sequence[tuple[ToolUse, ToolResult]], question: str) -> list[Passage]:
    """What the search for a question gave, best first."""
    _, arguments = _first_call(question)
    return [
        passage
        for call, result in made
        if call.name == SEARCH and call.input == arguments and not result.is_error
        for passage in _passages(result)
    ]


def _passages(result: ToolResult) -> Iterator[Passage]:
    for match in _PASSAGE.finditer(result.text):
        given = {name: plain(value) for name, value in _ATTRIBUTE.findall(match[1])}
        if section := given.get("section"):
            text = plain(_CUT.sub("", match[2]))
            yield Passage(section, given.get("source", ""), given.get("at", ""), given.get("date", ""), text)


def _quoted(question: str, passage: Passage) -> str:
    """The paragraph that fits best, and what follows it while there is room, as a quotation under its source."""
    paragraphs = [part.strip() for part in re.split(r"\n[ \t]*\n", passage.text) if part.strip()]
    match = lexical.nearest(question, paragraphs)
    start = match.index if match is not None and match.share > 0 else 0
    kept = [_clipped(paragraphs[start])] if paragraphs else []
    for paragraph in paragraphs[start + 1 :]:
        if sum(map(len, kept)) + len(paragraph) > QUOTE:
            break
        kept.append(paragraph)
    place = " · ".join(part for part in (passage.source, passage.at, passage.date) if part)
    lines = "\n\n".join(kept).split("\n")
    return f"{place}:\n" + "\n".join(f"> {line}".rstrip() for line in lines)


def _clipped(text: str) -> str:
    if len(text) <= 2 * QUOTE:
        return text
    return text[: 2 * QUOTE].rsplit(" ", 1)[0] + " …"
