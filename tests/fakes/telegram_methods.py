"""The Bot API's methods on a `World`: what each validates, does and answers, in the server's own words.

`call` takes a method's parameters as they came over HTTP (strings; structures as JSON) and returns the result or
raises `ApiError`. New messages are recorded in `deliveries`, everything else that a person would notice in
`effects`. Source: the public Bot API reference, and the descriptions that the public server answers.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

from PIL import Image, UnidentifiedImageError

from tests.fakes.faults import Record
from tests.fakes.telegram_params import ApiError, Params, bad
from tests.fakes.telegram_text import Unparsable, check_entities, found_entities, parse_html, trimmed, units
from tests.fakes.telegram_world import GENERAL_TOPIC, Chat, World

JsonObject = dict[str, Any]

MAX_TEXT = 4096
MAX_CAPTION = 1024
MAX_DOWNLOAD = 20 * 1024 * 1024
MAX_PHOTO = 10 * 1024 * 1024
ACTIONS = frozenset(
    {
        "typing",
        "upload_photo",
        "record_video",
        "upload_video",
        "record_voice",
        "upload_voice",
        "upload_document",
        "choose_sticker",
        "find_location",
        "record_video_note",
        "upload_video_note",
    }
)
NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current"
    " content and reply markup of the message"
)


class Methods:
    def __init__(self, world: World, deliveries: Record, effects: Record) -> None:
        self.world = world
        self.deliveries = deliveries
        self.effects = effects
        self.commands: list[JsonObject] = []
        self._table: dict[str, Callable[[Params], Any]] = {
            "getMe": self._get_me,
            "sendMessage": self._send_message,
            "sendMessageDraft": self._send_draft,
            "sendDocument": lambda params: self._send_file(params, "sendDocument", "document"),
            "sendPhoto": lambda params: self._send_file(params, "sendPhoto", "photo"),
            "sendChatAction": self._chat_action,
            "editMessageText": self._edit,
            "deleteMessage": self._delete,
            "setMessageReaction": self._react,
            "getFile": self._get_file,
            "getChat": self._get_chat,
            "getChatMember": self._get_member,
            "getChatMemberCount": lambda params: len(self._chat(params).members) + 1,
            "answerCallbackQuery": self._answer_query,
            "setMyCommands": self._set_commands,
            "getMyCommands": lambda params: self.commands,
            "createForumTopic": self._create_topic,
            "leaveChat": self._leave,
            "logOut": lambda params: True,
            "close": lambda params: True,
        }
        self.names = {name.lower(): name for name in self._table}

    def call(self, name: str, params: Params) -> Any:
        return self._table[name](params)

    def _get_me(self, params: Params) -> JsonObject:
        rights = ("can_join_groups", "can_read_all_group_messages", "has_topics_enabled")
        return {**self.world.bot, **dict.fromkeys(rights, True), "supports_inline_queries": False}

    # Where to, and may it.

    def _chat(self, params: Params) -> Chat:
        wanted = params.text("chat_id")
        if not wanted:
            raise bad("chat_id is empty")
        if wanted.startswith("@"):
            for chat in self.world.chats.values():
                if chat.username and chat.username.lower() == wanted[1:].lower():
                    return chat
            raise bad("chat not found")
        chat_id = params.integer("chat_id")
        found = self.world.chats.get(chat_id) if chat_id is not None else None
        if found is None:
            raise bad("chat not found")
        if found.migrated_to is not None:
            moved = {"migrate_to_chat_id": found.migrated_to}
            raise ApiError(400, "Bad Request: group chat was upgraded to a supergroup chat", moved)
        return found

    def _writable(self, params: Params) -> Chat:
        chat = self._chat(params)
        if chat.type == "private":
            if chat.bot_status == "kicked":
                raise ApiError(403, "Forbidden: bot was blocked by the user")
        elif chat.bot_status in ("left", "kicked"):
            was = "was kicked from" if chat.bot_status == "kicked" else "is not a member of"
            raise ApiError(403, f"Forbidden: bot {was} the {chat.type} chat")
        elif chat.bot_status == "restricted":
            raise bad("not enough rights to send text messages to the chat")
        return chat

    def _thread(self, params: Params, chat: Chat) -> int | None:
        thread = params.integer("message_thread_id")
        if thread is None:
            return None
        if thread == GENERAL_TOPIC or thread not in chat.topics:
            raise bad("message thread not found")
        if thread in chat.closed_topics:
            raise bad("TOPIC_CLOSED")
        return thread

    def _reply_target(self, params: Params, chat: Chat, thread: int | None) -> JsonObject | None:
        reply = params.structure("reply_parameters") or {}
        target = reply.get("message_id", params.integer("reply_to_message_id"))
        if target is None:
            return None
        elsewhere = reply.get("chat_id", chat.id) != chat.id
        place = self.world.chats.get(reply["chat_id"]) if elsewhere else chat
        if place is not None and target in place.messages:
            return place.messages[target]
        lenient = reply.get("allow_sending_without_reply") or params.flag("allow_sending_without_reply")
        if lenient and not elsewhere and thread is None:
            return None
        raise bad("message to be replied not found")

    def _markup(self, params: Params) -> JsonObject | None:
        markup: JsonObject | None = params.structure("reply_markup")
        for row in (markup or {}).get("inline_keyboard", []):
            for button in row:
                if not button.get("text"):
                    raise bad("can't parse inline keyboard button: Text buttons are unallowed in inline keyboard")
                if "callback_data" in button and not 1 <= len(button["callback_data"].encode()) <= 64:
                    raise bad("BUTTON_DATA_INVALID")
        return markup

    def _formatted(self, params: Params, name: str, limit: int, too_long: str) -> tuple[str, list[JsonObject]]:
        """Text `name` and its entities after parsing, trimmed, within `limit` UTF-16 units."""
        text, mode = params.text(name), params.text("parse_mode").lower()
        entities: list[JsonObject] = params.structure("entities" if name == "text" else "caption_entities") or []
        if any(0xD800 <= ord(char) <= 0xDFFF for char in text):
            raise bad("strings must be encoded in UTF-8")
        try:
            if mode == "html":
                text, entities = parse_html(text)
            elif mode:
                raise bad("unsupported parse_mode")
            else:
                check_entities(text, entities)
        except Unparsable as error:
            raise bad(f"can't parse entities: {error}") from None
        text, entities = trimmed(text, entities)
        if units(text) > limit:
            raise bad(too_long)
        return text, entities

    # Sending.

    def _deliver(self, method: str, params: Params, chat: Chat, thread: int | None, content: JsonObject) -> JsonObject:
        reply = self._reply_target(params, chat, thread)
        markup = self._markup(params)
        place = {"message_thread_id": thread, "is_topic_message": True} if thread is not None else {}
        forced = markup if markup is not None and "force_reply" in markup else None
        shown = None if forced is not None else markup  # messages carry inline keyboards only
        message = self.world.build_message(
            chat, self.world.bot["id"], **content, **place, reply_to_message=reply, reply_markup=shown
        )
        if forced is not None:
            if len(forced.get("input_field_placeholder", "")) > 64:
                raise bad("placeholder is too long")
            self.world.forced[chat.id, message["message_id"]] = forced
        chat.messages[message["message_id"]] = message
        chat.drafts = {key: draft for key, draft in chat.drafts.items() if key[0] != thread}
        self.deliveries.add(
            method,
            {
                "chat_id": chat.id,
                "message_id": message["message_id"],
                "text": content.get("text", content.get("caption", "")),
                "entities": content.get("entities") or content.get("caption_entities") or [],
                "message_thread_id": thread,
                "reply_to_message_id": reply["message_id"] if reply else None,
                "params": params.plain(),
            },
        )
        return message

    def _send_message(self, params: Params) -> JsonObject:
        chat = self._writable(params)
        if not params.text("text"):
            raise bad("message text is empty")
        text, entities = self._formatted(params, "text", MAX_TEXT, "message is too long")
        if not text:
            raise bad("text must be non-empty")
        thread = self._thread(params, chat)
        shown = sorted([*entities, *found_entities(text)], key=lambda entity: int(entity["offset"]))
        return self._deliver("sendMessage", params, chat, thread, {"text": text, "entities": shown or None})

    def _send_draft(self, params: Params) -> bool:
        """A preview of 30 seconds in a private chat; not a message (Bot API sendMessageDraft)."""
        chat = self._writable(params)
        if chat.type != "private":
            raise bad("TEXTDRAFT_PEER_INVALID")
        draft_id = params.integer("draft_id")
        if not draft_id:
            raise bad("invalid draft_id specified")
        text, entities = self._formatted(params, "text", MAX_TEXT, "message is too long")
        thread = self._thread(params, chat)
        chat.drafts[thread, draft_id] = text
        self._effect("sendMessageDraft", chat, draft_id=draft_id, text=text, entities=entities, thread=thread)
        return True

    def _send_file(self, params: Params, method: str, kind: str) -> JsonObject:
        chat = self._writable(params)
        thread = self._thread(params, chat)
        caption, entities = self._formatted(params, "caption", MAX_CAPTION, "message caption is too long")
        file_id = self._file_of(params, kind)
        stored = self.world.files[file_id]
        content: JsonObject = {"caption": caption or None, "caption_entities": entities or None}
        if kind == "photo":
            width, height = _image_size(stored.data)
            content["photo"] = [{**self.world.file_json(file_id), "width": width, "height": height}]
        else:
            named = {"file_name": stored.name, "mime_type": stored.mime}
            content["document"] = {**self.world.file_json(file_id), **named}
        return self._deliver(method, params, chat, thread, content)

    def _file_of(self, params: Params, kind: str) -> str:
        given = params.text(kind)
        upload = params.uploads.get(given.removeprefix("attach://") if given else kind)
        if upload is None:
            if given in self.world.files:
                return given
            raise bad("wrong file identifier/HTTP URL specified" if given else f"there is no {kind} in the request")
        if not upload.data:
            raise bad("file must be non-empty")
        if kind == "photo" and len(upload.data) > MAX_PHOTO:
            raise bad(f"file of size {len(upload.data)} bytes is too big for a photo; the maximum size is {MAX_PHOTO}")
        return self.world.add_file(upload.data, upload.name, upload.mime)

    # What changes or shows.

    def _effect(self, method: str, chat: Chat, **what: Any) -> None:
        self.effects.add(method, {"chat_id": chat.id, **what})

    def _chat_action(self, params: Params) -> bool:
        chat = self._writable(params)
        if params.text("action") not in ACTIONS:
            raise bad("wrong parameter action in request")
        self._effect("sendChatAction", chat, action=params.text("action"), thread=self._thread(params, chat))
        return True

    def _own_message(self, params: Params, chat: Chat, verb: str) -> JsonObject:
        message = chat.messages.get(params.integer("message_id") or 0)
        if message is None:
            raise bad(f"message to {verb} not found")
        if verb == "edit" and message.get("from", {}).get("id") != self.world.bot["id"]:
            raise bad("message can't be edited")
        return message

    def _edit(self, params: Params) -> JsonObject:
        chat = self._writable(params)
        message = self._own_message(params, chat, "edit")
        if not params.text("text"):
            raise bad("message text is empty")
        text, entities = self._formatted(params, "text", MAX_TEXT, "message is too long")
        if not text:
            raise bad("text must be non-empty")
        markup = self._markup(params)
        shown = sorted([*entities, *found_entities(text)], key=lambda entity: int(entity["offset"])) or None
        if (message.get("text"), message.get("entities"), message.get("reply_markup")) == (text, shown, markup):
            raise bad(NOT_MODIFIED)
        changed = {**message, "text": text, "entities": shown, "reply_markup": markup}
        changed["edit_date"] = message["date"] + 1
        changed = {key: value for key, value in changed.items() if value is not None}
        chat.messages[message["message_id"]] = changed
        self._effect("editMessageText", chat, message_id=message["message_id"], text=text, params=params.plain())
        return changed

    def _delete(self, params: Params) -> bool:
        chat = self._chat(params)
        message = self._own_message(params, chat, "delete")
        own = message.get("from", {}).get("id") == self.world.bot["id"]
        if not own and chat.type != "private" and chat.bot_status != "administrator":
            raise bad("message can't be deleted")
        del chat.messages[message["message_id"]]
        self._effect("deleteMessage", chat, message_id=message["message_id"])
        return True

    def _react(self, params: Params) -> bool:
        chat = self._writable(params)
        message = self._own_message(params, chat, "react")
        reaction = params.structure("reaction") or []
        self._effect("setMessageReaction", chat, message_id=message["message_id"], reaction=reaction)
        return True

    def _get_file(self, params: Params) -> JsonObject:
        file = self.world.files.get(params.text("file_id"))
        if file is None:
            raise bad("wrong file_id or the file is temporarily unavailable")
        if file.size > MAX_DOWNLOAD:
            raise bad("file is too big")
        return {**self.world.file_json(file.id), "file_path": f"documents/{file.id}"}

    def _get_chat(self, params: Params) -> JsonObject:
        chat = self._chat(params)
        gifts = (
            "unlimited_gifts",
            "limited_gifts",
            "unique_gifts",
            "premium_subscription",
            "gifts_from_channels",
        )
        full = {"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": dict.fromkeys(gifts, False)}
        return {**self.world.brief(chat), **full}

    def _get_member(self, params: Params) -> JsonObject:
        chat = self._chat(params)
        user_id = params.integer("user_id")
        if user_id is None or user_id not in self.world.users:
            raise bad("invalid user_id specified")
        if user_id == self.world.bot["id"]:
            return self.world.member_json(user_id, chat.bot_status)
        return self.world.member_json(user_id, chat.members.get(user_id, "left"))

    def _answer_query(self, params: Params) -> bool:
        query_id = params.text("callback_query_id")
        if query_id not in self.world.open_queries:
            raise bad("query is too old and response timeout expired or query ID is invalid")
        if units(params.text("text")) > 200:
            raise bad("MESSAGE_TOO_LONG")
        self.world.open_queries.discard(query_id)
        self.effects.add("answerCallbackQuery", {"id": query_id, "text": params.text("text")})
        return True

    def _set_commands(self, params: Params) -> bool:
        commands: list[JsonObject] = params.structure("commands") or []
        if len(commands) > 100:
            raise bad("BOT_COMMANDS_TOO_MUCH")
        for command in commands:
            if not re.fullmatch(r"[a-z0-9_]{1,32}", command["command"]):
                raise bad("BOT_COMMAND_INVALID")
            if not 1 <= units(command["description"]) <= 256:
                raise bad("BOT_COMMAND_DESCRIPTION_INVALID")
        self.commands = commands
        self.effects.add("setMyCommands", {"commands": commands})
        return True

    def _create_topic(self, params: Params) -> JsonObject:
        chat = self._writable(params)
        if not chat.is_forum:
            raise bad("the chat is not a forum")
        name = params.text("name")
        if not 1 <= len(name) <= 128:
            raise bad("TOPIC_TITLE_EMPTY" if not name else "TOPIC_TITLE_TOO_LONG")
        topic = self.world.add_topic(chat.id, name)
        self._effect("createForumTopic", chat, topic=topic, name=name)
        return {"message_thread_id": topic, "name": name, "icon_color": 7322096}

    def _leave(self, params: Params) -> bool:
        chat = self._chat(params)
        if chat.type == "private":
            raise bad("chat member status can't be changed in private chats")
        chat.bot_status = "left"
        self._effect("leaveChat", chat)
        return True


def _image_size(data: bytes) -> tuple[int, int]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as image:
                return image.size
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError):
        raise bad("IMAGE_PROCESS_FAILED") from None
