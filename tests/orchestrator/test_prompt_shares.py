"""What prompts are made of, in numbers; and whose."""

from __future__ import annotations

from datetime import date, timedelta

from bot.kernel.ids import PersonId, SessionId, TurnId, new_id
from bot.llm import spending
from bot.llm.budget import Purpose, Spender
from bot.llm.model import Usage
from bot.llm.spending import Line
from bot.orchestrator import kept, prompt_shares
from bot.sessions import threads
from bot.storage.database import Database
from tests.clock import START
from tests.orchestrator.office import Office
from tests.orchestrator.test_kept import talk

TODAY = START.date()


async def test_kinds_of_blocks_are_told_with_their_sizes(office: Office) -> None:
    await talk(office, "one " + "word " * 400, "two")
    session = (await office.database.read(lambda c: threads.by_thread(c, ["test:dm:1"])))["test:dm:1"]
    turns = await office.database.read(lambda c: kept.turns_of(c, SessionId(session.id)))
    both = dict(await office.database.read(lambda c: prompt_shares.shares(c, turns)))
    second = dict(await office.database.read(lambda c: prompt_shares.shares(c, turns[1:])))
    assert {"Persona and rules", "The company's profile", "The conversation", prompt_shares.OTHER} <= both.keys()
    assert second["The conversation"] > 500
    assert second["Persona and rules"] * 2 == both["Persona and rules"]
    assert await office.database.read(lambda c: prompt_shares.shares(c, [])) == []


async def test_turns_of_a_person_are_theirs_only_and_the_newest(database: Database) -> None:
    async def spent(turn: str, who: str, hours: int) -> None:
        spender = Spender(turn, PersonId(who), SessionId("s"), TurnId(turn))
        at = START + timedelta(hours=hours)
        line = Line(new_id(at), at, at.date(), spender, Purpose.ANSWER, "m", Usage(1, 1), 1, estimated=False)
        await database.write(lambda tx: spending.add(tx, line))

    for number, (turn, who) in enumerate([("t1", "ann"), ("t2", "bob"), ("t3", "ann"), ("t3", "ann"), ("t4", "ann")]):
        await spent(turn, who, number)

    async def newest(who: str | None, limit: int, since: date = TODAY) -> list[str]:
        of = None if who is None else PersonId(who)
        return [*await database.read(lambda c: prompt_shares.newest_turns(c, of, since, limit))]

    assert await newest("ann", 10) == ["t4", "t3", "t1"]
    assert await newest("ann", 2) == ["t4", "t3"]
    assert await newest("bob", 10) == ["t2"]
    assert await newest(None, 10) == ["t4", "t3", "t2", "t1"]
    assert await newest(None, 10, TODAY + timedelta(days=2)) == []
