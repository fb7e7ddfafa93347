from __future__ import annotations

import http.cookiejar
import os
import re
import shutil
import socket
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, StorageState, sync_playwright

from tests.browser.company import Company, fill

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
WIDE = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking")
PATIENCE = 20_000
"""Milliseconds for anything that a page should do at once."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.fail("Chromium is missing: `make test-web` installs it, or set CHROMIUM to a browser of yours")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture(scope="session")
def company() -> Iterator[Company]:
    """A daemon with a week's words in it, shared by all tests: each looks for what it brought itself."""
    with TemporaryDirectory(prefix="oe-") as folder:
        made = Company(Path(folder), free_port())
        made.start()
        try:
            fill(made)
            yield made
        finally:
            made.stop()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@dataclass
class Visitor:
    """A browser of one person, and everything that went wrong in it."""

    page: Page
    context: BrowserContext
    url: str
    faults: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    expected: list[int] = field(default_factory=list)
    """Answers with these statuses are wanted here."""

    def watch(self) -> None:
        own = urlsplit(self.url).netloc
        page = self.page
        page.set_default_timeout(PATIENCE)

        def said(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                self.faults.append(message.text)

        page.on("console", said)
        page.on("pageerror", lambda error: self.faults.append(str(error)))

        def asked(address: str) -> None:
            parts = urlsplit(address)
            if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != own:
                self.strangers.append(address)

        page.on("request", lambda request: asked(request.url))

    def go(self, path: str) -> Page:
        answer = self.page.goto(self.url + path)
        assert answer is not None
        assert answer.status == 200 or answer.status in self.expected, f"{path}: {answer.status}"
        return self.page

    def sound(self) -> None:
        wanted = tuple(f"status of {each}" for each in self.expected)
        assert [each for each in self.faults if not any(part in each for part in wanted)] == []
        assert self.strangers == []


Enter = Callable[..., Visitor]


@pytest.fixture(scope="session")
def cookies(company: Company) -> Callable[[str], StorageState]:
    """What a person's browser keeps of having signed in once; pages that only look share it."""
    kept: dict[str, StorageState] = {}

    def one(person: str) -> StorageState:
        if person not in kept:
            jar = http.cookiejar.CookieJar()
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
            link = company.link(person)
            with browser.open(link, timeout=60) as page:
                (csrf,) = re.findall(r'name="csrf" value="([^"]+)"', page.read().decode())
            with browser.open(link, urllib.parse.urlencode({"csrf": csrf}).encode(), timeout=60):
                pass
            (cookie,) = [each for each in jar if each.name == "oe"]
            kept[person] = {
                "cookies": [
                    {
                        "name": "oe", "value": str(cookie.value), "domain": "127.0.0.1", "path": "/", "expires": -1,
                        "httpOnly": True, "secure": False, "sameSite": "Lax",
                    }
                ],
                "origins": [],
            }  # fmt: skip
        return kept[person]

    return one


@pytest.fixture
def enter(chromium: Browser, company: Company, cookies: Callable[[str], StorageState]) -> Iterator[Enter]:
    """A browser of a person's own; `fresh`: signed in anew, to be signed out again. At the end nothing may have gone
    wrong in any of them."""
    visitors: list[Visitor] = []

    def one(person: str | None = "marta", *, phone: bool = False, dark: bool = False, fresh: bool = False) -> Visitor:
        context = chromium.new_context(
            storage_state=cookies(person) if person is not None and not fresh else None,
            viewport=PHONE if phone else WIDE,  # type: ignore[arg-type]
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            has_touch=phone,
            locale="en-GB",
        )
        visitor = Visitor(context.new_page(), context, company.url)
        visitor.watch()
        visitors.append(visitor)
        if person is not None and fresh:
            visitor.page.goto(company.link(person))
            visitor.page.get_by_role("button", name="Sign in in this browser").click()
            visitor.page.wait_for_url(company.url + "/")
        return visitor

    yield one
    for each in visitors:
        each.context.close()
    for each in visitors:
        each.sound()


Shoot = Callable[[Page, str], None]


@pytest.fixture
def shoot() -> Shoot:
    """Makes a picture of `docs/console.md` anew, when asked to."""

    def one(page: Page, name: str) -> None:
        if os.environ.get("SCREENSHOTS"):
            IMAGES.mkdir(exist_ok=True)
            page.screenshot(path=IMAGES / f"{name}.png", animations="disabled")

    return one
