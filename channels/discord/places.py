"""What is known about the rooms: from what the library keeps of the guilds, else by asking the platform."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import discord

from bot.gateway.events import PlaceKind
from bot.kernel.errors import TransientError
from channels.discord.client import Api
from channels.discord.content import clean_name
from channels.discord.errors import REQUEST_ERRORS, translate
from channels.discord.where import Where

_REMEMBERED = 5000
_PRIVATE_THREAD = 12
_DM = 1
_WITH_THREADS = (0, 5)

Parent = discord.abc.GuildChannel


class Places:
    """`joined` holds threads of which we know more than the platform has told: those in use."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._rooms: dict[int, tuple[PlaceKind, int | None]] = {}
        self._asked: dict[int, Mapping[str, Any]] = {}
        self._direct: dict[int, int] = {}
        """DM channel to the other's id."""
        self._opened: dict[int, int] = {}
        """The other's id to the DM channel."""
        self.joined: set[int] = set()

    def changed(self) -> None:
        """Members, roles or channels are not what they were."""
        self._rooms.clear()

    def learned_direct(self, channel: int, user: int) -> None:
        while len(self._direct) >= _REMEMBERED:
            self._opened.pop(self._direct.pop(next(iter(self._direct))), None)
        self._direct[channel] = user
        self._opened[user] = channel

    async def open_direct(self, user: int) -> int:
        """The channel of direct messages with a person; asked for once. Raises what REST calls raise."""
        known = self._opened.get(user)
        if known is None:
            made = await self._api.call("POST", "/users/@me/channels", json={"recipient_id": str(user)})
            known = int(made["id"])
            self.learned_direct(known, user)
        return known

    async def where(self, channel: int, guild: int | None, user: int | None) -> Where | None:
        """The room of an event; `user` is the writer, who in direct messages is the other one. None for what is no room
        any more. Raises `TransientError` if the platform must be asked and cannot be."""
        if guild is None and user is not None and channel not in self._direct and self._channel(channel) is None:
            self.learned_direct(channel, user)
        if channel in self._direct:
            return Where(channel, PlaceKind.DIRECT, "", members=2, user=self._direct[channel])
        found = self._channel(channel)
        if found is not None:
            return self._known(found)
        if channel not in self._asked:
            try:
                answer = await self._api.call("GET", "/channels/{channel_id}", channel_id=channel)
            except REQUEST_ERRORS as error:
                failure = translate(error, effect=False)
                if isinstance(failure, TransientError):
                    raise failure from error
                return None
            while len(self._asked) >= _REMEMBERED:
                del self._asked[next(iter(self._asked))]
            self._asked[channel] = answer
        return self._told(channel, self._asked[channel])

    def lookup(self, kind: str, number: int) -> str | None:
        """Names for mentions."""
        client = self._api.client
        if client is None:
            return None
        if kind == "user":
            user = client.user if client.user is not None and client.user.id == number else client.get_user(number)
            return clean_name(user.display_name) if user is not None else None
        if kind == "channel":
            found = client.get_channel(number)
            return clean_name(found.name) if isinstance(found, Parent | discord.Thread) else None
        for guild in client.guilds:
            role = guild.get_role(number)
            if role is not None:
                return clean_name(role.name)
        return None

    def takes_part(self, channel: int) -> bool | None:
        """Whether we opened or joined a thread, as of now; None if it is none that the library knows."""
        found = self._channel(channel)
        return _joined(found, self._own_id()) if isinstance(found, discord.Thread) else None

    def sees(self, channel: int, user: int) -> bool:
        """Whether a member of the guild may read a channel; yes where that is not known."""
        found = self._channel(channel)
        if not isinstance(found, Parent):
            return True
        member = found.guild.get_member(user)
        return member is None or found.permissions_for(member).view_channel

    def _own_id(self) -> int | None:
        client = self._api.client
        return client.user.id if client is not None and client.user is not None else None

    def _channel(self, channel: int) -> Parent | discord.Thread | None:
        client = self._api.client
        found = client.get_channel(channel) if client is not None else None
        return found if isinstance(found, Parent | discord.Thread) else None

    def _known(self, found: Parent | discord.Thread) -> Where:
        if isinstance(found, discord.Thread):
            ours = _joined(found, self._own_id()) or found.id in self.joined
            return self._thread(found.id, found.name, found.guild, found.parent_id, found.is_private(), ours)
        kind, members = self._room(found)
        return Where(
            channel=found.id,
            kind=kind,
            title=_title(found.name, found.guild),
            guild=found.guild.id,
            members=members,
            can_open=isinstance(found, discord.TextChannel),
            own_role=_own_role(found.guild),
        )

    def _told(self, channel: int, answer: Mapping[str, Any]) -> Where | None:
        """A room that the library does not keep: direct messages, archived threads."""
        if int(answer.get("type", -1)) == _DM:
            others = answer.get("recipients") or ()
            if not others:
                return None
            self.learned_direct(channel, int(others[0]["id"]))
            return Where(channel, PlaceKind.DIRECT, "", members=2, user=int(others[0]["id"]))
        client = self._api.client
        guild = client.get_guild(int(answer["guild_id"])) if client is not None and "guild_id" in answer else None
        if guild is None:
            return None
        if "thread_metadata" not in answer:  # a channel of which the library was not told: nobody knows who reads there
            title, opens = _title(str(answer.get("name", "")), guild), int(answer["type"]) in _WITH_THREADS
            return Where(channel, PlaceKind.GROUP, title, guild.id, can_open=opens, own_role=_own_role(guild))
        ours = int(answer.get("owner_id") or 0) == self._own_id() or "member" in answer or channel in self.joined
        private = int(answer["type"]) == _PRIVATE_THREAD
        return self._thread(channel, str(answer.get("name", "")), guild, int(answer["parent_id"]), private, ours)

    def _thread(self, thread: int, name: str, guild: discord.Guild, parent: int, private: bool, ours: bool) -> Where:
        above = guild.get_channel(parent)
        kind, members = (PlaceKind.GROUP, None) if private or above is None else self._room(above)
        return Where(
            channel=thread,
            kind=kind,
            title=_title(name if private or above is None else above.name, guild),
            guild=guild.id,
            members=members,
            parent=parent,
            private=private,
            ours=ours,
            own_role=_own_role(guild),
        )

    def _room(self, channel: Parent) -> tuple[PlaceKind, int | None]:
        """Who may read a channel: everybody in the guild, or some; and how many, if the platform listed them all."""
        found = self._rooms.get(channel.id)
        if found is None:
            guild = channel.guild
            everybody = channel.permissions_for(guild.default_role).view_channel
            members: int | None = None
            client = self._api.client
            if client is not None and client.intents.members and guild.chunked:
                members = sum(1 for member in guild.members if channel.permissions_for(member).view_channel)
            found = self._rooms[channel.id] = (PlaceKind.CHANNEL if everybody else PlaceKind.GROUP, members)
        return found


def _joined(thread: discord.Thread, me: int | None) -> bool:
    return thread.owner_id == me or thread.me is not None


def _own_role(guild: discord.Guild) -> int | None:
    role = guild.self_role
    return role.id if role is not None else None


def _title(name: str, guild: discord.Guild) -> str:
    return clean_name(f"#{name} ({guild.name})")
