"""Operations on schedules, as the command line asks them, and what the command line prints."""

from __future__ import annotations

import argparse
from datetime import timedelta
from typing import Any

import pytest

from bot.audit.recorder import Recorder
from bot.cli import schedule as cli
from bot.control import ops_schedule
from bot.kernel.errors import PermanentError
from bot.orchestrator.schedule_desk import ScheduleDesk
from bot.storage.database import Database
from bot.tasks import store as tasks
from tests.clock import START, FakeClock
from tests.control.desk import Answers
from tests.sessions.rooms import PEOPLE, Rooms


class Desk:
    def __init__(self, database: Database, recorder: Recorder, clock: FakeClock) -> None:
        self.rung = 0
        self.desk = ScheduleDesk(database, recorder, clock, None, self._ring)
        self.handlers = ops_schedule.handlers(database, self.desk, None)
        self.database = database

    def _ring(self) -> None:
        self.rung += 1

    async def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        peer = Answers()
        await self.handlers[op](peer, {"op": op, **fields})
        return peer.sent[-1]


@pytest.fixture
async def desk(database: Database, recorder: Recorder, clock: FakeClock) -> Desk:
    await Rooms(database, recorder, clock).add_people(*PEOPLE)
    return Desk(database, recorder, clock)


async def test_the_person_of_the_terminal_makes_sees_and_changes_schedules(desk: Desk) -> None:
    added = await desk.ask("schedule.add", sentence="remind me tomorrow at 9 to call Ben")
    name = added["schedule"]["name"]
    assert f"/schedule undo {name}" in added["told"]
    (one,) = (await desk.ask("schedule.list"))["schedules"]
    assert (one["owner"], one["next"]) == ("boss", ["2026-03-03T09:00:00+00:00"])
    done = await desk.ask("schedule.act", schedule=name, act="pause")
    assert (done["schedule"]["state"], desk.rung) == ("paused", 2)
    assert (await desk.ask("schedule.show", schedule=name))["schedule"]["paused_because"] == "its owner paused it"


async def test_all_firing_is_stopped_with_a_reason_and_started_again(desk: Desk) -> None:
    await desk.ask("schedule.stop", reason="moving house")
    assert (await desk.ask("schedule.list"))["stopped"]["because"] == "moving house"
    await desk.ask("schedule.start")
    assert (await desk.ask("schedule.list"))["stopped"] is None


async def test_without_anybody_at_the_terminal_nothing_is_done(database: Database, desk: Desk) -> None:
    handlers = ops_schedule.handlers(database, desk.desk, "nobody")
    with pytest.raises(PermanentError, match="nobody speaks"):
        await handlers["schedule.list"](Answers(), {"op": "schedule.list"})


async def test_the_day_is_told_as_text(desk: Desk) -> None:
    assert "**Monday 2026-03-02**" in (await desk.ask("today"))["told"]


@pytest.mark.parametrize(
    ("arguments", "op", "printed"),
    [
        (["list"], "schedule.list", "abc123  reminder: call Ben – once; next 2026-03-03T09:00, boss"),
        (["pause", "abc123"], "schedule.act", "paused: abc123  reminder: call Ben – once; next 2026-03-03T09:00, boss"),
        (["show", "abc123"], "schedule.show", "next            2026-03-03T09:00"),
        (["add", "remind", "me"], "schedule.add", "Scheduled."),
        (
            ["stop", "--reason", "x"],
            "schedule.stop",
            "no schedule fires any more: `openexecutive schedule start` lets them",
        ),
        (["start"], "schedule.start", "schedules fire again"),
        (["today"], "today", "Scheduled."),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_the_command_line_asks_and_prints(
    arguments: list[str], op: str, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    one = {
        "name": "abc123", "kind": "reminder", "title": "call Ben", "when": "once", "next": ["2026-03-03T09:00"],
        "state": "active", "owner": "boss",
        "history": [{"at": "2026-03-02T09:00:00", "run": "done", "delivery": "sent", "note": None}],
    }  # fmt: skip

    def ask(args: argparse.Namespace, op: str, **fields: object) -> dict[str, object]:
        asked.append(op)
        return {"told": "Scheduled.", "schedule": one, "schedules": [one], "upkeep": [], "stopped": None}

    monkeypatch.setattr(cli, "ask", ask)
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    assert cli.run(parser.parse_args(arguments)) == 0
    assert asked == [op]
    assert printed in capsys.readouterr().out


async def test_a_principal_sees_what_the_daemon_does_by_itself_also_while_schedules_are_stopped(desk: Desk) -> None:
    night = START + timedelta(hours=17)
    await desk.database.write(
        lambda tx: tasks.enqueue(tx, "backup.nightly", "k", {}, START, lane="l", run_at=night)
    )  # fmt: skip
    await desk.ask("schedule.stop", reason="moving house")
    (own,) = (await desk.ask("schedule.list"))["upkeep"]
    assert own == {
        "kind": "upkeep", "name": "backup.nightly", "title": "the nightly backup", "next": night.isoformat()
    }  # fmt: skip
    member = ops_schedule.handlers(desk.database, desk.desk, "ada")
    peer = Answers()
    await member["schedule.list"](peer, {"op": "schedule.list"})
    assert peer.sent[-1]["upkeep"] == []
