"""No request is larger than its model's context window, whatever people send. Pure.

How many tokens a text has is known to the provider's tokenizer alone. What fits is judged by two bytes of UTF-8 to a
token, which overestimates running text of any language about twofold; only text made to be dense (keys, hexadecimal)
comes near it. What is cut is cut in the middle and says so: the beginning tells what it is, and the end closes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.llm.model import Block, Image, Message, Request, Text, Thinking, ToolResult, ToolUse
from bot.llm.tokens import IMAGE

BYTES = 2
LEAST = 400
"""Characters that a cut leaves at least."""
TAIL = 200
CUT = "\n[… cut here: {total} characters in all, too many for the model …]\n"
NO_ROOM = "[An image was left out: there was no room for it.]"
MARGIN = 1_000
"""Tokens for what the wire adds: roles, names of fields."""
PER_BLOCK = 16


def of_text(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // BYTES)


def of_block(block: Block) -> int:
    match block:
        case Text() | ToolResult():
            return of_text(block.text) + PER_BLOCK
        case Image():
            return IMAGE + PER_BLOCK
        case ToolUse():
            return of_text(block.name + str(dict(block.input))) + PER_BLOCK
        case Thinking():
            return of_text(block.text) + of_text(block.signature) + PER_BLOCK


def of_request(request: Request) -> int:
    """Tokens of the request without its answer, cautiously."""
    tools = sum(of_text(tool.text) + PER_BLOCK for tool in request.tools)
    system = sum(of_block(block) for block in request.system)
    return tools + system + sum(of_block(block) for message in request.messages for block in message.content)


def fit(request: Request, window: int) -> Request:
    """`request` so that it and its answer fit into `window` tokens: results of tools are cut first, then what people
    wrote, the longest first; then pictures are left out; then the answer is allowed less."""
    room = window - MARGIN - request.max_tokens
    if of_request(request) <= room:
        return request
    room = max(room, window // 4)
    request = _cut(request, room, lambda block: isinstance(block, ToolResult))
    request = _cut(request, room, lambda block: isinstance(block, Text))
    if of_request(request) > room:
        request = _without_images(request, room)
    left = window - MARGIN - of_request(request)
    return request if left >= request.max_tokens else replace(request, max_tokens=max(1, left))


def shortened(text: str, most: int) -> str:
    """`text` in at most about `most` characters, its middle left out visibly."""
    if len(text) <= most:
        return text
    note = CUT.format(total=len(text))
    keep = max(most - len(note), LEAST // 2)
    tail = min(TAIL, keep // 4)
    return text[: keep - tail] + note + text[-tail:]


def _cut(request: Request, room: int, which: Callable[[Block], bool]) -> Request:
    """Level the longest of these blocks down until all fits, or none of them is long any more."""
    sizes = sorted(
        (of_block(block) for message in request.messages for block in message.content if which(block)), reverse=True
    )
    over = of_request(request) - room
    if over <= 0 or not sizes:
        return request
    level = _level(sizes, over)

    def change(block: Block) -> Block:
        if not which(block) or not isinstance(block, Text | ToolResult) or of_block(block) <= level:
            return block
        return replace(block, text=_to_tokens(block.text, level))

    return _each(request, change)


def _level(sizes: Sequence[int], over: int) -> int:
    """The size to which all larger ones must come down, so that `over` is saved; `sizes` from the largest."""
    saved = 0
    for number, size in enumerate(sizes, start=1):
        following = sizes[number] if number < len(sizes) else 0
        if saved + (size - following) * number >= over:
            return max(0, size - -(-(over - saved) // number))
        saved += (size - following) * number
    return 0


def _to_tokens(text: str, level: int) -> str:
    """Shortened to `level` cautious tokens, or to what must be left."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if of_text(shortened(text, middle)) + PER_BLOCK <= level:
            low = middle
        else:
            high = middle - 1
    return shortened(text, max(low, LEAST)) if len(text) > LEAST else text


def _without_images(request: Request, room: int) -> Request:
    over = of_request(request) - room

    def change(block: Block) -> Block:
        nonlocal over
        if over <= 0 or not isinstance(block, Image):
            return block
        over -= of_block(block)
        note = Text(NO_ROOM, block.cache)
        over += of_block(note)
        return note

    return _each(request, change)


def _each(request: Request, change: Callable[[Block], Block]) -> Request:
    messages = tuple(
        Message(message.role, tuple(change(block) for block in message.content)) for message in request.messages
    )
    return replace(request, messages=messages)
