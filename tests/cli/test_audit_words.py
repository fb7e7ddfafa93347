"""The audit for people."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import Any

import pytest

from bot.audit.vocabulary import VOCABULARY
from bot.audit.words import _SENTENCES, actor, sentence
from bot.cli.audit_words import lines


@pytest.fixture
def oslo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Oslo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def entry(number: int, type_: str, who: str, text: str | None = None, /, **payload: Any) -> dict[str, object]:
    return {
        "id": number,
        "at": "2026-11-30T23:30:05.123456+00:00",
        "type": type_,
        "actor": who,
        "session": None,
        "payload": payload,
        "text": text,
        "erased": False,
    }


@pytest.mark.usefixtures("oslo")
def test_local_time_who_and_what_stand_in_columns() -> None:
    received = entry(
        9, "message_received", "person:anna", "Hello.\nThere.",
        inbox="i", channel="slack", kind="message", addressed="mention", proof="platform", characters=1,
        attachments=2, held=False,
    ) | {"session": "s1"}  # fmt: skip
    refused = entry(10, "message_refused", "stranger:email", channel="email", reason="stranger", count=4, inbox=None)
    gone = entry(11, "daemon_stopped", "system:daemon", boot="b", drained=True) | {"erased": True}
    words = "wrote a message of 1 character on slack (mention, proof: platform, 2 files)"
    assert lines([received, refused, gone]) == [
        f" 9  2026-12-01 00:30:05  {'anna':<18}  {words}  [s1]",
        "    | Hello.",
        "    | There.",
        "10  2026-12-01 00:30:05  a stranger (email)  was refused 4 times within an hour on email: stranger",
        "11  2026-12-01 00:30:05  the daemon          stopped",
        "    | [erased]",
    ]
    assert lines([]) == []


def test_every_sentence_is_of_a_type_that_there_is_and_uses_its_fields() -> None:
    assert _SENTENCES.keys() <= VOCABULARY.keys()
    for kind, told in _SENTENCES.items():
        fields = {field.name: 1 for field in dataclasses.fields(VOCABULARY[kind])}
        assert told(fields)


def test_every_other_type_is_told_by_its_fields() -> None:
    for kind in VOCABULARY.keys() - _SENTENCES.keys():
        assert sentence(kind, {}) == kind.replace("_", " ")
    told = sentence("thread_compacted", {"turns": 3, "model": "m", "shown": True, "of": None, "ids": ["a", "b"]})
    assert told == "thread compacted: turns 3, model m, shown yes, of none, ids a, b"


def test_what_another_version_wrote_is_told_too() -> None:
    assert sentence("turn_started", {"tries": 2}) == "turn started: tries 2"


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("person:anna", "anna"),
        ("system:upkeep", "the upkeep"),
        ("model:claude", "model claude"),
        ("stranger:slack", "a stranger (slack)"),
        ("person:", "person"),
    ],
)
def test_actor(told: str, words: str) -> None:
    assert actor(told) == words


def test_the_story_of_a_proposal_is_told_in_words() -> None:
    one = {"proposal": "06h2yzq1g4nxqa278paq3kgh", "action": "send_email", "hash": "x"}
    told = [
        sentence("proposal_made", {**one, "approvers": ["ann"], "rests_on": [], "tainted": True, "automatic": False}),
        sentence("proposal_shown", {**one, "person": "ann", "channel": "slack", "reminder": False}),
        sentence("proposal_refused", {**one, "channel": "slack", "because": "not_an_approver"}),
        sentence("proposal_decided", {**one, "state": "approved_with_edit"}),
        sentence("action_executed", {**one, "by_person": False}),
    ]
    assert told == [
        "put forward send_email (proposal aq3kgh): ann may decide; others' text was read before",
        "asked ann on slack about proposal aq3kgh",
        "has no say in proposal aq3kgh on slack: not an approver",
        "proposal aq3kgh is approved with edit",
        "send_email of proposal aq3kgh is done",
    ]
