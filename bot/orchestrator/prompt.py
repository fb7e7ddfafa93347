"""From what was said to a request: pure.

Layout: [persona and rules, kept an hour] [company, kept five minutes] [history, byte-stable, cache mark on its last
message] [the turn's own message: context first, then what people wrote]. Nothing that changes from turn to turn stands
before the history's end; the context is not stored, so that a turn reads the same ever after.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from bot.gateway.events import Body, SpanKind
from bot.gateway.text_links import addresses
from bot.kernel.ids import MessageId, TurnId
from bot.kernel.values import dataclass
from bot.llm import tokens
from bot.llm.model import Block, CacheMark, Image, Message, Request, Text
from bot.llm.window import shortened
from bot.sessions.audience import Audience
from bot.sessions.compaction import Earlier
from bot.sessions.transcript import File, Said

FILE_SHARE = 40_000
"""Most characters of one file that enter a prompt."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What is the same for every turn of the daemon."""

    model: str
    light_model: str
    persona: str
    max_tokens: int
    history_tokens: int
    deadline: timedelta


@dataclass(frozen=True, slots=True)
class Context:
    """What is true at this moment only."""

    now: datetime
    time_zone: str
    """The asker's."""
    audience: Audience
    place: str
    channel: str


@dataclass(frozen=True, slots=True)
class Built:
    request: Request
    history_start: TurnId | None
    """First turn of the history that was taken in, if older ones were left out just now."""
    origins: Mapping[str, MessageId]
    """Messages of the transcript as they stand in the request."""


NOT_SHOWN = (
    "<not_shown>Older messages of this conversation are kept, but neither shown here nor summarised yet. "
    "read_history shows them.</not_shown>"
)
"""The same words always: the beginning of a prompt must not change from turn to turn."""


def build(
    frame: Frame,
    company: str,
    context: Context,
    earlier: Earlier,
    history: Sequence[Said],
    current: Sequence[Said],
    pictures: Mapping[MessageId, Sequence[Image]],
    remembered: str = "",
    no_longer: str = "",
) -> Built:
    """The request of a turn. `company`: what those who read may know of it. `earlier`: what stands before `history`.
    `current`: the messages to answer, in order. `remembered`: the block of past decisions, if there is anything.
    `no_longer`: what of the history does not hold any more, in the same way."""
    system = (Text(frame.persona, CacheMark.LONG), Text(company, CacheMark.SHORT))
    most = frame.history_tokens * tokens.CHARACTERS // 2
    texts = {said.id: text_of(said) for said in (*history, *current)}
    shown = {said.id: shortened(texts[said.id], most) for said in history}
    kept, start = _within(history, frame.history_tokens, shown)
    # A message that is very long has its middle cut, the same way ever after.
    past = [*_head(earlier, cut=start is not None), *(Message(s.role, (Text(shown[s.id]),)) for s in kept)]
    origins = {texts[said.id]: said.id for said in (*kept, *current)}
    if past:
        past[-1] = _marked(past[-1])
    blocks: list[Block] = [Text(_context(context))]
    blocks += [Text(text) for text in (remembered, no_longer) if text]
    for said in current:
        blocks.append(Text(texts[said.id]))
        blocks.extend(pictures.get(said.id, ()))
    messages = (*past, Message("user", tuple(blocks)))
    request = Request(frame.model, system, messages, max_tokens=frame.max_tokens, deadline=frame.deadline)
    return Built(request, start, origins)


def own_addresses(said: Iterable[Said]) -> frozenset[str]:
    """The addresses that stand in people's own words: these may be told as links."""
    found: set[str] = set()
    for each in said:
        if each.role == "user":
            body = each.body
            own = [body.text[s.start : s.end] for s in body.spans if s.kind is SpanKind.OWN] or (
                [] if body.spans else [body.text]
            )
            for text in own:
                found |= addresses(text)
    return frozenset(found)


def halved(history: Sequence[Said]) -> tuple[list[Said], TurnId | None]:
    """The newer half of the turns, and the first of them; for when the model says that all is too long."""
    turns = list(dict.fromkeys(said.turn for said in history))
    if len(turns) <= 1:
        return [], None
    first = turns[len(turns) // 2]
    return [said for said in history if said.turn >= first], first


def _head(earlier: Earlier, *, cut: bool) -> list[Message]:
    """What stands for the part of the conversation that is not shown, if there is one."""
    blocks: list[Block] = []
    if earlier.summary is not None:
        attributes = f'turns="{earlier.summary.turns}" kind="summary"'
        blocks.append(
            Text(f"<earlier_conversation {attributes}>\n{_escape(earlier.summary.text)}\n</earlier_conversation>")
        )
    if earlier.hidden or cut:
        blocks.append(Text(NOT_SHOWN))
    return [Message("user", tuple(blocks))] if blocks else []


def _within(history: Sequence[Said], budget: int, shown: Mapping[MessageId, str]) -> tuple[list[Said], TurnId | None]:
    """The whole history, or, once it is over budget, its newest turns that fill half of it.

    Half, and then unchanged for many turns: a window that moved with every turn would change the prompt's beginning
    every time, and nothing of it could be kept by the provider.
    """
    if sum(tokens.of_text(shown[said.id]) for said in history) <= budget:
        return list(history), None
    kept: list[Said] = []
    size = 0
    for said in reversed(history):
        size += tokens.of_text(shown[said.id])
        if size > budget // 2 and kept and said.turn != kept[-1].turn:
            break
        kept.append(said)
    kept.reverse()
    return kept, kept[0].turn if kept else None


def text_of(said: Said) -> str:
    """A message of the transcript as a request has it."""
    return words(said) if said.role == "user" else said.body.text


def _marked(message: Message) -> Message:
    last = message.content[-1]
    if not isinstance(last, Text):
        return message
    return replace(message, content=(*message.content[:-1], replace(last, cache=CacheMark.SHORT)))


def _context(context: Context) -> str:
    local = context.now.astimezone(ZoneInfo(context.time_zone))
    who = {
        Audience.PERSON: "only the person who writes reads this",
        Audience.ROOM: "people of the company read this",
        Audience.COMPANY: "everyone in the company may read this",
        Audience.EXTERNAL: "people from outside may read this",
    }[context.audience]
    return (
        "<context>\n"
        f"now: {local:%A %Y-%m-%d %H:%M} ({context.time_zone})\n"
        f"place: {_attribute(context.place)} on {context.channel}; {who}\n"
        "</context>"
    )


def words(said: Said) -> str:
    """A message as the model sees it, now and ever after."""
    inner = "".join(_span(said.body))
    files = "".join(_file(file) for file in said.files)
    at = f"{said.sent_at:%Y-%m-%dT%H:%MZ}"
    return f'<message from="{_attribute(said.speaker)}" at="{at}">{inner}{files}</message>'


def _span(body: Body) -> Sequence[str]:
    """The sender's own words as they are; others' words in tags that say so."""
    if not body.spans:
        return [_escape(body.text)]
    parts: list[str] = []
    for span in body.spans:
        text = body.text[span.start : span.end]
        if span.kind is SpanKind.OWN:
            parts.append(_escape(text))
        elif span.kind is not SpanKind.SIGNATURE and text.strip():
            parts.append(f"\n<{span.kind.value}>{_escape(text.strip())}</{span.kind.value}>\n")
    return parts


def _file(file: File) -> str:
    text = file.text or ""
    if len(text) > FILE_SHARE:
        text = f"{text[:FILE_SHARE]}\n[… cut: {len(file.text or '')} characters in all]"
    note = f' note="{_attribute(file.note)}"' if file.note else ""
    head = f'<file name="{_attribute(file.name)}" type="{_attribute(file.media_type)}"{note}'
    return f"\n{head}>{_escape(text)}</file>" if text else f"\n{head}/>"


def _escape(text: str) -> str:
    """So that no text can close its own element, or open one of ours."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _attribute(text: str) -> str:
    return _escape(" ".join(text.split())).replace('"', "&quot;")
