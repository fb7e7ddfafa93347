"""The exact prompt of a turn, block by block. Sizes and origins are shown freely; what people said and the model was
told of it only for a reason, which is recorded in the same transaction as the reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sqlalchemy as sa

from bot.audit.events import ContentViewed, Record
from bot.audit.recorder import Recorder
from bot.control.request import OPERATOR, Request, parsed
from bot.gateway.channel import LocalPeer
from bot.kernel.errors import PermanentError
from bot.kernel.ids import SessionId, TurnId
from bot.kernel.values import dataclass
from bot.llm import tokens
from bot.llm.budget import Purpose
from bot.llm.model import CacheMark, Text, Thinking, ToolResult, ToolUse
from bot.orchestrator import kept
from bot.orchestrator.kept import Kept, Shown
from bot.orchestrator.loop import LAST_ROUND
from bot.sessions import threads
from bot.storage.database import Database, Tx

PIECE = 200_000
"""Characters of one message over the socket."""
_CACHE = {CacheMark.SHORT: "cached up to here for five minutes", CacheMark.LONG: "cached up to here for an hour"}


class Explain(Request):
    session: str
    turn: int | None = None
    """From 1; the newest when left out; -1 is the newest too, -2 the one before."""
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    turn: TurnId
    number: int
    count: int
    requests: list[Kept]


@dataclass(frozen=True, slots=True)
class Explaining:
    database: Database
    recorder: Recorder

    async def explain(self, peer: LocalPeer, first: Mapping[str, object]) -> None:
        request = parsed(Explain, first)
        reason = (request.reason or "").strip()

        def unit(tx: Tx) -> _Found:
            found = _find(tx.connection, request)
            session = SessionId(request.session)
            self.recorder.record(tx, Record(ContentViewed(session), OPERATOR, session, found.turn, reason))
            return found

        found = await (self.database.write(unit) if reason else self.database.read(lambda c: _find(c, request)))
        for number, one in enumerate(found.requests, start=1):
            await peer.send({"request": _described(number, one)})
            for block in one.blocks:
                await peer.send({"block": _block(block, one)})
                for start in range(0, len(block.text), PIECE) if reason else ():
                    await peer.send({"text": block.text[start : start + PIECE]})
        await peer.send(
            {"ok": True, "turn": found.turn, "number": found.number, "count": found.count, "texts": bool(reason)}
        )


def _find(connection: sa.Connection, request: Explain) -> _Found:
    session = SessionId(request.session)
    if threads.get(connection, session) is None:
        raise PermanentError(f"there is no session {session}: see `openexecutive sessions list`")
    turns = kept.turns_of(connection, session)
    wanted = -1 if request.turn is None else request.turn
    index = wanted - 1 if wanted > 0 else len(turns) + wanted
    if not 0 <= index < len(turns) or wanted == 0:
        raise PermanentError(f"session {session} has turns 1 to {len(turns)}" if turns else "it has no turn yet")
    return _Found(turns[index], index + 1, len(turns), kept.of_turn(connection, turns[index]))


def _described(number: int, one: Kept) -> dict[str, object]:
    request = one.request
    return {
        "number": number,
        "purpose": one.purpose.value,
        "at": one.at.isoformat(),
        "model": request.model,
        "max_tokens": request.max_tokens,
        "thinking": request.thinking,
        "tokens": sum(_tokens(block) for block in one.blocks),
        "exact": kept.exact(one),
    }


def _block(shown: Shown, one: Kept) -> dict[str, object]:
    cache = getattr(shown.block, "cache", None)
    return {
        "place": shown.place,
        "origin": _origin(shown, one),
        "tokens": _tokens(shown),
        "cache": _CACHE[cache] if cache is not None else None,
        "whole": shown.whole,
    }


def _tokens(shown: Shown) -> int:
    return tokens.of_text(shown.text) if shown.block is None else tokens.of_block(shown.block)


def _origin(shown: Shown, one: Kept) -> str:
    """Where the block comes from, in words."""
    if shown.said is not None:
        who = "the executive" if shown.said.role == "assistant" else shown.said.speaker
        row = "" if shown.said.role == "assistant" else f", inbox row {shown.said.id}"
        return f"transcript message {shown.said.id} of {who}, {shown.said.sent_at:%Y-%m-%dT%H:%MZ}{row}"
    if shown.place.startswith("system"):
        return _system(shown.place, one.purpose)
    match shown.block:
        case None:
            return "tools of this program: " + ", ".join(tool.name for tool in one.request.tools)
        case ToolUse(name=name):
            return f"the model's call of {name} in this turn"
        case ToolResult(tool_use_id=called):
            return f"result of {_called(one, called)} in this turn"
        case Thinking():
            return "the model's thinking in this turn"
        case Text(text=text):
            return _text(text, shown, one.purpose)
        case _:
            return "a picture that came with a message of this turn"


def _system(place: str, purpose: Purpose) -> str:
    if place == "system 1":
        return {
            Purpose.ANSWER: "config/persona.md",
            Purpose.CONSULT: "config/consult.md and the charter of the field",
        }.get(purpose, "rules of this program")
    return "the company's profile, as far as those may know it who read here (`openexecutive company show`)"


def _text(text: str, shown: Shown, purpose: Purpose) -> str:
    for start, origin in _STARTS.items():
        if text.startswith(start):
            return origin
    if "(assistant)" in shown.place:
        return "the model's own words in this turn"
    if purpose is Purpose.CONSULT:
        return "facts and question, as the executive handed them on"
    return "a message, as far as there was room for it"


_STARTS = {
    "<context>": "the clock, the asker's time zone, the place",
    "<earlier_conversation": "the summary of the thread's older part",
    "<not_shown": "a note: older messages are not shown",
    LAST_ROUND: "a rule of this program: the last round",
    "[An image": "a note in the place of a picture",
}


def _called(one: Kept, call: str) -> str:
    return next(_names(one, call), "a tool")


def _names(one: Kept, call: str) -> Iterator[str]:
    for message in one.request.messages:
        for block in message.content:
            if isinstance(block, ToolUse) and block.id == call:
                yield block.name
