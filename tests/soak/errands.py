"""Some messages ask for a mail to somebody outside. It waits for a yes from any of three people, each on a platform of
their own; one of them says yes, edits it, says no or leaves it, by its number. What counts is what leaves: one mail for
a yes, none for anything else."""

from __future__ import annotations

import json
import re
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path

from tests.e2e import numbers
from tests.e2e.daemon import rows
from tests.e2e.farends import body_of
from tests.fakes.anthropic_reply import Reply, Text, ToolUse, say
from tests.fakes.anthropic_script import ModelRequest
from tests.fakes.discord import FakeDiscord
from tests.fakes.slack import FakeSlack
from tests.fakes.telegram import FakeTelegram
from tests.soak.people import planned

EVERY = 11
"""One message in so many, of those that are said alone in a chat."""
FATES = ("approve", "edit", "reject", "leave")
PLATFORMS = ("telegram", "discord", "slack")
AGAIN = 4.0
"""Seconds after which somebody who sees no answer presses again."""
SETTINGS = {"OPENEXECUTIVE_LEDGER__CLASSES__SEND_EMAIL__APPROVERS": '["t1", "d0", "s0"]'}
_ERRAND = re.compile(r"\bErrand (\d+)\b")
_ASKED = re.compile(r"\bwith Errand (\d+)\b")
"""Not in what is written into a form, which comes in as a message if the form is not known (any more)."""
_OUTSIDE = re.compile(r"\Aout(\d+)@outside\.example\Z")


def is_errand(number: int) -> bool:
    plan = planned(number)
    return number % EVERY == 0 and plan.channel in PLATFORMS and not plan.group


def fate(number: int) -> str:
    return FATES[number // EVERY % len(FATES)]


def decider(number: int) -> str:
    """On which platform it is decided."""
    return PLATFORMS[number // EVERY // len(FATES) % len(PLATFORMS)]


def words(number: int) -> str:
    """What a person writes."""
    asked = numbers.words(number)
    return f"{asked}, with Errand {number}" if is_errand(number) else asked


def text(number: int, *, edited: bool) -> str:
    return f"Errand {number} is {'edited' if edited else 'done'}."


# --- the model --------------------------------------------------------------------------------------------------------


def script(request: ModelRequest) -> Reply:
    """Has the mails of a turn put forward, then answers like every other turn."""
    asked = next((said for role, said in reversed(request.turns) if role == "user" and said.strip()), "")
    wanted = list(dict.fromkeys(int(each) for each in _ASKED.findall(asked)))
    if not wanted or request.forced or request.tool_results or "send_email" not in request.tools:
        return say(numbers.answer(asked))
    calls = (
        ToolUse(
            "send_email",
            {
                "to": f"out{number}@outside.example",
                "subject": f"Errand {number}",
                "text": text(number, edited=False),
                "reason": "it was asked for",
            },
        )
        for number in wanted
    )
    return Reply((Text("One moment."), *calls))


# --- who decides ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    place: str
    key: str
    number: int
    buttons: Mapping[str, str]


def _question(place: str, key: str, shown: str, buttons: Mapping[str, str]) -> Question | None:
    found = _ERRAND.search(shown)
    return Question(place, key, int(found[1]), buttons) if found and buttons else None


class Decider(ABC):
    """One person on one platform: does the same again while a question has its buttons."""

    platform: str

    def __init__(self) -> None:
        self._pressed: dict[int, float] = {}
        self._editing: tuple[int, int, float] | None = None
        """Which one, how many forms there were before, and until when the form is waited for."""

    def look(self) -> None:
        now = time.monotonic()
        mine = {each.number: each for each in self.questions() if decider(each.number) == self.platform}
        self._fill(mine, now)
        for number, question in mine.items():
            wish = fate(number)
            if wish == "leave" or now < self._pressed.get(number, 0.0):
                continue
            if wish == "edit":
                if self._editing is not None:
                    continue
                self._editing = number, self.forms(), now + AGAIN
            self._pressed[number] = now + AGAIN
            label = {"approve": "Approve", "reject": "Reject", "edit": "Edit …"}[wish]
            self.press(question, question.buttons[label])

    def _fill(self, mine: Mapping[int, Question], now: float) -> None:
        """One form at a time: which one it is for is told by nothing but what was pressed last."""
        if self._editing is None:
            return
        number, before, until = self._editing
        if number not in mine or now > until:
            self._editing = None
        elif self.forms() > before:
            self._editing = number, self.forms(), until
            self.write(text(number, edited=True))

    @abstractmethod
    def questions(self) -> Iterator[Question]: ...

    @abstractmethod
    def press(self, question: Question, carries: str) -> None: ...

    @abstractmethod
    def forms(self) -> int:
        """How many were opened so far."""

    @abstractmethod
    def write(self, words: str) -> None:
        """Into the newest form."""


class OnTelegram(Decider):
    platform = "telegram"

    def __init__(self, fake: FakeTelegram, person: int) -> None:
        super().__init__()
        self._fake, self._person = fake, person

    def questions(self) -> Iterator[Question]:
        for key, message in self._fake.world.chat(self._person).messages.items():
            keyboard = (message.get("reply_markup") or {}).get("inline_keyboard", ())
            buttons = {one["text"]: one["callback_data"] for row in keyboard for one in row}
            if found := _question(str(self._person), str(key), str(message.get("text", "")), buttons):
                yield found

    def press(self, question: Question, carries: str) -> None:
        self._fake.world.callback_query(self._person, int(question.key), self._person, carries)

    def forms(self) -> int:
        return sum(chat == self._person for chat, _ in self._fake.world.forced)

    def write(self, words: str) -> None:
        asking = next(message for chat, message in reversed(self._fake.world.forced) if chat == self._person)
        self._fake.world.message(self._person, self._person, words, reply_to=asking)


class OnDiscord(Decider):
    platform = "discord"

    def __init__(self, fake: FakeDiscord, person: int) -> None:
        super().__init__()
        self._fake, self._person = fake, person

    def questions(self) -> Iterator[Question]:
        place = self._fake.world.dm_channel(self._person)
        for key, message in place.messages.items():
            buttons = {b["label"]: b["custom_id"] for row in message.get("components") or () for b in row["components"]}
            if found := _question(place.id, key, str(message["content"]), buttons):
                yield found

    def press(self, question: Question, carries: str) -> None:
        self._fake.world.press(question.place, self._person, question.key, carries)

    def forms(self) -> int:
        opened = (one["acknowledged"] for one in self._fake.world.interactions.values())
        return sum(one is not None and one["type"] == 9 for one in opened)

    def write(self, words: str) -> None:
        self._fake.world.fill(self._person, {"text": words})


class OnSlack(Decider):
    platform = "slack"

    def __init__(self, fake: FakeSlack, person: str) -> None:
        super().__init__()
        self._fake, self._person = fake, person

    def questions(self) -> Iterator[Question]:
        place = self._fake.world.direct(self._person)
        for key, message in place.messages.items():
            rows_ = [block["elements"] for block in message.get("blocks") or () if block["type"] == "actions"]
            buttons = {one["text"]["text"]: one["value"] for row in rows_ for one in row}
            if buttons and (found := _question(place.id, key, self._fake.shown(place.id, key), buttons)):
                yield found

    def press(self, question: Question, carries: str) -> None:
        self._fake.press(question.place, self._person, question.key, carries)

    def forms(self) -> int:
        return len(self._fake.methods.views)

    def write(self, words: str) -> None:
        self._fake.submit(self._fake.world.direct(self._person).id, self._person, {"text": words})


# --- what came of it --------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """`sent`: a yes, and one mail that says what was approved. `uncertain`: a yes, and one mail at most."""

    asked: int = 0
    sent: int = 0
    of_these_edited: int = 0
    uncertain: int = 0
    rejected: int = 0
    left: int = 0
    undecided: list[int] = field(default_factory=list)
    """Somebody wanted to decide, and could not."""
    wrong: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not (self.undecided or self.wrong)


def undecided(data: Path) -> bool:
    """Whether somebody still has to say what they mean, or it is still being done."""
    waiting = rows(data, "SELECT state, final FROM proposal WHERE state NOT IN ('executed', 'failed', 'rejected')")
    return any(row["state"] != "proposed" or fate(_number(row)) != "leave" for row in waiting)


def judge(data: Path, mails: Sequence[EmailMessage]) -> Tally:
    out: dict[int, list[str]] = {}
    for mail in mails:
        if found := _OUTSIDE.match(str(mail["To"]).strip("<> ")):
            out.setdefault(int(found[1]), []).append(body_of(mail).strip())
    tally = Tally()
    proposals = rows(data, "SELECT state, failure, final FROM proposal")
    twice = Counter(_number(row) for row in proposals)
    tally.wrong += [f"{number}: put forward {count} times" for number, count in twice.items() if count > 1]
    for row in proposals:
        number = _number(row)
        wish, left = fate(number), out.pop(number, [])
        tally.asked += 1
        match row["state"], wish:
            case "executed", "approve" | "edit" if left == [text(number, edited=wish == "edit")]:
                tally.sent += 1
                tally.of_these_edited += wish == "edit"
            case "failed", "approve" | "edit" if row["failure"] == "uncertain" and len(left) <= 1:
                tally.uncertain += 1
            case "rejected", "reject" if not left:
                tally.rejected += 1
            case "proposed", "leave" if not left:
                tally.left += 1
            case "proposed", _ if not left:
                tally.undecided.append(number)
            case state, _:
                tally.wrong.append(f"{number}: {wish}, {state} ({row['failure']}), mails {left}")
    tally.wrong += [f"{number}: a mail that nobody asked for" for number in out]
    return tally


def _number(row: Mapping[str, str]) -> int:
    (address,) = json.loads(row["final"])["to"]
    found = _OUTSIDE.match(address)
    assert found is not None, row
    return int(found[1])
