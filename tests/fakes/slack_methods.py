"""Slack's Web API on a `World`: what each method validates, does and answers, in the server's own words.

`call` takes the arguments as they came over HTTP (strings; structures as JSON or already read) and returns the answer
without `ok`, or raises `ApiError`. New messages are recorded in `deliveries`, everything else that a person would
notice in `effects`. Source: the public Web API reference.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.faults import Record
from tests.fakes.slack_blocks import MAX_TEXT, MAX_UPDATE, block_faults, pings, shown
from tests.fakes.slack_world import APP, BOT_ID, BOT_USER, TEAM, Conversation, World

JsonObject = dict[str, Any]

HISTORY = {"channel": "channels:history", "group": "groups:history", "im": "im:history", "mpim": "mpim:history"}
READ = {"channel": "channels:read", "group": "groups:read", "im": "im:read", "mpim": "mpim:read"}
ALL_SCOPES = frozenset(
    {
        "app_mentions:read",
        "assistant:write",
        "channels:join",
        "chat:write",
        "commands",
        "files:read",
        "files:write",
        "im:write",
        "reactions:write",
        "users:read",
        *HISTORY.values(),
        *READ.values(),
    }
)
_KINDS = {"public_channel": "channel", "private_channel": "group", "im": "im", "mpim": "mpim"}


class ApiError(Exception):
    def __init__(self, code: str, **more: Any) -> None:
        super().__init__(code)
        self.code = code
        self.more = more


class Arguments:
    """The arguments of one call."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given

    def text(self, name: str) -> str:
        value = self.given.get(name)
        return "" if value is None else str(value)

    def need(self, name: str) -> str:
        if not self.text(name):
            raise ApiError("invalid_arguments", response_metadata={"messages": [f"[ERROR] missing required: {name}"]})
        return self.text(name)

    def flag(self, name: str) -> bool | None:
        value = self.text(name).lower()
        return None if not value else value in ("1", "true")

    def number(self, name: str, default: int) -> int:
        return int(self.text(name) or default)

    def structure(self, name: str) -> Any:
        value = self.given.get(name)
        return json.loads(value) if isinstance(value, str) and value else value


class Methods:
    def __init__(self, world: World, deliveries: Record, effects: Record, url: Callable[[], str]) -> None:
        self.world = world
        self.deliveries = deliveries
        self.effects = effects
        self.scopes = set(ALL_SCOPES)
        self.dead: str | None = None
        self.triggers: set[str] = set()
        """Those that have opened a form: each is good for one."""
        self.views: list[JsonObject] = []
        """The error that every call of the bot meets: `token_revoked`, `account_inactive`, `invalid_auth`."""
        self._url = url
        self.uploads: dict[str, JsonObject] = {}
        self._table: dict[str, tuple[str | None, Callable[[Arguments], JsonObject]]] = {
            "auth.test": (None, self._auth_test),
            "chat.postMessage": ("chat:write", self._post),
            "chat.postEphemeral": ("chat:write", self._post_ephemeral),
            "chat.update": ("chat:write", self._update),
            "chat.delete": ("chat:write", self._delete),
            "conversations.history": (None, self._history),
            "conversations.replies": (None, self._replies),
            "conversations.info": (None, self._info),
            "conversations.members": (None, self._members),
            "conversations.open": ("im:write", self._open),
            "conversations.join": ("channels:join", self._join),
            "conversations.list": (None, lambda args: self._list(args, mine=False)),
            "users.conversations": (None, lambda args: self._list(args, mine=True)),
            "users.info": ("users:read", self._user),
            "users.list": ("users:read", self._users),
            "reactions.add": ("reactions:write", lambda args: self._react(args, add=True)),
            "reactions.remove": ("reactions:write", lambda args: self._react(args, add=False)),
            "files.info": ("files:read", self._file),
            "files.getUploadURLExternal": ("files:write", self._upload_url),
            "files.completeUploadExternal": ("files:write", self._complete),
            "views.open": (None, self._view),
            "assistant.threads.setStatus": ("assistant:write", lambda args: self._assistant(args, "status")),
            "assistant.threads.setTitle": ("assistant:write", lambda args: self._assistant(args, "title")),
            "apps.uninstall": (None, self._uninstall),
        }

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def call(self, name: str, args: Arguments) -> JsonObject:
        if self.dead is not None:
            raise ApiError(self.dead)
        scope, method = self._table[name]
        if scope is not None:
            self._need_scope(scope)
        return method(args)

    def _need_scope(self, scope: str) -> None:
        if scope not in self.scopes:
            raise ApiError("missing_scope", needed=scope, provided=",".join(sorted(self.scopes)))

    def _auth_test(self, args: Arguments) -> JsonObject:
        names = {"url": "https://company.slack.com/", "team": "Company", "user": "executive"}
        return names | {"team_id": TEAM, "user_id": BOT_USER, "bot_id": BOT_ID, "is_enterprise_install": False}

    # Where to.

    def _place(self, args: Arguments, scopes: Mapping[str, str] | None = None) -> Conversation:
        place = self.world.conversations.get(args.need("channel"))
        if place is None or (place.kind != "channel" and not place.has_bot):
            raise ApiError("channel_not_found")
        if scopes is not None:
            self._need_scope(scopes[place.kind])
        return place

    def _writable(self, args: Arguments) -> Conversation:
        place = self._place(args)
        if place.archived:
            raise ApiError("is_archived")
        if not place.has_bot:
            raise ApiError("not_in_channel")
        return place

    # Messages.

    def _content(self, args: Arguments, limit: int) -> JsonObject:
        text, blocks = args.text("text"), args.structure("blocks") or []
        if not text and not blocks:
            raise ApiError("no_text")
        if len(text) > limit:
            raise ApiError("msg_too_long")
        faults = block_faults(blocks)
        if faults:
            raise ApiError("invalid_blocks", response_metadata={"messages": [f"[ERROR] {fault}" for fault in faults]})
        return {"text": text, **({"blocks": blocks} if blocks else {})}

    def _post(self, args: Arguments) -> JsonObject:
        place = self._writable(args)
        content = self._content(args, MAX_TEXT)
        metadata = args.structure("metadata")
        if metadata is not None:
            if not isinstance(metadata, dict) or not metadata.get("event_type") or "event_payload" not in metadata:
                raise ApiError("metadata_must_be_provided")
            content["metadata"] = metadata
        thread_ts = args.text("thread_ts") or None
        message = {"user": BOT_USER, "bot_id": BOT_ID, "app_id": APP, "team": TEAM, **content}
        stored = self.world.post(place.id, message, thread_ts)
        flags = {name: args.flag(name) for name in ("unfurl_links", "unfurl_media", "link_names", "mrkdwn")}
        self._deliver(place.id, stored, **flags, parse=args.text("parse") or None)
        self.world.tell(place.id, stored)
        return {"channel": place.id, "ts": stored["ts"], "message": _without_metadata(stored)}

    def _deliver(self, channel: str, stored: JsonObject, **more: Any) -> None:
        self.deliveries.add(
            "message",
            {
                "channel": channel,
                "ts": stored["ts"],
                "thread_ts": stored.get("thread_ts"),
                "text": stored.get("text", ""),
                "blocks": stored.get("blocks", []),
                "shown": shown(stored),
                "pings": pings(stored),
                "metadata": stored.get("metadata"),
                "files": [one["name"] for one in stored.get("files", [])],
                **more,
            },
        )

    def _post_ephemeral(self, args: Arguments) -> JsonObject:
        place = self._writable(args)
        content = self._content(args, MAX_TEXT)
        ts = self.world.stamp()
        self.effects.add("chat.postEphemeral", {"channel": place.id, "user": args.need("user"), "ts": ts, **content})
        return {"message_ts": ts}

    def _own(self, args: Arguments) -> tuple[Conversation, JsonObject]:
        place = self._writable(args)
        message = place.messages.get(args.need("ts"))
        if message is None:
            raise ApiError("message_not_found")
        return place, message

    def _update(self, args: Arguments) -> JsonObject:
        place, message = self._own(args)
        if message.get("bot_id") != BOT_ID:
            raise ApiError("cant_update_message")
        content = self._content(args, MAX_UPDATE)
        before = dict(message)
        if "blocks" not in content and args.given.get("blocks") is not None:
            message.pop("blocks", None)
        metadata = args.structure("metadata")
        if metadata is not None:
            content["metadata"] = metadata
        message |= content | {"edited": {"user": BOT_USER, "ts": self.world.stamp()}}
        shown_now = {"shown": shown(message), "pings": pings(message)}
        self.effects.add("chat.update", {"channel": place.id, "ts": message["ts"], **content, **shown_now})
        self.world.changed(place.id, _without_metadata(before), _without_metadata(message))
        return {"channel": place.id, "ts": message["ts"], "text": message["text"], "message": message}

    def _delete(self, args: Arguments) -> JsonObject:
        place, message = self._own(args)
        if message.get("bot_id") != BOT_ID:
            raise ApiError("cant_delete_message")
        self.effects.add("chat.delete", {"channel": place.id, "ts": message["ts"]})
        self.world.delete(place.id, message["ts"])
        return {"channel": place.id, "ts": message["ts"]}

    def _react(self, args: Arguments, *, add: bool) -> JsonObject:
        place = self._writable(args)
        message = place.messages.get(args.need("timestamp"))
        if message is None:
            raise ApiError("message_not_found")
        given = message.setdefault("own_reactions", [])
        name = args.need("name")
        if add == (name in given):
            raise ApiError("already_reacted" if add else "no_reaction")
        (given.append if add else given.remove)(name)
        self.effects.add("reactions.add" if add else "reactions.remove", {"channel": place.id, "name": name})
        return {}

    # Reading back.

    def _page(self, args: Arguments, found: list[JsonObject], most: int, default: int) -> JsonObject:
        start = int(base64.b64decode(args.text("cursor"))) if args.text("cursor") else 0
        size = min(args.number("limit", default), most)
        page, more = found[start : start + size], len(found) > start + size
        following = base64.b64encode(str(start + size).encode()).decode() if more else ""
        with_metadata = args.flag("include_all_metadata")
        messages = page if with_metadata else [_without_metadata(message) for message in page]
        return {"messages": messages, "has_more": more, "response_metadata": {"next_cursor": following}}

    def _between(self, args: Arguments, ts: str) -> bool:
        oldest, latest = float(args.text("oldest") or 0), float(args.text("latest") or "inf")
        if args.flag("inclusive"):
            return oldest <= float(ts) <= latest
        return oldest < float(ts) < latest

    def _history(self, args: Arguments) -> JsonObject:
        place = self._place(args, HISTORY)
        if not place.has_bot:
            raise ApiError("not_in_channel")
        found = [
            message
            for ts, message in place.messages.items()
            if self._between(args, ts)
            and (message.get("thread_ts") in (None, ts) or message.get("subtype") == "thread_broadcast")
        ]
        return self._page(args, found[::-1], 999, 100)

    def _replies(self, args: Arguments) -> JsonObject:
        place = self._place(args, HISTORY)
        if not place.has_bot:
            raise ApiError("not_in_channel")
        root = args.need("ts")
        if root not in place.messages:
            raise ApiError("thread_not_found")
        found = [place.messages[root]]
        found += [m for ts, m in place.messages.items() if m.get("thread_ts") == root != ts and self._between(args, ts)]
        return self._page(args, found, 1000, 1000)

    def _info(self, args: Arguments) -> JsonObject:
        place = self._place(args, READ)
        shown_place = place.brief()
        if args.flag("include_num_members"):
            shown_place["num_members"] = len(place.members)
        return {"channel": shown_place}

    def _members(self, args: Arguments) -> JsonObject:
        place = self._place(args, READ)
        start = args.number("cursor", 0)
        size = args.number("limit", 100)
        more = len(place.members) > start + size
        following = str(start + size) if more else ""
        return {"members": place.members[start : start + size], "response_metadata": {"next_cursor": following}}

    def _open(self, args: Arguments) -> JsonObject:
        users = args.need("users").split(",")
        if any(user not in self.world.users for user in users):
            raise ApiError("user_not_found")
        return {"channel": {"id": self.world.direct(users[0]).id}}

    def _join(self, args: Arguments) -> JsonObject:
        place = self._place(args)
        if place.kind != "channel":
            raise ApiError("method_not_supported_for_channel_type")
        if place.archived:
            raise ApiError("is_archived")
        if not place.has_bot:
            self.world.join(place.id, BOT_USER)
        return {"channel": place.brief()}

    def _list(self, args: Arguments, *, mine: bool) -> JsonObject:
        kinds = [_KINDS[name.strip()] for name in (args.text("types") or "public_channel").split(",")]
        for kind in kinds:
            self._need_scope(READ[kind])
        found = [
            place.brief()
            for place in self.world.conversations.values()
            if place.kind in kinds
            and (place.has_bot or (not mine and place.kind == "channel"))
            and not (args.flag("exclude_archived") and place.archived)
        ]
        start, size = args.number("cursor", 0), args.number("limit", 100)
        following = str(start + size) if len(found) > start + size else ""
        return {"channels": found[start : start + size], "response_metadata": {"next_cursor": following}}

    def _user(self, args: Arguments) -> JsonObject:
        user = self.world.users.get(args.need("user"))
        if user is None:
            raise ApiError("user_not_found")
        return {"user": user}

    def _users(self, args: Arguments) -> JsonObject:
        return {"members": list(self.world.users.values()), "response_metadata": {"next_cursor": ""}}

    # Files.

    def _file(self, args: Arguments) -> JsonObject:
        if args.need("file") not in self.world.files:
            raise ApiError("file_not_found")
        return {"file": self.world.file_json(args.need("file"))}

    def _upload_url(self, args: Arguments) -> JsonObject:
        file_id = self.world.add_file(b"", args.need("filename"))
        self.uploads[file_id] = {"length": int(args.need("length")), "done": False}
        return {"upload_url": f"{self._url()}/upload/{file_id}", "file_id": file_id}

    def take_upload(self, file_id: str, data: bytes) -> bool:
        waiting = self.uploads.get(file_id)
        if waiting is None or len(data) != waiting["length"]:
            return False
        file = self.world.files[file_id]
        file.data, file.size, waiting["done"] = data, len(data), True
        return True

    def _complete(self, args: Arguments) -> JsonObject:
        files = args.structure("files") or []
        for one in files:
            if not self.uploads.get(one["id"], {}).get("done"):
                raise ApiError("file_not_found")
        shown_files = [self.world.file_json(one["id"]) | {"title": one.get("title") or ""} for one in files]
        channel = args.text("channel_id")
        if channel:
            place = self._writable(Arguments({"channel": channel}))
            content = {"text": args.text("initial_comment"), "files": shown_files, "subtype": "file_share"}
            message = {"user": BOT_USER, "bot_id": BOT_ID, "app_id": APP, "team": TEAM, **content}
            stored = self.world.post(place.id, message, args.text("thread_ts") or None)
            self._deliver(place.id, stored)
            self.world.tell(place.id, stored)
        for one in files:
            del self.uploads[one["id"]]
        return {"files": shown_files}

    # The rest.

    def _view(self, args: Arguments) -> JsonObject:
        view = args.structure("view")
        trigger = args.need("trigger_id")
        if trigger in self.triggers:
            raise ApiError("exchanged_trigger_id")
        self.triggers.add(trigger)
        title, metadata = (view.get("title") or {}).get("text") or "", view.get("private_metadata") or ""
        if view.get("type") != "modal" or not 1 <= len(title) <= 24 or len(metadata) > 3000 or not view.get("blocks"):
            raise ApiError("invalid_arguments")
        for block in view["blocks"]:
            element = block.get("element") or {}
            if element.get("type") != "plain_text_input" or len(element.get("initial_value") or "") > 3000:
                raise ApiError("invalid_arguments")
        shown = {**view, "id": f"V{len(self.views) + 1:07}"}
        self.views.append(shown)
        self.effects.add("views.open", {"trigger_id": trigger, "view": view})
        return {"view": shown}

    def _assistant(self, args: Arguments, what: str) -> JsonObject:
        place = self._place(Arguments({"channel": args.need("channel_id")}))
        if args.need("thread_ts") not in place.messages:
            raise ApiError("invalid_thread_ts")
        body = {"channel": place.id, "thread_ts": args.text("thread_ts"), what: args.text(what)}
        self.effects.add(f"assistant.threads.set{what.title()}", body)
        return {}

    def _uninstall(self, args: Arguments) -> JsonObject:
        self.dead = "account_inactive"
        self.world.event({"type": "app_uninstalled"})
        return {}


def _without_metadata(message: JsonObject) -> JsonObject:
    return {key: value for key, value in message.items() if key not in ("metadata", "own_reactions")}
