"""Mail and the terminal in bad weather."""

from __future__ import annotations

import asyncio
import email
import email.policy
import email.utils
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from email.message import EmailMessage
from pathlib import Path

import aiosmtplib

from bot.kernel.supervise import start
from tests.contracts.benches.terminal import Client
from tests.e2e.farends import AUTHSERV, body_of, relay_settings
from tests.e2e.numbers import numbers_in
from tests.fakes.faults import Answer, Fault
from tests.fakes.mailer import RawClient
from tests.fakes.smtp import SmtpSink, parsed
from tests.soak.people import PEOPLE, Planned, person_id
from tests.soak.sides import Mishap, Seen, Side, cut_after, cut_before, ended, seen, slow

DOMAIN = "company.example"
EXECUTIVE = f"executive@{DOMAIN}"
THREAD = 40
"""Mails of a person after which they begin a new thread."""


class MailSide(Side):
    """Each person has a thread; their server hands mails over and tries again until it hears a last word."""

    name = "email"

    def __init__(self, seed: int, *, hard: bool) -> None:
        super().__init__(seed, hard=hard)
        self.sink = SmtpSink()
        self._port: Callable[[], Awaitable[int]] | None = None
        self._waiting: deque[EmailMessage] = deque()
        self._posted = asyncio.Event()
        self._servers: list[asyncio.Task[None]] = []
        self._threads: dict[int, list[str]] = {}
        self._next: list[str] = []
        """What happens to the next mails on their way in."""

    def settings(self) -> Mapping[str, str]:
        return relay_settings(self.sink, EXECUTIVE)

    def handles(self) -> Mapping[int, str]:
        return {person: json.dumps([self._address(person)]) for person in range(PEOPLE)}

    @staticmethod
    def _address(person: int) -> str:
        return f"{person_id('email', person)}@{DOMAIN}"

    def outgoing(self) -> list[EmailMessage]:
        """All mails that the relay has taken."""
        return [parsed(one) for one in self.sink.mails]

    async def begin(self, data: Path, port: Callable[[], Awaitable[int]]) -> None:
        self._port = port
        if not self._servers:
            self._servers = [start(f"mail server {n}", self._serve()) for n in range(6)]

    async def write(self, planned: Planned) -> None:
        sender = self._address(planned.person)
        earlier = self._threads.setdefault(planned.person, [])
        if len(earlier) >= THREAD:
            earlier.clear()
        mail = EmailMessage()
        mail["Authentication-Results"] = f"{AUTHSERV}; spf=pass smtp.mailfrom={sender}; dmarc=pass header.from={DOMAIN}"
        mail["From"], mail["To"], mail["Subject"] = sender, EXECUTIVE, "Work"
        mail["Date"] = email.utils.localtime()
        mail["Message-ID"] = f"<n{planned.number}@{DOMAIN}>"
        if earlier:
            mail["In-Reply-To"] = earlier[-1]
            mail["References"] = " ".join(earlier[-5:])
        earlier.append(str(mail["Message-ID"]))
        mail.set_content(self.text(planned))
        if self._next and self._next[-1] == "overtaken" and self._waiting:
            self._next.pop()
            self._waiting.insert(max(0, len(self._waiting) - 1), mail)
        else:
            self._waiting.append(mail)
        self._posted.set()

    async def _serve(self) -> None:
        while True:
            while not self._waiting:
                self._posted.clear()
                await self._posted.wait()
            mail = self._waiting.popleft()
            how = self._next.pop() if self._next else ""
            try:
                done = await self._hand_over(mail, how)
            except (aiosmtplib.SMTPException, OSError, TimeoutError, AssertionError):
                done = False
            if not done:
                self._waiting.append(mail)
                await asyncio.sleep(0.3)  # a queue's next round

    async def _hand_over(self, mail: EmailMessage, how: str) -> bool:
        if self._port is None:
            return False
        port = await self._port()
        sender = str(mail["From"])
        if how in ("cut within", "cut before the answer"):
            await self._cut_off(port, sender, mail, whole=how == "cut before the answer")
            return False
        for _ in range(2 if how == "twice" else 1):
            client = aiosmtplib.SMTP(hostname="127.0.0.1", port=port, local_hostname="mx", start_tls=False, timeout=60)
            try:
                await client.connect()
                await client.send_message(mail, sender=sender, recipients=EXECUTIVE)
            finally:
                client.close()
        return True

    async def _cut_off(self, port: int, sender: str, mail: EmailMessage, *, whole: bool) -> None:
        content = mail.as_bytes(policy=email.policy.SMTP)
        async with RawClient(port) as client:
            for line in (b"EHLO mx", f"MAIL FROM:<{sender}>".encode(), f"RCPT TO:<{EXECUTIVE}>".encode(), b"DATA"):
                await client.command(line)
            await client.send(content + b"\r\n.\r\n" if whole else content[: len(content) // 2])

    def in_the_end(self) -> Iterator[Seen]:
        for one in self.sink.mails:
            mail = email.message_from_bytes(one.raw, policy=email.policy.default)
            yield Seen(tuple(dict.fromkeys(numbers_in(body_of(mail)))), "X-OpenExecutive-Resent" in mail)

    async def restarted(self) -> None:
        await self.sink.down()
        for session in tuple(self.sink.sessions):
            if session.transport is not None:
                session.transport.close()
        await self.moment(0.5, 5.0 if self.hard else 1.5)
        await self.sink.up()

    def weather(self) -> Mapping[str, Mishap]:
        async def plan(endpoint: str, fault: Fault, times: int = 1) -> None:
            self.sink.faults.plan(endpoint, fault, times=times)
            await self.moment(0.3, 1.5)
            self.sink.faults._ahead.pop(endpoint, None)

        found: dict[str, Mishap] = {
            "mail cut within": lambda: self._next.append("cut within"),
            "mail cut before its answer": lambda: self._next.append("cut before the answer"),
            "mail twice": lambda: self._next.append("twice"),
            "mail overtaken": lambda: self._next.append("overtaken"),
            "relay says 451": lambda: plan("MESSAGE", Answer(451)),
            "relay says 450": lambda: plan("RCPT", Answer(450)),
            "relay says 421": lambda: plan("MAIL", Answer(421)),
            "relay cuts before": lambda: plan("MESSAGE", cut_before()),
            "relay cuts after": lambda: plan("MESSAGE", cut_after()),
            "relay is slow": lambda: plan("MESSAGE", slow(0.4), times=3),
        }
        if self.hard:  # nobody tells when a relay is back: what found it away waits for a minute
            found["relay restarted"] = self.restarted
            found["relay refuses sessions"] = lambda: plan("CONNECT", cut_before(), times=2)
        return found

    async def calm(self) -> None:
        self.sink.faults.clear()
        self._next.clear()
        await self.sink.up()

    async def end(self) -> None:
        for server in self._servers:
            await ended(server)
        await self.sink.__aexit__(None, None, None)


class TerminalSide(Side):
    """One person with several threads, whose terminals lose their connection and come back."""

    name = "terminal"
    NAMES = tuple(f"thread-{n}" for n in range(4))

    def __init__(self, seed: int, *, hard: bool) -> None:
        super().__init__(seed, hard=hard)
        self._clients = [Client(name) for name in self.NAMES]
        self._path: Path | None = None
        self._away: Client | None = None

    def settings(self) -> Mapping[str, str]:
        return {"OPENEXECUTIVE_CHANNELS__TERMINAL__PERSON": person_id(self.name, 0)}

    def handles(self) -> Mapping[int, str]:
        return {0: ""}

    async def begin(self, data: Path, port: Callable[[], Awaitable[int]]) -> None:
        self._path = data / "control.sock"
        for client in self._clients:
            await client.leave()
            await client.connect(self._path)

    async def write(self, planned: Planned) -> None:
        await self._come_back()
        client = self._clients[planned.person % len(self._clients)]
        await client.say(f"say{planned.number}", self.text(planned))

    async def _come_back(self) -> None:
        """Terminals that the daemon has cut off connect again, as the real one does."""
        for client in self._clients:
            if not client.connected and client is not self._away and self._path is not None:
                with suppress(OSError):
                    await client.connect(self._path)

    async def insist(self) -> None:
        await self._come_back()
        for client in self._clients:
            for say_id in client.said.keys() - client.accepted:
                await client.again(say_id)

    def in_the_end(self) -> Iterator[Seen]:
        for client in self._clients:
            for text in client.messages.values():
                yield seen(text)

    async def cut(self) -> None:
        client = self._away = self.random.choice(self._clients)
        await client.leave()
        await self.moment(0.0, 1.0)
        self._away = None
        await self._come_back()

    async def said_again(self) -> None:
        client = self.random.choice(self._clients)
        if client.said:
            await client.again(self.random.choice(list(client.said)))

    def weather(self) -> Mapping[str, Mishap]:
        return {"terminal cut off": self.cut, "said again": self.said_again}

    async def calm(self) -> None:
        self._away = None
        await self._come_back()

    async def end(self) -> None:
        for client in self._clients:
            await client.leave()
