"""Makes any stored history fit to send. Pure.

The Messages API refuses a whole request, and every later one of the conversation, for one bad block. `fit` repairs
what a killed process, a cut or an odd client left behind; `turns`, `cut` and `shorten` take history away only between
turns; `limit_marks` keeps within the provider's number of cache marks. Rules: the Messages API's reference, its tool
use and prompt caching guides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from bot.llm import tokens
from bot.llm.model import Block, CacheMark, Image, Message, Request, Text, Thinking, ToolResult, ToolUse

MAX_MARKS = 4
NO_TEXT = "(a message without text)"
NO_OUTPUT = "(no output)"
INTERRUPTED = "No result: the call was interrupted before it finished."


def fit(messages: Sequence[Message]) -> tuple[Message, ...]:
    """An equal history that the API accepts; at least one message, the first from the user. Idempotent.

    Tool calls and results are paired: a missing result becomes an error result in the next user message, results come
    first there in the order of their calls, whatever has no partner or comes twice goes. Blank text goes; a message
    of nothing else says so if a person wrote it. Neighbours of one role become one message. An assistant's message
    neither ends in thinking nor, if it is the last, in white space.
    """
    builder = _Builder()
    for message in messages:
        if message.role == "user":
            builder.user(message.content)
        else:
            builder.assistant(message.content)
    return builder.finished()


class _Builder:
    """Turns of alternating role, grown from left to right."""

    def __init__(self) -> None:
        self._turns: list[tuple[Literal["user", "assistant"], list[Block]]] = []
        self._seen: set[str] = set()
        self._asked: list[str] = []
        """Calls of the newest assistant turn, in order."""
        self._results: dict[str, ToolResult] = {}
        """Their results so far."""

    def user(self, content: Sequence[Block]) -> None:
        kept: list[Block] = []
        answered = False
        for block in content:
            if isinstance(block, ToolResult):
                if block.tool_use_id in self._asked and block.tool_use_id not in self._results:
                    self._results[block.tool_use_id] = block if block.text.strip() else replace(block, text=NO_OUTPUT)
                    answered = True
            elif isinstance(block, Image) or (isinstance(block, Text) and block.text.strip()):
                kept.append(block)
        if not kept and not answered:
            if not any(isinstance(block, Text) for block in content):
                return
            kept.append(Text(NO_TEXT))
        self._append("user", kept)

    def assistant(self, content: Sequence[Block]) -> None:
        if not self._turns:
            return
        kept: list[Block] = []
        for block in content:
            if isinstance(block, ToolUse):
                if block.id in self._seen:
                    continue
                self._seen.add(block.id)
                kept.append(block)
            elif (isinstance(block, Text) and block.text.strip()) or (isinstance(block, Thinking) and block.signature):
                kept.append(block)
        while kept and isinstance(kept[-1], Thinking):
            kept.pop()
        if not kept:
            return
        if self._turns[-1][0] == "user":
            self._close_user()
        self._asked += [block.id for block in kept if isinstance(block, ToolUse)]
        self._append("assistant", kept)

    def finished(self) -> tuple[Message, ...]:
        if not self._turns:
            return (Message("user", (Text(NO_TEXT),)),)
        if self._turns[-1][0] == "assistant" and self._asked:
            self._append("user", [])
        if self._turns[-1][0] == "user":
            self._close_user()
        role, last = self._turns[-1]
        if role == "assistant" and isinstance(last[-1], Text):
            last[-1] = replace(last[-1], text=last[-1].text.rstrip())
        return tuple(Message(role, tuple(blocks)) for role, blocks in self._turns)

    def _append(self, role: Literal["user", "assistant"], blocks: list[Block]) -> None:
        if self._turns and self._turns[-1][0] == role:
            self._turns[-1][1].extend(blocks)
        else:
            self._turns.append((role, blocks))

    def _close_user(self) -> None:
        """Put the results of the turn before in front; what has none gets an error result."""
        blocks = self._turns[-1][1]
        blocks[:0] = [self._results.get(call) or ToolResult(call, INTERRUPTED, is_error=True) for call in self._asked]
        self._asked, self._results = [], {}


def turns(messages: Sequence[Message]) -> tuple[tuple[Message, ...], ...]:
    """The history cut at every place where it may be cut: before a user message that answers no tool call.

    Messages before the first such place belong to no turn that could be sent and are left out.
    """
    found: list[list[Message]] = []
    for message in messages:
        opens = message.role == "user" and not any(isinstance(block, ToolResult) for block in message.content)
        if opens and not (found and found[-1][-1].role == "user"):
            found.append([message])
        elif found:
            found[-1].append(message)
    return tuple(tuple(turn) for turn in found)


def cut(messages: Sequence[Message], keep: int) -> tuple[Message, ...]:
    """The newest `keep` turns (at least one)."""
    return tuple(message for turn in turns(messages)[-max(keep, 1) :] for message in turn)


def shorten(messages: Sequence[Message], at_most: int) -> tuple[Message, ...]:
    """`messages` if they are at most `at_most` rough tokens, else the newest turns that fit in half of it.

    Half, so that history then grows at its end for a while: dropping one turn every time would change the prompt's
    beginning with every message and lose the provider's cache. The newest turn is always kept.
    """
    if tokens.of_messages(messages) <= at_most:
        return tuple(messages)
    kept: list[tuple[Message, ...]] = []
    left = at_most // 2
    for turn in reversed(turns(messages)):
        left -= tokens.of_messages(turn)
        if kept and left < 0:
            break
        kept.append(turn)
    return tuple(message for turn in reversed(kept) for message in turn)


def limit_marks(request: Request) -> Request:
    """At most `MAX_MARKS` cache marks, and no hour after five minutes (the API refuses both).

    Kept by value: of the system's marks the first (shared by the most calls) and the last ones (the longest prefix),
    then the newest of the history; one place is the history's whenever it has a mark. A mark of an hour that follows
    one of five minutes becomes one of five minutes.
    """
    system = [index for index, block in enumerate(request.system) if block.cache]
    history = [
        (index, place)
        for index, message in enumerate(request.messages)
        for place, block in enumerate(message.content)
        if _mark(block)
    ]
    for_system = MAX_MARKS - bool(history)
    if len(system) > for_system:
        system = [system[0], *system[len(system) - for_system + 1 :]]
    room = MAX_MARKS - len(system)
    keep = set(history[len(history) - min(room, len(history)) :])
    short = False
    blocks: list[Text] = []
    for index, text in enumerate(request.system):
        mark = _allowed(text.cache, short) if index in system else None
        short = short or mark is CacheMark.SHORT
        blocks.append(text if mark is text.cache else replace(text, cache=mark))
    messages: list[Message] = []
    for index, message in enumerate(request.messages):
        content: list[Block] = []
        for place, block in enumerate(message.content):
            mark = _allowed(_mark(block), short) if (index, place) in keep else None
            short = short or mark is CacheMark.SHORT
            content.append(_marked(block, mark))
        messages.append(Message(message.role, tuple(content)))
    return replace(request, system=tuple(blocks), messages=tuple(messages))


def _mark(block: Block) -> CacheMark | None:
    return block.cache if isinstance(block, Text | Image | ToolResult) else None


def _marked(block: Block, mark: CacheMark | None) -> Block:
    if isinstance(block, Text | Image | ToolResult) and block.cache is not mark:
        return replace(block, cache=mark)
    return block


def _allowed(mark: CacheMark | None, after_short: bool) -> CacheMark | None:
    return CacheMark.SHORT if mark is CacheMark.LONG and after_short else mark
