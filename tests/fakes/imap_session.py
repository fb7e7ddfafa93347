"""One connection to the IMAP fake: its commands, its view of the folder that is selected, and its faults."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from typing import TYPE_CHECKING

from tests.fakes.faults import Answer, CutAfter, CutBefore
from tests.fakes.imap_world import Folder, fetched, search

if TYPE_CHECKING:
    from tests.fakes.imap import FakeImap

XOAUTH2_ERROR = base64.b64encode(b'{"status":"400","schemes":"Bearer","scope":"https://mail.example/"}')


class _Refused(Exception):
    """Ends a command with these words."""


class ImapSession:
    def __init__(self, fake: FakeImap, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._fake = fake
        self._reader, self._writer = reader, writer
        self._user: str | None = None
        self._folder: Folder | None = None
        self._news: list[bytes] = []
        self._idle = False
        self._secure = fake.security == "tls"
        self.task = asyncio.current_task()
        fake.world.listen(self._hear)

    def say(self, line: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(line + b"\r\n")

    def cut(self) -> None:
        self._writer.transport.abort()

    def hang_up(self) -> None:
        self._writer.close()

    def leave(self) -> None:
        self._fake.world.forget(self._hear)

    def _hear(self, folder: Folder, what: str, number: int) -> None:
        if folder is self._folder:
            self._news.append(b"* %d %s" % (number, what.upper().encode()))
            if self._idle:
                self._tell_news()

    def _tell_news(self) -> None:
        for line in self._news:
            self.say(line)
        self._news.clear()

    async def serve(self) -> None:
        plan = self._fake.faults
        faults = plan.take("CONNECT")
        await plan.hold(faults, "before")
        if plan.dark or any(isinstance(f, CutBefore) for f in faults):
            self.cut()
            return
        for fault in faults:
            if isinstance(fault, Answer):
                self.say(f"* {fault.body or 'BYE busy'}".encode())
                return
        self.say(b"* OK [CAPABILITY " + self._capability() + b"] ready")
        while await self._one():
            await self._writer.drain()

    def _capability(self) -> bytes:
        words = list(self._fake.capabilities)
        if self._fake.security == "starttls" and not self._secure:
            words = [w for w in words if not w.startswith("AUTH=")] + ["STARTTLS", "LOGINDISABLED"]
        return " ".join(words).encode()

    async def _one(self) -> bool:
        """One command. Whether there may be another."""
        tag, verb, rest = await self._command()
        if tag is None:
            return False
        shown = "" if verb in {"LOGIN", "AUTHENTICATE"} else " ".join(_text(a)[:200] for a in rest)
        self._fake.requests.add(verb, {"arguments": shown})
        plan = self._fake.faults
        faults = plan.take(verb)
        await plan.hold(faults, "before")
        if any(isinstance(f, CutBefore) for f in faults):
            self.cut()
            return False
        try:
            for fault in faults:
                if isinstance(fault, Answer):
                    raise _Refused(fault.body or "NO refused")
            words = await self._do(verb, rest)
        except _Refused as error:
            words = str(error).encode()
        except (ValueError, IndexError) as error:
            words = f"BAD {error}".encode()
        await plan.hold(faults, "after")
        if any(isinstance(f, CutAfter) for f in faults):
            self.cut()
            return False
        self._tell_news()
        self.say(tag + b" " + words)
        if verb == "STARTTLS" and words.startswith(b"OK"):
            await self._start_tls()
        return verb != "LOGOUT"

    async def _command(self) -> tuple[bytes | None, str, list[bytes]]:
        """(tag, verb, arguments); literals are asked for. No tag at the end of the connection."""
        words: list[bytes] = []
        while True:
            line = (await self._reader.readline()).rstrip(b"\r\n")
            if not line and not words:
                return None, "", []
            literal = re.search(rb"\{(\d+)(\+?)\}\Z", line)
            words += _words(line[: literal.start()] if literal else line)
            if literal is None:
                break
            if not literal[2]:
                self.say(b"+ go ahead")
            words.append(await self._reader.readexactly(int(literal[1])))
        verb = _text(words[1]).upper() if len(words) > 1 else ""
        if verb == "UID" and len(words) > 2:
            return words[0], f"UID {_text(words[2]).upper()}", words[3:]
        return words[0], verb, words[2:]

    async def _start_tls(self) -> None:
        if self._fake.tls is not None:
            await self._writer.start_tls(self._fake.tls)
            self._secure = True

    async def _do(self, verb: str, rest: list[bytes]) -> bytes:
        match verb:
            case "CAPABILITY":
                self.say(b"* CAPABILITY " + self._capability())
            case "NOOP" | "CHECK" | "STARTTLS":
                pass
            case "LOGOUT":
                self.say(b"* BYE see you")
            case "LOGIN":
                self._login(_text(rest[0]), _text(rest[1]))
            case "AUTHENTICATE":
                await self._authenticate(_text(rest[0]).upper(), rest[1] if len(rest) > 1 else None)
            case "SELECT" | "EXAMINE":
                self._select(_text(rest[0]))
                return b"OK [READ-WRITE] selected"
            case "CREATE":
                self._must_be_in()
                self._fake.world.create(_text(rest[0]))
            case "LIST":
                self._must_be_in()
                for name in self._fake.world.folders:
                    self.say(f'* LIST () "/" "{name}"'.encode())
            case "APPEND":
                return self._append(rest)
            case "IDLE":
                await self._idling()
            case "EXPUNGE":
                self._expunge(None)
            case _ if verb.startswith("UID "):
                return self._uid(verb.removeprefix("UID "), rest)
            case _:
                raise _Refused("BAD unknown command")
        return b"OK done"

    # --- logging in

    def _login(self, user: str, password: str) -> None:
        if self._fake.security == "starttls" and not self._secure:
            raise _Refused("NO [PRIVACYREQUIRED] encryption first")
        if self._fake.users.get(user) != password:
            raise _Refused("NO [AUTHENTICATIONFAILED] Invalid credentials (Failure)")
        self._user = user

    async def _authenticate(self, mechanism: str, initial: bytes | None) -> None:
        if initial is None:
            self.say(b"+ ")
            await self._writer.drain()
            initial = (await self._reader.readline()).strip()
        try:
            fields = base64.b64decode(initial, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise _Refused("BAD not base64") from None
        if mechanism == "PLAIN":
            _, user, password = fields.split("\0")
            self._login(user, password)
            return
        match = re.fullmatch("user=([^\1]*)\1auth=Bearer ([^\1]*)\1\1", fields)
        if match is None or self._fake.tokens.get(match[1]) != match[2]:
            self.say(b"+ " + XOAUTH2_ERROR)
            await self._writer.drain()
            await self._reader.readline()  # the client acknowledges the error before it is said
            raise _Refused("NO [AUTHENTICATIONFAILED] AUTHENTICATE failed.")
        self._user = match[1]

    def _must_be_in(self) -> None:
        if self._user is None:
            raise _Refused("BAD log in first")

    # --- folders and messages

    def _select(self, name: str) -> None:
        self._must_be_in()
        self._folder = self._fake.world.folders.get("INBOX" if name.upper() == "INBOX" else name)
        self._news.clear()
        if self._folder is None:
            raise _Refused("NO [NONEXISTENT] no such mailbox")
        self.say(b"* FLAGS (\\Seen \\Deleted)")
        self.say(b"* %d EXISTS" % len(self._folder.messages))
        self.say(b"* 0 RECENT")
        self.say(b"* OK [UIDVALIDITY %d] UIDs valid" % self._folder.validity)
        self.say(b"* OK [UIDNEXT %d] next" % self._folder.next_uid)

    def _selected(self) -> Folder:
        if self._folder is None:
            raise _Refused("BAD select first")
        return self._folder

    def _append(self, rest: list[bytes]) -> bytes:
        self._must_be_in()
        folder = self._target(_text(rest[0]))
        flags = _text(rest[1]).strip("()").split() if len(rest) > 2 else []
        message = self._fake.world.deliver(rest[-1], folder.name, flags=flags)
        return b"OK [APPENDUID %d %d] appended" % (folder.validity, message.uid)

    def _target(self, name: str) -> Folder:
        folder = self._fake.world.folders.get(name)
        if folder is None:
            raise _Refused("NO [TRYCREATE] no such mailbox")
        return folder

    def _uid(self, what: str, rest: list[bytes]) -> bytes:
        folder = self._selected()
        match what:
            case "SEARCH":
                found = search(folder, " ".join(_text(word) for word in rest))
                self.say(b"* SEARCH" + b"".join(b" %d" % m.uid for m in found))
            case "FETCH":
                numbers = {message.uid: number for number, message in enumerate(folder.messages, 1)}
                items = " ".join(_text(word) for word in rest[1:])
                for message in folder.pick(_text(rest[0])):
                    self.say(b"* %d FETCH " % numbers[message.uid] + fetched(message, items))
            case "STORE":
                for message in folder.pick(_text(rest[0])):
                    flags = set(_text(rest[2]).strip("()").split())
                    message.flags = message.flags - flags if _text(rest[1]).startswith("-") else message.flags | flags
            case "COPY" | "MOVE":
                if what == "MOVE" and "MOVE" not in self._fake.capabilities:
                    raise _Refused("BAD unknown command")
                target = self._target(_text(rest[1]))
                for message in folder.pick(_text(rest[0])):
                    self._fake.world.deliver(message.raw, target.name, message.at, message.flags)
                    if what == "MOVE":
                        self._fake.world.remove(message.uid, folder.name)
            case "EXPUNGE":
                if "UIDPLUS" not in self._fake.capabilities:
                    raise _Refused("BAD unknown command")
                self._expunge(_text(rest[0]))
            case _:
                raise _Refused("BAD unknown command")
        return b"OK done"

    def _expunge(self, uid_set: str | None) -> None:
        folder = self._selected()
        for message in list(folder.messages) if uid_set is None else folder.pick(uid_set):
            if "\\Deleted" in message.flags:
                self._fake.world.remove(message.uid, folder.name)

    async def _idling(self) -> None:
        self._selected()
        if "IDLE" not in self._fake.capabilities:
            raise _Refused("BAD unknown command")
        self.say(b"+ idling")
        self._idle = True
        self._tell_news()
        try:
            line = await self._reader.readline()
        finally:
            self._idle = False
        if not line:
            raise EOFError
        if line.strip().upper() != b"DONE":
            raise _Refused("BAD expected DONE")


def _words(line: bytes) -> list[bytes]:
    """Atoms, quoted strings (unquoted) and parenthesised lists (as one)."""
    found = re.findall(rb'"((?:\\.|[^"\\])*)"|(\([^)]*\))|([^\s"(]+(?:\[[^\]]*\])?)', line)
    return [re.sub(rb"\\(.)", rb"\1", q) if not (lst or atom) else lst or atom for q, lst, atom in found]


def _text(word: bytes) -> str:
    return word.decode("utf-8", "replace")
