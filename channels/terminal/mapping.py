"""What a client says, as events. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from bot.gateway.commands import immediate, typed
from bot.gateway.events import (
    Addressed,
    Attachment,
    Body,
    CommandInvoked,
    MessageReceived,
    Nature,
    Place,
    PlaceKind,
    Proof,
    ReplyPath,
    Sender,
    Thread,
)
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash
from bot.kernel.values import dataclass

NAME = "terminal"
SHOWN_KEPT = 500
"""Keys that a client may tell of, newest last."""
ALONE = "!"
"""Ends the ref of an answer that covers nothing said before it (commands that run outside the lane)."""

_THREAD = re.compile(r"[a-z0-9-]{1,40}")
FILES_TAKEN = 20
_BLOB = re.compile(r"[0-9a-f]{64}")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Hello:
    """The first object of a connection."""

    thread: str
    """Thread key."""
    client: str
    shown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Say:
    id: str
    text: str
    files: tuple[Attachment, ...] = ()
    """The client has put them into the daemon's own folder."""


@dataclass(frozen=True, slots=True)
class Ack:
    key: str


def thread_key(person: str, name: str) -> str:
    """`cli:<person>:<name>`. The colon stands in neither part: no two people share a thread. Raises
    `PermanentError`."""
    if not _THREAD.fullmatch(name):
        raise PermanentError(f"{name!r} is no name for a thread: small letters, digits and -, at most 40 characters")
    return f"cli:{person}:{name}"


def read_hello(first: Mapping[str, object], person: str) -> Hello:
    """Raises `PermanentError` for what the client must not say."""
    name, client, shown = first.get("thread", "main"), first.get("client"), first.get("shown", [])
    if not isinstance(name, str) or not isinstance(client, str) or not _ID.fullmatch(client):
        raise PermanentError("a chat begins with the names of its thread and its client")
    if not isinstance(shown, list) or not all(isinstance(key, str) for key in shown):
        raise PermanentError("the keys that were shown are a list of texts")
    return Hello(thread_key(person, name), client, tuple(shown[-SHOWN_KEPT:]))


def read(message: Mapping[str, object]) -> Say | Ack:
    """Raises `PermanentError` for anything else."""
    match message:
        case {"type": "say", "id": str(say_id), "text": str(text)} if _ID.fullmatch(say_id):
            return Say(say_id, text, _files(message.get("files", [])))
        case {"type": "ack", "key": str(key)}:
            return Ack(key)
        case _:
            raise PermanentError("the daemon does not understand what this client says: are both of one version?")


def _files(given: object) -> tuple[Attachment, ...]:
    if not isinstance(given, list) or len(given) > FILES_TAKEN:
        raise PermanentError(f"at most {FILES_TAKEN} files are taken at once")
    return tuple(_file(each) for each in given)


def _file(given: object) -> Attachment:
    match given:
        case {"name": str(name), "blob": str(blob), "size": int(size)} if _BLOB.fullmatch(blob):
            return Attachment(name, "", size, blob=BlobHash(blob))
        case _:
            raise PermanentError("a file has a name, a size and the hash of its bytes")


def event(say: Say, thread: str, person: str, now: datetime) -> MessageReceived | CommandInvoked:
    key = f"{NAME}:{thread}:{say.id}"
    where = Thread(thread, thread)
    place = Place(PlaceKind.DIRECT, NAME)
    sender = Sender(person, person, Nature.PERSON, Proof.LOCAL)
    command = typed(say.text)
    if command is not None:
        alone = ALONE if immediate(command.name) else ""
        path = ReplyPath(thread, person, say.id + alone)
        return CommandInvoked((key,), key, where, place, sender, command.name, command.arguments, now, path)
    path = ReplyPath(thread, person, say.id)
    return MessageReceived((key,), key, where, place, sender, Body(say.text), now, Addressed.DIRECT, path, say.files)


def answers(ref: str | None) -> tuple[str | None, bool]:
    """(id of the say that a reply answers, whether it answers that one alone)."""
    if ref is None:
        return None, True
    return ref.removesuffix(ALONE), ref.endswith(ALONE)
