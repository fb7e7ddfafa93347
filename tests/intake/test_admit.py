"""Who is let in, as a table."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.audit.events import Refusal
from bot.gateway.events import Addressed, CommandInvoked, MessageReceived, Nature, Proof
from bot.intake import admit
from bot.intake.admit import Admit, Ignore, Refuse, TryCode
from bot.intake.tables import Hold
from bot.people.model import Person, Role
from tests.clock import START
from tests.intake.events import GROUP, command, message, sender
from tests.people.test_model import BOSS, person

GUEST = person("guest", Role.GUEST)
GONE = replace(BOSS, active=False)
CODE = "abcd-efgh-jkmn"


@pytest.mark.parametrize(
    ("event", "owner", "decided"),
    [
        (message("1"), BOSS, Admit(BOSS)),
        (message("1"), GUEST, Admit(GUEST)),
        (command("1", "help"), BOSS, Admit(BOSS)),
        (message("1"), None, Refuse(Refusal.STRANGER)),
        (command("1", "help"), None, Refuse(Refusal.STRANGER)),
        (message("1"), GONE, Refuse(Refusal.DEACTIVATED)),
        (message("1", by=sender(proof=Proof.NONE)), BOSS, Refuse(Refusal.UNPROVEN)),
        (message("1", by=sender(proof=Proof.NONE)), None, Refuse(Refusal.STRANGER)),
        (message("1", by=sender(proof=Proof.DOMAIN)), BOSS, Admit(BOSS)),
        (message("1", by=sender(proof=Proof.TOKEN)), BOSS, Admit(BOSS)),
        (message("1", by=sender(proof=Proof.LOCAL)), BOSS, Admit(BOSS)),
        (message("1", by=sender(nature=Nature.SELF)), BOSS, Ignore()),
        (message("1", by=sender(nature=Nature.SELF), automatic="auto_reply"), BOSS, Ignore()),
        (message("1", by=sender(nature=Nature.BOT)), BOSS, Refuse(Refusal.BOT)),
        (message("1", by=sender(nature=Nature.ANONYMOUS)), BOSS, Refuse(Refusal.ANONYMOUS)),
        (message("1", automatic="auto_reply"), BOSS, Refuse(Refusal.AUTOMATIC)),
        (message("1", automatic="bounce", by=sender(proof=Proof.NONE)), None, Refuse(Refusal.AUTOMATIC)),
        (message("1", addressed=Addressed.NOT, thread=GROUP), BOSS, Ignore()),
        (message("1", addressed=Addressed.NOT, thread=GROUP), None, Ignore()),
        (message("1", addressed=Addressed.MENTION, thread=GROUP), BOSS, Admit(BOSS)),
        (message("1", addressed=Addressed.THREAD, thread=GROUP), None, Refuse(Refusal.STRANGER)),
        # pairing codes
        (message("1", CODE), None, TryCode("abcdefghjkmn")),
        (message("1", CODE), BOSS, TryCode("abcdefghjkmn")),
        (message("1", f" {CODE.upper()}\n"), None, TryCode("abcdefghjkmn")),
        (message("1", f"/pair {CODE}"), None, TryCode("abcdefghjkmn")),
        (command("1", "pair", CODE), None, TryCode("abcdefghjkmn")),
        (command("1", "pair", "abcdefghjkmn"), None, TryCode("abcdefghjkmn")),
        (command("1", "pair", "nonsense"), None, Refuse(Refusal.STRANGER)),
        (command("1", "pair"), BOSS, Admit(BOSS)),
        (command("1", "help", CODE), None, Refuse(Refusal.STRANGER)),
        (message("1", f"my code is {CODE}"), None, Refuse(Refusal.STRANGER)),
        (message("1", CODE, thread=GROUP, addressed=Addressed.NOT), BOSS, TryCode("abcdefghjkmn")),
        (message("1", CODE, by=sender(proof=Proof.DOMAIN)), None, Refuse(Refusal.STRANGER)),
        (message("1", CODE, by=sender(proof=Proof.LOCAL)), BOSS, Admit(BOSS)),
        (message("1", CODE, by=sender(nature=Nature.BOT)), None, Refuse(Refusal.BOT)),
        (message("1", CODE, automatic="auto_reply"), None, Refuse(Refusal.AUTOMATIC)),
        (message("1", CODE), GONE, Refuse(Refusal.DEACTIVATED)),
    ],
)
def test_decision(event: MessageReceived | CommandInvoked, owner: Person | None, decided: admit.Decision) -> None:
    assert admit.decide(event, owner, overheard=False) == decided


@pytest.mark.parametrize(
    ("age", "live", "held"),
    [
        (timedelta(), True, Hold.NO),
        (timedelta(hours=2), True, Hold.NO),
        (timedelta(hours=2, seconds=1), True, Hold.STALE),
        (timedelta(days=3), False, Hold.NO),
        (-timedelta(hours=5), True, Hold.NO),
    ],
)
def test_chat_messages_that_come_too_late_are_held(age: timedelta, live: bool, held: Hold) -> None:
    assert admit.hold(message("1", live=live), START + age, timedelta(hours=2)) is held


def test_of_what_was_only_overheard_too_late_nothing_is_said() -> None:
    overheard = message("1", addressed=Addressed.NOT, thread=GROUP)
    assert admit.hold(overheard, START + timedelta(hours=3), timedelta(hours=2)) is Hold.TOLD
    assert admit.hold(overheard, START + timedelta(hours=1), timedelta(hours=2)) is Hold.NO


@pytest.mark.parametrize(("name", "immediate"), [("stop", True), ("status", True), ("new", False), ("help", False)])
def test_which_commands_do_not_wait(name: str, immediate: bool) -> None:
    assert admit.immediate(command("1", name)) is immediate
