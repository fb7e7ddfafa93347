"""The exact requests of a turn, kept so that they can be shown again.

What stands elsewhere is referred to, with a digest, and not copied: the parts that many turns share (persona, charter,
company, tools) by their digest, messages of the transcript by their ids, pictures by the digest of their bytes. So a
message that its writer deleted, or that was erased, is gone from here too; one that was changed is shown as changed.
The rest (the context, results of tools, what the model wrote on its way) is in the row, compressed. The small question
whether a room speaks to the executive is not kept.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert

from bot.kernel.ids import MessageId, SessionId, TurnId
from bot.kernel.values import dataclass
from bot.llm.budget import Purpose
from bot.llm.metered import Asked
from bot.llm.model import (
    Block,
    CacheMark,
    Effort,
    Image,
    Message,
    Request,
    Text,
    Thinking,
    Tool,
    ToolResult,
    ToolUse,
)
from bot.orchestrator.prompt import text_of
from bot.orchestrator.tables import USED_TO, prompt_part, turn_prompt
from bot.sessions import transcript
from bot.sessions.tables import turn as turn_table
from bot.sessions.transcript import Said
from bot.sessions.turns import Turn
from bot.storage.database import Tx

CHANGED = "[what stood here was changed or deleted since]"
ERASED = "[what stood here was erased]"

Stored = dict[str, Any]

_NEW_PART = upsert(prompt_part)
_KEEP_PARTS = _NEW_PART.on_conflict_do_update(
    index_elements=["digest"],
    set_={"used_at": _NEW_PART.excluded.used_at},
    where=sa.type_coerce(prompt_part.c.used_at, sa.BigInteger)
    < sa.type_coerce(_NEW_PART.excluded.used_at, sa.BigInteger) - USED_TO // timedelta(microseconds=1),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """One block of a kept request."""

    place: str
    """`system 1`, `tools`, `message 3 (user)`."""
    block: Block | None
    """None: the tools as a whole, in `text`."""
    text: str
    said: Said | None
    """The message of the transcript that it shows."""
    whole: bool
    """It is, byte for byte, what was sent."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A request as it was sent. `request` is exact if every block is whole and it held no picture."""

    purpose: Purpose
    at: datetime
    request: Request
    blocks: tuple[Shown, ...]


def keep(tx: Tx, turn: Turn, asked: Sequence[Asked], origins: Mapping[str, MessageId]) -> None:
    """Write the requests of a turn. `origins`: what messages of the transcript look like in a prompt, and which."""
    parts: dict[str, bytes] = {}
    for number, one in enumerate((one for one in asked if one.purpose is not Purpose.GATE), start=1):
        stored = _stored(one.request, origins, parts)
        body = zlib.compress(json.dumps(stored, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace"))
        tx.append(
            turn_prompt,
            {
                "turn_id": turn.id,
                "number": number,
                "session_id": turn.session,
                "purpose": one.purpose.value,
                "at": one.at,
                "body": body,
            },
        )
    if parts:
        at = max(one.at for one in asked)
        rows = [{"digest": digest, "body": body, "used_at": at} for digest, body in parts.items()]
        tx.execute(_KEEP_PARTS, rows)


def turns_of(connection: sa.Connection, session: SessionId) -> list[TurnId]:
    """The session's turns, oldest first."""
    found = connection.execute(
        sa.select(turn_table.c.id).where(turn_table.c.session_id == session).order_by(turn_table.c.id)
    )
    return [TurnId(each) for each in found.scalars()]


def of_turn(connection: sa.Connection, turn: TurnId) -> list[Kept]:
    """The turn's requests in the order in which they were first asked; empty if none was asked, or none is kept."""
    rows = connection.execute(
        sa.select(turn_prompt).where(turn_prompt.c.turn_id == turn).order_by(turn_prompt.c.number)
    ).all()
    return [_kept(connection, row) for row in rows]


# --- to the row -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _part(text: str) -> tuple[str, bytes]:
    raw = text.encode("utf-8", "replace")
    return hashlib.sha256(raw).hexdigest(), zlib.compress(raw)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _stored(request: Request, origins: Mapping[str, MessageId], parts: dict[str, bytes]) -> Stored:
    def part(text: str) -> str:
        digest, body = _part(text)
        parts[digest] = body
        return digest

    tools = f"[{','.join(tool.text for tool in request.tools)}]"
    return {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "thinking": request.thinking,
        "effort": request.effort.value if request.effort else None,
        "system": [[part(block.text), block.cache.value if block.cache else None] for block in request.system],
        "tools": part(tools) if request.tools else None,
        "messages": [
            [message.role, [_stored_block(block, origins) for block in message.content]] for message in request.messages
        ],
    }


def _stored_block(block: Block, origins: Mapping[str, MessageId]) -> Stored:
    cache = getattr(block, "cache", None)
    marked = {"cache": cache.value} if cache else {}
    match block:
        case Text(text) if text in origins:
            return {"kind": "said", "id": origins[text], "digest": _digest(text), **marked}
        case Text(text):
            return {"kind": "text", "text": text, **marked}
        case Image():
            digest = hashlib.sha256(block.data).hexdigest()
            return {"kind": "image", "type": block.media_type, "digest": digest, "size": len(block.data), **marked}
        case ToolUse():
            return {"kind": "use", "id": block.id, "name": block.name, "input": dict(block.input)}
        case ToolResult():
            return {"kind": "result", "id": block.tool_use_id, "text": block.text, "error": block.is_error, **marked}
        case Thinking():
            return {"kind": "thinking", "text": block.text, "sign": block.signature, "redacted": block.redacted}


# --- and back -------------------------------------------------------------------------------------------------------


def _kept(connection: sa.Connection, row: Any) -> Kept:
    stored: Stored = json.loads(zlib.decompress(row.body))
    blocks: list[Shown] = []
    system: list[Text] = []
    for number, (digest, cache) in enumerate(stored["system"], start=1):
        text = _text_of(connection, digest)
        system.append(Text(text or ERASED, CacheMark(cache) if cache else None))
        blocks.append(Shown(f"system {number}", system[-1], system[-1].text, None, text is not None))
    tools: tuple[Tool, ...] = ()
    if stored["tools"] is not None:
        text = _text_of(connection, stored["tools"])
        tools = tuple(Tool(**each) for each in json.loads(text or "[]"))
        blocks.append(Shown("tools", None, text or ERASED, None, text is not None))
    wanted = [b["id"] for _, content in stored["messages"] for b in content if b["kind"] == "said"]
    known = transcript.by_ids(connection, [MessageId(each) for each in wanted])
    messages: list[Message] = []
    for number, (role, content) in enumerate(stored["messages"], start=1):
        shown = [_shown(f"message {number} ({role})", each, known) for each in content]
        blocks += shown
        messages.append(Message(role, tuple(one.block for one in shown if one.block is not None)))
    effort = Effort(stored["effort"]) if stored["effort"] else None
    request = Request(
        stored["model"], tuple(system), tuple(messages), tools, stored["max_tokens"], stored["thinking"], effort
    )
    return Kept(Purpose(row.purpose), row.at, request, tuple(blocks))


def _text_of(connection: sa.Connection, digest: str) -> str | None:
    body = connection.execute(sa.select(prompt_part.c.body).where(prompt_part.c.digest == digest)).scalar()
    return None if body is None else zlib.decompress(body).decode("utf-8")


def _shown(place: str, stored: Stored, known: Mapping[MessageId, Said]) -> Shown:
    cache = CacheMark(stored["cache"]) if "cache" in stored else None
    match stored["kind"]:
        case "said":
            said = known.get(MessageId(stored["id"]))
            text = ERASED if said is None else text_of(said)
            whole = said is not None and _digest(text) == stored["digest"]
            if said is not None and not whole and _digest(text.rstrip()) == stored["digest"]:
                text, whole = text.rstrip(), True  # white space at the very end is not sent
            shown = text if whole or said is None else CHANGED
            return Shown(place, Text(shown, cache), shown, said, whole)
        case "text":
            return Shown(place, Text(stored["text"], cache), stored["text"], None, whole=True)
        case "image":
            text = f"[{stored['type']}, {stored['size']} bytes, SHA-256 {stored['digest']}]"
            return Shown(place, Image(stored["type"], b"", cache), text, None, whole=False)
        case "use":
            use = ToolUse(stored["id"], stored["name"], stored["input"])
            return Shown(place, use, json.dumps(stored["input"], ensure_ascii=False), None, whole=True)
        case "result":
            result = ToolResult(stored["id"], stored["text"], stored["error"], cache)
            return Shown(place, result, result.text, None, whole=True)
        case _:
            thought = Thinking(stored["text"], stored["sign"], stored["redacted"])
            return Shown(place, thought, thought.text, None, whole=True)


def exact(kept: Kept) -> bool:
    return all(block.whole for block in kept.blocks)


def without_texts(shown: Shown) -> Shown:
    """For who gave no reason to read."""
    return replace(shown, block=None, text="", said=None)
