"""The console's chat: pages over the port that the console is handed. A page says again what was not taken, and shows
each key once, as it does when it draws its rows."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from bot.gateway.channel import Accepted, Channel
from bot.gateway.events import PlaceKind
from bot.gateway.operations import Ask, Delete, Edit, Send
from bot.gateway.pages import Account, Drafted, Erased, Listening, Pages, Sent, Written, shown_at
from bot.kernel.errors import TransientError
from bot.kernel.supervise import cancel, start
from tests.contracts.bench import Can, Draft, FarEnd, Talk, Who
from tests.contracts.inbox import GatedInbox

BEAT = timedelta(seconds=5)


@dataclass
class Shown:
    text: str
    choices: tuple[str, ...] = ()


class Page:
    """One conversation in a browser. What it shows is keyed by ref."""

    def __init__(self, who: Who, chat: str) -> None:
        self.account = Account(who.value, who.value.title())
        self.chat = chat
        self.said: dict[str, str] = {}
        self.taken: set[str] = set()
        self.refused: set[str] = set()
        self.shown: dict[str, Shown] = {}
        self.drafts: list[str] = []
        self.told: list[str] = []
        self._channel: Pages | None = None
        self._reading: asyncio.Task[None] | None = None
        self._saying = asyncio.Lock()

    async def open(self, channel: Pages) -> None:
        await self.close()
        self._channel = channel
        listening = channel.listen(self.account.id, self.chat)
        assert listening is not None
        self._reading = start(f"page {self.chat}", self._read(listening))
        await self.insist()

    async def close(self) -> None:
        if self._reading is not None:
            await cancel(self._reading)
        self._channel = self._reading = None

    async def insist(self) -> None:
        """Say again, in order, what was not taken."""
        for number in list(self.said):
            if number not in self.taken | self.refused:
                await self.say(number)

    async def say(self, number: str) -> None:
        async with self._saying:
            if self._channel is None:
                return
            try:
                answer = await self._channel.say(self.account, self.chat, Written(number, self.said[number]))
            except TransientError:
                return
            known = answer in (Accepted.NEW, Accepted.DUPLICATE)
            (self.taken if known else self.refused).add(number)

    async def press(self, ref: str, token: str, number: str) -> None:
        assert self._channel is not None
        told = await self._channel.press(self.account, self.chat, ref, token, number)
        if told is not None:
            self.told.append(told)

    async def _read(self, listening: Listening) -> None:
        while not listening.ended:
            match await listening.next(BEAT):
                case Drafted(text=text):
                    self.drafts.append(text or "")
                case Sent(_, Edit(target=ref, text=text)):
                    self.shown[ref] = Shown(text)
                case Sent(_, Delete(target=ref)) | Erased(ref):
                    self.shown.pop(ref, None)
                case Sent(key, Ask(path=path, text=text, choices=choices)):
                    self.shown[shown_at(path, key)] = Shown(text, tuple(each.label for each in choices))
                case Sent(key, Send(path=path, text=text)):
                    self.shown[shown_at(path, key)] = Shown(text)


class WebEnd(FarEnd):
    name = channel = "web"
    can = Can(
        ops=frozenset({"send", "edit", "delete", "ask"}),
        groups=False,
        strangers=False,
        bots=False,
        buttons=True,
        draft=Draft.OWN,
        network=False,
        certain=True,
        erases=True,
        stored=True,
    )

    def __init__(self) -> None:
        super().__init__()
        self._pages: dict[Talk, Page] = {}
        self._jobs: list[asyncio.Task[None]] = []
        self._numbers = itertools.count(1)

    async def __aexit__(self, *_: object) -> None:
        await self.part()

    def settings(self) -> Mapping[str, object]:
        return {"enabled": True}

    def address(self, who: Who) -> str:
        return who.value

    async def meet(self, channel: Channel, data_dir: Path) -> None:
        await super().meet(channel, data_dir)
        assert isinstance(channel, Pages)
        if not self._pages:
            home = await channel.current(Who.ANN.value)
            self._pages = {
                Talk.OTHER: Page(Who.ANN, channel.begin(Who.ANN.value)),
                Talk.DIRECT: Page(Who.ANN, home),
            }
        for page in self._pages.values():
            await page.open(channel)

    async def part(self) -> None:
        for job in self._jobs:
            await cancel(job)
        for page in self._pages.values():
            await page.close()

    async def writes(self, who: Who, text: str, talk: Talk = Talk.DIRECT, *, mention: bool = True) -> str:
        number, page = f"message{next(self._numbers)}", self._pages[talk]
        page.said[number] = text
        self._jobs.append(start(f"say {number}", page.say(number)))
        return f"web:{page.chat}:{number}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def _of(self, ref: str) -> tuple[Page, str]:
        _, chat, number, _ = ref.split(":")
        return next(page for page in self._pages.values() if page.chat == chat), number

    async def repeats(self, ref: str) -> None:
        page, number = self._of(ref)
        await page.say(number)

    async def insist(self) -> None:
        self._jobs += [start("insist", page.insist()) for page in self._pages.values()]

    async def taken(self, ref: str, inbox: GatedInbox) -> bool:
        page, number = self._of(ref)
        return number in page.taken

    def shown(self, talk: Talk = Talk.DIRECT, who: Who = Who.ANN) -> list[str]:
        return [each.text for each in self._pages[talk].shown.values()]

    def drafts(self) -> list[str]:
        return [text for page in self._pages.values() for text in page.drafts]

    def signs(self) -> int:
        return len(self.drafts())

    async def presses(self, who: Who, ref: str, token: str) -> None:
        page = next(page for page in self._pages.values() if ref in page.shown)
        self._jobs.append(start("press", page.press(ref, token, f"press{next(self._numbers):04}")))

    def buttons(self, ref: str) -> list[str]:
        return next(list(page.shown[ref].choices) for page in self._pages.values() if ref in page.shown)

    def responses(self) -> list[str]:
        return [told for page in self._pages.values() for told in page.told]

    def thread_of(self, ref: str, talk: Talk) -> str | None:
        return f"web:{self._pages[talk].chat}"

    def place_of(self, talk: Talk) -> tuple[str | None, PlaceKind]:
        return f"web:{self._pages[talk].chat}", PlaceKind.DIRECT
