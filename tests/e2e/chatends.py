"""Discord and Slack as the kill series sees them. An answer there may be a message of its own or the last words of a
placeholder: what counts is what people read in the end, message by message. Both platforms can be asked what they
have, so a repetition is a fault, and so is a placeholder that stays one.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

from tests.e2e.daemon import PATIENCE, Daemon
from tests.e2e.farends import EFFECT, PEOPLE, Arrived
from tests.e2e.numbers import AT_LEISURE, numbers_in, words
from tests.fakes.discord import BOT, FakeDiscord
from tests.fakes.faults import Delay
from tests.fakes.httpserver import HttpFake
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.fakes.slack_world import BOT_USER

DIRECT = "direct"
LEISURELY = "leisurely"
"""In a direct message, about something that the model takes its time over."""
MENTION = "mention"
"""In a channel, with a mention: a thread is opened for the answer."""
FOLLOW_UP = "follow-up"
"""In the thread of the last mention, without one."""
PLACEHOLDERS = ("", "…", "One moment…")
REPETITION = "may have reached you already"


class _ChatEnd(ABC):
    name: str
    channel: str
    certain = True
    effects: tuple[str, ...] = (EFFECT,)
    manners: tuple[str, ...] = (LEISURELY, DIRECT, MENTION, FOLLOW_UP, LEISURELY)
    busy = 1.5
    prefix: str

    def __init__(self, fake: HttpFake, sending: str) -> None:
        self._http = fake
        self._sending = sending

    def people(self) -> dict[str, str]:
        return {
            f"OPENEXECUTIVE_PEOPLE__P{person}__{key}": value
            for person in range(PEOPLE)
            for key, value in {
                "NAME": f"P{person}",
                "ROLE": "principal" if person == 0 else "member",
                self.prefix: json.dumps([self.person(person)]),
            }.items()
        } | {"OPENEXECUTIVE_CHANNELS__EMAIL__ENABLED": "false"}

    @abstractmethod
    def settings(self) -> Mapping[str, str]: ...

    @abstractmethod
    async def insist(self, daemon: Daemon) -> None: ...

    @abstractmethod
    def person(self, person: int) -> int | str: ...

    @abstractmethod
    def shown(self) -> Iterator[str]:
        """All messages of ours as people read them now."""

    @abstractmethod
    def direct(self, person: int, text: str) -> None: ...

    @abstractmethod
    def mention(self, person: int, text: str) -> None: ...

    @abstractmethod
    def follow_up(self, person: int, text: str) -> None: ...

    async def send(self, daemon: Daemon, number: int, manner: str) -> None:
        person, text = number % PEOPLE, words(number)
        match manner:
            case "mention":
                self.mention(person, text)
            case "follow-up":
                self.follow_up(person, text)
            case "leisurely":
                self.direct(person, f"{text}, {AT_LEISURE}")
            case _:
                self.direct(person, text)

    def arrived(self) -> Iterator[Arrived]:
        for text in self.shown():
            if numbers := numbers_in(text):
                yield Arrived(tuple(numbers), REPETITION in text)

    def left_behind(self) -> list[str]:
        unfinished = (text for text in self.shown() if not numbers_in(text))
        return [text for text in unfinished if text.strip(" _") in PLACEHOLDERS or text.startswith("Done")]

    def hold_effect(self, gate: str) -> None:
        self._http.faults.plan(self._sending, Delay(gate=gate, when="after"))

    async def effect_reached(self, gate: str) -> None:
        async with asyncio.timeout(PATIENCE):
            await self._http.faults.gate(gate).reached.wait()

    def let_go(self) -> None:
        self._http.faults.clear()


class DiscordEnd(_ChatEnd):
    name = "discord"
    channel = "discord"
    prefix = "DISCORD"
    GUILD, GENERAL = 100, 200

    def __init__(self, fake: FakeDiscord) -> None:
        super().__init__(fake, "createMessage")
        self._fake = fake
        for person in range(PEOPLE):
            fake.world.add_user(self.person(person), f"P{person}")
        fake.world.add_guild(self.GUILD, "Acme", [self.person(person) for person in range(PEOPLE)])
        fake.world.add_channel(self.GENERAL, self.GUILD, "general")
        self._starter = ""

    def person(self, person: int) -> int:
        return 101 + person

    def settings(self) -> Mapping[str, str]:
        key = "OPENEXECUTIVE_CHANNELS__DISCORD__"
        return self.people() | {
            f"{key}ENABLED": "true",
            f"{key}TOKEN": self._fake.token,
            f"{key}BASE_URL": self._fake.base_url,
            f"{key}GATEWAY_URL": self._fake.gateway_url,
        }

    async def insist(self, daemon: Daemon) -> None:
        """What was missed is read back."""

    def direct(self, person: int, text: str) -> None:
        self._fake.world.dm(self.person(person), text)

    def mention(self, person: int, text: str) -> None:
        made = self._fake.world.message(self.GENERAL, self.person(person), f"<@{BOT}> {text}")
        self._starter = made["id"]

    def follow_up(self, person: int, text: str) -> None:
        """A thread has its starter's id; until it stands there is nothing to follow up in."""
        if self._starter in self._fake.world.channels:
            self._fake.world.message(self._starter, self.person(person), text)
        else:
            self.mention(person, text)

    def shown(self) -> Iterator[str]:
        for channel in self._fake.world.channels.values():
            for message in channel.messages.values():
                if message["author"]["id"] == str(BOT):
                    yield str(message["content"])


class SlackEnd(_ChatEnd):
    name = "slack"
    channel = "slack"
    prefix = "SLACK"
    ROOM = "C0ROOM0001"

    def __init__(self, fake: FakeSlack) -> None:
        super().__init__(fake, "chat.postMessage")
        self._fake = fake
        for person in range(PEOPLE):
            fake.world.add_user(self.person(person), f"P{person}")
        fake.world.add_conversation(self.ROOM, "channel", "general", [self.person(person) for person in range(PEOPLE)])
        self._root: str | None = None

    def person(self, person: int) -> str:
        return f"U0PERSON{person:02d}"

    def settings(self) -> Mapping[str, str]:
        key = "OPENEXECUTIVE_CHANNELS__SLACK__"
        return self.people() | {
            f"{key}ENABLED": "true",
            f"{key}BOT_TOKEN": BOT_TOKEN,
            f"{key}APP_TOKEN": APP_TOKEN,
            f"{key}BASE_URL": self._fake.base_url,
        }

    async def insist(self, daemon: Daemon) -> None:
        self._fake.sockets.redeliver()

    def direct(self, person: int, text: str) -> None:
        self._fake.world.direct_message(self.person(person), text)

    def mention(self, person: int, text: str) -> None:
        self._root = self._fake.world.message(self.ROOM, self.person(person), f"<@{BOT_USER}> {text}")["ts"]

    def follow_up(self, person: int, text: str) -> None:
        """In a thread that we have not spoken in yet nobody is spoken to without a mention."""
        place = self._fake.world.conversations[self.ROOM]
        root = place.messages.get(self._root or "", {})
        if BOT_USER in root.get("reply_users", ()):
            self._fake.world.message(self.ROOM, self.person(person), text, thread_ts=self._root)
        else:
            self.mention(person, text)

    def shown(self) -> Iterator[str]:
        for channel, place in self._fake.world.conversations.items():
            for ts, message in place.messages.items():
                if message.get("user") == BOT_USER:
                    yield self._fake.shown(channel, ts)
