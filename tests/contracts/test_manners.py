"""Manners in groups, on every channel that has them: what is heard, when it speaks, and what it asks and tells."""

from __future__ import annotations

import json

import pytest

from tests.contracts.bench import Talk, Who, until
from tests.contracts.core import LIGHT, Core
from tests.contracts.those import those

NOTE = "/privacy says who reads"


@those(lambda can: can.groups and can.depends)
async def test_what_is_not_put_to_the_executive_is_neither_kept_nor_shown_to_the_model(core: Core) -> None:
    await core.far.writes(Who.BEN, "PINEAPPLE among us", Talk.OTHER, mention=False)
    await core.turn(Who.ANN, "MANGO for you", Talk.OTHER)
    await core.settled()
    assert core.keeps("MANGO")
    assert not core.keeps("PINEAPPLE")
    assert b"MANGO" in core.brain.everything
    assert b"PINEAPPLE" not in core.brain.everything


@those(lambda can: can.groups and can.depends)
async def test_in_a_room_that_opted_in_the_gate_decides_whether_it_speaks(core: Core) -> None:
    await core.command(Who.ANN, "/room listen", "From now on I hear everything", Talk.GROUP)
    await core.settled()
    said = len(core.shown(Talk.GROUP))
    await core.far.writes(Who.BEN, "PINEAPPLE among us", Talk.GROUP, mention=False)
    await until(lambda: core.rows("SELECT 1 FROM inbox WHERE event LIKE '%PINEAPPLE%'") != [])
    await core.settled()
    (row,) = core.rows("SELECT state FROM inbox WHERE event LIKE '%PINEAPPLE%'")
    assert row["state"] == "silent"
    assert b"PINEAPPLE" in b"".join(core.brain.asked(LIGHT))
    assert b"PINEAPPLE" not in b"".join(core.brain.asked())
    assert len(core.shown(Talk.GROUP)) == said

    core.brain.says_yes = True
    heard = await core.turn(Who.BEN, "COCONUT, what do you say?", Talk.GROUP, mention=False)
    assert b"COCONUT" in heard
    assert b"PINEAPPLE" in heard  # what was heard is part of the conversation

    await core.command(Who.ANN, "/room quiet", "only what is addressed to me", Talk.GROUP)
    await core.far.writes(Who.BEN, "PAPAYA among us", Talk.GROUP, mention=False)
    await core.turn(Who.ANN, "MANGO for you", Talk.GROUP)
    assert not core.keeps("PAPAYA")


@pytest.mark.parametrize("name", ["discord", "slack"], indirect=True)  # the platforms that have threads
async def test_a_thread_is_the_executives_until_a_second_person_writes_in_it(core: Core) -> None:
    await core.turn(Who.ANN, "MANGO to begin with", Talk.GROUP)
    heard = await core.turn(Who.ANN, "KIWI without your name", Talk.GROUP, mention=False)
    assert b"MANGO" in heard
    assert core.brain.asked(LIGHT) == []  # with one person there is nothing to look at
    await core.far.writes(Who.BEN, "PINEAPPLE among us", Talk.GROUP, mention=False)
    await until(lambda: core.rows("SELECT 1 FROM inbox WHERE event LIKE '%PINEAPPLE%'") != [])
    await core.settled()
    await core.far.writes(Who.ANN, "PAPAYA back to you, Ben", Talk.GROUP, mention=False)
    await until(lambda: core.rows("SELECT 1 FROM inbox WHERE event LIKE '%PAPAYA%'") != [])
    await core.settled()
    silent = core.rows("SELECT event FROM inbox WHERE state = 'silent'")
    assert ["PINEAPPLE" in row["event"] for row in silent] == [True, False]
    assert len(core.brain.asked()) == 2
    heard = await core.turn(Who.ANN, "COCONUT for you", Talk.GROUP)
    assert b"PAPAYA" in heard
    core.brain.says_yes = True
    await core.turn(Who.BEN, "and mine?", Talk.GROUP, mention=False)


@pytest.mark.parametrize("name", ["slack"], indirect=True)  # elsewhere the command itself is said outside of threads
async def test_a_room_that_opted_in_is_heard_outside_of_threads_too(core: Core) -> None:
    await core.command(Who.ANN, "/room listen", "From now on I hear everything", Talk.OTHER)
    core.brain.says_yes = True
    await core.turn(Who.BEN, "COCONUT, anyone?", Talk.GROUP, mention=False)


async def test_privacy_is_told_in_plain_words(core: Core) -> None:
    text = await core.command(Who.ANN, "/privacy", "Whoever runs the machine")
    for words in ("anthropic", "/new", "until it is erased", "not addressed to me"):
        assert words in text
    assert core.brain.asked() == []


async def test_an_unknown_command_is_called_so_and_costs_nothing(core: Core) -> None:
    text = await core.command(Who.ANN, "/hepl", "I know no command /hepl")
    assert "did you mean /help?" in text
    assert core.brain.asked() == []
    assert b"/usr" in await core.turn(Who.ANN, "/usr/bin")


async def test_the_first_contact_says_once_what_is_kept(core: Core) -> None:
    await core.turn(Who.ANN, "Good morning.")
    await core.turn(Who.ANN, "Good morning again.")
    shown = core.shown()
    assert [NOTE in one for one in shown] == [True, False]


@pytest.mark.usefixtures("quick_introductions")
@those(lambda can: can.buttons and can.groups)
async def test_in_an_unknown_place_the_principal_is_asked_and_nobody_else_may_say(core: Core) -> None:
    far = core.far
    await core.turn(Who.BEN, "Good morning.", Talk.GROUP)
    await core.shows("in a place that I do not know", Talk.DIRECT)
    await core.settled()
    (asked,) = core.rows('SELECT ref, op FROM outbox WHERE op LIKE \'%"kind":"ask"%\'')
    tokens = {choice["token"].split(":")[1]: choice["token"] for choice in json.loads(asked["op"])["choices"]}
    key, _ = far.place_of(Talk.GROUP)

    def declared() -> str | None:
        (row,) = core.rows("SELECT declared FROM place WHERE key = ?", key)
        found: str | None = row["declared"]
        return found

    await far.presses(Who.BEN, asked["ref"], tokens["c"])
    await until(lambda: any("Only a principal" in one for one in far.responses()))
    assert declared() is None
    refused = core.rows("SELECT payload FROM audit WHERE type = 'message_refused'")
    assert [json.loads(row["payload"])["reason"] for row in refused] == ["not_entitled"]

    await far.presses(Who.ANN, asked["ref"], tokens["r"])
    await until(lambda: "Noted." in far.responses())
    assert declared() == "room"
    outcome = await core.shows("only people of ours, says Ann")
    assert "in a place that I do not know" not in outcome

    await far.presses(Who.ANN, asked["ref"], tokens["r"])
    await until(lambda: far.responses().count("Noted.") == 2)
    await core.settled()
    assert declared() == "room"
    assert len([one for one in core.shown() if "says Ann" in one]) == 1


@pytest.mark.usefixtures("quick_introductions")
@those(lambda can: can.buttons and can.groups)
async def test_it_asks_about_a_place_once(core: Core) -> None:
    await core.turn(Who.BEN, "Good morning.", Talk.GROUP)
    await core.shows("in a place that I do not know", Talk.DIRECT)
    await core.turn(Who.BEN, "And again.", Talk.GROUP)
    await core.settled()
    assert len([one for one in core.shown() if "in a place that I do not know" in one]) == 1
