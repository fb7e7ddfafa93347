"""Carrying out operations on the Bot API. Each is tried once; a second request follows only a refusal that says that
nothing happened and what to leave out, and never goes to another audience."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from telegram import (
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputFile,
    LinkPreviewOptions,
    Message,
    ReactionTypeEmoji,
    ReplyParameters,
)
from telegram.constants import ParseMode
from telegram.error import BadRequest, ChatMigrated

from bot.gateway.channel import FileStore
from bot.gateway.events import ReplyPath
from bot.gateway.operations import Ask, Delete, Edit, OpenThread, OutboundOp, React, Send
from bot.kernel.values import dataclass
from channels.telegram.client import Client
from channels.telegram.keys import message_of, ref, target_of
from channels.telegram.render import marked

_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
_BUTTONS_PER_ROW = 2
_NO_TOPIC = ("thread not found", "topic_closed", "topic_deleted", "topic_id_invalid")


@dataclass(frozen=True, slots=True)
class _Form:
    """How a message is tried."""

    chat: int
    topic: int | None
    answers: int | None
    html: bool = True

    def without_what_was_refused(self, words: str) -> _Form | None:
        """The form to try next after a refusal in `words`, or None. The chat stays: a fallback never changes who
        reads."""
        if "parse entities" in words and self.html:
            return replace(self, html=False)
        if self.answers is not None and ("repl" in words and "not found" in words):
            return replace(self, answers=None)
        if self.topic is not None and (
            "thread not found" in words or "topic_closed" in words or "topic_deleted" in words
        ):
            return replace(self, topic=None)
        return None


class Deliverer:
    """`on_moved(old, new)` is awaited when a send finds out that a group has become a supergroup."""

    def __init__(self, client: Client, files: FileStore, on_moved: Callable[[int, int], Awaitable[None]]) -> None:
        self._client = client
        self._files = files
        self._on_moved = on_moved
        self._moved: dict[int, int] = {}

    async def deliver(self, op: OutboundOp, again: bool) -> str | None:
        """Carry out `op` and return the ref of the message. Raises the library's errors and `PermanentError`."""
        match op:
            case Send():
                return await self._send(marked(op) if again else op)
            case Ask():
                text = marked(Send(op.path, op.text, op.plain)) if again else op
                return await self._post(op.path, _Words(text.text, text.plain), _keyboard(op))
            case Edit():
                return await self._edit(op)
            case Delete():
                return await self._delete(op)
            case React():
                return await self._react(op)
            case OpenThread():
                return None  # a topic that we know the key of is there already

    async def _send(self, op: Send) -> str:
        if not op.files:
            return await self._post(op.path, _Words(op.text, op.plain), None)
        (file,) = op.files
        data = await self._files.read(file.blob)

        async def document(form: _Form) -> Message:
            caption = op.text if form.html else op.plain
            return await self._client.send_document(
                form.chat,
                InputFile(data, filename=file.name, attach=True),
                caption=caption or None,
                parse_mode=ParseMode.HTML if form.html and caption else None,
                message_thread_id=form.topic,
                reply_parameters=_reply(form),
            )

        return await self._try(op.path, document)

    async def _post(self, path: ReplyPath, words: _Words, keyboard: InlineKeyboardMarkup | None) -> str:
        async def message(form: _Form) -> Message:
            return await self._client.send_message(
                form.chat,
                words.html if form.html else words.plain,
                parse_mode=ParseMode.HTML if form.html else None,
                link_preview_options=_NO_PREVIEW,
                message_thread_id=form.topic,
                reply_parameters=_reply(form),
                reply_markup=keyboard,
            )

        return await self._try(path, message)

    async def _try(self, path: ReplyPath, send: Callable[[_Form], Awaitable[Message]]) -> str:
        target = target_of(path.thread)
        chat = self._moved.get(target.chat, target.chat)
        answered, answers = message_of(path.ref) if path.ref else (chat, None)
        form = _Form(chat, target.topic, answers if answered == chat else None)
        while True:
            try:
                message = await send(form)
            except BadRequest as error:
                following = form.without_what_was_refused(error.message.lower())
                if following is None:
                    raise
                form = following
            except ChatMigrated as error:
                if error.new_chat_id == form.chat:
                    raise
                self._moved[target.chat] = error.new_chat_id
                await self._on_moved(target.chat, error.new_chat_id)
                # Message ids do not survive the move, so there is nothing to answer to.
                form = replace(form, chat=error.new_chat_id, answers=None)
            else:
                return ref(form.chat, message.message_id)

    async def _edit(self, op: Edit) -> str:
        chat, message_id = message_of(op.target)
        html = True
        while True:
            try:
                await self._client.edit_message_text(
                    op.text if html else op.plain,
                    chat_id=chat,
                    message_id=message_id,
                    parse_mode=ParseMode.HTML if html else None,
                    link_preview_options=_NO_PREVIEW,
                )
            except BadRequest as error:
                words = error.message.lower()
                if "not modified" in words:
                    return op.target
                if "parse entities" not in words or not html:
                    raise
                html = False
            else:
                return op.target

    async def _delete(self, op: Delete) -> str:
        chat, message_id = message_of(op.target)
        try:
            await self._client.delete_message(chat, message_id)
        except BadRequest as error:
            if "not found" not in error.message.lower():
                raise
        return op.target

    async def _react(self, op: React) -> str:
        chat, message_id = message_of(op.target)
        reaction = [ReactionTypeEmoji(op.emoji)] if op.emoji else []
        await self._client.set_message_reaction(chat, message_id, reaction=reaction)
        return op.target


@dataclass(frozen=True, slots=True)
class _Words:
    html: str
    plain: str


def _reply(form: _Form) -> ReplyParameters | None:
    if form.answers is None:
        return None
    return ReplyParameters(form.answers, allow_sending_without_reply=True)


def _keyboard(op: Ask) -> InlineKeyboardMarkup:
    buttons = [InlineKeyboardButton(choice.label, callback_data=choice.token) for choice in op.choices]
    return InlineKeyboardMarkup([buttons[i : i + _BUTTONS_PER_ROW] for i in range(0, len(buttons), _BUTTONS_PER_ROW)])
