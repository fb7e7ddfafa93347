"""Forms where there are none: a message that asks to be answered. The answer is what was filled in.

Which message asks for what is kept beside the cursors, one small record each, so that a form outlives a restart and
nobody can make one up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape

from telegram import ForceReply, LinkPreviewOptions, ReplyParameters, Update
from telegram.constants import ParseMode

from bot.gateway.channel import Cursor, Inbox
from bot.gateway.events import ReplyPath
from bot.gateway.forms import Form
from bot.kernel.errors import PermanentError
from bot.kernel.values import dataclass
from channels.telegram.client import Client
from channels.telegram.content import Me, answered_message
from channels.telegram.keys import ref, thread_key

ASKS = "Answer this message with the new words."
_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
_MAX_PLACEHOLDER = 64
"""Characters of `input_field_placeholder` (Bot API, ForceReply)."""


@dataclass(frozen=True, slots=True)
class Handle:
    """For an answer to a press: the query, where its button stands, and who pressed. For an answer to a form that was
    sent: the same without a query, and with the message that was sent."""

    query: str
    chat: int
    topic: int | None
    message: int
    user: int

    def __str__(self) -> str:
        return f"{self.query}|{self.chat}|{self.topic or ''}|{self.message}|{self.user}"

    @property
    def path(self) -> ReplyPath:
        return ReplyPath(thread_key(self.chat, self.topic), str(self.user), ref(self.chat, self.message))

    @staticmethod
    def read(response: str) -> Handle | None:
        query, *parts = response.split("|")
        if len(parts) != 4:
            return None
        chat, topic, message, user = parts
        return Handle(query, int(chat), int(topic) if topic else None, int(message), int(user))


@dataclass(frozen=True, slots=True)
class Asked:
    """What an answer to a message of ours fills in."""

    token: str
    field: str
    ref: str
    """The message whose button was pressed."""


async def show(client: Client, inbox: Inbox, form: Form, handle: Handle) -> None:
    """Ask for the one field of a form. Raises the library's errors, `PermanentError` for a form of several fields and
    `TransientError` of the inbox."""
    if len(form.fields) != 1:
        raise PermanentError("Telegram has no forms: only one thing can be asked for at a time")
    (field,) = form.fields
    who = "" if handle.chat > 0 else f' (<a href="tg://user?id={handle.user}">for you</a>)'
    now = f"\n\n<pre>{escape(field.value, quote=False)}</pre>" if field.value else ""
    message = await client.send_message(
        handle.chat,
        f"<b>{escape(form.title, quote=False)}</b> – {escape(field.label, quote=False)}{who}. {ASKS}{now}",
        parse_mode=ParseMode.HTML,
        link_preview_options=_NO_PREVIEW,
        message_thread_id=handle.topic,
        reply_parameters=ReplyParameters(handle.message, allow_sending_without_reply=True),
        reply_markup=ForceReply(selective=True, input_field_placeholder=field.label[:_MAX_PLACEHOLDER]),
    )
    asked = {"token": form.token, "field": field.name, "ref": ref(handle.chat, handle.message)}
    await inbox.accept((), Cursor(_name(handle.chat, message.message_id), json.dumps(asked)))


async def answered(updates: Sequence[Update], me: Me, inbox: Inbox) -> Mapping[tuple[int, int], Asked]:
    """Of the messages of ours that these updates answer, those that ask for something; by chat and message."""
    found: dict[tuple[int, int], Asked] = {}
    for update in updates:
        message = update.message
        ours = None if message is None else answered_message(message)
        if message is None or ours is None or ours.from_user is None or ours.from_user.id != me.id:
            continue
        kept = await inbox.cursor(_name(message.chat.id, ours.message_id))
        if kept is not None:
            found[message.chat.id, ours.message_id] = Asked(**json.loads(kept))
    return found


def _name(chat: int, message: int) -> str:
    return f"form:{chat}:{message}"
