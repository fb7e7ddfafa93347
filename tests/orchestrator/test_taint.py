"""Which turns end as ones that have read others' words."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from pydantic import BaseModel

from bot.llm.model import Request, ToolUse
from bot.orchestrator.tools import Asker, Outcome, Registry, Tool
from bot.sessions.tables import turn
from tests.intake.events import command, message
from tests.orchestrator.office import Office


class Nothing(BaseModel):
    """No arguments."""


def looking(*, untrusted: bool) -> Registry:
    async def look(asker: Asker, arguments: Nothing) -> Outcome:
        return Outcome("what stands there", untrusted=untrusted)

    return Registry([Tool("look", "Looks.", Nothing, look)])


async def marks(office: Office) -> list[bool]:
    return await office.database.read(
        lambda c: [bool(each) for each in c.execute(sa.select(turn.c.untrusted).order_by(turn.c.id)).scalars()]
    )


async def test_a_guests_words_mark_the_turn_and_a_colleagues_do_not(office: Office) -> None:
    await office.hear(message("m1", by="2"))
    await office.hear(message("m2", by="4"))
    await office.hear(command("m3", "help", by="4"))
    await office.ended("answered", "answered", "answered")
    assert sorted(await marks(office)) == [False, False, True]


@pytest.mark.parametrize("untrusted", [True, False])
async def test_what_a_tool_read_marks_the_turn_if_others_wrote_it(office: Office, untrusted: bool) -> None:
    await office.kill()
    office.registry = looking(untrusted=untrusted)
    await office.open()

    def answer(request: Request) -> str | list[ToolUse]:
        return [ToolUse("c1", "look", {})] if len(office.model.asked) == 1 else "Done."

    office.model.answer = answer
    await office.hear(message("m1", by="2"))
    await office.ended("answered")
    assert await marks(office) == [untrusted]
