"""Names of conversations, and what people do in pages, as events. Pure.

The name of a conversation holds a proof of whose it is: nobody else's account can be made to write in it, whatever
address a browser asks for, and no look-up is needed to know that.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Sequence
from datetime import datetime

from bot.gateway.commands import typed
from bot.gateway.events import (
    Addressed,
    Attachment,
    Body,
    ButtonPressed,
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
from bot.gateway.pages import Account, UnknownChatError, Written
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash

NAME = "web"
MOST_FILES = 20
LONGEST_NAME = 200
_HALF = 16
_CHAT = re.compile(r"[0-9a-f]{32}")
_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
_PLACE = Place(PlaceKind.DIRECT, "")


def chat_of(secret: bytes, account: str, seed: bytes) -> str:
    """The conversation that this account begins from 8 bytes."""
    told = seed.hex()
    return told + _proof(secret, "chat", account, told)[:_HALF]


def home(secret: bytes, account: str) -> str:
    """The account's first conversation, which needs no beginning."""
    return chat_of(secret, account, bytes(_HALF // 2))


def is_of(secret: bytes, account: str, chat: str) -> bool:
    if not _CHAT.fullmatch(chat):
        return False
    return hmac.compare_digest(chat[_HALF:], _proof(secret, "chat", account, chat[:_HALF])[:_HALF])


def thread_key(secret: bytes, account: str, chat: str) -> str:
    """`web:<chat>`. Raises `UnknownChatError` for one that is not this account's."""
    if not is_of(secret, account, chat):
        raise UnknownChatError("There is no such conversation.")
    return f"{NAME}:{chat}"


def sign(secret: bytes, thread: str, name: str, blob: BlobHash, size: int) -> str:
    """What stands for an uploaded file until its message is sent."""
    packed = urlsafe_b64encode(json.dumps([name, blob, size], ensure_ascii=False).encode()).decode()
    return f"{packed}.{_proof(secret, 'file', thread, packed)}"


def attachment(secret: bytes, thread: str, handle: str) -> Attachment:
    """Raises `PermanentError` for a handle that was not made for this conversation."""
    packed, _, proof = handle.partition(".")
    if not hmac.compare_digest(proof.encode(), _proof(secret, "file", thread, packed).encode()):
        raise PermanentError("This file is not known here: add it again.")
    try:
        name, blob, size = json.loads(urlsafe_b64decode(packed))
    except (ValueError, NotBase64) as error:
        raise PermanentError("This file is not known here: add it again.") from error
    return Attachment(name, "", size, blob=BlobHash(blob))


def event(
    account: Account, thread: str, written: Written, files: Sequence[Attachment], now: datetime
) -> MessageReceived | CommandInvoked:
    """Raises `PermanentError` for what cannot be said."""
    if not _ID.fullmatch(written.id):
        raise PermanentError("This message has no usable id: load the page again.")
    text = written.text.strip("\n")
    if not text.strip() and not files:
        raise PermanentError("An empty message says nothing.")
    # Who goes back in a browser finds the old id in the form: other words under it are another message.
    said = hashlib.sha256("\0".join((text, *(each.blob or "" for each in files))).encode()).hexdigest()[:16]
    key = f"{thread}:{written.id}:{said}"
    where, path = Thread(thread, thread), ReplyPath(thread, account.id)
    command = typed(text) if not files else None
    if command is not None:
        return CommandInvoked(
            (key,), key, where, _PLACE, sender(account), command.name, command.arguments, now, path
        )  # fmt: skip
    return MessageReceived(
        (key,), key, where, _PLACE, sender(account), Body(text), now, Addressed.DIRECT, path, tuple(files)
    )  # fmt: skip


def pressed(
    account: Account, thread: str, ref: str, token: str, press: str, response: str, now: datetime
) -> ButtonPressed:
    """Raises `PermanentError`."""
    if not _ID.fullmatch(press):
        raise PermanentError("This press has no usable id: load the page again.")
    key = f"{thread}:press:{press}"
    return ButtonPressed((key,), ref, Thread(thread, thread), _PLACE, sender(account), token, now, response)


def sender(account: Account) -> Sender:
    """The console has signed the person in: it is the platform here."""
    return Sender(account.id, account.name[:64], Nature.PERSON, Proof.PLATFORM)


def _proof(secret: bytes, purpose: str, *told: str) -> str:
    return hmac.new(secret, "\0".join((purpose, *told)).encode(), hashlib.sha256).hexdigest()
