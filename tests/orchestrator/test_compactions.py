"""Long threads: what is no longer shown is summarised, nothing is lost, and no summary outlives its words."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.kernel.errors import TransientError
from bot.kernel.ids import SessionId
from bot.kernel.scope import SessionScope
from bot.llm import window
from bot.llm.budget import Limit, Limits
from bot.llm.model import Request
from bot.orchestrator import prompt
from bot.orchestrator.compactions import KIND, SYSTEM, excerpts
from bot.orchestrator.ends import COMPACTED
from bot.people import store as people
from bot.sessions import compaction, threads
from bot.sessions.compaction import Earlier
from bot.sessions.tables import message as messages
from bot.storage.database import Tx
from bot.tasks import store as tasks
from bot.tasks.store import Task
from bot.tasks.tables import task as task_table
from tests.clock import START
from tests.intake.events import command, delete, edit, message
from tests.orchestrator.office import Office, whole
from tests.orchestrator.test_prompt import said

WORDS = "we sell it " * 60
BOOT = "boot-1"


@pytest.fixture
async def office(office: Office) -> Office:
    await office.database.write(lambda tx: people.greet(tx, "test", "1", START))
    await office.close()
    office.history_tokens = 2_000
    office.model.answer = lambda request: answer(office, request)
    return await office.open()


def answer(office: Office, request: Request) -> str:
    if request.system[0].text == SYSTEM:
        return f"- summary {sum(asked.system[0].text == SYSTEM for asked in office.model.asked)}"
    return "Yes."


async def session(office: Office) -> SessionId:
    found = await office.database.read(lambda c: threads.by_thread(c, ["test:dm:1"]))
    return found["test:dm:1"].id


async def talk(office: Office, count: int, first: int = 1, text: str = WORDS) -> None:
    for number in range(first, first + count):
        await office.hear(message(str(number), f"number{number}: {text}"))
        await office.ended(*["answered"] * number)


async def queued(office: Office) -> list[Task]:
    def query(connection: sa.Connection) -> list[Task]:
        ids = connection.execute(
            sa.select(task_table.c.id).where(task_table.c.kind == KIND, task_table.c.ended_at.is_(None))
        )
        found = [tasks.get(connection, each) for each in ids.scalars()]
        return [one for one in found if one is not None]

    return await office.database.read(query)


async def compact(office: Office) -> bool:
    """Do the queued task, as the worker does. False if it had nothing to do."""
    (waiting,) = await queued(office)
    done = await office.compactor.handle(waiting)

    def unit(tx: Tx) -> None:
        values = {"state": "done", "ended_at": office.clock.now()}
        tx.execute(task_table.update().where(task_table.c.id == waiting.id).values(**values))
        if done.apply is not None:
            done.apply(tx)

    await office.database.write(unit)
    return not done.empty


async def earlier(office: Office) -> Earlier:
    scope = SessionScope(await session(office))
    return await office.database.read(lambda c: compaction.earlier(c, scope))


def first_text(office: Office, number: int = -1) -> str:
    (first, *_) = office.model.asked[number].messages[0].content
    return str(getattr(first, "text", ""))


async def until_cut(office: Office) -> int:
    """Write until the history is over its share; how many messages that took."""
    for number in range(1, 40):
        await talk(office, 1, number)
        if await queued(office):
            return number
    raise AssertionError("never over the budget")


async def test_a_thread_over_its_share_is_noted_then_summarised_and_the_person_is_told_once(office: Office) -> None:
    count = await until_cut(office)
    assert first_text(office) == prompt.NOT_SHOWN
    await talk(office, 1, count + 1)
    assert first_text(office) == prompt.NOT_SHOWN, "until the summary is there"
    assert await compact(office)
    await talk(office, 2, count + 2)
    assert first_text(office) == first_text(office, -2)
    assert "- summary 1\n</earlier_conversation>" in first_text(office)
    assert prompt.NOT_SHOWN not in office.prompted()
    said = await office.said(count + 4)
    assert said.count(COMPACTED) == 1
    assert len(await office.audited("thread_compacted")) == 1


async def test_nothing_is_lost_and_every_message_is_either_shown_or_summarised(office: Office) -> None:
    count = await until_cut(office)
    await compact(office)
    (asked,) = [whole(request) for request in office.model.asked if request.system[0].text == SYSTEM]
    await talk(office, 1, count + 1)
    for number in range(1, count + 1):
        assert (f"number{number}:" in asked) != (f"number{number}:" in office.prompted()), number
    scope = SessionScope(await session(office))
    kept = await office.database.read(lambda c: compaction.everything(c, scope))
    assert sum(one.role == "user" for one in kept) == count + 1


async def test_the_next_compaction_goes_on_from_the_summary(office: Office) -> None:
    count = await until_cut(office)
    await compact(office)
    while not await queued(office):
        count += 1
        await talk(office, 1, count)
    before = await earlier(office)
    assert before.summary is not None
    assert before.hidden > 0
    await compact(office)
    (_, second) = [whole(request) for request in office.model.asked if request.system[0].text == SYSTEM]
    assert "<summary_so_far>\n- summary 1\n</summary_so_far>" in second
    assert "number1:" not in second
    after = await earlier(office)
    assert after.summary is not None
    assert (after.summary.text, after.hidden) == ("- summary 2", 0)
    assert after.summary.turns > before.summary.turns


async def test_a_long_segment_is_summarised_in_pieces(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    await until_cut(office)
    monkeypatch.setattr("bot.orchestrator.compactions.PIECE", 1_500)
    await compact(office)
    asked = [whole(request) for request in office.model.asked if request.system[0].text == SYSTEM]
    assert len(asked) > 2
    assert f"- summary {len(asked) - 1}" in asked[-1]


@pytest.mark.parametrize("what", ["edit", "delete"])
async def test_a_changed_message_takes_the_summary_that_was_made_of_it(office: Office, what: str) -> None:
    count = await until_cut(office)
    await compact(office)
    event = edit("e", "1", "other") if what == "edit" else delete("e", "1")
    await office.hear(event)
    assert (await earlier(office)).summary is None
    await talk(office, 1, count + 1)
    assert first_text(office) == prompt.NOT_SHOWN
    await compact(office)
    asked = [whole(request) for request in office.model.asked if request.system[0].text == SYSTEM]
    assert f"number1: {WORDS}".strip() not in asked[-1]
    assert (await earlier(office)).summary is not None


async def test_a_message_changed_while_it_is_summarised_voids_the_summary(office: Office) -> None:
    await until_cut(office)
    office.model.gate.clear()
    asked = len(office.model.asked)
    (waiting,) = await queued(office)
    working = office.supervisor.job("compact", office.compactor.handle(waiting))
    await office.model.until(asked=asked + 1)
    await office.hear(delete("d", "1"))
    office.model.gate.set()
    done = await working
    assert done.apply is not None
    await office.database.write(done.apply)
    assert (await earlier(office)).summary is None


async def test_a_message_that_is_still_shown_takes_no_summary(office: Office) -> None:
    count = await until_cut(office)
    await compact(office)
    await office.hear(edit("e", str(count), "other"))
    assert (await earlier(office)).summary is not None


async def test_after_new_there_is_no_summary(office: Office) -> None:
    count = await until_cut(office)
    await compact(office)
    await office.hear(command("n", "new"))
    await office.ended(*["answered"] * (count + 1))
    assert await earlier(office) == Earlier(None, 0)
    await office.hear(message("after", "hello"))
    await office.ended(*["answered"] * (count + 2))
    assert "summary" not in office.prompted().replace(SYSTEM, "")


async def test_a_model_that_fails_leaves_the_note_and_the_task_is_tried_again(office: Office) -> None:
    count = await until_cut(office)
    office.model.answer = lambda request: TransientError("overloaded")
    (waiting,) = await queued(office)
    with pytest.raises(TransientError):
        await office.compactor.handle(waiting)
    office.model.answer = lambda request: answer(office, request)
    await talk(office, 1, count + 1)
    assert first_text(office) == prompt.NOT_SHOWN


async def test_over_budget_it_waits_until_the_limit_begins_anew(office: Office) -> None:
    await until_cut(office)
    office.meter._limits = Limits({Limit.COMPANY: 0}, 0.8)
    assert not await compact(office)
    (later,) = await queued(office)
    assert later.run_at == START.replace(hour=0) + timedelta(days=1)
    assert (await earlier(office)).summary is None


async def test_compaction_is_paid_for_by_the_conversation_and_nobody_in_it(office: Office) -> None:
    from bot.llm.tables import spend

    await until_cut(office)
    await compact(office)
    rows = await office.database.read(
        lambda c: c.execute(sa.select(spend).where(spend.c.purpose == "compaction")).all()
    )
    assert [(row.person_id, row.session_id, row.turn_id) for row in rows] == [(None, await session(office), None)]


async def test_dropped_summaries_are_made_anew(office: Office) -> None:
    count = await until_cut(office)
    await compact(office)
    own = await session(office)
    assert await office.database.write(lambda tx: compaction.drop(tx, own)) == 1
    await talk(office, 1, count + 1)
    assert await compact(office)
    stored = await office.database.read(lambda c: c.execute(sa.select(sa.func.count()).select_from(messages)).scalar())
    assert stored == 2 * (count + 1)


@pytest.mark.parametrize("size", [1_000, 9_000])
async def test_whatever_is_sent_no_request_passes_the_window(office: Office, size: int) -> None:
    office.meter._prices["m"] = replace(office.meter._prices["m"], window=6_000)  # type: ignore[index]
    for number in range(1, 7):
        text = "".join(chr(0x4E00 + (number * 31 + n) % 5_000) for n in range(size))
        await office.hear(*(message(f"{number}.{part}", text) for part in range(3)))
        await office.until(lambda count=number: all_ended(office, count * 3))  # type: ignore[misc]
    assert len(office.model.asked) >= 6
    for request in office.model.asked:
        assert window.of_request(request) + request.max_tokens <= 6_000
    assert "cut here" in office.prompted()


async def all_ended(office: Office, count: int) -> bool:
    return [state for _, state in await office.rows()] == ["answered"] * count


def test_pieces_hold_everything_in_order_and_none_is_too_long() -> None:
    texts = ["a" * 10, "b" * 95, "c" * 3, "", "d" * 250]
    pieces = compaction.pieces(texts, 100)
    assert all(len(piece) <= 100 for piece in pieces)
    assert "".join(pieces).replace("\n", "") == "".join(texts)


def test_offline_the_summary_is_excerpts_of_peoples_own_words_that_say_what_they_are() -> None:
    first = excerpts("", (said(0, "We pay 4. " * 40), said(1, "An answer", "assistant")))
    assert first.startswith("Excerpts made by fixed rules, not a summary.")
    assert "- 2026-03-02, Ann: We pay 4." in first
    assert "An answer" not in first
    again = excerpts(first, (said(2, "New."),))
    assert again.count("\n- ") == 2
