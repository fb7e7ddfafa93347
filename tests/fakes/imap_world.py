"""The mailbox behind the IMAP fake: folders, messages, UIDs, and what a search or fetch of them says (RFC 3501)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from tests.fakes.faults import wall_seconds

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


@dataclass
class Message:
    uid: int
    raw: bytes
    at: datetime
    flags: set[str] = field(default_factory=set)

    @property
    def header(self) -> bytes:
        head, blank, _ = self.raw.partition(b"\r\n\r\n")
        return head + blank


@dataclass
class Folder:
    name: str
    validity: int
    next_uid: int = 1
    messages: list[Message] = field(default_factory=list)

    def add(self, raw: bytes, at: datetime, flags: Iterable[str] = ()) -> Message:
        message = Message(self.next_uid, raw, at, set(flags))
        self.next_uid += 1
        self.messages.append(message)
        return message

    def pick(self, uid_set: str) -> list[Message]:
        """The messages of a UID set such as `3`, `2:5,9` or `7:*`. `*` is the last one, whatever comes before it."""
        last = self.messages[-1].uid if self.messages else 0
        wanted: set[int] = set()
        for part in uid_set.split(","):
            ends = [last if end == "*" else int(end) for end in part.split(":")]
            wanted.update(range(min(ends), min(max(ends), last) + 1))
        return [m for m in self.messages if m.uid in wanted]


class ImapWorld:
    """All folders of one account. `listen` is told of each change: (folder, "exists" or "expunge", sequence number)."""

    def __init__(self) -> None:
        self.folders: dict[str, Folder] = {}
        self._validity = 1_700_000_000
        self._listeners: list[Callable[[Folder, str, int], None]] = []
        self.create("INBOX")

    def listen(self, listener: Callable[[Folder, str, int], None]) -> None:
        self._listeners.append(listener)

    def forget(self, listener: Callable[[Folder, str, int], None]) -> None:
        self._listeners.remove(listener)

    def create(self, name: str) -> Folder:
        self._validity += 1
        return self.folders.setdefault(name, Folder(name, self._validity))

    def deliver(
        self, raw: bytes, folder: str = "INBOX", at: datetime | None = None, flags: Iterable[str] = ()
    ) -> Message:
        """New mail. `at`: its INTERNALDATE, default now."""
        box = self.folders[folder]
        message = box.add(raw, at or datetime.fromtimestamp(wall_seconds(), UTC), flags)
        self._tell(box, "exists", len(box.messages))
        return message

    def remove(self, uid: int, folder: str = "INBOX") -> None:
        """Expunge one message."""
        box = self.folders[folder]
        for index, message in enumerate(box.messages):
            if message.uid == uid:
                del box.messages[index]
                self._tell(box, "expunge", index + 1)
                return

    def rebuild(self, folder: str = "INBOX", shift: int = 100) -> None:
        """As after a restored backup: the same messages, a new UIDVALIDITY, other UIDs (in the other order)."""
        box = self.folders[folder]
        self._validity += 1
        box.validity = self._validity
        box.messages.reverse()
        for number, message in enumerate(box.messages):
            message.uid = shift + number
        box.next_uid = shift + len(box.messages)

    def uids(self, folder: str = "INBOX") -> list[int]:
        return [m.uid for m in self.folders[folder].messages] if folder in self.folders else []

    def contents(self, folder: str = "INBOX") -> list[bytes]:
        return [m.raw for m in self.folders[folder].messages] if folder in self.folders else []

    def _tell(self, folder: Folder, what: str, number: int) -> None:
        for listener in tuple(self._listeners):
            listener(folder, what, number)


def search(folder: Folder, criteria: str) -> list[Message]:
    """ALL, UID <set>, SINCE <date>, (UN)SEEN, (UN)DELETED, together. ValueError for others."""
    words = [word for word in criteria.split() if word.upper() not in {"CHARSET", "UTF-8"}]
    found = list(folder.messages)
    while words:
        word = words.pop(0).upper()
        match word:
            case "ALL":
                pass
            case "UID":
                chosen = {m.uid for m in folder.pick(words.pop(0))}
                found = [m for m in found if m.uid in chosen]
            case "SINCE":
                day = read_day(words.pop(0))
                found = [m for m in found if m.at.date() >= day]
            case "SEEN" | "DELETED":
                found = [m for m in found if f"\\{word.capitalize()}" in m.flags]
            case "UNSEEN" | "UNDELETED":
                found = [m for m in found if f"\\{word[2:].capitalize()}" not in m.flags]
            case _:
                raise ValueError(word)
    return found


def fetched(message: Message, items: str) -> bytes:
    """The data of a FETCH response, literals in place. Reading a body without PEEK marks it as seen."""
    parts: list[bytes] = []
    for item in re.findall(r"[A-Z0-9.]+(?:\[[^\]]*\])?(?:<\d+\.\d+>)?", items.upper().strip("()")):
        match item:
            case "UID":
                parts.append(b"UID %d" % message.uid)
            case "FLAGS":
                parts.append(b"FLAGS (" + " ".join(sorted(message.flags)).encode() + b")")
            case "RFC822.SIZE":
                parts.append(b"RFC822.SIZE %d" % len(message.raw))
            case "INTERNALDATE":
                parts.append(b'INTERNALDATE "' + internal_date(message.at).encode() + b'"')
            case "BODY.PEEK[]" | "BODY[]" | "RFC822":
                if "PEEK" not in item:
                    message.flags.add("\\Seen")
                name = b"RFC822" if item == "RFC822" else b"BODY[]"
                parts.append(name + b" " + _literal(message.raw))
            case "BODY.PEEK[HEADER]" | "BODY[HEADER]":
                parts.append(b"BODY[HEADER] " + _literal(message.header))
            case _:
                raise ValueError(item)
    if not any(part.startswith(b"UID ") for part in parts):
        parts.insert(0, b"UID %d" % message.uid)
    return b"(" + b" ".join(parts) + b")"


def _literal(data: bytes) -> bytes:
    return b"{%d}\r\n" % len(data) + data


def internal_date(at: datetime) -> str:
    return f"{at.day:2d}-{MONTHS[at.month - 1]}-{at:%Y %H:%M:%S %z}"


def read_day(text: str) -> date:
    day, month, year = text.strip('"').split("-")
    return date(int(year), MONTHS.index(month) + 1, int(day))
