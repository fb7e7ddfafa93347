"""People on one platform: how a far end lets them write, and what it shows them. Chats are numbers, one person each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping

from tests.fakes.discord import FakeDiscord
from tests.fakes.faults import JsonObject, Record, Recorded
from tests.fakes.httpserver import HttpFake
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.fakes.slack_world import BOT_USER
from tests.fakes.telegram import FakeTelegram

KEEP = 500
PLACEHOLDERS = ("", "…", "One moment…")
"""What says only that an answer is being written."""


class Crowd(ABC):
    """`server` is to be entered before anything else."""

    server: HttpFake
    records: tuple[Record, ...]
    """Where answers show: new messages, and edits of them."""

    @abstractmethod
    def hello(self) -> JsonObject:
        """What a subject must be told to find the platform."""

    @abstractmethod
    def write(self, chat: int, text: str) -> None: ...

    @abstractmethod
    def read(self, entry: Recorded) -> tuple[int, str, str] | None:
        """Chat, id and text of a message of the subject's, if this is one."""

    def listening(self) -> bool:
        """Whether what is written now reaches the subject."""
        return True

    def shown(self, entry: Recorded) -> tuple[int, str, str] | None:
        """The same, if it says something."""
        found = self.read(entry)
        return None if found is None or found[2].strip(" _") in PLACEHOLDERS else found


class TelegramCrowd(Crowd):
    def __init__(self) -> None:
        self.server = self._telegram = FakeTelegram(keep=KEEP)
        self.records = (self._telegram.deliveries,)

    def hello(self) -> JsonObject:
        return {"url": self._telegram.url, "token": self._telegram.token}

    def write(self, chat: int, text: str) -> None:
        self._telegram.world.private_message(chat, text)

    def read(self, entry: Recorded) -> tuple[int, str, str]:
        return int(entry.body["chat_id"]), str(entry.seq), str(entry.body["text"])


class DiscordCrowd(Crowd):
    """Everybody has a direct channel; the one guild is there because a bot without any is not let write to people."""

    def __init__(self) -> None:
        self.server = self._discord = FakeDiscord(keep=KEEP)
        self.records = (self._discord.deliveries, self._discord.effects)
        self._discord.world.add_guild(100, "Acme")
        self._chats: dict[str, int] = {}

    def hello(self) -> JsonObject:
        found = self._discord
        return {"url": found.base_url, "gateway": found.gateway_url, "token": found.token}

    def listening(self) -> bool:
        return bool(self._discord.gateway.connected)

    def write(self, chat: int, text: str) -> None:
        world = self._discord.world
        if str(chat) not in world.users:
            world.add_user(chat, f"Person {chat}")
            self._chats[world.dm_channel(chat).id] = chat
        world.dm(chat, text)

    def channels(self) -> list[str]:
        """Of those who have written."""
        return list(self._chats)

    def read(self, entry: Recorded) -> tuple[int, str, str] | None:
        if entry.endpoint not in ("createMessage", "editMessage"):
            return None
        return self._chats[entry.body["channel_id"]], entry.body["id"], str(entry.body["content"])


class SlackCrowd(Crowd):
    def __init__(self) -> None:
        self.server = self._slack = FakeSlack(retries=(1.0, 2.0, 6.0), keep=KEEP)
        self.records = (self._slack.deliveries, self._slack.effects)
        self._channels: dict[int, str] = {}
        self._chats: dict[str, int] = {}

    def hello(self) -> JsonObject:
        return {"url": self._slack.base_url, "token": BOT_TOKEN, "app_token": APP_TOKEN}

    def listening(self) -> bool:
        return bool(self._slack.sockets.links)

    def write(self, chat: int, text: str) -> None:
        world, user = self._slack.world, slack_user(chat)
        if chat not in self._channels:
            world.add_user(user, f"Person {chat}")
            channel = self._channels[chat] = f"D{user[1:]}"
            world.add_conversation(channel, "im", "", [user, BOT_USER])
            self._chats[channel] = chat
        world.message(self._channels[chat], user, text)

    def read(self, entry: Recorded) -> tuple[int, str, str] | None:
        if entry.endpoint not in ("message", "chat.update"):
            return None
        return self._chats[entry.body["channel"]], entry.body["ts"], str(entry.body["shown"])


CROWDS: Mapping[str, Callable[[], Crowd]] = {
    "telegram": TelegramCrowd,
    "discord": DiscordCrowd,
    "slack": SlackCrowd,
}


def slack_user(chat: int) -> str:
    return f"U{chat:010d}"


def handle(channel: str, chat: int) -> str:
    """The person of a chat, as settings name them (TOML)."""
    return f'"{slack_user(chat)}"' if channel == "slack" else str(chat)


def since(record: Record, seen: int) -> Iterator[Recorded]:
    return (entry for entry in record if entry.seq > seen)
