"""The far ends as the kill series sees them: send a numbered message, and count what really arrived by its text.

Each far end sends as its platform would: Telegram keeps updates until they are confirmed, a mail server tries a mail
again, under the same Message-ID, until somebody has said 250.
"""

from __future__ import annotations

import asyncio
import email
import email.policy
import email.utils
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Protocol

import aiosmtplib

from tests.e2e.daemon import PATIENCE, Daemon
from tests.e2e.numbers import numbers_in, words
from tests.fakes.faults import Delay
from tests.fakes.imap import FakeImap
from tests.fakes.mailer import send_mail
from tests.fakes.smtp import SmtpSink
from tests.fakes.telegram import FakeTelegram

PEOPLE = 4
EFFECT = "effect"
"""Killed from outside, while the far end has taken the delivery and not yet confirmed it."""
AUTHSERV = "mx.company.example"


@dataclass(frozen=True)
class Arrived:
    """One delivered message: the numbers it answers, and whether it says that it may be a repetition."""

    numbers: tuple[int, ...]
    marked: bool


@dataclass(frozen=True)
class Count:
    """How one number arrived."""

    plain: int
    marked: int


class FarEnd(Protocol):
    name: str
    channel: str
    certain: bool
    """Whether it can be known after a crash what was delivered."""
    effects: tuple[str, ...]
    """Steps of a delivery at which the far end has it and the daemon does not know of it yet."""
    manners: tuple[str, ...]
    """Ways to write: dealt out in turn."""
    busy: float
    """Seconds for which something happens once people have written."""

    def settings(self) -> Mapping[str, str]:
        """What points the daemon at it."""
        ...

    async def send(self, daemon: Daemon, number: int, manner: str) -> None:
        """One person writes the message of this number. It need not have been taken when this returns."""
        ...

    async def insist(self, daemon: Daemon) -> None:
        """Hand over again whatever was not taken yet."""
        ...

    def arrived(self) -> Iterable[Arrived]:
        """All deliveries so far, in order of arrival."""
        ...

    def left_behind(self) -> list[str]:
        """What was to become an answer and did not."""
        ...

    def hold_effect(self, gate: str) -> None:
        """Let the next delivery happen but keep its confirmation back at a gate. Only where `EFFECT` is a step."""
        ...

    async def effect_reached(self, gate: str) -> None: ...

    def let_go(self) -> None:
        """End all holding."""
        ...


def counts(far_end: FarEnd) -> dict[int, Count]:
    plain: Counter[int] = Counter()
    marked: Counter[int] = Counter()
    for one in far_end.arrived():
        (marked if one.marked else plain).update(one.numbers)
    return {number: Count(plain[number], marked[number]) for number in plain | marked}


class _End:
    """A far end that takes whole messages, in one way."""

    effects: tuple[str, ...] = (EFFECT,)
    manners: tuple[str, ...] = ("",)
    busy = 0.25

    def left_behind(self) -> list[str]:
        return []


class TelegramEnd(_End):
    """People who write in direct chats, one chat each."""

    name = "telegram"
    channel = "telegram"
    certain = False

    def __init__(self, fake: FakeTelegram) -> None:
        self._fake = fake
        for person in range(PEOPLE):
            fake.world.add_user(_user(person), f"P{person}")

    def settings(self) -> Mapping[str, str]:
        people = {
            f"OPENEXECUTIVE_PEOPLE__P{person}__{key}": value
            for person in range(PEOPLE)
            for key, value in {
                "NAME": f"P{person}",
                "ROLE": "principal" if person == 0 else "member",
                "TELEGRAM": f"[{_user(person)}]",
            }.items()
        }
        return {**people, **telegram_settings(self._fake), "OPENEXECUTIVE_CHANNELS__EMAIL__ENABLED": "false"}

    async def send(self, daemon: Daemon, number: int, manner: str = "") -> None:
        self._fake.world.private_message(_user(number % PEOPLE), words(number))

    async def insist(self, daemon: Daemon) -> None:
        """The platform does."""

    def arrived(self) -> Iterator[Arrived]:
        for one in self._fake.deliveries:
            text = str(one.body["text"])
            yield Arrived(tuple(numbers_in(text)), "may have reached you already" in text)

    def hold_effect(self, gate: str) -> None:
        self._fake.faults.plan("sendMessage", Delay(gate=gate, when="after"))

    async def effect_reached(self, gate: str) -> None:
        async with asyncio.timeout(PATIENCE):
            await self._fake.faults.gate(gate).reached.wait()

    def let_go(self) -> None:
        self._fake.faults.clear()


class _MailEnd(_End):
    """People who write mail: each an ongoing thread, as a mail program threads it."""

    channel = "email"
    domain = "localhost"

    def __init__(self) -> None:
        self._waiting: dict[int, EmailMessage] = {}
        self._threads: dict[int, list[str]] = {}

    @property
    def executive(self) -> str:
        return f"executive@{self.domain}"

    def person(self, person: int) -> str:
        return f"p{person}@{self.domain}"

    def people(self) -> dict[str, str]:
        return {
            f"OPENEXECUTIVE_PEOPLE__P{person}__{key}": value
            for person in range(PEOPLE)
            for key, value in {
                "NAME": f"P{person}",
                "ROLE": "principal" if person == 0 else "member",
                "EMAIL": f'["{self.person(person)}"]',
            }.items()
        }

    async def send(self, daemon: Daemon, number: int, manner: str = "") -> None:
        self._waiting[number] = self._mail(number)
        await self.insist(daemon)

    async def insist(self, daemon: Daemon) -> None:
        for number, mail in list(self._waiting.items()):
            try:
                port = await daemon.smtp_port()
                await send_mail(port, mail, self.person(number % PEOPLE), self.executive, timeout=30)
            except (aiosmtplib.SMTPException, OSError, AssertionError):
                return  # it died meanwhile, or says "later": a mail server keeps the mail and tries again
            del self._waiting[number]

    def _mail(self, number: int) -> EmailMessage:
        person = number % PEOPLE
        earlier = self._threads.setdefault(person, [])
        mail = EmailMessage()
        if proof := self.proof(person):
            mail["Authentication-Results"] = proof
        mail["From"] = self.person(person)
        mail["To"] = self.executive
        mail["Subject"] = "Work"
        mail["Date"] = email.utils.localtime()
        mail["Message-ID"] = f"<n{number}@{self.domain}>"
        if earlier:
            mail["In-Reply-To"] = earlier[-1]
            mail["References"] = " ".join(earlier[-5:])
        earlier.append(mail["Message-ID"])
        mail.set_content(words(number))
        return mail

    def proof(self, person: int) -> str:
        return ""


class MaildirEnd(_MailEnd):
    """Answers land in the data folder's Maildir."""

    name = "mail, Maildir"
    certain = True
    effects: tuple[str, ...] = ("maildir_renamed",)

    def __init__(self, data: Path) -> None:
        super().__init__()
        self._maildir = data / "maildir"

    def settings(self) -> Mapping[str, str]:
        return {**self.people(), "OPENEXECUTIVE_CHANNELS__EMAIL__SMTP__PORT": "0"}

    def arrived(self) -> Iterator[Arrived]:
        for mail in maildir(self._maildir):
            yield arrived_mail(mail)

    def hold_effect(self, gate: str) -> None:
        raise NotImplementedError("a rename has no confirmation to keep back")

    async def effect_reached(self, gate: str) -> None:
        raise NotImplementedError

    def let_go(self) -> None:
        """Nothing is held."""


class RelayEnd(_MailEnd):
    """Answers leave through a relay; senders are proven by the word of the server in front."""

    name = "mail, relay"
    certain = False
    domain = "company.example"

    def __init__(self, sink: SmtpSink) -> None:
        super().__init__()
        self._sink = sink

    def settings(self) -> Mapping[str, str]:
        return {**self.people(), **relay_settings(self._sink, self.executive)}

    def proof(self, person: int) -> str:
        return f"{AUTHSERV}; spf=pass smtp.mailfrom={self.person(person)}; dmarc=pass header.from={self.domain}"

    def arrived(self) -> Iterator[Arrived]:
        for one in self._sink.mails:
            yield arrived_mail(email.message_from_bytes(one.raw, policy=email.policy.default))

    def hold_effect(self, gate: str) -> None:
        self._sink.faults.plan("MESSAGE", Delay(gate=gate, when="after"))

    async def effect_reached(self, gate: str) -> None:
        async with asyncio.timeout(PATIENCE):
            await self._sink.faults.gate(gate).reached.wait()

    def let_go(self) -> None:
        self._sink.faults.clear()


class MailboxEnd(RelayEnd):
    """A mailbox at a provider; answers leave through its relay."""

    name = "mail, mailbox"

    def __init__(self, imap: FakeImap, sink: SmtpSink) -> None:
        super().__init__(sink)
        self.imap = imap
        imap.users[self.executive] = "secret"

    def settings(self) -> Mapping[str, str]:
        mail = "OPENEXECUTIVE_CHANNELS__EMAIL__"
        return {
            **super().settings(),
            f"{mail}SMTP__ENABLED": "false",
            f"{mail}IMAP__HOST": "127.0.0.1",
            f"{mail}IMAP__PORT": str(self.imap.port),
            f"{mail}IMAP__SECURITY": "none",
            f"{mail}IMAP__PASSWORD": "secret",
            f"{mail}IMAP__ONLY_NEW": "false",
        }

    async def send(self, daemon: Daemon, number: int, manner: str = "") -> None:
        self.imap.world.deliver(self._mail(number).as_bytes(policy=email.policy.SMTP))

    async def insist(self, daemon: Daemon) -> None:
        """The mailbox keeps what was not taken."""


# --- settings and reading --------------------------------------------------------------------------------------------


def base_settings(data: Path) -> dict[str, str]:
    """The folder, and every port chosen by the system."""
    return {
        "OPENEXECUTIVE_DATA_DIR": str(data),
        "OPENEXECUTIVE_WEB__PORT": "0",
        "OPENEXECUTIVE_CHANNELS__EMAIL__SMTP__PORT": "0",
    }


def telegram_settings(fake: FakeTelegram) -> dict[str, str]:
    return {
        "OPENEXECUTIVE_CHANNELS__TELEGRAM__ENABLED": "true",
        "OPENEXECUTIVE_CHANNELS__TELEGRAM__TOKEN": fake.token,
        "OPENEXECUTIVE_CHANNELS__TELEGRAM__BASE_URL": fake.url,
    }


def relay_settings(sink: SmtpSink, executive: str) -> dict[str, str]:
    """A relay without TLS on loopback; a server in front proves senders of the executive's own domain."""
    mail = "OPENEXECUTIVE_CHANNELS__EMAIL__"
    return {
        f"{mail}ADDRESS": executive,
        f"{mail}SMTP__PORT": "0",
        f"{mail}RELAY__HOST": "127.0.0.1",
        f"{mail}RELAY__PORT": str(sink.port),
        f"{mail}RELAY__SECURITY": "none",
        f"{mail}PROOF": "header",
        f"{mail}AUTHSERV_ID": AUTHSERV,
        f"{mail}PER_USER_FROM": f'["{executive.partition("@")[2]}"]',
    }


def maildir(folder: Path) -> list[EmailMessage]:
    """All mail in a Maildir, oldest first."""
    files = sorted((folder / "new").glob("*"), key=lambda path: path.name)
    return [email.message_from_bytes(path.read_bytes(), policy=email.policy.default) for path in files]


def body_of(mail: EmailMessage) -> str:
    part = mail.get_body(("plain",))
    return str(part.get_content()) if part is not None else ""


def arrived_mail(mail: EmailMessage) -> Arrived:
    return Arrived(tuple(numbers_in(body_of(mail))), "X-OpenExecutive-Resent" in mail)


def _user(person: int) -> int:
    return 101 + person
