"""A tool that looks up what was said earlier in the same conversation, and in no other.

It sees what the session's prompts may show: its own messages of the current epochs. What was said before `/new`, or
before more people came to read along, is not among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field

from bot.llm.window import shortened
from bot.orchestrator.prompt import words
from bot.orchestrator.tools import Asker, Outcome, Tool
from bot.sessions import compaction
from bot.sessions.transcript import Said
from bot.storage.database import Database

MOST = 16_000
"""Characters of one answer."""
EACH = 3_000
"""Characters of one message."""


class Look(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    query: str | None = Field(None, description="only messages that hold all of these words", max_length=300)
    since: date | None = Field(None, alias="from", description="only from this day on (ISO date, the asker's zone)")
    until: date | None = Field(None, alias="to", description="only up to this day, it included")


def tools(database: Database) -> list[Tool[Any]]:
    async def read_history(asker: Asker, arguments: Look) -> Outcome:
        said = await database.read(lambda c: compaction.everything(c, asker.scope), long=True)
        return Outcome(found(said, arguments, asker.time_zone), untrusted=True)

    return [
        Tool(
            "read_history",
            "Read what was said earlier in this conversation, word for word, also what is no longer shown: the newest "
            "messages that match. Of other conversations it knows nothing.",
            Look,
            read_history,
        )
    ]


def found(said: Sequence[Said], look: Look, time_zone: str) -> str:
    """The newest messages that match, in order, with how many there was no room for."""
    wanted = (look.query or "").casefold().split()
    matching = [each for each in said if _matches(each, wanted, look, time_zone)]
    if not matching:
        return "No message of this conversation matches."
    lines: list[str] = []
    size = 0
    for each in reversed(matching):
        line = shortened(_line(each), EACH)
        if size + len(line) > MOST:
            break
        lines.append(line)
        size += len(line) + 1
    left = len(matching) - len(lines)
    note = [f"({left} older messages match too; narrow it by words or days to see them.)"] if left else []
    return "\n".join([*note, *reversed(lines)])


def _matches(said: Said, wanted: Sequence[str], look: Look, time_zone: str) -> bool:
    day = _day(said.sent_at, time_zone)
    if (look.since is not None and day < look.since) or (look.until is not None and day > look.until):
        return False
    text = "\n".join([said.body.text, said.speaker, *(f"{f.name} {f.text or ''}" for f in said.files)]).casefold()
    return all(word in text for word in wanted)


def _day(at: datetime, time_zone: str) -> date:
    return at.astimezone(ZoneInfo(time_zone)).date()


def _line(said: Said) -> str:
    if said.role == "user":
        return words(said)
    text = said.body.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f'<executive at="{said.sent_at:%Y-%m-%dT%H:%MZ}">{text}</executive>'
