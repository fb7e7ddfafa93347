"""Discord's REST API on a `World`: what each endpoint checks, does and answers, in the platform's codes.

`call` takes the endpoint's name, its path arguments and the body; it returns the result (None: 204) or raises
`ApiError`. Messages of the bot are recorded in `deliveries`, all else that people would notice in `effects`.
Source: Discord's public documentation (API v10), with the JSON error codes of its Topics section.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.fakes.discord_gateway import flags, without_content
from tests.fakes.discord_world import (
    DM,
    FORUM,
    HAS_THREAD,
    PUBLIC_THREAD,
    SUPPRESS_EMBEDS,
    TEXT,
    THREADS,
    Channel,
    File,
    World,
)
from tests.fakes.faults import Record

JsonObject = dict[str, Any]

MAX_CONTENT = 2000
MAX_FILES = 10
MAX_UPLOAD = 10 * 1024 * 1024
EDITABLE_FLAGS = SUPPRESS_EMBEDS
SENDABLE_FLAGS = SUPPRESS_EMBEDS | 1 << 12 | 1 << 13

CODES = {
    10003: (404, "Unknown Channel"),
    10008: (404, "Unknown Message"),
    10013: (404, "Unknown User"),
    10015: (404, "Unknown Webhook"),
    10062: (404, "Unknown interaction"),
    40005: (413, "Request entity too large"),
    40060: (400, "Interaction has already been acknowledged."),
    50001: (403, "Missing Access"),
    50005: (403, "Cannot edit a message authored by another user"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50013: (403, "Missing Permissions"),
    50024: (400, "Cannot execute action on this channel type"),
    50035: (400, "Invalid Form Body"),
    50083: (400, "Thread is archived"),
    160002: (400, "Cannot reply without permission to read message history"),
    160004: (400, "A thread has already been created for this message"),
    160005: (400, "Thread is locked"),
}


class ApiError(Exception):
    def __init__(self, code: int, errors: JsonObject | None = None, status: int | None = None) -> None:
        self.status, words = CODES.get(code, (400, "Error"))
        self.status = status or self.status
        self.body: JsonObject = {"message": words, "code": code} | ({"errors": errors} if errors else {})
        super().__init__(words)


def invalid(field: str, code: str, message: str) -> ApiError:
    return ApiError(50035, {field: {"_errors": [{"code": code, "message": message}]}})


class Rest:
    def __init__(self, world: World, deliveries: Record, effects: Record, nonce_memory: int = 1000) -> None:
        self.world = world
        self.deliveries = deliveries
        self.effects = effects
        self.commands: dict[str, Sequence[JsonObject]] = {}
        """By guild id; global ones under an empty name."""
        self.nonces: dict[tuple[str, str], JsonObject] = {}
        self.gateway_url = ""
        self._nonce_memory = nonce_memory
        self._table: dict[str, Callable[[Mapping[str, str], JsonObject, Sequence[File]], Any]] = {
            "me": lambda path, body, files: world.bot,
            "application": self._application,
            "oauthApplication": self._application,
            "gatewayUrl": lambda path, body, files: {"url": self.gateway_url},
            "gatewayBot": self._gateway_bot,
            "getUser": self._get_user,
            "createDM": self._create_dm,
            "getChannel": lambda path, body, files: world.channel_json(self._channel(path)),
            "modifyChannel": self._modify_channel,
            "getMessages": self._get_messages,
            "getMessage": self._get_message,
            "createMessage": self._create_message,
            "editMessage": self._edit_message,
            "deleteMessage": self._delete_message,
            "createReaction": self._react,
            "deleteReaction": self._react,
            "typing": self._typing,
            "startThread": self._start_thread,
            "joinThread": self._join_thread,
            "commands": self._put_commands,
            "guildCommands": self._put_commands,
            "callback": self._callback,
            "followup": self._followup,
            "editOriginal": self._edit_original,
        }

    def call(self, name: str, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> Any:
        return self._table[name](path, body, files)

    def forget_nonces(self) -> None:
        """As after some minutes: a nonce may be used again."""
        self.nonces.clear()

    # --- who and where ---

    def _application(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> JsonObject:
        bot = self.world.bot
        return {"id": bot["id"], "name": bot["username"], "icon": None, "description": "", "bot_public": False,
                "bot_require_code_grant": False, "verify_key": "", "flags": flags(self.world), "owner": bot,
                "bot": bot, "rpc_origins": [], "team": None}  # fmt: skip

    def _gateway_bot(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> JsonObject:
        limit = {"total": 1000, "remaining": 999, "reset_after": 86_400_000, "max_concurrency": 1}
        return {"url": self.gateway_url, "shards": 1, "session_start_limit": limit}

    def _get_user(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> JsonObject:
        if path["user"] not in self.world.users:
            raise ApiError(10013)
        return self.world.users[path["user"]]

    def _create_dm(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> JsonObject:
        user = str(body.get("recipient_id"))
        if user not in self.world.users:
            raise invalid("recipient_id", "USER_NOT_FOUND", "Unknown user")
        return self.world.channel_json(self.world.dm_channel(user))

    def _channel(self, path: Mapping[str, str]) -> Channel:
        found = self.world.channels.get(path["channel"])
        if found is None:
            raise ApiError(10003)
        if "view" in found.denied:
            raise ApiError(50001)
        return found

    def _message(self, channel: Channel, path: Mapping[str, str]) -> JsonObject:
        if path["message"] not in channel.messages:
            raise ApiError(10008)
        return channel.messages[path["message"]]

    def _writable(self, path: Mapping[str, str]) -> Channel:
        channel = self._channel(path)
        if channel.type == DM and channel.recipient in self.world.no_dm:
            raise ApiError(50007)
        if channel.type == FORUM:
            raise ApiError(50024)
        if "send" in channel.denied:
            raise ApiError(50013)
        if channel.archived or channel.locked:
            raise ApiError(50083, status=403 if channel.locked else None)
        return channel

    def _modify_channel(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> JsonObject:
        channel = self._channel(path)
        if channel.locked or "manage" in channel.denied:
            raise ApiError(50013)
        self.effects.add("modifyChannel", {"channel_id": channel.id, **body})
        return self.world.set_thread(channel.id, archived=body.get("archived"))

    # --- reading ---

    def _get_messages(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> list[JsonObject]:
        channel = self._channel(path)
        limit = int(body.get("limit", 50))
        if not 1 <= limit <= 100:
            raise invalid("limit", "NUMBER_TYPE_MAX", "int value should be less than or equal to 100.")
        if "history" in channel.denied:
            return []
        found = sorted(channel.messages.values(), key=lambda m: int(m["id"]))
        if "after" in body:
            found = [m for m in found if int(m["id"]) > int(body["after"])][:limit]
        elif "before" in body:
            found = [m for m in found if int(m["id"]) < int(body["before"])][-limit:]
        elif "around" in body:
            found = sorted(found, key=lambda m: abs(int(m["id"]) - int(body["around"])))[:limit]
            found.sort(key=lambda m: int(m["id"]))
        else:
            found = found[-limit:]
        return [self._shown(message) for message in reversed(found)]

    def _get_message(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> JsonObject:
        return self._shown(self._message(self._channel(path), path))

    def _shown(self, message: JsonObject) -> JsonObject:
        return message if self.world.content_intent else without_content(message, self.world)

    # --- writing ---

    def _create_message(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> JsonObject:
        channel = self._writable(path)
        nonce = body.get("nonce")
        if nonce is not None and len(str(nonce)) > 25:
            raise invalid("nonce", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
        if nonce is not None and body.get("enforce_nonce") and (channel.id, str(nonce)) in self.nonces:
            return self.nonces[channel.id, str(nonce)]
        content = self._content(body, bool(files))
        if int(body.get("flags", 0)) & ~SENDABLE_FLAGS:
            raise invalid("flags", "MESSAGE_FLAGS_INVALID", "Invalid message flags.")
        made = self.world.build(channel, self.world.bot, content)
        made["flags"] = int(body.get("flags", 0))
        made["components"] = body.get("components", [])
        self._refer(channel, body, made)
        if sum(len(file.data) for file in files) > MAX_UPLOAD or len(files) > MAX_FILES:
            raise ApiError(40005)
        for file in files:
            self.world.files[file.id] = file
        made["attachments"] = [self.world.attachment(file.id) for file in files]
        self.deliveries.add(
            "createMessage",
            {
                "channel_id": channel.id, "id": made["id"], "content": content, "nonce": nonce, "flags": made["flags"],
                "files": [file.name for file in files], "allowed_mentions": body.get("allowed_mentions"),
                "reply_to": (made.get("message_reference") or {}).get("message_id"), "components": made["components"],
                "enforce_nonce": body.get("enforce_nonce", False), "guild_id": channel.guild,
                "recipient": channel.recipient,
            },
        )  # fmt: skip
        self.world.publish(channel, made, None if nonce is None else str(nonce))
        if nonce is not None:
            while len(self.nonces) >= self._nonce_memory:
                del self.nonces[next(iter(self.nonces))]
            self.nonces[channel.id, str(nonce)] = {**made, "nonce": nonce}
        return {**made, "nonce": nonce} if nonce is not None else made

    def _content(self, body: JsonObject, with_files: bool) -> str:
        content = str(body.get("content") or "").strip()
        if len(content) > MAX_CONTENT:
            raise invalid("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
        if not content and not with_files:
            raise ApiError(50006)
        return content

    def _refer(self, channel: Channel, body: JsonObject, made: JsonObject) -> None:
        reference = body.get("message_reference")
        if reference is None:
            return
        if "history" in channel.denied:
            raise ApiError(160002)
        target = str(reference.get("message_id"))
        if target in channel.messages:
            made["message_reference"] = {"type": 0, "channel_id": channel.id, "message_id": target}
            made["type"] = 19
            pinged = (body.get("allowed_mentions") or {"replied_user": True}).get("replied_user", False)
            made["mentions"] = [channel.messages[target]["author"]] if pinged else []
        elif reference.get("fail_if_not_exists", True) or str(reference.get("channel_id", channel.id)) != channel.id:
            raise invalid("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")

    def _edit_message(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> JsonObject:
        channel = self._channel(path)
        found = self._message(channel, path)
        if found["author"]["id"] != self.world.bot["id"]:
            raise ApiError(50005)
        if channel.archived or channel.locked:
            raise ApiError(50083)
        if int(body.get("flags", 0)) & ~EDITABLE_FLAGS:
            raise invalid("flags", "MESSAGE_FLAGS_INVALID", "Invalid message flags.")
        if "content" in body:
            found["content"] = self._content(body, bool(found["attachments"]))
        found["components"] = body.get("components", found["components"])
        shown = {key: body.get(key) for key in ("allowed_mentions", "flags", "components")}
        self.effects.add(
            "editMessage", {"channel_id": channel.id, "id": found["id"], "content": found["content"], **shown}
        )
        found["edited_timestamp"] = found["timestamp"]
        self.world.updated(channel, found)
        return found

    def _delete_message(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> None:
        channel = self._channel(path)
        found = self._message(channel, path)
        if found["author"]["id"] != self.world.bot["id"] and ("manage" in channel.denied or channel.type == DM):
            raise ApiError(50013)
        self.effects.add("deleteMessage", {"channel_id": channel.id, "id": found["id"]})
        self.world.delete(channel.id, found["id"])

    def _react(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> None:
        channel = self._channel(path)
        if "react" in channel.denied:
            raise ApiError(50013)
        found = self._message(channel, path)
        self.effects.add("reaction", {"id": found["id"], "emoji": path["emoji"], "added": body.get("added", True)})

    def _typing(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> None:
        self.effects.add("typing", {"channel_id": self._writable(path).id})

    # --- threads ---

    def _start_thread(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> JsonObject:
        channel = self._channel(path)
        found = self._message(channel, path)
        name = str(body.get("name") or "")
        if not 1 <= len(name) <= 100:
            raise invalid("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
        if channel.type not in (TEXT, 5):
            raise ApiError(50024)
        if "threads" in channel.denied:
            raise ApiError(50013)
        if found["id"] in self.world.channels:
            raise ApiError(160004)
        found["flags"] = found.get("flags", 0) | HAS_THREAD
        self.effects.add("startThread", {"channel_id": channel.id, "id": found["id"], "name": name})
        return self.world.add_thread(found["id"], channel.id, name, self.world.bot["id"]) | {"type": PUBLIC_THREAD}

    def _join_thread(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> None:
        channel = self._channel(path)
        if channel.type in THREADS:
            self.world.thread_add(channel, self.world.bot["id"])

    # --- commands and interactions ---

    def _put_commands(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> list[JsonObject]:
        given: list[JsonObject] = body["items"]
        for command in given:
            if not 1 <= len(command.get("name", "")) <= 32 or not 1 <= len(command.get("description", "")) <= 100:
                raise invalid("description", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
        self.commands[path.get("guild", "")] = given
        return [{**c, "id": self.world.snowflake(), "application_id": self.world.bot["id"]} for c in given]

    def _callback(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> None:
        known = self.world.interactions.get(path["token"])
        if known is None or known["interaction"]["id"] != path["interaction"]:
            raise ApiError(10062)
        if known["acknowledged"] is not None:
            raise ApiError(40060)
        if body.get("type") == MODAL:
            _check_modal(known["interaction"], body["data"])
        known["acknowledged"] = body
        self._show(known, body.get("data"), "callback", body.get("type"))

    def _followup(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> JsonObject:
        known = self._acknowledged(path)
        self._show(known, body, "followup", None)
        return self.world.build(self.world.channels[known["interaction"]["channel_id"]], self.world.bot, "")

    def _edit_original(self, path: Mapping[str, str], body: JsonObject, files: Sequence[File]) -> JsonObject:
        known = self._acknowledged(path)
        self._show(known, body, "editOriginal", None)
        return self.world.build(self.world.channels[known["interaction"]["channel_id"]], self.world.bot, "")

    def _acknowledged(self, path: Mapping[str, str]) -> JsonObject:
        known = self.world.interactions.get(path["token"])
        if known is None or known["acknowledged"] is None:
            raise ApiError(10015)
        return known

    def _show(self, known: JsonObject, data: JsonObject | None, how: str, kind: int | None) -> None:
        shown = {"content": (data or {}).get("content"), "flags": (data or {}).get("flags"), "type": kind}
        if len(str(shown["content"] or "")) > MAX_CONTENT:
            raise invalid("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
        known["shown"].append(shown)
        self.effects.add(how, {"interaction": known["interaction"]["id"], **shown})


def _check_modal(interaction: JsonObject, data: JsonObject) -> None:
    """Discord, Modals: title, custom_id, one to five components, each a text input within a label."""
    if interaction["type"] == MODAL_SUBMIT:
        raise invalid("type", "INTERACTION_TYPE", "A modal cannot answer a modal.")
    if not 1 <= len(data["title"]) <= 45 or not 1 <= len(data["custom_id"]) <= 100:
        raise invalid("title", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 45 in length.")
    if not 1 <= len(data["components"]) <= 5:
        raise invalid("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
    for label in data["components"]:
        field = label.get("component") or {}
        if label.get("type") != 18 or field.get("type") != 4 or not 1 <= len(label.get("label", "")) <= 45:
            raise invalid("components", "UNION_TYPE_CHOICES", "Must be a text input within a label.")
        if len(field.get("value", "")) > min(4000, field.get("max_length", 4000)):
            raise invalid("value", "BASE_TYPE_MAX_LENGTH", "Too long.")


MODAL, MODAL_SUBMIT = 9, 5
"""Callback type; interaction type."""
