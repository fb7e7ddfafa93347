"""read_history sees the own session's current epochs, all of them, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from bot.kernel.scope import SessionScope
from bot.orchestrator.history import EACH, MOST, Look, found, tools
from bot.people import store as people
from bot.sessions import threads
from tests.clock import START
from tests.intake.events import command, dm, message
from tests.orchestrator.office import Office
from tests.orchestrator.test_basics import ASKER
from tests.orchestrator.test_prompt import said


@pytest.mark.parametrize(
    ("look", "texts"),
    [
        (Look(), ["Price is 4", "noted", "We ship Monday"]),
        (Look(query="PRICE"), ["Price is 4"]),
        (Look(query="ship monday"), ["We ship Monday"]),
        (Look(query="ship price"), []),
        (Look.model_validate({"from": "2026-03-03"}), ["We ship Monday"]),
        (Look.model_validate({"to": "2026-03-02"}), ["Price is 4", "noted"]),
        (Look.model_validate({"from": "2026-03-04"}), []),
    ],
)
def test_words_and_days_narrow_it(look: Look, texts: list[str]) -> None:
    all_said = [
        said(0, "Price is 4"),
        said(1, "noted", "assistant"),
        said(2, "We ship Monday", sent_at=START + timedelta(hours=15)),
    ]
    shown = found(all_said, look, "Europe/Berlin")
    for text in ("Price is 4", "noted", "We ship Monday"):
        assert (text in shown) == (text in texts)
    if not texts:
        assert shown == "No message of this conversation matches."


def test_what_there_is_no_room_for_is_counted_and_the_newest_are_shown() -> None:
    many = [said(n, f"n{n} " + "word " * 1_000) for n in range(40)]
    shown = found(many, Look(), "UTC")
    assert len(shown) < MOST + 200
    assert "n39 " in shown
    assert "n0 " not in shown
    assert "older messages match too" in shown
    assert "cut here" in shown
    assert EACH < MOST


def test_arguments_are_what_the_schema_says() -> None:
    properties = tools.__globals__["Look"].model_json_schema()["properties"]
    assert set(properties) == {"query", "from", "to"}
    assert Look.model_validate({"from": "2026-03-01"}).since == date(2026, 3, 1)


async def test_other_sessions_and_what_was_before_new_are_not_seen(office: Office) -> None:
    for address in ("1", "2"):
        await office.database.write(lambda tx, a=address: people.greet(tx, "test", a, START))  # type: ignore[misc]
    await office.hear(message("1", "old words", thread=dm("1")))
    await office.hear(message("2", "foreign words", by="2", thread=dm("2")))
    await office.ended("answered", "answered")
    await office.hear(command("3", "new"))
    await office.ended(*["answered"] * 3)
    await office.hear(message("4", "new words", thread=dm("1")))
    await office.ended(*["answered"] * 4)
    own = (await office.database.read(lambda c: threads.by_thread(c, ["test:dm:1"])))["test:dm:1"].id
    (tool,) = tools(office.database)
    outcome = await tool.run(replace(ASKER, scope=SessionScope(own)), {})
    assert "new words" in outcome.text
    assert "old words" not in outcome.text
    assert "foreign words" not in outcome.text
    assert outcome.untrusted
