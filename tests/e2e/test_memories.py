"""What is remembered, from outside: the command line, the API and a conversation, on the running daemon."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot import app
from bot.kernel.clock import SystemClock
from bot.kernel.ids import SessionId
from bot.kernel.logs import Redactor
from bot.memory import store as memories
from bot.storage.database import Tx
from config.loader import load
from tests.e2e.daemon import Daemon, Ended, audited, command, rows, running
from tests.e2e.farends import base_settings
from tests.memory.claims import MODEL, claim, evidence

RUNWAY = "Our runway is 14 months."

pytestmark = pytest.mark.timeout(300)


@dataclass
class House:
    home: Path
    settings: dict[str, str]
    memory: str = ""

    @property
    def data(self) -> Path:
        return self.home / "data"

    async def run(self, *arguments: str) -> Ended:
        done = await command(*arguments, settings=self.settings, home=self.home)
        assert done.code == 0, done
        return done

    async def say(self, text: str) -> str:
        return (await self.run("chat", "-m", text)).out


async def _remembered(house: House) -> str:
    """What a reading of the conversation would have written of the first message; its id."""
    (said,) = rows(house.data, "SELECT id, session_id, person_id FROM message WHERE role = 'user'")
    loaded = load(house.settings, None, house.home)
    clock = SystemClock()
    async with app.open_store(loaded.settings, Redactor(), clock) as store:
        now = clock.now()
        new = claim(
            now,
            statement=RUNWAY,
            subject="runway/length",
            speaker=said["person_id"],
            session=SessionId(said["session_id"]),
        )
        words = evidence(RUNWAY, now, message=said["id"], speaker=said["person_id"])

        def unit(tx: Tx) -> None:
            memories.add(tx, store.recorder, new, [words], MODEL)

        await store.database.write(unit)
    return new.id


@pytest.fixture
async def house(home: Path) -> House:
    house = House(home, base_settings(home / "data"))
    async with running(house.settings, home):
        await house.say(RUNWAY)
    house.memory = await _remembered(house)
    return house


@pytest.fixture
async def of_kim(home: Path) -> House:
    """Kim told it; by now Ann sits at this machine."""
    people = {
        f"OPENEXECUTIVE_PEOPLE__{who.upper()}__{name}": value
        for who, role in (("ann", "principal"), ("kim", "member"))
        for name, value in (("NAME", who.title()), ("ROLE", role), ("EMAIL", f'["{who}@localhost"]'))
    }
    house = House(home, base_settings(home / "data") | people | {"OPENEXECUTIVE_CHANNELS__TERMINAL__PERSON": "kim"})
    async with running(house.settings, home):
        await house.say(RUNWAY)
    house.memory = await _remembered(house)
    house.settings["OPENEXECUTIVE_CHANNELS__TERMINAL__PERSON"] = "ann"
    return house


async def test_the_operator_reads_what_is_private_for_a_reason_only_and_the_person_hears_of_it(of_kim: House) -> None:
    house = of_kim
    withheld = await house.run("memory", "list")
    assert "private" in withheld.out
    assert RUNWAY not in withheld.out
    assert RUNWAY in (await house.run("memory", "show", house.memory[-6:], "--reason", "a check")).out
    (waiting,) = rows(house.data, "SELECT state FROM task WHERE kind = 'memory.viewed'")
    assert waiting["state"] == "queued"
    async with running(house.settings, house.home) as daemon:
        await daemon.until(
            lambda: rows(house.data, "SELECT state FROM task WHERE kind = 'memory.viewed'")[0]["state"] == "done"
        )
        await daemon.settled()
        await house.run("memory", "list", "--reason", "once more")
    (told,) = rows(house.data, "SELECT op FROM outbox WHERE op LIKE '%has read a memory%a check%'")
    assert '"subject":"A private conversation was read"' in told["op"]
    assert len(audited(house.data, "content_viewed")) == 2


async def test_a_memory_is_corrected_by_command_line_and_api_and_forgotten_in_a_conversation(house: House) -> None:
    async with running(house.settings, house.home) as daemon:
        await house.run(
            "memory", "edit", house.memory, "--statement", "Our runway is 12 months.", "--reason", "we checked"
        )
        (person,) = {row["person_id"] for row in rows(house.data, "SELECT person_id FROM message WHERE role = 'user'")}
        secret = (await house.run("token", "create", person, "--name", "test")).out.strip()
        version = await _by_api(daemon, secret, house.memory)
        assert version == 3
        said = await house.say("/memories")
        assert "Our runway is 11 months." in said
        history = (await house.run("memory", "history", house.memory, "--reason", "a look")).out
        assert "we checked" in history
        assert "counted again" in history
        said = await house.say(f"/forget {house.memory[-6:]}")
        assert "yes" in said
        assert "Forgotten" in await house.say(f"/forget {house.memory[-6:]} yes")
        assert "11 months" not in await house.say("/memories")
        assert "holds" in (await house.run("token", "list")).out
    assert secret not in daemon.output
    refused = [json.loads(row["payload"]) for row in audited(house.data, "auth_refused")]
    assert {"door": "api", "reason": "api_no_token", "count": 1}.items() <= refused[0].items()
    verified = json.loads((await house.run("memory", "verify", "--json")).out)
    assert verified["sound"], verified
    assert (await command("audit", "verify", settings=house.settings, home=house.home)).code == 0


async def _by_api(daemon: Daemon, secret: str, memory: str) -> int:
    """Correct it; its version afterwards."""
    url = (await daemon.line(r"web: listening on (http://\S+)"))[1]
    bearer = {"Authorization": f"Bearer {secret}"}
    async with aiohttp.ClientSession(url, timeout=aiohttp.ClientTimeout(60)) as client:
        async with client.get("/api/memories") as refused:
            assert refused.status == 401
        async with client.get("/api/memories", headers=bearer) as listed:
            found = {each["id"]: each["version"] for each in (await listed.json())["memories"]}
        assert found[memory] == 2
        change: dict[str, Any] = {"statement": "Our runway is 11 months.", "reason": "counted again", "version": 2}
        async with client.patch(f"/api/memories/{memory}", headers=bearer, json=change) as changed:
            assert changed.status == 200, await changed.text()
            version: int = (await changed.json())["memory"]["version"]
        async with client.patch(f"/api/memories/{memory}", headers=bearer, json=change) as again:
            assert again.status == 409
    return version
