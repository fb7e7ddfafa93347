"""Mail: people whose mail programs keep threads and whose servers try again; answers by a relay or in a Maildir."""

from __future__ import annotations

import asyncio
import email
import email.policy
import email.utils
import itertools
from collections.abc import Mapping
from email.message import EmailMessage
from pathlib import Path

import aiosmtplib

from bot.gateway.events import PlaceKind
from bot.kernel.supervise import cancel, start
from tests.contracts.bench import Can, FarEnd, Talk, Who
from tests.contracts.inbox import GatedInbox
from tests.fakes.faults import Answer, CutAfter, CutBefore
from tests.fakes.smtp import SmtpSink

AUTHSERV = "mx.company.example"
OURS, ELSEWHERE = "company.example", "elsewhere.example"
EXECUTIVE = f"executive@{OURS}"


class _MailEnd(FarEnd):
    channel = "email"

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count(1)
        self._mails: dict[str, EmailMessage] = {}
        self._sending: dict[str, asyncio.Task[bool]] = {}
        self._threads: dict[tuple[Talk, Who], list[str]] = {}
        self._talks: dict[str, Talk] = {}
        self._cc: dict[Talk, set[Who]] = {Talk.GROUP: {Who.ANN, Who.BEN}}

    async def __aexit__(self, *_: object) -> None:
        await self.part()

    async def part(self) -> None:
        for task in self._sending.values():
            await cancel(task)

    def settings(self) -> Mapping[str, object]:
        return {
            "address": EXECUTIVE,
            "smtp": {"port": 0},
            "proof": "header",
            "authserv_id": AUTHSERV,
            "per_user_from": [OURS, ELSEWHERE],
        }

    def address(self, who: Who) -> str:
        return f"{who.value}@{ELSEWHERE if who in (Who.EVE, Who.GIL) else OURS}"

    async def writes(self, who: Who, text: str, talk: Talk = Talk.DIRECT, *, mention: bool = True) -> str:
        mail = self._mail(self.address(who), text, talk, who, mention=mention)
        return self._post(mail)

    def _mail(self, sender: str, text: str, talk: Talk, who: Who, *, mention: bool = True) -> EmailMessage:
        mail = EmailMessage()
        domain = sender.partition("@")[2]
        mail["Authentication-Results"] = f"{AUTHSERV}; spf=pass smtp.mailfrom={sender}; dmarc=pass header.from={domain}"
        mail["From"] = sender
        others = sorted(self.address(w) for w in self._cc.get(talk, set()) if w is not who)
        if mention:
            mail["To"] = EXECUTIVE
        else:  # the executive is one of many readers of a list
            mail["To"], mail["List-Id"], mail["Precedence"] = f"team@lists.{OURS}", f"<team.lists.{OURS}>", "list"
        if others:
            mail["Cc"] = ", ".join(others)
        mail["Subject"] = f"About {talk.value}"
        mail["Date"] = email.utils.localtime()
        mail["Message-ID"] = f"<n{next(self._numbers)}.{talk.value}@{domain}>"
        earlier = self._earlier(talk, who)
        if earlier:
            mail["In-Reply-To"] = earlier[-1]
            mail["References"] = " ".join(earlier[-8:])
        self._threads.setdefault((talk, self._keeper(talk, who)), []).append(str(mail["Message-ID"]))
        self._talks[str(mail["Message-ID"])] = talk
        mail.set_content(text)
        return mail

    def _keeper(self, talk: Talk, who: Who) -> Who:
        """A thread of several is one thread; alone with the executive everybody has their own."""
        return Who.ANN if talk is Talk.GROUP else who

    def _earlier(self, talk: Talk, who: Who) -> list[str]:
        """The whole thread as the person's mail program has it: what they wrote and what they got."""
        mine = self._threads.get((talk, self._keeper(talk, who)), [])
        got = [str(m["Message-ID"]) for m in self._arrived() if str(m["In-Reply-To"]) in mine]
        return [*mine, *got]

    def _post(self, mail: EmailMessage) -> str:
        ref = f"email:{mail['Message-ID']}"
        self._mails[ref] = mail
        self._sending[ref] = start(f"mail {ref}", self._hand_over(mail))
        return ref

    async def _hand_over(self, mail: EmailMessage) -> bool:
        """Whether the server said 250, or that it will never have it."""
        where = self.front.health().where if self.front is not None else None
        if where is None:
            return False
        client = aiosmtplib.SMTP(
            hostname="127.0.0.1", port=int(where.rpartition(":")[2]), start_tls=False, local_hostname="mx", timeout=60
        )
        try:
            await client.connect()
            await client.send_message(mail, sender=str(mail["From"]), recipients=EXECUTIVE)
        except aiosmtplib.SMTPResponseException as error:
            return error.code >= 500
        except (aiosmtplib.SMTPException, OSError):
            return False
        finally:
            client.close()
        return True

    async def bot_writes(self, text: str) -> None:
        mail = self._mail(self.address(Who.BEN), text, Talk.OTHER, Who.BEN)
        mail["Auto-Submitted"] = "auto-replied"
        self._post(mail)

    async def own_words(self, text: str) -> None:
        self._post(self._mail(EXECUTIVE, text, Talk.OTHER, Who.BEN))

    async def repeats(self, ref: str) -> None:
        assert await self._hand_over(self._mails[ref])

    async def insist(self) -> None:
        for ref, task in list(self._sending.items()):
            if task.done() and (task.cancelled() or not task.result()):
                self._sending[ref] = start(f"mail {ref}", self._hand_over(self._mails[ref]))

    async def taken(self, ref: str, inbox: GatedInbox) -> bool:
        task = self._sending[ref]
        return task.done() and not task.cancelled() and task.result()

    async def joins(self, who: Who, talk: Talk = Talk.GROUP) -> None:
        """Somebody is put into Cc: known with the next mail of the thread."""
        self._cc.setdefault(talk, {Who.ANN}).add(who)

    def shown(self, talk: Talk = Talk.DIRECT, who: Who = Who.ANN) -> list[str]:
        mine = {m for (t, k), ids in self._threads.items() for m in ids if t is talk and k is self._keeper(talk, who)}
        return [
            body_of(mail)
            for mail in self._arrived()
            if self.address(who) in str(mail["To"]) and (not mail["In-Reply-To"] or str(mail["In-Reply-To"]) in mine)
        ]

    def _arrived(self) -> list[EmailMessage]:
        raise NotImplementedError

    def thread_of(self, ref: str, talk: Talk) -> str | None:
        return None

    def place_of(self, talk: Talk) -> tuple[str | None, PlaceKind]:
        return None, PlaceKind.MAIL


class RelayEnd(_MailEnd):
    name = "email"
    can = Can(ops=frozenset({"send"}))

    def __init__(self) -> None:
        super().__init__()
        self.sink = SmtpSink()

    async def __aenter__(self) -> FarEnd:
        await self.sink.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await super().__aexit__()
        await self.sink.__aexit__(None, None, None)

    def settings(self) -> Mapping[str, object]:
        relay = {"host": "127.0.0.1", "port": self.sink.port, "security": "none"}
        return {**super().settings(), "relay": relay}

    async def down(self) -> None:
        await self.sink.down()

    async def up(self) -> None:
        await self.sink.up()

    def pause(self, seconds: int) -> None:
        self.sink.faults.plan("MESSAGE", Answer(451, "4.7.1 try again later"))

    def cut(self, *, after: bool) -> None:
        self.sink.faults.plan("MESSAGE", CutAfter() if after else CutBefore())

    def refuse(self) -> None:
        self.sink.faults.plan("RCPT", Answer(550, "5.1.1 no such mailbox"))

    def _arrived(self) -> list[EmailMessage]:
        return [email.message_from_bytes(one.raw, policy=email.policy.default) for one in self.sink.mails]


class MaildirEnd(_MailEnd):
    name = "maildir"
    can = Can(ops=frozenset({"send"}), network=False, certain=True)

    def __init__(self, data: Path) -> None:
        super().__init__()
        self._folder = data / "maildir" / "new"

    def _arrived(self) -> list[EmailMessage]:
        files = sorted(self._folder.glob("*"), key=lambda path: path.name)
        return [email.message_from_bytes(path.read_bytes(), policy=email.policy.default) for path in files]


def body_of(mail: EmailMessage) -> str:
    """The text, with the mark of a repetition, which stands in a header, before it."""
    part = mail.get_body(("plain",))
    text = str(part.get_content()).replace("\r\n", "\n").rstrip("\n") if part is not None else ""
    return f"(may have reached you already) {text}" if "X-OpenExecutive-Resent" in mail else text
