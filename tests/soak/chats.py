"""Telegram, Discord and Slack in bad weather."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path

from tests.e2e.farends import telegram_settings
from tests.fakes.discord import FakeDiscord
from tests.fakes.faults import Fault
from tests.fakes.httpserver import HttpFake
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.fakes.slack_world import BOT_USER
from tests.fakes.telegram import FakeTelegram
from tests.soak.errands import Decider, OnDiscord, OnSlack, OnTelegram
from tests.soak.people import PEOPLE, Planned
from tests.soak.sides import Mishap, Seen, Side, cut_after, cut_before, failure, pause, seen, slow, twice

KEEP = 4000
FIRST = 101


class _Http(Side):
    """What servers have in common: they go dark, and restart."""

    fake: HttpFake

    async def dark(self) -> None:
        self.fake.faults.dark = True
        await self.moment(0.2, 1.5)
        self.fake.faults.dark = False

    async def restarted(self) -> None:
        await self.fake.down()
        self.fake.faults.dark = True
        self._hang_up()
        await self.moment(0.5, 6.0 if self.hard else 2.0)
        self.fake.faults.dark = False
        await self.fake.up()

    def _hang_up(self) -> None:
        """Every connection ends with the process that held it."""
        server = self.fake._runner.server if self.fake._runner is not None else None
        for connection in list(server.connections) if server is not None else []:
            if connection.transport is not None:
                connection.transport.abort()

    async def calm(self) -> None:
        self.fake.faults.clear()
        await self.fake.up()

    def plan(self, endpoint: str, fault: Callable[[], Fault], times: int = 1) -> Mishap:
        async def happen() -> None:
            self.fake.faults.plan(endpoint, fault(), times=times)
            await self.moment(0.3, 1.5)
            # It passes: a client that waits ever longer must not find ever more of it ahead.
            self.fake.faults._ahead.pop(endpoint, None)

        return happen

    async def end(self) -> None:
        await self.fake.__aexit__(None, None, None)

    async def begin(self, data: Path, port: Callable[[], Awaitable[int]]) -> None:
        return


class TelegramSide(_Http):
    name = "telegram"
    GROUP = -1001

    def __init__(self, seed: int, *, hard: bool) -> None:
        super().__init__(seed, hard=hard)
        self.telegram = self.fake = FakeTelegram(keep=KEEP)
        world = self.telegram.world
        for person in range(PEOPLE):
            world.add_user(FIRST + person, f"T{person}")
            world.chat(FIRST + person)
        world.add_chat(self.GROUP, "supergroup", "Team", members=tuple(FIRST + p for p in range(PEOPLE)))

    def settings(self) -> Mapping[str, str]:
        return {**telegram_settings(self.telegram), "OPENEXECUTIVE_CHANNELS__TELEGRAM__POLL_TIMEOUT": "5s"}

    def handles(self) -> Mapping[int, str]:
        return {person: f"[{FIRST + person}]" for person in range(PEOPLE)}

    async def write(self, planned: Planned) -> None:
        sender = FIRST + planned.person
        if planned.group:
            self.telegram.world.message(self.GROUP, sender, f"@exec_bot {self.text(planned)}")
        else:
            self.telegram.world.private_message(sender, self.text(planned))

    def in_the_end(self) -> Iterator[Seen]:
        bot = self.telegram.world.bot["id"]
        for chat in self.telegram.world.chats.values():
            for message in chat.messages.values():
                if message.get("from", {}).get("id") == bot:
                    yield seen(str(message.get("text", "")))

    def decider(self) -> Decider:
        return OnTelegram(self.telegram, FIRST + 1)  # the first is at the terminal too

    def weather(self) -> Mapping[str, Mishap]:
        return {
            "dark for a moment": self.dark,
            "restarted": self.restarted,
            "updates twice": self.plan("getUpdates", twice),
            "updates lost on their way": self.plan("getUpdates", cut_after),
            "409": self.plan("getUpdates", lambda: failure(409), times=2),
            "502 to a poll": self.plan("getUpdates", lambda: failure(502), times=2),
            "429 to a send": self.plan("sendMessage", lambda: pause(1)),
            "500 to a send": self.plan("sendMessage", failure),
            "send cut before": self.plan("sendMessage", cut_before),
            "send cut after": self.plan("sendMessage", cut_after),
            "slow send": self.plan("sendMessage", lambda: slow(0.4), times=3),
            "429 to a draft": self.plan("sendMessageDraft", lambda: pause(2)),
        }


class DiscordSide(_Http):
    name = "discord"
    BOT, GUILD, GENERAL = 9001, 100, 200

    def __init__(self, seed: int, *, hard: bool) -> None:
        super().__init__(seed, hard=hard)
        self.discord = self.fake = FakeDiscord(bot=self.BOT, keep=KEEP)
        world = self.discord.world
        for person in range(PEOPLE):
            world.add_user(FIRST + person, f"D{person}")
        world.add_guild(self.GUILD, "Acme", [FIRST + p for p in range(PEOPLE)])
        world.add_channel(self.GENERAL, self.GUILD, "general")
        self._thread: str | None = None

    def settings(self) -> Mapping[str, str]:
        key = "OPENEXECUTIVE_CHANNELS__DISCORD__"
        return {
            f"{key}ENABLED": "true",
            f"{key}TOKEN": self.discord.token,
            f"{key}BASE_URL": self.discord.base_url,
            f"{key}GATEWAY_URL": self.discord.gateway_url,
        }

    def handles(self) -> Mapping[int, str]:
        return {person: f"[{FIRST + person}]" for person in range(PEOPLE)}

    async def write(self, planned: Planned) -> None:
        world, sender = self.discord.world, FIRST + planned.person
        # What names nobody in a thread that several share may rightly stay without an answer.
        named = f"<@{self.BOT}> {self.text(planned)}"
        if not planned.group:
            world.dm(sender, self.text(planned))
        elif self._thread in world.channels:
            world.message(str(self._thread), sender, named)
        else:
            made = world.message(self.GENERAL, sender, named)
            self._thread = self._thread or made["id"]

    def in_the_end(self) -> Iterator[Seen]:
        for channel in self.discord.world.channels.values():
            for message in channel.messages.values():
                if message["author"]["id"] == str(self.BOT):
                    yield seen(str(message["content"]))

    def decider(self) -> Decider:
        return OnDiscord(self.discord, FIRST)

    async def dark(self) -> None:
        self.discord.gateway.drop()
        await super().dark()

    async def restarted(self) -> None:
        self.discord.gateway.drop()
        await super().restarted()

    async def late(self) -> None:
        """Nothing comes for a while; then the link breaks, and what was held back is repeated on RESUME."""
        gateway = self.discord.gateway
        gateway.muted = True
        await self.moment(0.3, 2.0)
        gateway.muted = False
        gateway.drop()

    async def forgotten(self) -> None:
        """The session is lost with the link: only reading back finds what was said meanwhile."""
        self.discord.faults.dark = True
        self.discord.gateway.drop()
        await self.moment(0.3, 1.5)
        self.discord.gateway.forget()
        self.discord.faults.dark = False

    async def calm(self) -> None:
        self.discord.gateway.muted = False
        self.discord.gateway.drop()
        await super().calm()

    def weather(self) -> Mapping[str, Mishap]:
        gateway = self.discord.gateway
        found: dict[str, Mishap] = {
            "dark for a moment": self.dark,
            "restarted": self.restarted,
            "events twice": self.plan("MESSAGE_CREATE", twice, times=3),
            "events late, repeated on RESUME": self.late,
            "session forgotten": self.forgotten,
            "asked to reconnect": gateway.reconnect,
            "session invalid": gateway.invalidate,
            "closed with 4000": lambda: gateway.close(4000),
            "429 to a send": lambda: self.discord.limit("createMessage", 0.5),
            "429 to an edit": lambda: self.discord.limit("editMessage", 0.5),
            "500 to a send": self.plan("createMessage", failure),
            "send cut before": self.plan("createMessage", cut_before),
            "send cut after": self.plan("createMessage", cut_after),
            "edit cut after": self.plan("editMessage", cut_after),
            "slow send": self.plan("createMessage", lambda: slow(0.4), times=3),
        }
        if self.hard:
            found["long 429 to a send"] = lambda: self.discord.limit("createMessage", 35)
        return found


class SlackSide(_Http):
    name = "slack"
    ROOM = "C0ROOM0001"

    def __init__(self, seed: int, *, hard: bool) -> None:
        super().__init__(seed, hard=hard)
        self.slack = self.fake = FakeSlack(retries=(0.5, 3.0, 10.0), keep=KEEP)
        world = self.slack.world
        for person in range(PEOPLE):
            world.add_user(self._user(person), f"S{person}")
        world.add_conversation(self.ROOM, "channel", "general", [self._user(p) for p in range(PEOPLE)])
        self._root: str | None = None
        self._late = 0

    @staticmethod
    def _user(person: int) -> str:
        return f"U0PERSON{person:02d}"

    def settings(self) -> Mapping[str, str]:
        key = "OPENEXECUTIVE_CHANNELS__SLACK__"
        return {
            f"{key}ENABLED": "true",
            f"{key}BOT_TOKEN": BOT_TOKEN,
            f"{key}APP_TOKEN": APP_TOKEN,
            f"{key}BASE_URL": self.slack.base_url,
        }

    def handles(self) -> Mapping[int, str]:
        return {person: json.dumps([self._user(person)]) for person in range(PEOPLE)}

    async def write(self, planned: Planned) -> None:
        world, user = self.slack.world, self._user(planned.person)
        tell = not self._late
        self._late = max(0, self._late - 1)
        if planned.group:
            text = f"<@{BOT_USER}> {self.text(planned)}"
            event = world.message(self.ROOM, user, text, thread_ts=self._root, tell=tell)
            self._root = self._root or event["ts"]
        else:
            event = world.direct_message(user, self.text(planned), tell=tell)
        if not tell:  # overtaken by what is said meanwhile
            stored = world.conversations[event["channel"]].messages[event["ts"]]
            asyncio.get_running_loop().call_later(self.random.uniform(0.3, 4.0), world.tell, event["channel"], stored)

    def in_the_end(self) -> Iterator[Seen]:
        for channel, place in self.slack.world.conversations.items():
            for ts, message in place.messages.items():
                if message.get("user") == BOT_USER:
                    yield seen(self.slack.shown(channel, ts))

    def decider(self) -> Decider:
        return OnSlack(self.slack, self._user(0))

    async def insist(self) -> None:
        self.slack.sockets.redeliver()

    async def dark(self) -> None:
        self.slack.sockets.cut()
        await super().dark()

    async def restarted(self) -> None:
        self.slack.sockets.cut()
        await super().restarted()

    def late(self) -> None:
        self._late = 3

    def repeated(self) -> None:
        """Acknowledgements were lost: events come again."""
        for one in self.slack.sent.of("events_api")[-3:]:
            self.slack.sockets.repeat(one.body["payload"]["event_id"])

    def weather(self) -> Mapping[str, Mishap]:
        sockets = self.slack.sockets
        found: dict[str, Mishap] = {
            "dark for a moment": self.dark,
            "restarted": self.restarted,
            "events late and overtaken": self.late,
            "events again": self.repeated,
            "socket cut": sockets.cut,
            "socket to be replaced": lambda: sockets.disconnect("refresh_requested"),
            "429 to a send": self.plan("chat.postMessage", lambda: pause(1)),
            "429 to an edit": self.plan("chat.update", lambda: pause(1)),
            "429 to history": self.plan("conversations.history", lambda: pause(1)),
            "500 to a send": self.plan("chat.postMessage", failure),
            "send cut before": self.plan("chat.postMessage", cut_before),
            "send cut after": self.plan("chat.postMessage", cut_after),
            "edit cut after": self.plan("chat.update", cut_after),
            "slow send": self.plan("chat.postMessage", lambda: slow(0.4), times=3),
        }
        if self.hard:
            found["deaf socket"] = sockets.deafen
        return found
