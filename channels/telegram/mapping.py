"""A Telegram update as events of the gateway. Pure.

Every update is judged by its own fields: nothing about a person is carried from one update to another. Without the
bot's own verified account (`Me`) nothing can be mapped, so a bot that does not know itself answers nobody.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

from telegram import (
    CallbackQuery,
    Chat,
    ChatMember,
    ChatMemberMember,
    ChatMemberRestricted,
    ChatMemberUpdated,
    Message,
    Update,
    User,
)

from bot.gateway.commands import ParsedCommand, typed
from bot.gateway.events import (
    Addressed,
    Body,
    ButtonPressed,
    Change,
    CommandInvoked,
    FormSubmitted,
    InboundEvent,
    MembershipChanged,
    MessageEdited,
    MessageReceived,
    Nature,
    Place,
    PlaceKind,
    Proof,
    ReplyPath,
    Sender,
    SpanKind,
    Thread,
)
from channels.telegram.content import Me, answered_message, attachments_of, body_of, mentions, quotes_of
from channels.telegram.forms import Asked, Handle
from channels.telegram.keys import place_key, ref, target_of, thread_key

GENERAL_TOPIC = 1
START = "start"
_UNKNOWABLE = frozenset({1087968824, 136817688, 777000})
"""Accounts that stand for others: anonymous group admins, channels that write in a group, channel posts relayed."""

Members = Callable[[int], int | None]
"""Chat id to the number of members that the platform has just told, if it has."""


def map_update(
    update: Update,
    me: Me,
    members: Members,
    limit: int,
    now: datetime,
    forms: Mapping[tuple[int, int], Asked] = MappingProxyType({}),
) -> tuple[InboundEvent, ...]:
    """Events of one update, in order; none for what does not concern the executive.

    `limit`: largest file in bytes. `now` dates what the platform does not date (presses). `forms`: messages of ours
    that ask for something, by chat and message.
    """
    if (message := update.message or update.channel_post) is not None:
        filled = _form(message, me, members, forms)
        if filled:
            return filled
        return _service(message, me, members) or _message(message, me, members, limit)
    if (edited := update.edited_message or update.edited_channel_post) is not None:
        return _edit(edited, me, members)
    if update.callback_query is not None:
        return _press(update.callback_query, me, members, now)
    if update.my_chat_member is not None:
        return _own_membership(update.my_chat_member, members)
    if update.chat_member is not None:
        return _membership(update.chat_member, me, members)
    return ()


def group_of(update: Update) -> int | None:
    """The group whose number of members matters for the events of this update, if any."""
    chat = update.effective_chat
    return chat.id if chat is not None and chat.type in (Chat.GROUP, Chat.SUPERGROUP) else None


def changes_members(update: Update) -> bool:
    """Whether this update makes a number of members that is known outdated."""
    message = update.message
    return (
        update.chat_member is not None
        or update.my_chat_member is not None
        or (message is not None and (bool(message.new_chat_members) or message.left_chat_member is not None))
    )


def _message(message: Message, me: Me, members: Members, limit: int) -> tuple[InboundEvent, ...]:
    sender = _sender(message, me)
    body = body_of(message)
    attachments = attachments_of(message, limit)
    if sender.nature in (Nature.SELF, Nature.BOT) or not (body.text or attachments):
        return ()
    thread = _thread(message)
    place = _place(message.chat, members)
    own_ref = ref(message.chat.id, message.message_id)
    path = ReplyPath(thread.key, sender.address, own_ref)
    named = mentions(message, me)
    command = _command(body, named, me)
    addressed = _addressed(message, me, named)
    answered = answered_message(message)
    if command is not None and addressed is not Addressed.NOT:
        return (
            CommandInvoked(
                keys=(own_ref,),
                ref=own_ref,
                thread=thread,
                place=place,
                sender=sender,
                name=command.name,
                arguments=command.arguments,
                sent_at=message.date,
                reply_path=path,
            ),
        )
    return (
        MessageReceived(
            keys=(own_ref,),
            ref=own_ref,
            thread=thread,
            place=place,
            sender=sender,
            body=body,
            sent_at=message.date,
            addressed=addressed,
            reply_path=path,
            attachments=attachments,
            answers=None if answered is None else ref(message.chat.id, answered.message_id),
            quotes=quotes_of(message),
            group=f"{place_key(message.chat.id)}:{message.media_group_id}" if message.media_group_id else None,
        ),
    )


def _edit(message: Message, me: Me, members: Members) -> tuple[InboundEvent, ...]:
    sender = _sender(message, me)
    if sender.nature in (Nature.SELF, Nature.BOT):
        return ()
    thread = _thread(message)
    edited_at = message.edit_date or message.date
    own_ref = ref(message.chat.id, message.message_id)
    return (
        MessageEdited(
            keys=(f"{own_ref}:{int(edited_at.timestamp())}",),
            ref=own_ref,
            thread=thread,
            place=_place(message.chat, members),
            sender=sender,
            body=body_of(message),
            edited_at=edited_at,
            addressed=_addressed(message, me, mentions(message, me)),
            reply_path=ReplyPath(thread.key, sender.address, own_ref),
        ),
    )


def _press(query: CallbackQuery, me: Me, members: Members, now: datetime) -> tuple[InboundEvent, ...]:
    message = query.message
    if message is None or query.data is None or query.from_user.is_bot:
        return ()
    thread = _thread(message) if isinstance(message, Message) else Thread(*[place_key(message.chat.id)] * 2)
    return (
        ButtonPressed(
            keys=(f"telegram:callback:{query.id}",),
            ref=ref(message.chat.id, message.message_id),
            thread=thread,
            place=_place(message.chat, members),
            sender=_user(query.from_user, me),
            token=query.data,
            pressed_at=now,
            response=str(
                Handle(query.id, message.chat.id, target_of(thread.key).topic, message.message_id, query.from_user.id)
            ),
        ),
    )


def _form(
    message: Message, me: Me, members: Members, forms: Mapping[tuple[int, int], Asked]
) -> tuple[InboundEvent, ...]:
    """The words that answer a message of ours which asks for them."""
    answered = answered_message(message)
    asked = None if answered is None else forms.get((message.chat.id, answered.message_id))
    sender = _sender(message, me)
    if asked is None or not message.text or sender.nature in (Nature.SELF, Nature.BOT):
        return ()
    thread = _thread(message)
    user = message.from_user.id if message.from_user is not None else 0
    return (
        FormSubmitted(
            keys=(ref(message.chat.id, message.message_id),),
            thread=thread,
            place=_place(message.chat, members),
            sender=sender,
            token=asked.token,
            values=((asked.field, message.text),),
            submitted_at=message.date,
            response=str(Handle("", message.chat.id, target_of(thread.key).topic, message.message_id, user)),
            ref=asked.ref,
        ),
    )


def _command(body: Body, named: tuple[tuple[int, int], ...], me: Me) -> ParsedCommand | None:
    """A command in the sender's own words, at the start or behind our name, that is not for another bot. The platform's
    own button begins a conversation with `/start`."""
    if any(span.start == 0 and span.kind is not SpanKind.OWN for span in body.spans):
        return None
    text = body.own()
    if named and named[0][0] == 0 and not text.startswith("/"):
        text = text[named[0][1] :]
    command = typed(text)
    if command is None or (command.bot is not None and command.bot.lower() != me.username.lower()):
        return None
    return replace(command, name="help") if command.name == START else command


def _addressed(message: Message, me: Me, named: tuple[tuple[int, int], ...]) -> Addressed:
    if message.chat.type == Chat.PRIVATE:
        return Addressed.DIRECT
    if named:
        return Addressed.MENTION
    answered = answered_message(message)
    if answered is not None and answered.from_user is not None and answered.from_user.id == me.id:
        return Addressed.REPLY
    return Addressed.NOT


def _thread(message: Message) -> Thread:
    """The chat, or the forum topic: only if `is_topic_message` says so (a reply chain carries a message_thread_id
    too) and it is not General, which takes no thread id."""
    topic = message.message_thread_id if message.is_topic_message else None
    if topic == GENERAL_TOPIC:
        topic = None
    return Thread(thread_key(message.chat.id, topic), place_key(message.chat.id))


def _place(chat: Chat, members: Members) -> Place:
    if chat.type == Chat.PRIVATE:
        return Place(PlaceKind.DIRECT, _name(chat.full_name or ""), 2)
    kind = PlaceKind.CHANNEL if chat.type == Chat.CHANNEL or chat.username else PlaceKind.GROUP
    return Place(kind, _name(chat.title or ""), members(chat.id))


def _sender(message: Message, me: Me) -> Sender:
    if message.sender_chat is not None:
        chat = message.sender_chat
        return Sender(str(chat.id), _name(chat.title or ""), Nature.ANONYMOUS, Proof.NONE)
    if message.from_user is None:
        return Sender(str(message.chat.id), _name(message.chat.title or ""), Nature.ANONYMOUS, Proof.NONE)
    return _user(message.from_user, me)


def _user(user: User, me: Me) -> Sender:
    if user.id in _UNKNOWABLE:
        return Sender(str(user.id), _name(user.full_name), Nature.ANONYMOUS, Proof.NONE)
    nature = Nature.SELF if user.id == me.id else Nature.BOT if user.is_bot else Nature.PERSON
    return Sender(str(user.id), _name(user.full_name), nature, Proof.PLATFORM)


def _name(shown: str) -> str:
    """A name without controls and direction marks, at most 64 characters."""
    kept = "".join(c for c in shown if unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp", "Cs"))
    return " ".join(kept.split())[:64]


def _service(message: Message, me: Me, members: Members) -> tuple[InboundEvent, ...]:
    """Joins, leaves and the move to a supergroup, which arrive as messages."""
    place = _place(message.chat, members)
    here = message.chat.id
    if message.migrate_to_chat_id:
        return (moved(here, message.migrate_to_chat_id, place, message.date),)
    if message.migrate_from_chat_id:
        return (moved(message.migrate_from_chat_id, here, place, message.date),)
    joined = [user for user in message.new_chat_members if user.id != me.id]
    if joined:
        return tuple(_member(here, place, user, Change.JOINED, message.date, me) for user in joined)
    left = message.left_chat_member
    if left is not None and left.id != me.id:
        return (_member(here, place, left, Change.LEFT, message.date, me),)
    return ()


def moved(old: int, new: int, place: Place, at: datetime) -> MembershipChanged:
    """Both halves of the news, and a refused send, make the same event."""
    return MembershipChanged(
        keys=(f"telegram:moved:{old}:{new}",),
        place_key=place_key(old),
        place=place,
        change=Change.MOVED,
        at=at,
        moved_to=place_key(new),
    )


def _member(chat: int, place: Place, user: User, change: Change, at: datetime, me: Me) -> MembershipChanged:
    return MembershipChanged(
        keys=(f"telegram:member:{chat}:{user.id}:{change}:{int(at.timestamp())}",),
        place_key=place_key(chat),
        place=place,
        change=change,
        at=at,
        who=_user(user, me),
    )


def _own_membership(update: ChatMemberUpdated, members: Members) -> tuple[InboundEvent, ...]:
    was, is_now = _present(update.old_chat_member), _present(update.new_chat_member)
    if was == is_now:
        return ()
    chat = update.chat
    private = chat.type == Chat.PRIVATE
    if private:
        change = Change.UNBLOCKED if is_now else Change.BLOCKED
    else:
        change = Change.JOINED if is_now else Change.REMOVED
    at = update.date.astimezone(UTC)
    who = Sender(str(update.from_user.id), _name(update.from_user.full_name), Nature.PERSON, Proof.PLATFORM)
    return (
        MembershipChanged(
            keys=(f"telegram:me:{chat.id}:{change}:{int(at.timestamp())}",),
            place_key=place_key(chat.id),
            place=_place(chat, members),
            change=change,
            at=at,
            who=who if private else None,
        ),
    )


def _membership(update: ChatMemberUpdated, me: Me, members: Members) -> tuple[InboundEvent, ...]:
    was, is_now = _present(update.old_chat_member), _present(update.new_chat_member)
    user = update.new_chat_member.user
    if was == is_now or user.id == me.id:
        return ()
    change = Change.JOINED if is_now else Change.LEFT
    return (_member(update.chat.id, _place(update.chat, members), user, change, update.date, me),)


def _present(member: ChatMember) -> bool:
    if isinstance(member, ChatMemberRestricted):
        return member.is_member
    return member.status in (ChatMember.OWNER, ChatMember.ADMINISTRATOR) or isinstance(member, ChatMemberMember)
