"""The world behind the Discord stand-in: users, guilds, channels, threads, messages, and the events that they cause.

Acts of people (`message`, `edit`, `command`, ...) change the state, dispatch what the gateway would, and return the
payload. Pure state: no I/O. Ids are snowflakes as strings, as in Discord's JSON; acts take them as int or str.
Source: Discord's public developer documentation (API v10).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.fakes.faults import wall_seconds

JsonObject = dict[str, Any]
Id = int | str
Dispatch = Callable[[str, JsonObject], None]

EPOCH = 1_420_070_400_000
DM, TEXT, VOICE, NEWS, PUBLIC_THREAD, PRIVATE_THREAD, FORUM = 1, 0, 2, 5, 11, 12, 15
THREADS = (10, PUBLIC_THREAD, PRIVATE_THREAD)
VIEW_CHANNEL = 1 << 10
ALL_PERMISSIONS = (1 << 53) - 1
SUPPRESS_EMBEDS, HAS_THREAD, VOICE_MESSAGE, SNAPSHOT = 1 << 2, 1 << 5, 1 << 13, 1 << 14
_MENTION = re.compile(r"<@!?(\d+)>")


@dataclass
class File:
    name: str
    mime: str
    data: bytes
    size: int
    id: str = ""


@dataclass
class Channel:
    id: str
    type: int
    name: str = ""
    guild: str | None = None
    parent: str | None = None
    recipient: str | None = None
    owner: str | None = None
    archived: bool = False
    locked: bool = False
    members: set[str] = field(default_factory=set)
    """Of a thread; of a private channel those who may see it."""
    private: bool = False
    messages: dict[str, JsonObject] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)
    """What the bot may not do here: `view`, `history`, `send`, `threads`, `manage`, `react`."""
    last: str | None = None


@dataclass
class Guild:
    id: str
    name: str
    owner: str
    members: dict[str, JsonObject] = field(default_factory=dict)
    roles: dict[str, JsonObject] = field(default_factory=dict)
    more_members: int = 0
    """Members that the platform counts and does not list."""


class World:
    def __init__(self, bot: int, username: str, dispatch: Dispatch) -> None:
        self._dispatch = dispatch
        self.now: Callable[[], float] = wall_seconds
        """Unix time by the far end's clock, which dates ids and messages."""
        self._numbers = itertools.count(1)
        self.users: dict[str, JsonObject] = {}
        self.guilds: dict[str, Guild] = {}
        self.channels: dict[str, Channel] = {}
        self.files: dict[str, File] = {}
        self.no_dm: set[str] = set()
        self.interactions: dict[str, JsonObject] = {}
        """By token: the interaction, `acknowledged` and the ephemeral answers shown."""
        self.content_intent = True
        self.members_intent = True
        """As set in the developer portal."""
        self.file_url = ""
        self.bot = self.add_user(bot, username, bot=True)

    # --- ids and users ---

    def snowflake(self, at: float | None = None) -> str:
        milliseconds = int((self.now() if at is None else at) * 1000)
        return str(((milliseconds - EPOCH) << 22) + next(self._numbers))

    def add_user(self, user: Id, name: str, *, bot: bool = False, shown: str | None = None) -> JsonObject:
        made = {"id": str(user), "username": name.lower(), "global_name": shown or name, "discriminator": "0"}
        self.users[str(user)] = {**made, "avatar": None, "bot": bot}
        return self.users[str(user)]

    def add_file(self, data: bytes, name: str, mime: str = "application/octet-stream", size: int | None = None) -> str:
        file_id = self.snowflake()
        self.files[file_id] = File(name, mime, data, len(data) if size is None else size, file_id)
        return file_id

    def attachment(self, file_id: str, **more: Any) -> JsonObject:
        file = self.files[file_id]
        url = f"{self.file_url}/attachments/{file_id}/{file.name}"
        made = {"id": file_id, "filename": file.name, "size": file.size, "url": url, "proxy_url": url}
        return {**made, "content_type": file.mime, **more}

    # --- guilds and channels ---

    def add_guild(self, guild: Id, name: str, members: Iterable[Id] = (), *, more_members: int = 0) -> JsonObject:
        key, bot = str(guild), self.bot["id"]
        made = Guild(key, name, owner=next((str(m) for m in members), bot), more_members=more_members)
        self.guilds[key] = made
        self._add_role(made, key, "@everyone", ALL_PERMISSIONS & ~(1 << 3))
        own = self._add_role(made, str(int(key) + 1), self.bot["username"], 0)
        own["managed"], own["tags"] = True, {"bot_id": bot}
        for user in (bot, *map(str, members)):
            made.members[user] = self._member(made, user)
        made.members[bot]["roles"] = [own["id"]]
        self._dispatch("GUILD_CREATE", self.guild_json(key))
        return self.guild_json(key)

    def _add_role(self, guild: Guild, role: str, name: str, permissions: int) -> JsonObject:
        made: JsonObject = {"id": role, "name": name, "permissions": str(permissions), "position": 0, "color": 0}
        made |= {"hoist": False, "managed": False, "mentionable": False, "flags": 0}
        made["colors"] = {"primary_color": 0, "secondary_color": None, "tertiary_color": None}
        guild.roles[role] = made
        return made

    def _member(self, guild: Guild, user: str, nick: str | None = None) -> JsonObject:
        joined = datetime.fromtimestamp(self.now(), UTC).isoformat()
        return {"user": self.users[user], "nick": nick, "roles": [], "joined_at": joined, "deaf": False, "mute": False,
                "flags": 0}  # fmt: skip

    def add_channel(
        self,
        channel: Id,
        guild: Id | None = None,
        name: str = "general",
        *,
        type: int = TEXT,  # noqa: A002 - Discord's name
        private_to: Iterable[Id] | None = None,
    ) -> JsonObject:
        made = Channel(str(channel), type, name, str(guild) if guild is not None else None)
        if private_to is not None:
            made.private, made.members = True, {self.bot["id"], *map(str, private_to)}
        self.channels[made.id] = made
        if made.guild is not None:
            self._dispatch("CHANNEL_CREATE", self.channel_json(made))
        return self.channel_json(made)

    def add_thread(
        self,
        thread: Id,
        parent: Id,
        name: str,
        owner: Id,
        *,
        private: bool = False,
        members: Iterable[Id] = (),
    ) -> JsonObject:
        above = self.channels[str(parent)]
        made = Channel(str(thread), PRIVATE_THREAD if private else PUBLIC_THREAD, name, above.guild, above.id)
        made.owner = str(owner)
        made.members = {str(owner), *map(str, members)}
        self.channels[made.id] = made
        self._dispatch("THREAD_CREATE", {**self.channel_json(made), "newly_created": True})
        return self.channel_json(made)

    def forum_post(self, forum: Id, author: Id, title: str, content: str) -> JsonObject:
        """A post is a thread whose first message has the thread's id."""
        thread = self.snowflake()
        self.add_thread(thread, forum, title, author)
        return self.message(thread, author, content, extra={"id": thread})

    def set_thread(self, thread: Id, *, archived: bool | None = None, locked: bool | None = None) -> JsonObject:
        found = self.channels[str(thread)]
        found.archived = found.archived if archived is None else archived
        found.locked = found.locked if locked is None else locked
        self._dispatch("THREAD_UPDATE", self.channel_json(found))
        return self.channel_json(found)

    def deny(self, channel: Id, *what: str) -> None:
        """Take permissions from the bot in a channel (and grant all others)."""
        self.channels[str(channel)].denied = set(what)

    def close_dms(self, user: Id) -> None:
        self.no_dm.add(str(user))

    def delete_channel(self, channel: Id) -> None:
        gone = self.channels.pop(str(channel))
        event = "THREAD_DELETE" if gone.type in THREADS else "CHANNEL_DELETE"
        self._dispatch(event, self.channel_json(gone))

    def add_member(self, guild: Id, user: Id, nick: str | None = None) -> JsonObject:
        found = self.guilds[str(guild)]
        found.members[str(user)] = self._member(found, str(user), nick)
        payload = {**found.members[str(user)], "guild_id": found.id}
        self._dispatch("GUILD_MEMBER_ADD", payload)
        return payload

    def remove_member(self, guild: Id, user: Id) -> JsonObject:
        found = self.guilds[str(guild)]
        found.members.pop(str(user), None)
        payload = {"guild_id": found.id, "user": self.users[str(user)]}
        self._dispatch("GUILD_MEMBER_REMOVE", payload)
        return payload

    def kick_bot(self, guild: Id) -> None:
        gone = self.guilds.pop(str(guild))
        for channel in [c for c in self.channels.values() if c.guild == gone.id]:
            del self.channels[channel.id]
        self._dispatch("GUILD_DELETE", {"id": gone.id})

    def dm_channel(self, user: Id) -> Channel:
        for channel in self.channels.values():
            if channel.type == DM and channel.recipient == str(user):
                return channel
        made = Channel(self.snowflake(), DM, recipient=str(user))
        self.channels[made.id] = made
        return made

    def thread_add(self, thread: Channel, user: str) -> None:
        if user not in thread.members:
            thread.members.add(user)
            added = [{"id": thread.id, "user_id": user, "join_timestamp": "2026-01-01T00:00:00+00:00", "flags": 0}]
            self._dispatch(
                "THREAD_MEMBERS_UPDATE",
                {"id": thread.id, "guild_id": thread.guild, "member_count": len(thread.members),
                 "added_members": added, "removed_member_ids": []},
            )  # fmt: skip

    # --- messages ---

    def message(
        self,
        channel: Id,
        author: Id,
        content: str = "",
        *,
        reply_to: Id | None = None,
        files: Iterable[str] = (),
        sticker: str | None = None,
        at: float | None = None,
        extra: JsonObject | None = None,
    ) -> JsonObject:
        """Somebody's message. `files` are ids of `add_file`; `extra` overlays the message's own fields."""
        place = self.channels[str(channel)]
        if place.archived and not place.locked:
            self.set_thread(place.id, archived=False)
        made = self.build(place, self.users[str(author)], content, at)
        made["attachments"] = [self.attachment(file_id) for file_id in files]
        if sticker is not None:
            made["sticker_items"] = [{"id": self.snowflake(), "name": sticker, "format_type": 1}]
        if reply_to is not None:
            made["type"] = 19
            made["message_reference"] = {"type": 0, "channel_id": place.id, "message_id": str(reply_to)}
            made["referenced_message"] = place.messages.get(str(reply_to))
        made |= extra or {}
        return self.publish(place, made)

    def build(self, place: Channel, author: JsonObject, content: str, at: float | None = None) -> JsonObject:
        stamp = self.now() if at is None else at
        mentioned = [self.users[m] for m in dict.fromkeys(_MENTION.findall(content)) if m in self.users]
        made: JsonObject = {
            "id": self.snowflake(at), "channel_id": place.id, "author": author, "content": content, "type": 0,
            "timestamp": datetime.fromtimestamp(stamp, UTC).isoformat(), "edited_timestamp": None, "tts": False,
            "mention_everyone": "@everyone" in content, "mentions": mentioned, "attachments": [], "embeds": [],
            "mention_roles": re.findall(r"<@&(\d+)>", content), "pinned": False, "flags": 0, "components": [],
        }  # fmt: skip
        return made

    def publish(self, place: Channel, made: JsonObject, nonce: str | None = None) -> JsonObject:
        place.messages[made["id"]] = made
        place.last = made["id"]
        if place.type in THREADS:
            self.thread_add(place, made["author"]["id"])
            if any(user["id"] == self.bot["id"] for user in made["mentions"]):
                self.thread_add(place, self.bot["id"])
        event = self.located(place, made)
        self._dispatch("MESSAGE_CREATE", event | ({} if nonce is None else {"nonce": nonce}))
        return event

    def located(self, place: Channel, message: JsonObject) -> JsonObject:
        """The message as the gateway words it: with its guild and the writer's membership."""
        event = dict(message)
        if place.guild is not None:
            event["guild_id"] = place.guild
            member = self.guilds[place.guild].members.get(message["author"]["id"])
            if member is not None:
                event["member"] = {key: value for key, value in member.items() if key != "user"}
        return event

    def dm(self, author: Id, content: str = "", **more: Any) -> JsonObject:
        return self.message(self.dm_channel(author).id, author, content, **more)

    def forward(self, channel: Id, author: Id, content: str, **snapshot: Any) -> JsonObject:
        inner = {"content": content, "attachments": [], "embeds": [], "mentions": [], "type": 0, "flags": 0,
                 "timestamp": "2026-01-01T00:00:00+00:00", "edited_timestamp": None, **snapshot}  # fmt: skip
        reference = {"type": 1, "channel_id": "5", "message_id": "6"}
        extra = {"message_snapshots": [{"message": inner}], "message_reference": reference, "flags": SNAPSHOT}
        return self.message(channel, author, "", extra=extra)

    def edit(self, channel: Id, message: Id, content: str) -> JsonObject:
        place = self.channels[str(channel)]
        found = place.messages[str(message)]
        stamp = datetime.fromtimestamp(self.now(), UTC).replace(microsecond=next(self._numbers) % 1_000_000)
        fresh = self.build(place, found["author"], content)
        found |= {"content": content, "edited_timestamp": stamp.isoformat(), "mentions": fresh["mentions"]}
        return self.updated(place, found)

    def unfurl(self, channel: Id, message: Id) -> JsonObject:
        """Discord adds a preview: an update that is no edit."""
        place = self.channels[str(channel)]
        found = place.messages[str(message)]
        found["embeds"] = [{"type": "link", "url": "https://example.com", "title": "Example"}]
        return self.updated(place, found)

    def updated(self, place: Channel, message: JsonObject) -> JsonObject:
        event = self.located(place, message)
        self._dispatch("MESSAGE_UPDATE", event)
        return event

    def delete(self, channel: Id, *messages: Id) -> None:
        """Delete one message, or several as moderators do, in bulk."""
        place = self.channels[str(channel)]
        for message in messages:
            place.messages.pop(str(message), None)
        where = {"channel_id": place.id} | ({"guild_id": place.guild} if place.guild else {})
        if len(messages) == 1:
            self._dispatch("MESSAGE_DELETE", {"id": str(messages[0]), **where})
        else:
            self._dispatch("MESSAGE_DELETE_BULK", {"ids": [str(m) for m in messages], **where})

    def typing(self, channel: Id, user: Id) -> None:
        place = self.channels[str(channel)]
        event: JsonObject = {"channel_id": place.id, "user_id": str(user), "timestamp": int(self.now())}
        self._dispatch("TYPING_START", event | ({"guild_id": place.guild} if place.guild else {}))

    # --- interactions ---

    def command(self, channel: Id, user: Id, name: str, text: str | None = None) -> JsonObject:
        options = [] if text is None else [{"type": 3, "name": "text", "value": text}]
        data = {"id": self.snowflake(), "name": name, "type": 1, "options": options}
        return self._interact(2, channel, user, data)

    def press(self, channel: Id, user: Id, message: Id, custom_id: str) -> JsonObject:
        data = {"custom_id": custom_id, "component_type": 2}
        carrier = self.channels[str(channel)].messages[str(message)]
        return self._interact(3, channel, user, data, message=carrier)

    def submit(self, channel: Id, user: Id, custom_id: str, values: dict[str, str]) -> JsonObject:
        rows = [{"type": 1, "components": [{"type": 4, "custom_id": k, "value": v}]} for k, v in values.items()]
        return self._interact(5, channel, user, {"custom_id": custom_id, "components": rows})

    def fill(self, user: Id, values: dict[str, str]) -> JsonObject:
        """Somebody sends the form that they were shown last, in answer to a press."""
        known = next(
            one
            for one in reversed(self.interactions.values())
            if (one["acknowledged"] or {}).get("type") == 9 and self._presser(one["interaction"]) == str(user)
        )
        press, shown = known["interaction"], known["acknowledged"]["data"]
        fields = [
            {"type": 18, "id": n, "component": {"type": 4, "id": 10 + n, "custom_id": name, "value": values[name]}}
            for n, label in enumerate(shown["components"])
            if (name := label["component"]["custom_id"]) in values
        ]
        data = {"custom_id": shown["custom_id"], "components": fields}
        return self._interact(5, press["channel_id"], user, data, message=press["message"])

    @staticmethod
    def _presser(interaction: JsonObject) -> str:
        user = interaction.get("user") or interaction["member"]["user"]
        return str(user["id"])

    def _interact(self, kind: int, channel: Id, user: Id, data: JsonObject, **more: Any) -> JsonObject:
        place, who = self.channels[str(channel)], self.users[str(user)]
        token = f"interaction-token-{next(self._numbers)}"
        made: JsonObject = {
            "id": self.snowflake(), "application_id": self.bot["id"], "type": kind, "token": token, "version": 1,
            "channel_id": place.id, "channel": self.channel_json(place), "data": data, "entitlements": [],
            "attachment_size_limit": 10_000_000, "authorizing_integration_owners": {}, **more,
        }  # fmt: skip
        if place.guild is not None:
            member = self.guilds[place.guild].members[str(user)]
            made |= {"guild_id": place.guild, "member": {**member, "permissions": str(ALL_PERMISSIONS)}}
        else:
            made["user"] = who
        self.interactions[token] = {"interaction": made, "acknowledged": None, "shown": []}
        self._dispatch("INTERACTION_CREATE", made)
        return made

    # --- as JSON ---

    def channel_json(self, channel: Channel) -> JsonObject:
        made: JsonObject = {"id": channel.id, "type": channel.type, "last_message_id": channel.last, "flags": 0}
        if channel.type == DM:
            return made | {"recipients": [self.users[channel.recipient or ""]]}
        made |= {"guild_id": channel.guild, "name": channel.name, "parent_id": channel.parent, "position": 0}
        if channel.type in THREADS:
            stamp = "2026-01-01T00:00:00+00:00"
            state = {"archived": channel.archived, "locked": channel.locked, "auto_archive_duration": 1440}
            made |= {"owner_id": channel.owner, "message_count": len(channel.messages), "rate_limit_per_user": 0,
                     "member_count": len(channel.members), "total_message_sent": len(channel.messages),
                     "thread_metadata": {**state, "archive_timestamp": stamp, "create_timestamp": stamp}}  # fmt: skip
            if self.bot["id"] in channel.members:
                made["member"] = {"id": channel.id, "user_id": self.bot["id"], "join_timestamp": stamp, "flags": 0}
            return made
        overwrites: list[JsonObject] = []
        if channel.private and channel.guild is not None:
            overwrites.append({"id": channel.guild, "type": 0, "allow": "0", "deny": str(VIEW_CHANNEL)})
            overwrites += [{"id": m, "type": 1, "allow": str(VIEW_CHANNEL), "deny": "0"} for m in channel.members]
        return made | {"permission_overwrites": overwrites, "nsfw": False, "topic": None, "available_tags": []}

    def guild_json(self, guild: Id, *, members: bool = True) -> JsonObject:
        found = self.guilds[str(guild)]
        channels = [c for c in self.channels.values() if c.guild == found.id and "view" not in c.denied]
        shown = [m for m in found.members.values() if members or m["user"]["id"] == self.bot["id"]]
        return {
            "id": found.id, "name": found.name, "owner_id": found.owner, "unavailable": False, "large": False,
            "member_count": len(found.members) + found.more_members, "members": shown,
            "joined_at": "2026-01-01T00:00:00+00:00",
            "roles": list(found.roles.values()), "emojis": [], "stickers": [], "features": [], "presences": [],
            "channels": [self.channel_json(c) for c in channels if c.type not in THREADS],
            "threads": [self.channel_json(c) for c in channels if c.type in THREADS and not c.archived],
            "voice_states": [], "stage_instances": [], "guild_scheduled_events": [], "soundboard_sounds": [],
            "verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0, "mfa_level": 0,
            "nsfw_level": 0, "premium_tier": 0, "preferred_locale": "en-US", "afk_timeout": 300, "nsfw": False,
            "system_channel_flags": 0, "premium_progress_bar_enabled": False, "afk_channel_id": None, "icon": None,
        }  # fmt: skip
