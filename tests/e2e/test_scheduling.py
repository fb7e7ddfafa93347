"""Schedules on the real daemon, in real time: asked for in a chat and by mail, over a kill, by the command line."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from bot.kernel.clock import SystemClock
from tests.e2e.daemon import Ahead, audited, command, rows, running
from tests.e2e.desks import Desk
from tests.e2e.farends import base_settings, body_of, maildir
from tests.e2e.test_embedded import ask as ask_by_mail
from tests.e2e.test_embedded import mail
from tests.e2e.test_telegram import ANN, BOB, ask, settings
from tests.fakes.telegram import FakeTelegram

pytestmark = pytest.mark.timeout(300)

WITHIN = 110.0
"""Seconds within which something that was asked for in a minute must be there."""
DELIVERED = "SELECT run, delivery FROM occurrence"


async def test_a_reminder_asked_for_in_a_chat_arrives_once_although_the_daemon_was_killed(
    home: Path, telegram: FakeTelegram
) -> None:
    given = settings(home, telegram)
    async with running(given, home, "telegram") as daemon:
        answer = await ask(telegram, ANN, "Remind me in one minute to call Ben")
        assert "Scheduled – reminder: call Ben – once" in answer
        assert re.search(r"/schedule undo \w{6}", answer)
        await daemon.settled()
        await daemon.kill()
    async with running(given, home, "telegram") as daemon:
        await telegram.deliveries.until(lambda: "Reminder: call Ben" in telegram.texts(ANN), timeout=WITHIN)
        await daemon.until(lambda: [*rows(daemon.data, DELIVERED)] == [{"run": "done", "delivery": "sent"}], 30)
        taken = [json.loads(each["payload"])["fence"] for each in audited(daemon.data, "scheduler_gate_taken")]
        assert taken == [1, 2]
    assert telegram.texts(ANN).count("Reminder: call Ben") == 1


async def test_remind_me_in_two_minutes_arrives_once_on_each_chat_platform(home: Path, desk: Desk) -> None:
    ahead = Ahead(home)
    given = {**base_settings(home / "data"), **desk.settings(), "OPENEXECUTIVE_CHANNELS__EMAIL__ENABLED": "false"}
    async with running(given, home, desk.name, launcher=ahead.launcher) as daemon:
        desk.say(1, "Remind me in two minutes to call Ben")
        await desk.read(daemon, "Scheduled – reminder: call Ben – once")
        await daemon.settled()
        assert rows(daemon.data, DELIVERED) == []
        ahead.by(121)
        await desk.read(daemon, "Reminder: call Ben")
        await daemon.until(lambda: [*rows(daemon.data, DELIVERED)] == [{"run": "done", "delivery": "sent"}], 30)
        (job,) = rows(daemon.data, "SELECT made_at, at FROM job JOIN occurrence ON job_id = job.id")
        after = timedelta(microseconds=job["at"] - job["made_at"])  # it counts from when it was said
        assert timedelta(seconds=110) < after <= timedelta(minutes=2)
    assert desk.texts().count("Reminder: call Ben") == 1


async def test_a_reminder_asked_for_by_mail_comes_as_a_mail_of_its_own(home: Path) -> None:
    ahead = Ahead(home)
    async with running(base_settings(home / "data"), home, "email", launcher=ahead.launcher) as daemon:
        answer = body_of(await ask_by_mail(daemon, mail("Hello,\nremind me in two minutes to call Ben\n\nAnn")))
        assert "reminder: call Ben" in answer
        ahead.by(121)

        def reminded() -> list[str]:
            return [body_of(each) for each in maildir(daemon.data / "maildir") if each["Subject"] == "call Ben"]

        await daemon.until(lambda: bool(reminded()), WITHIN)
        assert [text.strip().splitlines()[0] for text in reminded()] == ["Reminder: call Ben"]
        await daemon.until(lambda: [*rows(daemon.data, DELIVERED)] == [{"run": "done", "delivery": "sent"}], 30)


async def test_what_is_for_somebody_else_waits_for_a_yes_and_then_reaches_them(
    home: Path, telegram: FakeTelegram
) -> None:
    ahead = Ahead(home)
    async with running(settings(home, telegram), home, "telegram", launcher=ahead.launcher) as daemon:
        answer = await ask(telegram, BOB, "Remind Ann in two minutes to sign the lease")
        assert "waits for a yes from Ann" in answer
        (made,) = rows(daemon.data, "SELECT id, hash FROM proposal")
        assert rows(daemon.data, "SELECT id FROM job") == []
        await ask(telegram, ANN, f"/approve {made['id'][-6:]} {made['hash'][:12]}")
        await daemon.until(lambda: bool(rows(daemon.data, "SELECT id FROM job")))
        ahead.by(121)
        await telegram.deliveries.until(
            lambda: "Bob wants me to remind you: sign the lease" in telegram.texts(ANN), timeout=WITHIN
        )


@pytest.mark.case(122)
async def test_the_command_line_lists_pauses_and_fires_and_a_clean_stop_gives_the_gate_up(
    home: Path, telegram: FakeTelegram
) -> None:
    given = settings(home, telegram)

    async def run(*arguments: str) -> str:
        done = await command("schedule", *arguments, settings=given, home=home)
        assert done.code == 0, done
        return done.out

    async with running(given, home, "telegram"):
        await ask(telegram, ANN, "Hello")
        name = re.findall(r"undo (\w{6})", await run("add", "remind", "me", "every", "day", "at", "9:00", "to", "rest"))
        assert name[0] in await run("list")
        assert await run("pause", name[0])
        assert "paused" in await run("list")
        await run("resume", name[0])
        await run("run", name[0])
        await telegram.deliveries.until(lambda: any("Reminder: rest" in each for each in telegram.texts(ANN)), 60)
        assert "rest" in await run("today")
        await run("stop", "--reason", "moving house")
        assert "moving house" in await run("list")
        told = json.loads(await run("list", "--json"))["upkeep"]
        waiting = "SELECT DISTINCT kind FROM task WHERE state IN ('queued', 'failed') AND kind NOT LIKE 'memory.e%'"
        assert {each["name"] for each in told} == {row["kind"] for row in rows(home / "data", waiting)}
        assert "upkeep: the nightly backup; next" in await run("list")
    (gate,) = rows(home / "data", "SELECT until FROM gate")
    assert gate["until"] <= SystemClock().now().timestamp() * 1_000_000
    offline = await command("schedule", "list", settings=given, home=home)
    assert (offline.code, "running daemon" in offline.err) == (1, True)
