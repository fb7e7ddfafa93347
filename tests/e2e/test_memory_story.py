"""A memory's whole life through the program: told in one thread, recalled there and nowhere else, superseded, corrected
by its owner, explained, forgotten, gone; and the audit tells it all in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.daemon import Daemon, command, rows, running
from tests.e2e.farends import base_settings, body_of
from tests.e2e.test_embedded import ask, mail

pytestmark = pytest.mark.timeout(300)

QUESTION = "When does Atlas launch?"


class Story:
    def __init__(self, daemon: Daemon, settings: dict[str, str], home: Path) -> None:
        self.daemon, self.settings, self.home = daemon, settings, home

    async def run(self, *arguments: str) -> str:
        ended = await command(*arguments, settings=self.settings, home=self.home)
        assert ended.code == 0, ended
        return ended.out

    async def say(self, text: str, thread: str | None = None) -> str:
        """What is answered; the turn is read for memories when this returns."""
        said = await self.run("chat", "-m", text, *(("--thread", thread) if thread else ()))
        await self.read()
        return said

    async def read(self) -> None:
        await self.daemon.until(
            lambda: not rows(self.daemon.data, "SELECT 1 FROM task WHERE kind = 'memory.extract' AND ended_at IS NULL")
        )

    def standing(self) -> list[str]:
        query = "SELECT statement FROM claim WHERE status IN ('active', 'disputed') ORDER BY seq"
        return [row["statement"] for row in rows(self.daemon.data, query)]

    def handle(self, statement: str) -> str:
        (row,) = rows(self.daemon.data, "SELECT id FROM claim WHERE statement = ?", [statement])
        return str(row["id"])[-6:]


async def test_from_the_telling_to_the_forgetting(home: Path) -> None:
    settings = base_settings(home / "data") | {"OPENEXECUTIVE_MEMORY__SETTLE": "0"}
    async with running(settings, home, "email") as daemon:
        story = Story(daemon, settings, home)
        await story.say("We decided to launch Atlas on 14 March.")
        assert story.standing() == ["We decided to launch Atlas on 14 March."]

        # Recalled in its thread, also after the history is cut; absent in another thread, and in mail.
        await story.run("chat", "-m", "/new")
        assert "14 March" in await story.say(QUESTION)
        assert "14 March" not in await story.say(QUESTION, "other")
        assert "14 March" not in body_of(await ask(daemon, mail(QUESTION)))
        await story.read()

        # Superseded by newer words of the same speaker.
        await story.say("Change of plan: Atlas launches on 2 April.")
        assert story.standing() == ["Atlas launches on 2 April."]

        # Corrected by its owner, who outranks the extractor from then on.
        handle = story.handle("Atlas launches on 2 April.")
        corrected = await story.say(f"/correct {handle} Atlas launches on 9 April.")
        assert "9 April" in corrected
        (standing,) = story.standing()
        assert standing == "Atlas launches on 9 April."
        await story.run("chat", "-m", "/new")
        assert "9 April" in await story.say(QUESTION)

        # Why: which memories shaped the last answer, and who said so.
        why = await story.say("/why")
        assert "9 April" in why

        # Forgotten: asked back first, then gone from every reader and from the file.
        handle = story.handle("Atlas launches on 9 April.")
        asked = await story.say(f"/forget {handle}")
        assert "yes" in asked
        await story.say(f"/forget {handle} yes")
        assert story.standing() == []
        await story.run("chat", "-m", "/new")
        assert "9 April" not in await story.say(QUESTION)
        assert "9 April" not in await story.say("/memories")
        await daemon.settled()
        (session,) = rows(daemon.data, "SELECT DISTINCT session_id FROM claim")
        told = await story.run("audit", "show", str(session["session_id"]), "--json")
        events = re.findall(r'"type": ?"(memory_\w+|erasure_done)"', told)
        order = ["memory_written", "memory_snapshot", "memory_superseded", "memory_edited", "memory_erased"]
        places = [events.index(each) for each in order]
        assert places == sorted(places), events
        assert (await story.run("audit", "verify")).startswith("sound: ")
    for file in (home / "data").rglob("*"):
        if file.is_file():
            assert b"9 April" not in file.read_bytes(), file


async def test_a_mistyped_command_is_never_believed_and_what_waits_is_told(home: Path) -> None:
    settings = base_settings(home / "data") | {"OPENEXECUTIVE_MEMORY__SETTLE": "0"}
    async with running(settings, home) as daemon:
        story = Story(daemon, settings, home)
        said = await story.say("/corect twxavm Our runway is 12 months.")
        assert "I know no command /corect; did you mean /correct?" in said.replace("`", "")
        assert "no command" in await story.say("/remember Our runway is 12 months.")
        await story.say("Our payee is Acme Bank.")
        assert rows(daemon.data, "SELECT statement, status FROM claim") == [
            {"statement": "Our payee is Acme Bank.", "status": "pending"}
        ]
        told = "SELECT 1 FROM outbox WHERE op LIKE '%I do not go by this yet%it is about money%'"
        await daemon.until(lambda: bool(rows(daemon.data, told)))
