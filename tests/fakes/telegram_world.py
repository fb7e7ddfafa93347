"""The world behind the Bot API stand-in: users, chats, messages, files, and the updates that they cause.

Every method that starts with what a person does returns the update that the bot will get. Pure state: no I/O.
Source: the public Bot API reference (Update, Message, Chat, ChatMember).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.fakes.faults import wall_seconds
from tests.fakes.telegram_text import found_entities

JsonObject = dict[str, Any]
ChatType = Literal["private", "group", "supergroup", "channel"]

ANONYMOUS_ADMIN = 1087968824
CHANNEL_RELAY = 777000
GENERAL_TOPIC = 1


@dataclass
class File:
    """Bytes that a person sent. `size` is what Telegram says, which may be more than is held here."""

    id: str
    data: bytes
    name: str
    mime: str
    size: int


@dataclass
class Chat:
    id: int
    type: ChatType
    title: str | None = None
    username: str | None = None
    is_forum: bool = False
    topics: dict[int, str] = field(default_factory=dict)
    closed_topics: set[int] = field(default_factory=set)
    bot_status: str = "member"
    members: dict[int, str] = field(default_factory=dict)
    migrated_to: int | None = None
    messages: dict[int, JsonObject] = field(default_factory=dict)
    drafts: dict[tuple[int | None, int], str] = field(default_factory=dict)

    def brief(self, name: str | None = None) -> JsonObject:
        shown: JsonObject = {"id": self.id, "type": self.type}
        if self.type == "private":
            shown["first_name"] = name or "Someone"
        else:
            shown["title"] = self.title or "Chat"
        if self.username:
            shown["username"] = self.username
        if self.is_forum:
            shown["is_forum"] = True
        return shown


class World:
    """`on_update` is called with each new update, its `update_id` set."""

    def __init__(self, bot_id: int, bot_username: str, on_update: Callable[[JsonObject], None]) -> None:
        self.bot: JsonObject = {
            "id": bot_id,
            "is_bot": True,
            "first_name": "Executive",
            "username": bot_username,
        }
        self.users: dict[int, JsonObject] = {bot_id: self.bot}
        self.chats: dict[int, Chat] = {}
        self.files: dict[str, File] = {}
        self.open_queries: set[str] = set()
        self.forced: dict[tuple[int, int], JsonObject] = {}
        """Messages that open an answer to themselves, by chat and id: how."""
        self._on_update = on_update
        self._update_ids = itertools.count(700_000_001)
        self._common_ids = itertools.count(1)
        self._own_ids: dict[int, itertools.count[int]] = {}
        self._numbers = itertools.count(1)
        self.add_user(ANONYMOUS_ADMIN, "Group", "GroupAnonymousBot", is_bot=True)
        self.add_user(CHANNEL_RELAY, "Telegram")

    # Who and where.

    def add_user(
        self, user_id: int, first_name: str = "Someone", username: str | None = None, *, is_bot: bool = False
    ) -> JsonObject:
        user: JsonObject = {"id": user_id, "is_bot": is_bot, "first_name": first_name}
        if username:
            user["username"] = username
        self.users[user_id] = user
        return user

    def add_chat(
        self,
        chat_id: int,
        type: ChatType = "supergroup",  # noqa: A002 - the platform's own name
        title: str | None = None,
        *,
        username: str | None = None,
        is_forum: bool = False,
        bot_status: str = "member",
        members: Sequence[int] = (),
    ) -> Chat:
        statuses = dict.fromkeys(members, "member")
        chat = Chat(chat_id, type, title, username, is_forum, bot_status=bot_status, members=statuses)
        self.chats[chat_id] = chat
        return chat

    def user(self, user_id: int) -> JsonObject:
        return self.users.get(user_id) or self.add_user(user_id, f"User {user_id}")

    def chat(self, chat_id: int) -> Chat:
        """The chat; a positive id is the private chat with that user and comes to be when used."""
        if chat_id not in self.chats and chat_id > 0:
            self.user(chat_id)
            self.add_chat(chat_id, "private", members=(chat_id,))
        return self.chats[chat_id]

    def add_topic(self, chat_id: int, name: str, topic: int | None = None) -> int:
        chat = self.chat(chat_id)
        number = topic if topic is not None else self.next_message_id(chat)
        chat.topics[number] = name
        return number

    def add_file(
        self,
        data: bytes,
        name: str = "file.bin",
        mime: str = "application/octet-stream",
        size: int | None = None,
    ) -> str:
        """Hold a file and return its file_id; `size` is what the platform will claim."""
        file_id = f"file{next(self._numbers)}"
        self.files[file_id] = File(file_id, data, name, mime, len(data) if size is None else size)
        return file_id

    def next_message_id(self, chat: Chat) -> int:
        """Supergroups and channels count for themselves (1 is their creation); all other chats share a count."""
        if chat.type in ("supergroup", "channel"):
            return next(self._own_ids.setdefault(chat.id, itertools.count(2)))
        return next(self._common_ids)

    def brief(self, chat: Chat) -> JsonObject:
        return chat.brief(self.user(chat.id)["first_name"] if chat.type == "private" else None)

    def file_json(self, file_id: str) -> JsonObject:
        return {
            "file_id": file_id,
            "file_unique_id": f"u{file_id}",
            "file_size": self.files[file_id].size,
        }

    # Updates.

    def inject(self, kind: str, payload: JsonObject) -> JsonObject:
        """Any update, as given."""
        update = {"update_id": next(self._update_ids), kind: payload}
        self._on_update(update)
        return update

    def build_message(self, chat: Chat, sender: int | None, **content: Any) -> JsonObject:
        message: JsonObject = {
            "message_id": self.next_message_id(chat),
            "date": wall_seconds(),
            "chat": self.brief(chat),
        }
        if sender is not None:
            message["from"] = self.user(sender)
        return message | {key: value for key, value in content.items() if value is not None}

    def message(
        self,
        chat_id: int,
        sender: int,
        text: str | None = None,
        *,
        caption: str | None = None,
        topic: int | None = None,
        reply_to: int | None = None,
        photo: str | None = None,
        document: str | None = None,
        voice: str | None = None,
        sticker: str | None = None,
        media_group: str | None = None,
        date: int | None = None,
        extra: JsonObject | None = None,
    ) -> JsonObject:
        """A person's message. Media are file ids (`sticker`: its emoji); `extra` overlays the message's own fields."""
        chat = self.chat(chat_id)
        chat.members.setdefault(sender, "member")
        content: JsonObject = {"text": text, "caption": caption, "media_group_id": media_group, "date": date}
        if text:
            content["entities"] = found_entities(text) or None
        if caption:
            content["caption_entities"] = found_entities(caption) or None
        if photo is not None:
            sizes = [{**self.file_json(photo), "width": 90, "height": 60}]
            content["photo"] = [*sizes, {**sizes[0], "width": 1280, "height": 853}]
        if document is not None:
            content["document"] = self._named(document)
        if voice is not None:
            content["voice"] = {**self.file_json(voice), "duration": 3, "mime_type": "audio/ogg"}
        if sticker is not None:
            content["sticker"] = self._sticker(sticker)
        if topic is not None:
            content |= {"message_thread_id": topic, "is_topic_message": True}
        if reply_to is not None:
            content["reply_to_message"] = chat.messages[reply_to]
        return self._post(chat, sender, "message", content | (extra or {}))

    def _post(self, chat: Chat, sender: int | None, kind: str, content: JsonObject) -> JsonObject:
        message = self.build_message(chat, sender, **content)
        chat.messages[message["message_id"]] = message
        return self.inject(kind, message)

    def _named(self, file_id: str) -> JsonObject:
        file = self.files[file_id]
        return {**self.file_json(file_id), "file_name": file.name, "mime_type": file.mime}

    def _sticker(self, emoji: str) -> JsonObject:
        file_id = self.add_file(b"RIFF", "sticker.webp", "image/webp")
        kinds = {"type": "regular", "is_animated": False, "is_video": False}
        return {**self.file_json(file_id), **kinds, "width": 512, "height": 512, "emoji": emoji}

    def private_message(self, sender: int, text: str, **more: Any) -> JsonObject:
        return self.message(sender, sender, text, **more)

    def topic_message(self, chat_id: int, topic: int, sender: int, text: str, **more: Any) -> JsonObject:
        return self.message(chat_id, sender, text, topic=topic, **more)

    def album(
        self, chat_id: int, sender: int, photos: Sequence[str], captions: Sequence[str | None] = ()
    ) -> list[JsonObject]:
        """Several photos sent as one: an update each, bound by `media_group_id` alone."""
        group = f"album{next(self._numbers)}"
        spoken = [*captions, *[None] * len(photos)]
        return [
            self.message(chat_id, sender, photo=photo, caption=spoken[index], media_group=group)
            for index, photo in enumerate(photos)
        ]

    def anonymous_admin_message(self, chat_id: int, text: str, **more: Any) -> JsonObject:
        extra = {"sender_chat": self.brief(self.chat(chat_id)), **(more.pop("extra", None) or {})}
        return self.message(chat_id, ANONYMOUS_ADMIN, text, extra=extra, **more)

    def channel_post(self, chat_id: int, text: str) -> JsonObject:
        chat = self.chat(chat_id)
        return self._post(chat, None, "channel_post", {"text": text, "sender_chat": self.brief(chat)})

    def edited_message(self, chat_id: int, message_id: int, text: str) -> JsonObject:
        message = self.chat(chat_id).messages[message_id]
        message = {
            **message,
            "text": text,
            "edit_date": message["date"] + 2,
            "entities": found_entities(text),
        }
        self.chat(chat_id).messages[message_id] = message
        return self.inject("edited_message", message)

    def delete_message(self, chat_id: int, message_id: int) -> None:
        """A person deletes a message: bots are told nothing."""
        del self.chat(chat_id).messages[message_id]

    def callback_query(self, chat_id: int, message_id: int, sender: int, data: str) -> JsonObject:
        query_id = str(4_000_000 + next(self._numbers))
        self.open_queries.add(query_id)
        message = self.chat(chat_id).messages[message_id]
        return self.inject(
            "callback_query",
            {
                "id": query_id,
                "from": self.user(sender),
                "message": message,
                "chat_instance": str(chat_id),
                "data": data,
            },
        )

    def my_chat_member(self, chat_id: int, status: str, by: int) -> JsonObject:
        """The bot's own standing changes: `member`, `administrator`, `left`, `kicked` (a block, in private)."""
        chat = self.chat(chat_id)
        old, chat.bot_status = chat.bot_status, status
        return self.inject(
            "my_chat_member",
            {
                "chat": self.brief(chat),
                "from": self.user(by),
                "date": wall_seconds(),
                "old_chat_member": self.member_json(self.bot["id"], old),
                "new_chat_member": self.member_json(self.bot["id"], status),
            },
        )

    def block(self, user_id: int) -> JsonObject:
        return self.my_chat_member(user_id, "kicked", user_id)

    def migrate(self, chat_id: int, new_id: int) -> list[JsonObject]:
        """A basic group becomes the supergroup `new_id`; both halves of the news are sent."""
        old = self.chat(chat_id)
        new = self.add_chat(new_id, "supergroup", old.title, bot_status=old.bot_status)
        new.members = dict(old.members)
        old.migrated_to = new_id
        sender = next(iter(old.members), self.bot["id"])
        return [
            self._post(old, sender, "message", {"migrate_to_chat_id": new_id}),
            self._post(new, ANONYMOUS_ADMIN, "message", {"migrate_from_chat_id": chat_id}),
        ]

    def member_json(self, user_id: int, status: str) -> JsonObject:
        member: JsonObject = {"status": status, "user": self.user(user_id)}
        if status == "kicked":
            member["until_date"] = 0
        elif status == "creator":
            member["is_anonymous"] = False
        elif status == "administrator":
            rights = (
                "can_be_edited",
                "is_anonymous",
                "can_manage_chat",
                "can_delete_messages",
                "can_manage_video_chats",
                "can_restrict_members",
                "can_promote_members",
                "can_change_info",
                "can_invite_users",
                "can_post_stories",
                "can_edit_stories",
                "can_delete_stories",
            )
            member |= dict.fromkeys(rights, False)
        return member
