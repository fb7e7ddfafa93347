"""The model's tool that schedules something for the person who asks. It writes nothing by itself: the schedule is
stored with the end of the turn, and the answer says when it will come and how it is taken back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Literal

import sqlalchemy as sa
from pydantic import BaseModel, Field

from bot.audit.events import Actor
from bot.kernel.errors import PermanentError
from bot.orchestrator.arranging import Arranging, Prepared, named
from bot.orchestrator.intents import Ending, Intent
from bot.orchestrator.tools import Asker, Outcome, Tool
from bot.scheduler import wording
from bot.scheduler.model import Kind
from bot.scheduler.service import LONGEST_TEXT, Wish
from bot.storage.database import Database, Tx

log = logging.getLogger(__name__)

MOST_IN_A_TURN = 5
ONLY_COMPANY = "Only people of the company can have something scheduled."
DONE = "It is scheduled with this answer, which says by itself when it comes and how it is taken back."
PROPOSED = "It reaches somebody else, so it is put before whoever may say yes to it; the answer says so by itself."
DESCRIPTION = (
    "Schedule something for the person who asks: a reminder, a question that you answer then, a brief, a review, a "
    "check-in on a department, a follow-up of what they promised, a nudge about what waits for them. Either hand over "
    "their own sentence as `request`, or give kind, text and when. Times are in their zone. What goes to another "
    "person (`to`) is a fixed text and needs a yes first. What there is already, and how it is paused or removed, is "
    "told by the command /schedule."
)


class Scheduling(BaseModel):
    request: str | None = Field(
        None, max_length=500, description="the person's sentence word for word, with the time; then nothing else"
    )
    kind: Literal[
        "reminder", "question", "check_in", "morning_brief", "evening_brief", "weekly_review", "commitment", "nudge"
    ] = "reminder"
    text: str = Field("", max_length=LONGEST_TEXT, description="what is said then, or what you are to answer then")
    when: str | None = Field(
        None,
        max_length=120,
        description="`2026-12-24T18:00`, a cron rule (`30 8 * * 1-5`), or words: `in two hours`, `tomorrow at 9`, "
        "`every weekday at 8:30`",
    )
    to: str | None = Field(None, max_length=80, description="name or id of the other person whom a reminder is for")
    department: str | None = Field(None, max_length=80, description="of a check-in")


class Scheduler:
    def __init__(self, database: Database, arranging: Arranging, ring: Callable[[], None]) -> None:
        """`ring` is called once something was stored or proposed."""
        self._database = database
        self._arranging = arranging
        self._ring = ring

    def tools(self) -> list[Tool[Any]]:
        return [Tool("schedule", DESCRIPTION, Scheduling, self.schedule)]

    async def schedule(self, asker: Asker, arguments: Scheduling) -> Outcome:
        person = asker.person
        if person is None or not person.internal or not person.named:
            return Outcome(ONLY_COMPANY, is_error=True)
        asker.tally["schedules"] += 1
        if asker.tally["schedules"] > MOST_IN_A_TURN:
            return Outcome(f"At most {MOST_IN_A_TURN} things can be scheduled in one answer.", is_error=True)
        try:
            prepared = await self._database.read(lambda c: self._prepared(c, asker, arguments))
        except PermanentError as error:
            return Outcome(error.message, is_error=True)
        intent = Intent(prepared.note, lambda tx, ending: self._write(tx, ending, prepared), self._ring)
        return Outcome(DONE if prepared.proposal is None else PROPOSED, intents=(intent,))

    def _prepared(self, connection: sa.Connection, asker: Asker, given: Scheduling) -> Prepared:
        person, now = asker.person, asker.now
        if person is None:
            raise PermanentError(ONLY_COMPANY)
        if given.request is not None:
            return self._arranging.said(connection, given.request, person, now)
        if given.when is None:
            raise PermanentError("say when, or hand over the person's sentence as `request`")
        rule = wording.rule_of(given.when, now, person.time_zone)
        to = None if given.to is None else named(connection, given.to).id
        wish = Wish(Kind(given.kind), given.text, rule, person.time_zone, to, given.department)
        return self._arranging.prepared(connection, wish, person, now)

    def _write(self, tx: Tx, ending: Ending, prepared: Prepared) -> None:
        actor = Actor("model", ending.model or "offline")
        try:
            with tx.connection.begin_nested():
                self._arranging.write(
                    tx, prepared, ending.session, actor, ending.now, ending.turn, tainted=ending.untrusted
                )
        except PermanentError as error:  # it was checked a moment ago: another turn of the person was quicker
            log.warning("a schedule of %s was not stored: %s", prepared.owner.id, error.message)
