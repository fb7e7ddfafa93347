"""What was rejected or forgotten stays so."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.memory.model import Held, Status, Visibility
from tests.acceptance.desk import Desk

BUDGET = "The budget for Atlas is 40,100 euros."
QUESTION = "What is the budget for Atlas?"
NEIGHBOUR = "The budget for Beacon is 50,200 euros."


async def _forgotten(desk: Desk) -> None:
    """Marta told it, and had it forgotten; a neighbour stands."""
    await desk.say(f"{BUDGET} {NEIGHBOUR}")
    (one,) = [each for each in await desk.claims() if "40,100" in each.statement]
    await desk.forget(one.id)
    assert "40,100" not in await desk.everywhere(QUESTION)


async def _is_inactive(desk: Desk) -> None:
    assert not any("40,100" in each for each in await desk.told())
    assert "40,100" not in await desk.block(QUESTION)
    assert "50,200" in await desk.block("What is the budget for Beacon?")


@pytest.mark.acceptance("tombstone.laundering_sequence")
async def test_a_forgotten_value_cannot_be_walked_back_to_trusted(desk: Desk) -> None:
    await _forgotten(desk)
    await desk.say("The budget for Atlas is 38,000 euros.")
    await desk.say(BUDGET)
    await desk.say(f"As I said, {BUDGET[0].lower()}{BUDGET[1:]}", who="Jonas")
    await _is_inactive(desk)
    held = [each for each in await desk.claims(Status.PENDING) if "40,100" in each.statement]
    assert all(Held.FORGOTTEN in each.held for each in held)


@pytest.mark.acceptance("tombstone.survives_ttl_and_prune")
async def test_no_passing_of_time_brings_it_back(desk: Desk) -> None:
    await _forgotten(desk)
    desk.advance(days=800)
    await desk.office.database.maintain()
    await desk.own.indexing.anew()
    await desk.say(BUDGET)
    await _is_inactive(desk)


@pytest.mark.acceptance("tombstone.key_normalization_attack")
@pytest.mark.parametrize(
    "variant",
    [
        "THE BUDGET FOR ATLAS IS 40,100 EUROS.",
        "The  budget   for Atlas is 40,100 euros.",
        "The budget for \u0410tlas is 40,100 euros.",
        "The bud\u200bget for Atlas is 40,100 euros.",
        "The budget for Ａtlas is ４０,１００ euros.",
        "The budget for Atlas is 40,100 euros!",
    ],
    ids=["case", "spaces", "cyrillic", "zero width", "full width", "mark"],
)
async def test_look_alikes_are_known_again(desk: Desk, variant: str) -> None:
    """A value, not a string, is stopped. Other words for the same thing are another matter: see the last lines."""
    await _forgotten(desk)
    await desk.say(variant)
    assert not any("40" in each and "100" in each for each in await desk.told())
    # The side of the line that we stand on: another value of the same thing, newer, waits for a person.
    await desk.say("The budget for Atlas is 44,000 euros.")
    waiting = [each for each in await desk.claims(Status.PENDING) if "44,000" in each.statement]
    standing = [each for each in await desk.told() if "44,000" in each]
    assert waiting or standing


@pytest.mark.acceptance("tombstone.reextraction_stays_inactive")
async def test_reading_the_same_words_again_brings_back_only_what_was_not_forgotten(desk: Desk) -> None:
    await _forgotten(desk)
    await desk.say(f"{BUDGET} The budget for Comet is 60,300 euros.")
    await _is_inactive(desk)
    assert any("60,300" in each for each in await desk.told())


@pytest.mark.acceptance("tombstone.no_second_memory_unit")
async def test_older_words_make_no_second_unit(desk: Desk) -> None:
    """Consulted: the write is refused, nothing is stored to be hidden. Words said after the forgetting wait for a
    person instead."""
    before = desk.now
    await _forgotten(desk)
    await desk.say_late(f"{BUDGET} The budget for Comet is 60,300 euros.", before + timedelta(minutes=1))
    assert not any(
        "40,100" in each for each in await desk.told(*(each for each in Status if each is not Status.ERASED))
    )
    assert any("60,300" in each for each in await desk.told())
    assert "50,200" in await desk.block("What is the budget for Beacon?")


@pytest.mark.acceptance("deletion.absent_after_reindex_and_restart")
async def test_forgotten_words_stay_absent_over_every_path_that_could_bring_them_back(desk: Desk) -> None:
    from tests.evaluation.lives.script import Restart

    await desk.say(f"{BUDGET} {NEIGHBOUR}")
    assert "40,100" in await desk.block(QUESTION)
    (one,) = [each for each in await desk.claims() if "40,100" in each.statement]
    await desk.forget(one.id)
    await desk.own.indexing.anew()
    await desk.own.index.catch_up()
    await desk.own.apply(Restart())
    for table in await desk.rows("SELECT name FROM sqlite_master WHERE type = 'table'"):
        name = table["name"]
        if "_fts" not in name:
            held = await desk.rows(f'SELECT * FROM "{name}"')
            assert not any("40,100" in str(value) for row in held for value in row.values()), name
    assert "40,100" not in await desk.everywhere(QUESTION)
    assert "50,200" in await desk.everywhere("What is the budget for Beacon?")
    assert await desk.office.audited("memory_erased")


@pytest.mark.acceptance("deletion.absent_from_shared_copies")
async def test_forgetting_reaches_the_other_scope_that_it_was_shared_with(desk: Desk) -> None:
    """Backups taken before are replayed against the journal of erasures: `tests/backup`."""
    await desk.say(f"{BUDGET} {NEIGHBOUR}", "one")
    await desk.say("The budget for Comet is 60,300 euros.", "two")
    for value in ("40,100", "50,200"):
        (one,) = [each for each in await desk.claims() if value in each.statement]
        await desk.act("promote", one.id)
    shared = [each for each in await desk.claims() if each.visibility is Visibility.COMPANY]
    assert len(shared) == 2
    assert "40,100" in await desk.block(QUESTION, "two")
    (one,) = [each for each in shared if "40,100" in each.statement]
    await desk.forget(one.id)
    assert "40,100" not in await desk.everywhere(QUESTION, "two")
    assert "50,200" in await desk.block("What is the budget for Beacon?", "two")
    assert "60,300" in await desk.block("What is the budget for Comet?", "two")
