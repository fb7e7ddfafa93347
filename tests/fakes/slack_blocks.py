"""What Slack refuses in messages, and what people see of them. Pure.

Limits are those of the Block Kit reference: 50 blocks in a message, 3,000 characters in a section, 25 elements of
`actions`, 75 characters on a button, 2,000 in its value, 255 in ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

JsonObject = dict[str, Any]

MAX_TEXT = 40_000
MAX_UPDATE = 4_000
MAX_BLOCKS = 50
_LIMITS = {"section": 3000, "header": 150, "context": 3000}
_PINGS = re.compile(r"<(?:!|@|#)[^>]*>")


def block_faults(blocks: Sequence[Any]) -> list[str]:
    """Why these blocks are refused; empty if they are not."""
    faults: list[str] = []
    if len(blocks) > MAX_BLOCKS:
        faults.append(f"no more than {MAX_BLOCKS} items allowed [json-pointer:/blocks]")
    ids: set[str] = set()
    for number, block in enumerate(blocks):
        at = f"[json-pointer:/blocks/{number}]"
        if not isinstance(block, dict):
            faults.append(f"must be an object {at}")
            continue
        block_id = block.get("block_id")
        if block_id is not None and (len(str(block_id)) > 255 or block_id in ids):
            faults.append(f"bad block_id {at}")
        ids.add(str(block_id or f"auto{number}"))
        faults += [f"{fault} {at}" for fault in _block(block)]
    return faults


def _block(block: JsonObject) -> Iterator[str]:
    kind = block.get("type")
    if kind == "section":
        yield from _text(block.get("text"), 3000, ("mrkdwn", "plain_text"))
    elif kind == "context":
        elements = block.get("elements") or []
        if not 1 <= len(elements) <= 10:
            yield "1 to 10 elements are allowed"
        for element in elements:
            yield from _text(element, 3000, ("mrkdwn", "plain_text"))
    elif kind == "header":
        yield from _text(block.get("text"), 150, ("plain_text",))
    elif kind == "actions":
        elements = block.get("elements") or []
        if not 1 <= len(elements) <= 25:
            yield "1 to 25 elements are allowed"
        actions = [str(e.get("action_id")) for e in elements]
        if len(set(actions)) != len(actions):
            yield "action_id is not unique"
        for element in elements:
            yield from _button(element)
    elif kind != "divider":
        yield f"unsupported type: {kind}"


def _button(element: JsonObject) -> Iterator[str]:
    if element.get("type") != "button":
        yield f"unsupported element: {element.get('type')}"
    yield from _text(element.get("text"), 75, ("plain_text",))
    if len(str(element.get("value", ""))) > 2000:
        yield "value is too long"
    if not 0 < len(str(element.get("action_id", "x"))) <= 255:
        yield "bad action_id"


def _text(text: Any, limit: int, kinds: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(text, dict) or text.get("type") not in kinds:
        yield "a text object is wanted"
        return
    if not 1 <= len(str(text.get("text", ""))) <= limit:
        yield f"must be 1 to {limit} characters"


def shown(message: JsonObject) -> str:
    """The source of what people see: the texts of the blocks if there are any, else `text`."""
    blocks = message.get("blocks") or []
    if not blocks:
        return str(message.get("text") or "")
    return "\n\n".join(str(block["text"]["text"]) for block in blocks if block.get("type") in ("section", "header"))


def pings(message: JsonObject) -> list[str]:
    """Every live mention of a person, a group, a channel or everyone."""
    return _PINGS.findall(shown(message)) + _PINGS.findall(str(message.get("text") or ""))
