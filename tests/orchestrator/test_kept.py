"""What a turn asked is shown again exactly, from references, and is gone where what it refers to is gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.kernel.ids import SessionId
from bot.llm.budget import Purpose
from bot.llm.model import Request, Text, Thinking, ToolUse
from bot.orchestrator import kept
from bot.orchestrator.erasing import drop_prompts
from bot.orchestrator.kept import Kept
from bot.orchestrator.tables import prompt_part, turn_prompt
from bot.orchestrator.tools import Registry
from bot.sessions import threads, transcript
from tests.intake.events import delete, edit, message
from tests.orchestrator.office import Office, Said
from tests.orchestrator.test_loop import ECHO


@pytest.fixture
async def office(office: Office) -> Office:
    await office.close()
    office.registry = Registry([ECHO])
    return await office.open()


def timeless(request: Request) -> Request:
    return replace(request, deadline=timedelta(1))


async def turns(office: Office) -> list[list[Kept]]:
    def query(connection: sa.Connection) -> list[list[Kept]]:
        session = threads.by_thread(connection, ["test:dm:1"])["test:dm:1"]
        return [kept.of_turn(connection, turn) for turn in kept.turns_of(connection, SessionId(session.id))]

    return await office.database.read(query)


async def talk(office: Office, *texts: str) -> None:
    for number, text in enumerate(texts, start=1):
        await office.hear(message(str(number), text))
        await office.ended(*["answered"] * number)


async def test_the_request_is_shown_exactly_as_it_was_sent(office: Office) -> None:
    await talk(office, "one", "two <b> & ü", "three")
    found = await turns(office)
    assert [timeless(one.request) for (one,) in found] == [timeless(asked) for asked in office.model.asked]
    assert all(kept.exact(one) for (one,) in found)
    assert [one.purpose for (one,) in found] == [Purpose.ANSWER] * 3


async def test_with_tool_calls_the_last_request_stands_for_all(office: Office) -> None:
    steps: list[Said] = [
        [Thinking("hm", "signed"), Text("let me see"), ToolUse("c1", "echo", {"word": "ab"})],
        [ToolUse("c2", "echo", {"word": "theirs"})],
        "done",
    ]
    office.model.answer = lambda request: steps.pop(0)
    await talk(office, "one")
    ((one,),) = await turns(office)
    assert timeless(one.request) == timeless(office.model.asked[-1])
    assert len(office.model.asked) == 3


async def test_words_of_the_transcript_are_not_stored_a_second_time(office: Office) -> None:
    await talk(office, "a secret " + "word " * 500, "two")

    def query(connection: sa.Connection) -> Sequence[bytes]:
        return [*connection.execute(sa.select(turn_prompt.c.body)).scalars()]

    for body in await office.database.read(query):
        assert len(body) < 700


async def test_what_many_turns_share_is_stored_once(office: Office) -> None:
    await talk(office, "one", "two", "three")
    count = await office.database.read(
        lambda c: c.execute(sa.select(sa.func.count()).select_from(prompt_part)).scalar()
    )
    assert count == 3, "persona, company, tools"


async def test_a_message_deleted_by_its_writer_is_gone_from_every_prompt(office: Office) -> None:
    await talk(office, "the secret", "two")
    await office.hear(delete("d", "1"))
    for (one,) in await turns(office):
        assert not kept.exact(one)
        assert "the secret" not in repr(one)
        assert any(kept.CHANGED in block.text for block in one.blocks)


async def test_a_message_that_was_edited_is_shown_as_changed(office: Office) -> None:
    await talk(office, "first words")
    await office.hear(edit("e", "1", "other words"))
    ((one,),) = await turns(office)
    assert kept.CHANGED in [block.text for block in one.blocks]
    assert "first words" not in repr(one)


async def test_a_message_too_long_for_the_model_is_kept_as_it_was_cut(office: Office) -> None:
    office.meter._prices["m"] = replace(office.meter._prices["m"], window=5_000)  # type: ignore[index]
    await talk(office, "word " * 1_700)
    ((one,),) = await turns(office)
    assert timeless(one.request) == timeless(office.model.asked[0])
    assert any("cut here" in block.text for block in one.blocks)


async def test_by_ids_takes_many(office: Office) -> None:
    await talk(office, "one")
    ((one,),) = await turns(office)
    known = [block.said.id for block in one.blocks if block.said is not None]
    found = await office.database.read(lambda c: transcript.by_ids(c, known * 700))
    assert set(found) == set(known)


async def test_what_requests_share_goes_with_the_last_request_that_is_kept(office: Office) -> None:
    async def parts() -> set[str]:
        return await office.database.read(lambda c: set(c.execute(sa.select(prompt_part.c.digest)).scalars()))

    await talk(office, "one")
    first = await parts()
    assert first
    office.clock.advance(timedelta(days=3))
    await office.hear(message("2", "two", at=office.clock.now()))
    await office.ended("answered", "answered")
    assert await parts() == first, "nothing of it has changed"
    await office.database.write(lambda tx: drop_prompts(tx, office.clock.now() - timedelta(hours=1)))
    assert await parts() == first
    ((), (left,)) = await turns(office)
    assert kept.exact(left)
    office.clock.advance(timedelta(days=3))
    assert await office.database.write(lambda tx: drop_prompts(tx, office.clock.now())) == 1
    assert await parts() == set()
