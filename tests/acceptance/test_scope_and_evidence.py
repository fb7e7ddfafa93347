"""Scope, evidence, writing."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from bot.kernel.errors import PermanentError
from bot.memory.model import Kind, Source, Status, Support, Trust
from bot.memory.upkeep import CONSOLIDATE, Upkeep
from bot.tasks.store import Task
from bot.tasks.tables import TaskState
from tests.acceptance.desk import Desk
from tests.evaluation.lives.script import Delete, Key
from tests.extraction.reading import item, remember
from tests.memory.claims import claim, written

BUDGET = "The budget for Atlas is 40,100 euros."
QUESTION = "What is the budget for Atlas?"


@pytest.mark.acceptance("scope.cross_tenant_absent")
async def test_the_best_match_of_one_scope_is_absent_from_another(desk: Desk) -> None:
    await desk.say(BUDGET, "one")
    await desk.say("Good morning.", "two")
    assert "40,100" in await desk.everywhere(QUESTION, "one")
    assert "40,100" not in await desk.everywhere(QUESTION, "two")


@pytest.mark.acceptance("scope.caller_cannot_widen")
async def test_no_argument_widens_what_a_caller_sees(desk: Desk) -> None:
    await desk.say(BUDGET, "one")
    await desk.say("Good morning.", "two")
    one = await desk.only()
    wider = {"scope": "*", "session": await desk.session("one"), "person": "boss", "space": "", "audience_epoch": 0}
    for more in [*({name: value} for name, value in wider.items()), wider]:
        assert "40,100" not in await desk.recall(QUESTION, "two", **more)
        assert "40,100" not in await desk.read([one.id, one.handle, "*", ""], "two", **more)
    assert "40,100" in await desk.recall(QUESTION, "one")
    assert "40,100" in await desk.read([one.handle], "one")


@pytest.mark.acceptance("scope.background_respects_boundary")
async def test_no_background_pass_mixes_two_scopes(desk: Desk) -> None:
    await desk.say("We are starting the project Kestrel to rebuild the billing.", "one")
    await desk.say("We are starting the project Kestrel to rebuild the billing system.", "two", who="Jonas")
    before = await desk.claims()
    assert {each.kind for each in before} == {Kind.INITIATIVE}
    upkeep = Upkeep(desk.office.database, desk.office.recorder, desk.office.clock, "UTC")
    task = Task("t", CONSOLIDATE, "k", "l", {}, TaskState.RUNNING, 1, desk.now, None)  # type: ignore[arg-type]
    done = await upkeep.consolidate(task)
    if done.apply is not None:
        await desk.office.database.write(done.apply)
    await desk.own.indexing.anew()
    await desk.own.index.catch_up()
    after = await desk.claims()
    assert [(each.id, each.session) for each in after] == [(each.id, each.session) for each in before]
    spaces = await desk.rows("SELECT ref, space FROM recall_row WHERE kind = 'claim'")
    assert {each["ref"]: each["space"].split(":")[0] for each in spaces} == {each.id: each.session for each in before}
    for thread, other in (("one", 1), ("two", 0)):
        shown = await desk.everywhere("What about Kestrel?", thread)
        assert before[1 - other].handle in shown
        assert before[other].handle not in shown


@pytest.mark.acceptance("evidence.claim_resolves_to_source")
async def test_every_claim_that_was_shown_leads_to_the_words_it_came_from(desk: Desk) -> None:
    await desk.say(BUDGET)
    await desk.say("We decided to launch Atlas on 14 March. We are starting the project Kestrel.")
    shown = await desk.block("What about Atlas and Kestrel?")
    injected = [each for each in await desk.claims() if each.handle in shown]
    assert len(injected) == 3
    for each in injected:
        rows = await desk.rows(
            "SELECT quote, text FROM evidence JOIN message ON message.id = message_id WHERE claim_id = :of", of=each.id
        )
        assert rows
        assert all(row["quote"] in row["text"] for row in rows)


@pytest.mark.acceptance("evidence.source_delete_reaches_derived")
async def test_deleting_a_source_reaches_each_kind_of_what_was_made_of_it(desk: Desk) -> None:
    ref = await desk.say(BUDGET)
    await desk.say("The budget for Beacon is 50,200 euros.")
    assert "40,100" in await desk.everywhere(QUESTION)
    await desk.own.apply(Delete(ref, Key("one", "Atlas", "budget")))
    (gone,) = [each for each in await desk.claims() if "40,100" in each.statement]
    assert gone.source is Source.DELETED
    await desk.own.indexing.bring()
    assert await desk.rows("SELECT 1 FROM recall_row WHERE text LIKE '%40,100%'") == []
    assert "40,100" not in await desk.everywhere(QUESTION)
    assert "50,200" in await desk.everywhere("What is the budget for Beacon?")


@pytest.mark.acceptance("evidence.rebuild_from_retained")
async def test_what_is_derived_is_made_again_from_what_is_kept(desk: Desk) -> None:
    await desk.say("The code name of Atlas is Vrixolunthe.")
    await desk.recall("What is the code name of Atlas?")
    await desk.own.index.catch_up()
    for table in ("recall_vector", "recall_row", "recall_space"):
        await desk.office.database.write(lambda tx, name=table: tx.execute(sa.text(f"DELETE FROM {name}")))  # type: ignore[misc]
    await desk.own.index.purge()
    assert await desk.rows("SELECT 1 FROM recall_row") == []
    assert await desk.own.indexing.anew() > 0
    await desk.own.index.catch_up()
    assert "Vrixolunthe" in await desk.recall("What is the code name of Atlas?")
    assert "Vrixolunthe" in await desk.block("What is the code name of Atlas?")


@pytest.mark.acceptance("gateway.no_bypass_path")
async def test_every_way_of_writing_is_held_to_the_same_rules(desk: Desk) -> None:
    await desk.say(BUDGET)
    one = await desk.only()
    database, recorder, now = desk.office.database, desk.office.recorder, desk.now
    # By the model: words that nobody said.
    desk.office.model.provider = "scripted"
    desk.own.reader.proposer = lambda request: remember(item("fact", "The budget for Beacon is 9 euros."))
    await desk.say("Let us talk about Beacon tomorrow.")
    desk.office.model.provider = "offline"
    assert not any("9 euros" in each for each in await desk.told(*Status))
    # By the store: no evidence; by SQL: no event, no evidence, no legal move.
    with pytest.raises(sa.exc.IntegrityError, match="rests on evidence"):
        await written(database, recorder, claim(now), [])
    for statement in (
        "UPDATE claim SET statement = 'x'",
        "UPDATE claim SET status = 'pending', held = '[\"secret\"]', version = 2",
        "DELETE FROM claim",
        "UPDATE evidence SET quote = 'x'",
        "DELETE FROM evidence",
        "UPDATE claim_event SET actor = 'x'",
    ):
        with pytest.raises(sa.exc.IntegrityError):
            await database.write(lambda tx, text=statement: tx.execute(sa.text(text)))  # type: ignore[misc]
    # By a person: without a reason.
    with pytest.raises(PermanentError):
        await desk.act("correct", one.id, "The budget for Atlas is 1 euro.", reason=" ")
    assert await desk.told() == [BUDGET]
    # Each of these ways is open to what keeps the rules.
    await desk.act("correct", one.id, "The budget for Atlas is 41,000 euros.")
    await written(database, recorder, claim(desk.now, session=await desk.session()))
    await desk.say("The budget for Beacon is 50,200 euros.")
    assert set(await desk.told()) == {
        "The budget for Atlas is 41,000 euros.", "We launch in March.", "The budget for Beacon is 50,200 euros."
    }  # fmt: skip


@pytest.mark.acceptance("gateway.model_cannot_claim_human_authority")
async def test_what_a_model_brings_carries_the_model_whatever_it_says_of_itself(desk: Desk) -> None:
    desk.office.model.provider = "scripted"
    text = "The budget for Atlas is 40,100 euros."
    desk.own.reader.proposer = lambda request: remember(
        item("fact", text, subject="atlas/budget", confidence=1.0, support="person", by_person=True, verified=True)
    )
    await desk.say(text)
    one = await desk.only()
    assert (one.author.kind, one.support, one.by_person) == ("extractor", Support.QUOTE, False)
    assert one.trust is Trust.PROVEN
    await desk.act("correct", one.id, "The budget for Atlas is 41,000 euros.")
    corrected = next(each for each in await desk.claims() if "41,000" in each.statement)
    assert (corrected.author.kind, corrected.author.name) == ("person", "boss")
    assert (corrected.support, corrected.by_person) == (Support.PERSON, True)
