"""People at the platforms who are asked for a yes: what stands before them, what they press and write. `P0` is the
principal, the others are members."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.chatends import DiscordEnd, SlackEnd
from tests.e2e.daemon import Daemon, rows
from tests.e2e.farends import PEOPLE, telegram_settings
from tests.fakes.discord import FakeDiscord
from tests.fakes.slack import FakeSlack
from tests.fakes.telegram import FakeTelegram


@dataclass(frozen=True)
class Question:
    """A message with buttons, as it stands on the platform."""

    place: str
    key: str
    text: str
    buttons: Mapping[str, str]
    """By what they say, what they carry."""


class Desk(ABC):
    """One platform."""

    name: str

    @abstractmethod
    def settings(self) -> Mapping[str, str]: ...

    @abstractmethod
    def say(self, person: int, text: str) -> None:
        """Alone with the executive."""

    @abstractmethod
    def texts(self) -> list[str]:
        """All messages of ours, as people read them now."""

    @abstractmethod
    def questions(self, person: int) -> list[Question]:
        """Those before a person that can be pressed, oldest first."""

    @abstractmethod
    def press(self, person: int, question: Question, label: str) -> None: ...

    @abstractmethod
    async def write(self, daemon: Daemon, person: int, text: str) -> None:
        """Fill in the form that a press has opened, once it is there."""

    async def asked(self, daemon: Daemon, person: int, count: int = 1) -> Question:
        """The newest question before a person, once there are so many."""
        await daemon.until(lambda: len(self.questions(person)) >= count)
        return self.questions(person)[-1]

    async def read(self, daemon: Daemon, *words: str) -> str:
        """The message of ours that holds all of these, once there is one."""
        await daemon.until(lambda: any(all(word in text for word in words) for text in self.texts()))
        return next(text for text in self.texts() if all(word in text for word in words))


class DiscordDesk(DiscordEnd, Desk):
    def __init__(self, fake: FakeDiscord, data: Path) -> None:
        super().__init__(fake)

    def say(self, person: int, text: str) -> None:
        self.direct(person, text)

    def texts(self) -> list[str]:
        return list(self.shown())

    def questions(self, person: int) -> list[Question]:
        place = self._fake.world.dm_channel(self.person(person))
        found = []
        for key, message in place.messages.items():
            buttons = [button for row in message.get("components") or () for button in row["components"]]
            if buttons:
                named = {button["label"]: button["custom_id"] for button in buttons}
                found.append(Question(place.id, key, str(message["content"]), named))
        return found

    def press(self, person: int, question: Question, label: str) -> None:
        self._fake.world.press(question.place, self.person(person), question.key, question.buttons[label])

    async def write(self, daemon: Daemon, person: int, text: str) -> None:
        def shown() -> bool:
            opened = (one["acknowledged"] for one in self._fake.world.interactions.values())
            return any(one is not None and one["type"] == 9 for one in opened)

        await daemon.until(shown)
        self._fake.world.fill(self.person(person), {"text": text})


class SlackDesk(SlackEnd, Desk):
    def __init__(self, fake: FakeSlack, data: Path) -> None:
        super().__init__(fake)

    def say(self, person: int, text: str) -> None:
        self.direct(person, text)

    def texts(self) -> list[str]:
        return list(self.shown())

    def questions(self, person: int) -> list[Question]:
        place = self._fake.world.direct(self.person(person))
        found = []
        for key, message in place.messages.items():
            buttons = [
                one for block in message.get("blocks") or () if block["type"] == "actions" for one in block["elements"]
            ]
            if buttons:
                named = {one["text"]["text"]: one["value"] for one in buttons}
                found.append(Question(place.id, key, self._fake.shown(place.id, key), named))
        return found

    def press(self, person: int, question: Question, label: str) -> None:
        self._fake.press(question.place, self.person(person), question.key, question.buttons[label])

    async def write(self, daemon: Daemon, person: int, text: str) -> None:
        await daemon.until(lambda: bool(self._fake.methods.views))
        self._fake.submit(self._fake.world.direct(self.person(person)).id, self.person(person), {"text": text})


class TelegramDesk(Desk):
    name = "telegram"

    def __init__(self, fake: FakeTelegram, data: Path) -> None:
        self._fake = fake
        self._data = data
        for person in range(PEOPLE):
            fake.world.add_user(self.person(person), f"P{person}")
            fake.world.chat(self.person(person))  # everybody has started the bot: it cannot begin by itself

    def person(self, person: int) -> int:
        return 101 + person

    def settings(self) -> Mapping[str, str]:
        people = {
            f"OPENEXECUTIVE_PEOPLE__P{person}__{key}": value
            for person in range(PEOPLE)
            for key, value in {
                "NAME": f"P{person}",
                "ROLE": "principal" if person == 0 else "member",
                "TELEGRAM": json.dumps([self.person(person)]),
            }.items()
        }
        return people | telegram_settings(self._fake)

    def say(self, person: int, text: str) -> None:
        self._fake.world.private_message(self.person(person), text)

    def texts(self) -> list[str]:
        return [text for person in range(PEOPLE) for _, text, _ in self._ours(person)]

    def questions(self, person: int) -> list[Question]:
        found = []
        for key, text, markup in self._ours(person):
            buttons = [one for row in (markup or {}).get("inline_keyboard", ()) for one in row]
            if buttons:
                named = {one["text"]: one["callback_data"] for one in buttons}
                found.append(Question(str(self.person(person)), str(key), text, named))
        return found

    def press(self, person: int, question: Question, label: str) -> None:
        self._fake.world.callback_query(
            int(question.place), int(question.key), self.person(person), question.buttons[label]
        )

    async def write(self, daemon: Daemon, person: int, text: str) -> None:
        """The form is a message that asks to be answered; it holds once the daemon has noted it."""
        await daemon.until(lambda: bool(self._fake.world.forced))
        await daemon.until(lambda: bool(rows(self._data, "SELECT 1 FROM cursor WHERE name LIKE 'form:%'")))
        (_, asking), *_ = self._fake.world.forced
        self._fake.world.message(self.person(person), self.person(person), text, reply_to=asking)

    def _ours(self, person: int) -> Iterator[tuple[int, str, Mapping[str, list[list[Mapping[str, str]]]] | None]]:
        for key, message in self._fake.world.chat(self.person(person)).messages.items():
            if message["from"].get("is_bot"):
                yield key, str(message.get("text", "")), message.get("reply_markup")
