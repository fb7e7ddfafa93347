"""Rough token counts, for deciding what fits; what was really used is in `Usage`. Pure.

Four characters to a token is the provider's own rule of thumb for English; an image costs up to about 1,600 tokens
(width x height / 750, scaled down to 1.15 megapixels).
"""

from __future__ import annotations

from collections.abc import Iterable

from bot.llm.model import Block, Image, Message, Request, Text, Thinking, ToolResult, ToolUse

CHARACTERS = 4
IMAGE = 1_600


def of_text(text: str) -> int:
    """At least 1 for anything that is not empty."""
    return -(-len(text) // CHARACTERS)


def of_block(block: Block) -> int:
    match block:
        case Text() | ToolResult():
            return of_text(block.text)
        case Image():
            return IMAGE
        case ToolUse():
            return of_text(block.name) + of_text(str(dict(block.input)))
        case Thinking():
            return of_text(block.text or block.signature)


def of_messages(messages: Iterable[Message]) -> int:
    return sum(of_block(block) for message in messages for block in message.content)


def of_request(request: Request) -> int:
    tools = sum(of_text(tool.text) for tool in request.tools)
    return tools + sum(of_text(block.text) for block in request.system) + of_messages(request.messages)
