"""The client's side of a chat, without input or output: what is to be said (again), what was shown, what is answered.

Ids of what is said sort by time, so that an answer to something said later, even in another window of the same thread,
is known to cover what was said before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from bot.gateway.commands import immediate, typed
from bot.kernel.values import dataclass

SHOWN_TOLD = 200
"""Keys that a new connection is told of; the daemon can be in doubt only about the last ones."""


@dataclass(frozen=True, slots=True)
class File:
    """One that lies in the daemon's folder already."""

    name: str
    size: int
    blob: str


@dataclass(frozen=True, slots=True)
class Accepted:
    id: str


@dataclass(frozen=True, slots=True)
class NotTaken:
    """To be said again, later."""

    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Draft:
    text: str | None
    """None: a sign of life."""


@dataclass(frozen=True, slots=True)
class Message:
    """To be shown, unless `known`; then `Conversation.shown`, then acknowledged."""

    key: str
    text: str
    covers: tuple[str, ...]
    """Ids of what we said that it answers."""
    known: bool


Heard = Accepted | NotTaken | Refused | Draft | Message


@dataclass(slots=True)
class Conversation:
    thread: str
    client: str
    _unaccepted: dict[str, dict[str, object]] = field(default_factory=dict)
    _open: dict[str, bool] = field(default_factory=dict)
    """What waits for an answer, in order; whether it is answered alone."""
    _shown: dict[str, None] = field(default_factory=dict)

    def hello(self) -> dict[str, object]:
        return {
            "op": "chat",
            "thread": self.thread,
            "client": self.client,
            "shown": list(self._shown)[-SHOWN_TOLD:],
        }

    def say(self, say_id: str, text: str, files: Sequence[File] = ()) -> dict[str, object]:
        """`say_id` must sort after all earlier ones."""
        command = typed(text)
        self._unaccepted[say_id] = said = _said(say_id, text, files)
        self._open[say_id] = command is not None and immediate(command.name)
        return said

    def unaccepted(self) -> list[dict[str, object]]:
        """What a new connection has to hear, in order: the daemon drops what it has already."""
        return list(self._unaccepted.values())

    def waits(self, say_id: str) -> bool:
        """Whether this is still to be answered."""
        return say_id in self._open

    def heard(self, message: Mapping[str, object]) -> Heard | None:
        """What an object of the daemon means; None for one that this version does not know."""
        match message:
            case {"type": "accepted", "id": str(say_id)}:
                self._unaccepted.pop(say_id, None)
                return Accepted(say_id)
            case {"type": "not_taken", "id": str(say_id), "message": str(why)}:
                return NotTaken(say_id, why)
            case {"type": "refused", "id": str(say_id), "message": str(why)}:
                self._unaccepted.pop(say_id, None)
                self._open.pop(say_id, None)
                return Refused(say_id, why)
            case {"type": "draft", "text": str() | None as text}:
                return Draft(text)
            case {
                "type": "message",
                "key": str(key),
                "text": str(text),
                "re": str() | None as re,
                "alone": bool(alone),
            }:
                return Message(key, text, self._covered(re, alone), key in self._shown)
            case _:
                return None

    def shown(self, message: Message) -> dict[str, object]:
        """Note that it was shown; returns the acknowledgement."""
        self._shown[message.key] = None
        for say_id in message.covers:
            self._open.pop(say_id, None)
            self._unaccepted.pop(say_id, None)  # an answer proves that it arrived
        return {"type": "ack", "key": message.key}

    def _covered(self, re: str | None, alone: bool) -> tuple[str, ...]:
        if re is None:
            return ()
        if alone:
            return (re,) if re in self._open else ()
        return tuple(say_id for say_id, by_itself in self._open.items() if say_id <= re and not by_itself)


def _said(say_id: str, text: str, files: Sequence[File]) -> dict[str, object]:
    with_files = {"files": [{"name": f.name, "size": f.size, "blob": f.blob} for f in files]} if files else {}
    return {"type": "say", "id": say_id, "text": text, **with_files}
