"""The world behind the Slack stand-in: a workspace with its people, conversations, messages and files.

Every method that says what a person does changes the world and returns the event that the app gets (Events API, inner
event). Pure state: no I/O; `on_event` is told every event, `now` is the workspace's clock in Unix seconds.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

JsonObject = dict[str, Any]

TEAM = "T0COMPANY1"
OTHER_TEAM = "T0PARTNER1"
BOT_USER = "U0EXECBOT1"
BOT_ID = "B0EXECBOT1"
APP = "A0EXECAPP1"


@dataclass
class Conversation:
    id: str
    kind: str
    """`channel`, `group` (private channel), `im` or `mpim`, as `channel_type` in events."""
    name: str
    members: list[str]
    archived: bool = False
    shared_with: tuple[str, ...] = ()
    """Teams of other organisations (Slack Connect)."""
    messages: dict[str, JsonObject] = field(default_factory=dict)

    @property
    def has_bot(self) -> bool:
        return BOT_USER in self.members

    def brief(self) -> JsonObject:
        """The conversation object (conversations.info)."""
        shown: JsonObject = {
            "id": self.id,
            "created": 1_700_000_000,
            "is_archived": self.archived,
            "is_channel": self.kind == "channel",
            "is_group": self.kind == "group",
            "is_im": self.kind == "im",
            "is_mpim": self.kind == "mpim",
            "is_private": self.kind != "channel",
            "is_member": self.has_bot,
            "is_shared": bool(self.shared_with),
            "is_ext_shared": bool(self.shared_with),
            "is_org_shared": False,
            "is_general": False,
            "context_team_id": TEAM,
            "shared_team_ids": [TEAM, *self.shared_with],
            "internal_team_ids": [],
            "connected_team_ids": list(self.shared_with),
        }
        if self.kind == "im":
            return shown | {"user": next((m for m in self.members if m != BOT_USER), BOT_USER)}
        return shown | {"name": self.name, "name_normalized": self.name}


@dataclass
class File:
    id: str
    data: bytes
    name: str
    mimetype: str
    size: int
    """As the platform claims."""
    mode: str = "hosted"
    shared: bool = True
    redirect: bool = False
    """The download answers with a redirect to another host."""


class World:
    def __init__(self, on_event: Callable[[JsonObject], None], url: Callable[[], str]) -> None:
        self._on_event = on_event
        self._url = url
        self.now: Callable[[], float] = time.time  # noqa: TID251 - the far end has a clock of its own
        self.users: dict[str, JsonObject] = {}
        self.conversations: dict[str, Conversation] = {}
        self.files: dict[str, File] = {}
        self._numbers = itertools.count(1)
        self._last = 0.0
        self.add_user(BOT_USER, "Executive", is_bot=True)
        self.users[BOT_USER]["profile"]["bot_id"] = BOT_ID
        self.users[BOT_USER]["profile"]["api_app_id"] = APP

    # People, places, files.

    def add_user(
        self,
        user: str,
        name: str,
        *,
        team: str = TEAM,
        is_bot: bool = False,
        guest: bool = False,
        deleted: bool = False,
    ) -> JsonObject:
        self.users[user] = {
            "id": user,
            "team_id": team,
            "name": name.lower(),
            "real_name": name,
            "deleted": False,
            "is_bot": is_bot,
            "is_app_user": False,
            "is_restricted": guest,
            "is_ultra_restricted": False,
            "is_stranger": team != TEAM,
            "tz": "Europe/Berlin",
            "profile": {"real_name": name, "display_name": name},
        }
        return self.users[user]

    def add_conversation(
        self, channel: str, kind: str = "channel", name: str = "general", members: Sequence[str] = (), bot: bool = True
    ) -> None:
        inside = [*members, *([BOT_USER] if bot and BOT_USER not in members else [])]
        self.conversations[channel] = Conversation(channel, kind, name, inside)

    def direct(self, user: str) -> Conversation:
        """The direct conversation with a person; it comes to be when it is used."""
        for found in self.conversations.values():
            if found.kind == "im" and user in found.members:
                return found
        channel = f"D0{user[2:]}"
        self.add_conversation(channel, "im", "", [user])
        return self.conversations[channel]

    def add_file(
        self,
        data: bytes,
        name: str = "file.bin",
        mimetype: str = "application/octet-stream",
        size: int | None = None,
        mode: str = "hosted",
        redirect: bool = False,
    ) -> str:
        file_id = f"F{next(self._numbers):08d}"
        claimed = len(data) if size is None else size
        self.files[file_id] = File(file_id, data, name, mimetype, claimed, mode, redirect=redirect)
        return file_id

    def file_json(self, file_id: str) -> JsonObject:
        file = self.files[file_id]
        shown: JsonObject = {"id": file.id, "mode": file.mode, "name": file.name, "title": file.name}
        if file.mode in ("tombstone", "hidden_by_limit"):
            return shown
        where = f"{self._url()}/files-pri/{TEAM}-{file.id}/{file.name}"
        return shown | {
            "created": int(self.now()),
            "mimetype": file.mimetype,
            "filetype": file.name.rpartition(".")[2],
            "size": file.size,
            "is_external": file.mode == "external",
            "url_private": where,
            "url_private_download": where,
        }

    # Messages.

    def stamp(self) -> str:
        """A fresh `ts`: Unix seconds with six digits that make it unique; it never goes back."""
        self._last = max(self.now(), self._last + 0.0001)
        return f"{self._last:.6f}"

    def post(self, channel: str, message: JsonObject, thread_ts: str | None = None) -> JsonObject:
        """Put a message into a conversation and keep its thread's root up to date. Returns the stored message."""
        place = self.conversations[channel]
        ts = self.stamp()
        stored: JsonObject = {"type": "message", "ts": ts, **message}
        root = place.messages.get(thread_ts) if thread_ts else None
        if thread_ts is not None:
            stored["thread_ts"] = thread_ts
        if root is not None:
            stored["parent_user_id"] = root.get("user")
            writers = {*root.get("reply_users", []), str(stored.get("user", ""))}
            root |= {
                "thread_ts": thread_ts,
                "reply_count": root.get("reply_count", 0) + 1,
                "latest_reply": ts,
                "reply_users": sorted(writers),
                "reply_users_count": len(writers),
            }
        place.messages[ts] = stored
        return stored

    def event(self, event: JsonObject) -> JsonObject:
        """Send any event, as given."""
        whole = {"event_ts": self.stamp(), **event}
        self._on_event(whole)
        return whole

    def _said(self, channel: str, stored: JsonObject) -> JsonObject:
        place = self.conversations[channel]
        shown = {key: value for key, value in stored.items() if key != "metadata"}
        return {
            **shown,
            "channel": channel,
            "channel_type": place.kind,
            "event_ts": stored["ts"],
        }

    def tell(self, channel: str, stored: JsonObject, mention: str = "after") -> JsonObject:
        """Let the app know of a stored message. `mention`: whether its app_mention twin comes `before` or `after` it,
        or is `none`."""
        event = self._said(channel, stored)
        place = self.conversations[channel]
        twin: JsonObject | None = None
        if f"<@{BOT_USER}>" in str(stored.get("text", "")) and place.kind != "im" and mention != "none":
            kept = ("user", "text", "ts", "team", "thread_ts", "blocks", "files", "user_team", "source_team")
            twin = {k: v for k, v in event.items() if k in kept}
            twin |= {"type": "app_mention", "channel": channel, "event_ts": stored["ts"]}
        if twin is not None and mention == "before":
            self._on_event(twin)
        if place.has_bot:
            self._on_event(event)
        if twin is not None and mention != "before":
            self._on_event(twin)
        return event

    def message(
        self,
        channel: str,
        user: str,
        text: str = "",
        *,
        thread_ts: str | None = None,
        files: Sequence[str] = (),
        subtype: str | None = None,
        mention: str = "after",
        tell: bool = True,
        extra: JsonObject | None = None,
    ) -> JsonObject:
        """A person writes. `tell` False: the event is lost on its way; `extra` overlays the message's own fields."""
        team = self.users[user]["team_id"]
        content: JsonObject = {"user": user, "text": text, "team": team, "client_msg_id": f"m{next(self._numbers)}"}
        if team != TEAM:
            content |= {"user_team": team, "source_team": team}
        if files:
            content |= {"files": [self.file_json(one) for one in files], "subtype": "file_share"}
        if subtype is not None:
            content["subtype"] = subtype
        stored = self.post(channel, content | (extra or {}), thread_ts)
        return self.tell(channel, stored, mention) if tell else self._said(channel, stored)

    def direct_message(self, user: str, text: str, **more: Any) -> JsonObject:
        return self.message(self.direct(user).id, user, text, **more)

    def edit(self, channel: str, ts: str, text: str) -> JsonObject:
        """A person changes the words of a message."""
        place = self.conversations[channel]
        before = dict(place.messages[ts])
        place.messages[ts] |= {"text": text, "edited": {"user": before["user"], "ts": self.stamp()}}
        return self.changed(channel, before, place.messages[ts])

    def unfurl(self, channel: str, ts: str) -> JsonObject:
        """The platform attaches a link preview: a change of a message whose words stay."""
        place = self.conversations[channel]
        before = dict(place.messages[ts])
        place.messages[ts] |= {"attachments": [{"from_url": "https://a.example", "fallback": "A", "id": 1}]}
        return self.changed(channel, before, place.messages[ts])

    def changed(self, channel: str, before: JsonObject, after: JsonObject) -> JsonObject:
        return self.event(
            {
                "type": "message",
                "subtype": "message_changed",
                "hidden": True,
                "channel": channel,
                "channel_type": self.conversations[channel].kind,
                "ts": self.stamp(),
                "message": dict(after),
                "previous_message": before,
            }
        )

    def delete(self, channel: str, ts: str) -> JsonObject:
        place = self.conversations[channel]
        before = place.messages.pop(ts)
        return self.event(
            {
                "type": "message",
                "subtype": "message_deleted",
                "hidden": True,
                "channel": channel,
                "channel_type": place.kind,
                "ts": self.stamp(),
                "deleted_ts": ts,
                "previous_message": before,
            }
        )

    # Comings and goings.

    def join(self, channel: str, user: str) -> JsonObject:
        place = self.conversations[channel]
        place.members.append(user)
        kind = "C" if place.kind == "channel" else "G"
        return self.event(
            {"type": "member_joined_channel", "user": user, "channel": channel, "channel_type": kind, "team": TEAM}
        )

    def leave(self, channel: str, user: str) -> JsonObject:
        place = self.conversations[channel]
        place.members.remove(user)
        if user == BOT_USER:
            return self.event({"type": "channel_left" if place.kind == "channel" else "group_left", "channel": channel})
        kind = "C" if place.kind == "channel" else "G"
        return self.event(
            {"type": "member_left_channel", "user": user, "channel": channel, "channel_type": kind, "team": TEAM}
        )

    def rename(self, channel: str, name: str) -> JsonObject:
        self.conversations[channel].name = name
        return self.event({"type": "channel_rename", "channel": {"id": channel, "name": name, "created": 1}})

    def share(self, channel: str, team: str = OTHER_TEAM) -> JsonObject:
        """The channel becomes a Slack Connect channel with another organisation."""
        self.conversations[channel].shared_with += (team,)
        return self.event({"type": "channel_shared", "channel": channel, "connected_team_id": team})

    def start_assistant(self, user: str) -> JsonObject:
        """A person opens a thread in the app's assistant view."""
        channel = self.direct(user).id
        root = self.post(channel, {"user": BOT_USER, "bot_id": BOT_ID, "text": "New Assistant Thread"})
        thread = {"user_id": user, "context": {}, "channel_id": channel, "thread_ts": root["ts"]}
        return self.event({"type": "assistant_thread_started", "assistant_thread": thread})
