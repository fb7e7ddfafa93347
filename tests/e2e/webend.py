"""The console's chat as the kill series sees it: browsers that post until a message was taken, over real HTTP, and
count what their pages show."""

from __future__ import annotations

import asyncio
import re
import socket
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.error import URLError

import aiohttp
from lxml import html

from bot.control.address import socket_path
from bot.control.client import ControlError, call
from tests.e2e.daemon import PATIENCE, Daemon
from tests.e2e.farends import PEOPLE, Arrived
from tests.e2e.numbers import numbers_in, words


@dataclass
class Tab:
    """A page that one person has open."""

    path: str
    csrf: str
    cookie: str


class WebEnd:
    """People with one conversation each. The port stays the same over restarts, as it does for a bookmark."""

    name = "web"
    channel = "web"
    certain = True
    effects: tuple[str, ...] = ()
    manners: tuple[str, ...] = ("",)
    busy = 0.25

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._url = f"http://127.0.0.1:{self._port}"
        self._waiting: dict[int, str] = {}
        self._tabs: dict[str, Tab] = {}
        self._seen: dict[str, dict[str, Arrived]] = {}

    def settings(self) -> Mapping[str, str]:
        people = {
            f"OPENEXECUTIVE_PEOPLE__P{person}__{key}": value
            for person in range(PEOPLE)
            for key, value in {"NAME": f"P{person}", "ROLE": "principal" if person == 0 else "member"}.items()
        }
        return {**people, "OPENEXECUTIVE_WEB__PORT": str(self._port), "OPENEXECUTIVE_CHANNELS__EMAIL__ENABLED": "false"}

    async def send(self, daemon: Daemon, number: int, manner: str = "") -> None:
        self._waiting[number] = f"p{number % PEOPLE}"
        await self.insist(daemon)

    async def insist(self, daemon: Daemon) -> None:
        """As the page's script does: one after the other, each until it was taken."""
        for number, person in list(self._waiting.items()):
            while number in self._waiting:
                try:
                    await self._post(daemon, person, number)
                except (aiohttp.ClientError, ControlError, OSError):
                    if not daemon.running:
                        return
                    await asyncio.sleep(0.05)  # its server is not up yet, or just dying

    async def _post(self, daemon: Daemon, person: str, number: int) -> None:
        async with aiohttp.ClientSession(
            cookie_jar=aiohttp.CookieJar(unsafe=True), timeout=aiohttp.ClientTimeout(PATIENCE)
        ) as session:
            tab = self._tabs.get(person)
            if tab is None:
                tab = self._tabs[person] = await self._enter(session, daemon, person)
            fields = {"csrf": tab.csrf, "id": f"message-{number}", "text": words(number)}
            headers = {"Cookie": f"oe={tab.cookie}", "HX-Request": "true"}
            async with session.post(f"{self._url}{tab.path}/say", data=fields, headers=headers) as answer:
                answer.raise_for_status()
                self._waiting.pop(number, None)

    async def _enter(self, session: aiohttp.ClientSession, daemon: Daemon, person: str) -> Tab:
        answered = await asyncio.to_thread(
            call, socket_path(daemon.data), "console.link", timeout=PATIENCE, person=person
        )  # fmt: skip
        link = str(answered["link"])
        async with session.get(link) as page:
            form = html.fromstring(await page.text())
        csrf = form.cssselect("input[name=csrf]")[0].get("value")
        async with session.post(link, data={"csrf": csrf}, allow_redirects=False) as entered:
            cookie = entered.cookies["oe"].value
        async with session.get(f"{self._url}/chat", headers={"Cookie": f"oe={cookie}"}) as page:
            talk: Any = html.fromstring(await page.text()).cssselect("[data-chat]")[0]
        return Tab(talk.get("data-chat"), talk.get("data-csrf"), cookie)

    def arrived(self) -> Iterator[Arrived]:
        """What the pages show; of a daemon that is not there, what they showed last. Line by line, by their ids."""
        for person, tab in self._tabs.items():
            seen = self._seen.setdefault(person, {})
            with suppress(URLError, OSError):
                self._look(tab, tab.path, seen)
        for lines in self._seen.values():
            yield from lines.values()

    def _look(self, tab: Tab, path: str, seen: dict[str, Arrived]) -> None:
        request = urllib.request.Request(self._url + path, headers={"Cookie": f"oe={tab.cookie}"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            page: Any = html.fromstring(answer.read())
        lines = page.cssselect("li.line")
        known = bool(lines) and lines[0].get("id") in seen
        for line in lines:
            text = re.sub(r"\s+", " ", " ".join(line.cssselect(".words")[0].itertext()))
            numbers = numbers_in(text) if "theirs" in line.classes else []
            seen[line.get("id")] = Arrived(tuple(numbers), "reached you already" in text)
        older = page.cssselect("#older a")
        if older and not known:
            self._look(tab, older[0].get("href"), seen)

    def left_behind(self) -> list[str]:
        return []

    def hold_effect(self, gate: str) -> None:
        raise NotImplementedError("what is sent is there: nothing confirms it")

    async def effect_reached(self, gate: str) -> None:
        raise NotImplementedError

    def let_go(self) -> None:
        """Nothing is held."""
