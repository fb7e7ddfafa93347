"""The command `/schedule`: a turn without a model. Alone with the executive people see all of theirs; where others read
along, what was asked for in that conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.gateway.events import Proof
from bot.kernel.errors import PermanentError
from bot.orchestrator import today
from bot.orchestrator.arranging import Arranging, line
from bot.people.model import Role
from bot.scheduler import store, wording
from bot.scheduler.model import Job
from bot.scheduler.service import LIVE, Schedules, handle
from bot.sessions import places
from bot.storage.database import Tx

if TYPE_CHECKING:
    from bot.orchestrator.commands import Asked

LISTED = 30
NOTHING = (
    "Nothing is scheduled. Say it like `remind me tomorrow at 9 to call Ben` or `/schedule every weekday at 8:30 send "
    "me the brief`."
)
DONE = {"pause": "Paused", "resume": "It goes on", "remove": "Removed", "undo": "Taken back"}
OPERATOR = "Only a principal, alone with me, can stop or start all schedules."


def command(tx: Tx, recorder: Recorder, asked: Asked) -> str:
    word, _, rest = asked.event.arguments.strip().partition(" ")
    word, rest = word.lower(), rest.strip()
    actor = Actor("person", asked.person.id)
    try:
        if word in ("", "list"):
            return _list(tx, asked)
        if word in DONE:
            return _change(tx, recorder, asked, word, rest, actor)
        if word in ("stop", "start") and not rest.lower().startswith(("me ", "the ")):
            return _all(tx, recorder, asked, word, rest, actor)
        arranging = Arranging(Schedules(recorder), asked.verdicts.ledger if asked.verdicts is not None else None)
        prepared = arranging.said(tx.connection, asked.event.arguments, asked.person, asked.now)
        arranging.write(tx, prepared, asked.session, actor, asked.now)
    except PermanentError as error:
        return f"{error.message[:1].upper()}{error.message[1:]}{'' if error.message.endswith(('.', '?', '`')) else '.'}"
    return prepared.note


def _list(tx: Tx, asked: Asked) -> str:
    jobs = store.of_owner(tx.connection, asked.person.id, LIVE)
    if not _alone(tx, asked):
        jobs = [each for each in jobs if each.session == asked.session]
    stopped = store.stopped(tx.connection)
    held = f"\n\nNothing fires at the moment: {stopped[1]} (since {stopped[2]:%Y-%m-%d %H:%M} UTC)." if stopped else ""
    if not jobs:
        return f"{NOTHING}{held}"
    lines = [line(each) for each in jobs[:LISTED]]
    more = f"\n- and {len(jobs) - LISTED} more" if len(jobs) > LISTED else ""
    return (
        "\n".join(lines) + more + "\n\n`/schedule pause`, `resume`, `remove` or `undo` with the name in front." + held
    )


def _change(tx: Tx, recorder: Recorder, asked: Asked, word: str, rest: str, actor: Actor) -> str:
    schedules = Schedules(recorder)
    job = schedules.named(tx.connection, asked.person, rest.partition(" ")[0])
    if not _alone(tx, asked) and job.session != asked.session:
        raise PermanentError("that one was not made here: tell me alone")
    acts: Mapping[str, Callable[[Tx, Job, Actor, datetime], Job]] = {
        "pause": schedules.pause, "resume": schedules.resume, "remove": schedules.remove, "undo": schedules.undo
    }  # fmt: skip
    after = acts[word](tx, job, actor, asked.now)
    at = "" if after.next_at is None else f"; next {wording.told([after.next_at], after.zone)}"
    back = f" `/schedule undo {handle(after)}` brings it back." if word == "remove" or after.next_at is None else ""
    return f"{DONE[word]}: {wording.titled(after)}{at}.{back if word in ('remove', 'undo') else ''}"


def _all(tx: Tx, recorder: Recorder, asked: Asked, word: str, rest: str, actor: Actor) -> str:
    proof = asked.event.sender.proof
    if asked.person.role is not Role.PRINCIPAL or not _alone(tx, asked) or proof not in (Proof.PLATFORM, Proof.LOCAL):
        raise PermanentError(OPERATOR)
    if word == "stop":
        store.stop_firing(tx, recorder, actor, rest or "a principal stopped it", asked.now)
        return "No schedule fires any more until `/schedule start`. Chat goes on."
    store.let_fire(tx, recorder, actor)
    return "Schedules fire again."


def _alone(tx: Tx, asked: Asked) -> bool:
    return places.alone(places.get(tx.connection, asked.place), asked.person)


HANDLERS: Mapping[str, Callable[[Tx, Recorder, Asked], str]] = {"schedule": command, "today": today.command}
