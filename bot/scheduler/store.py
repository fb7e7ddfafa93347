"""SQL of jobs and occurrences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

import sqlalchemy as sa

from bot.audit.events import Actor, Record
from bot.audit.events_ledger import ScheduleChanged, ScheduleCreated, ScheduleFired, ScheduleSkipped
from bot.audit.recorder import Recorder
from bot.kernel.errors import PermanentError
from bot.kernel.ids import JobId, OutboxId, PersonId, ProposalId, SessionId
from bot.kernel.values import dataclass
from bot.scheduler.catching_up import Due
from bot.scheduler.gate import ACTOR, holds
from bot.scheduler.model import (
    UNSOLICITED,
    Cron,
    Delivery,
    Every,
    Job,
    JobState,
    Kind,
    Occurrence,
    Once,
    Rule,
    Run,
)
from bot.scheduler.tables import job, occurrence, scheduler_pause
from bot.scheduler.triggers import next_after
from bot.storage.database import Tx
from bot.storage.metadata import UtcDateTime, exactly

MOST_FAILURES = 3
"""In a row; then the job is paused."""
MOST_ATTEMPTS = 3
"""Processes that may die of one occurrence."""
ALL = "all"

Change = Literal["edited", "paused", "resumed", "removed", "done", "paused_by_failures", "handed_over"]


@dataclass(frozen=True, slots=True)
class Claimed:
    job: Job
    occurrence: Occurrence


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an occurrence. `outbox`: the message that it queued."""

    run: Run
    delivery: Delivery = Delivery.NONE
    note: str | None = None
    outbox: OutboxId | None = None


# --- jobs -----------------------------------------------------------------------------------------------------------


def add(tx: Tx, recorder: Recorder, new: Job, actor: Actor, proposal: ProposalId | None = None) -> None:
    kind, text = _rule_text(new.rule)
    tx.execute(
        job.insert().values(
            id=new.id,
            kind=new.kind.value,
            title=new.title,
            rule=kind,
            rule_text=text,
            zone=new.zone,
            owner=new.owner,
            session_id=new.session,
            payload=dict(new.payload),
            grace_seconds=int(new.grace.total_seconds()),
            state=new.state.value,
            next_at=new.next_at,
            made_at=new.made_at,
            changed_at=new.made_at,
            version=1,
        )
    )
    recorder.record(tx, Record(ScheduleCreated(new.id, new.kind, proposal), actor, new.session, text=new.title))


def change(
    tx: Tx,
    recorder: Recorder,
    seen: Job,
    what: Change,
    actor: Actor,
    now: datetime,
    *,
    because: str | None = None,
    rule: Rule | None = None,
    title: str | None = None,
    owner: PersonId | None = None,
) -> Job:
    """Change a job from how the caller saw it. `owner`: a new one, to whom it speaks alone from then on. Raises
    `PermanentError` if it was changed meanwhile."""
    state = {
        "paused": JobState.PAUSED,
        "handed_over": JobState.PAUSED,
        "paused_by_failures": JobState.PAUSED,
        "removed": JobState.REMOVED,
        "done": JobState.DONE,
        "resumed": JobState.ACTIVE,
    }.get(what, seen.state)
    now_rule = rule or seen.rule
    next_at = next_after(now_rule, seen.zone, now) if state is JobState.ACTIVE else None
    if state is JobState.ACTIVE and next_at is None:
        state = JobState.DONE
    kind, text = _rule_text(now_rule)
    done = tx.execute(
        job.update()
        .where(job.c.id == seen.id, job.c.version == seen.version)
        .values(
            state=state.value,
            next_at=next_at,
            rule=kind,
            rule_text=text,
            title=title or seen.title,
            owner=owner or seen.owner,
            session_id=seen.session if owner is None else None,
            payload={name: value for name, value in seen.payload.items() if owner is None or name != "epoch"},
            failures=0 if what in ("resumed", "edited") else seen.failures,
            paused_because=because if state is JobState.PAUSED else None,
            changed_at=now,
            version=seen.version + 1,
        )
    )
    if not done.rowcount:
        raise PermanentError("this schedule was changed meanwhile: look at it again")
    recorder.record(tx, Record(ScheduleChanged(seen.id, what), actor, seen.session, text=because))
    found = get(tx.connection, seen.id)
    if found is None:
        raise LookupError(f"job {seen.id} is gone")
    return found


def hurry(tx: Tx, recorder: Recorder, seen: Job, actor: Actor, now: datetime) -> Job:
    """Let an active job be due at once, besides its own times. Raises `PermanentError` like `change`."""
    done = tx.execute(
        job.update()
        .where(job.c.id == seen.id, job.c.version == seen.version, exactly(job.c.state, JobState.ACTIVE.value))
        .values(next_at=now, changed_at=now, version=seen.version + 1)
    )
    if not done.rowcount:
        raise PermanentError("this schedule was changed meanwhile: look at it again")
    recorder.record(tx, Record(ScheduleChanged(seen.id, "hurried"), actor, seen.session))
    return replace(seen, next_at=now, version=seen.version + 1)


def get(connection: sa.Connection, job_id: JobId) -> Job | None:
    row = connection.execute(sa.select(job).where(job.c.id == job_id)).first()
    return None if row is None else _job(row)


def of_owner(
    connection: sa.Connection, owner: PersonId | None, states: Sequence[JobState], kinds: Sequence[Kind] = ()
) -> list[Job]:
    """A person's jobs, or (None) everybody's, the next to fire first. `kinds`: only those."""
    query = sa.select(job).where(job.c.state.in_([each.value for each in states]))
    if kinds:
        query = query.where(job.c.kind.in_([each.value for each in kinds]))
    if owner is not None:
        query = query.where(job.c.owner == owner)
    return [_job(row) for row in connection.execute(query.order_by(job.c.next_at.is_(None), job.c.next_at, job.c.id))]


def _fires() -> sa.ColumnElement[bool]:
    """Active, and not at work: a job that takes longer than its interval does not overlap itself. What came meanwhile
    is looked at when it has ended, like what was missed while nothing ran."""
    busy = sa.exists().where(occurrence.c.job_id == job.c.id, exactly(occurrence.c.run, Run.CLAIMED.value))
    return sa.and_(exactly(job.c.state, JobState.ACTIVE.value), ~busy)


def upcoming(
    connection: sa.Connection, owner: PersonId | None, states: Sequence[JobState], after: Job | None, limit: int
) -> list[Job]:
    """A page of people's jobs in the order of `of_owner`, those behind `after`."""
    query = sa.select(job).where(job.c.state.in_([each.value for each in states]), job.c.owner.is_not(None))
    if owner is not None:
        query = query.where(job.c.owner == owner)
    if after is not None and after.next_at is not None:
        later = sa.or_(job.c.next_at > after.next_at, job.c.next_at.is_(None))
        query = query.where(sa.or_(later, sa.and_(job.c.next_at == after.next_at, job.c.id > after.id)))
    elif after is not None:
        query = query.where(job.c.next_at.is_(None), job.c.id > after.id)
    return [
        _job(row)
        for row in connection.execute(query.order_by(job.c.next_at.is_(None), job.c.next_at, job.c.id).limit(limit))
    ]


def next_due(connection: sa.Connection) -> datetime | None:
    found: datetime | None = connection.execute(
        sa.select(job.c.next_at).where(_fires()).order_by(job.c.next_at, job.c.id).limit(1)
    ).scalar()
    return found


def due(connection: sa.Connection, now: datetime, limit: int, *, upkeep_only: bool) -> list[Job]:
    query = sa.select(job).where(_fires(), job.c.next_at <= now)
    if upkeep_only:
        query = query.where(job.c.kind == Kind.UPKEEP.value)
    return [_job(row) for row in connection.execute(query.order_by(job.c.next_at, job.c.id).limit(limit))]


# --- occurrences ------------------------------------------------------------------------------------------------------


def claim(tx: Tx, recorder: Recorder, of: Job, found: Due, fence: int, now: datetime) -> Claimed | None:
    """Move the job on and claim the instant that is to run. None if there is none, or if it was claimed before: the
    primary key of the occurrence makes that sure."""
    if found.skipped is not None:
        _skip(tx, recorder, of, found, fence, now)
    state = JobState.ACTIVE if found.next_at is not None else JobState.DONE
    tx.execute(
        job.update()
        .where(job.c.id == of.id, job.c.version == of.version)
        .values(next_at=found.next_at, state=state.value, version=of.version + 1)
    )
    if found.run is None:
        return None
    row = tx.execute(
        occurrence.insert()
        .prefix_with("OR IGNORE")
        .values(
            job_id=of.id,
            at=found.run,
            run=Run.CLAIMED.value,
            delivery=Delivery.NONE.value,
            fence=fence,
            attempts=1,
            started_at=now,
        )
        .returning(occurrence)
    ).first()
    return None if row is None else Claimed(of, _occurrence(row))


def take_over(tx: Tx, fence: int, now: datetime) -> list[Claimed]:
    """What an earlier holder of the gate had claimed and not ended: nothing of it was stored, so it is run again."""
    rows = tx.execute(
        occurrence.update()
        .where(exactly(occurrence.c.run, Run.CLAIMED.value), occurrence.c.fence < fence)
        .values(fence=fence, attempts=occurrence.c.attempts + 1, started_at=now)
        .returning(occurrence)
    ).all()
    jobs = {each.id: each for each in _jobs(tx.connection, [row.job_id for row in rows])}
    return [Claimed(jobs[JobId(row.job_id)], _occurrence(row)) for row in rows]


def is_ours(connection: sa.Connection, of: Claimed) -> bool:
    """Whether the occurrence is still claimed under its token, and the token the newest."""
    if not holds(connection, of.occurrence.fence):
        return False
    row = connection.execute(
        sa.select(occurrence.c.run, occurrence.c.fence).where(
            occurrence.c.job_id == of.job.id, occurrence.c.at == of.occurrence.at
        )
    ).first()
    return row is not None and row.run == Run.CLAIMED.value and row.fence == of.occurrence.fence


def end(tx: Tx, recorder: Recorder, of: Claimed, outcome: Outcome, now: datetime) -> bool:
    """Store the outcome of an occurrence. False if the gate was taken by another meanwhile, or it has ended: then
    nothing of the outcome may be stored."""
    if not is_ours(tx.connection, of):
        return False
    tx.execute(
        occurrence.update()
        .where(occurrence.c.job_id == of.job.id, occurrence.c.at == of.occurrence.at)
        .values(
            run=outcome.run.value,
            delivery=outcome.delivery.value,
            note=outcome.note,
            outbox_id=outcome.outbox,
            ended_at=now,
        )
    )
    late = max(0, int((of.occurrence.started_at - of.occurrence.at).total_seconds()))
    fired = ScheduleFired(
        of.job.id, of.job.kind, outcome.run, outcome.delivery, late, of.occurrence.fence, outcome.outbox
    )
    recorder.record(tx, Record(fired, ACTOR, of.job.session, text=outcome.note))
    _count_failures(tx, recorder, of.job, outcome, now)
    return True


def _count_failures(tx: Tx, recorder: Recorder, of: Job, outcome: Outcome, now: datetime) -> None:
    if outcome.run is not Run.FAILED:
        tx.execute(job.update().where(job.c.id == of.id, job.c.failures > 0).values(failures=0))
        return
    failures = tx.execute(
        job.update().where(job.c.id == of.id).values(failures=job.c.failures + 1).returning(job.c.failures)
    ).scalar_one()
    current = get(tx.connection, of.id)
    if failures >= MOST_FAILURES and current is not None and current.state is JobState.ACTIVE:
        because = f"it failed {failures} times in a row: {outcome.note}"
        change(tx, recorder, current, "paused_by_failures", ACTOR, now, because=because)


def _skip(tx: Tx, recorder: Recorder, of: Job, found: Due, fence: int, now: datetime) -> None:
    note = f"missed by {now - found.skipped}" if found.skipped else None
    if found.count > 1:
        note = f"{note}; with {found.count - 1} before it"
    tx.execute(
        occurrence.insert()
        .prefix_with("OR IGNORE")
        .values(
            job_id=of.id,
            at=found.skipped,
            run=Run.SKIPPED.value,
            delivery=Delivery.NONE.value,
            fence=fence,
            attempts=0,
            started_at=now,
            ended_at=now,
            note=note,
        )
    )
    late = 0 if found.skipped is None else int((now - found.skipped).total_seconds())
    recorder.record(tx, Record(ScheduleSkipped(of.id, late, found.count), ACTOR, of.session))


def history(connection: sa.Connection, job_id: JobId, limit: int, before: datetime | None = None) -> list[Occurrence]:
    """The newest occurrences of a job, those before an instant, newest first."""
    query = sa.select(occurrence).where(occurrence.c.job_id == job_id)
    if before is not None:
        query = query.where(occurrence.c.at < before)
    return [_occurrence(row) for row in connection.execute(query.order_by(occurrence.c.at.desc()).limit(limit))]


def between(
    connection: sa.Connection, owner: PersonId | None, since: datetime, until: datetime, limit: int
) -> list[tuple[Job, Occurrence]]:
    """What a person's jobs, or (None) everybody's, did within a half-open span, in order."""
    query = (
        sa.select(occurrence)
        .join(job, job.c.id == occurrence.c.job_id)
        .where(occurrence.c.at >= since, occurrence.c.at < until)
        .where(job.c.owner.is_not(None) if owner is None else job.c.owner == owner)
    )
    rows = connection.execute(query.order_by(occurrence.c.at, occurrence.c.job_id).limit(limit)).all()
    jobs = {each.id: each for each in _jobs(connection, [row.job_id for row in rows])}
    return [(jobs[JobId(row.job_id)], _occurrence(row)) for row in rows]


def last_delivered(connection: sa.Connection, job_id: JobId) -> datetime | None:
    """The instant of the newest occurrence whose message was sent."""
    found: datetime | None = connection.execute(
        sa.select(sa.func.max(occurrence.c.at, type_=occurrence.c.at.type)).where(
            occurrence.c.job_id == job_id, occurrence.c.delivery == Delivery.SENT.value
        )
    ).scalar()
    return found


def unsolicited_since(connection: sa.Connection, owner: PersonId, since: datetime) -> int:
    """Messages that nobody asked for, sent or on their way to a person since then."""
    return connection.execute(
        sa.select(sa.func.count())
        .select_from(occurrence.join(job, job.c.id == occurrence.c.job_id))
        .where(
            job.c.owner == owner,
            job.c.kind.in_(sorted(each.value for each in UNSOLICITED)),
            occurrence.c.started_at >= since,
            occurrence.c.outbox_id.is_not(None),
        )
    ).scalar_one()


# --- the operator's pause ---------------------------------------------------------------------------------------------


def stop_firing(tx: Tx, recorder: Recorder, actor: Actor, because: str, now: datetime) -> None:
    """Nothing but upkeep fires until `let_fire`. Chat goes on."""
    row = {"name": ALL, "by": actor.id, "because": because, "at": now}
    tx.execute(scheduler_pause.insert().prefix_with("OR IGNORE").values(**row))
    recorder.record(tx, Record(ScheduleChanged(JobId(""), "stopped"), actor, text=because))


def let_fire(tx: Tx, recorder: Recorder, actor: Actor) -> None:
    tx.execute(scheduler_pause.delete())
    recorder.record(tx, Record(ScheduleChanged(JobId(""), "started"), actor))


def stopped(connection: sa.Connection) -> tuple[str, str, datetime] | None:
    """Who stopped firing, why and when; None while it goes on."""
    row = connection.execute(sa.select(scheduler_pause)).first()
    return None if row is None else (row.by, row.because, row.at)


# --- rows and values --------------------------------------------------------------------------------------------------


def _jobs(connection: sa.Connection, ids: Sequence[str]) -> list[Job]:
    return [_job(row) for row in connection.execute(sa.select(job).where(job.c.id.in_(sorted(set(ids)))))]


def _rule_text(rule: Rule) -> tuple[str, str]:
    instant = UtcDateTime().process_bind_param
    match rule:
        case Cron(text):
            return "cron", text
        case Once(at):
            return "once", str(instant(at, None))  # type: ignore[arg-type]
        case Every(interval, since):
            return "every", f"{int(interval.total_seconds())} {instant(since, None)}"  # type: ignore[arg-type]


def _rule(kind: str, text: str) -> Rule:
    instant = UtcDateTime().process_result_value
    if kind == "cron":
        return Cron(text)
    if kind == "once":
        at = instant(int(text), None)  # type: ignore[arg-type]
        assert at is not None  # noqa: S101 - for the type checker
        return Once(at)
    seconds, since = text.split()
    begun = instant(int(since), None)  # type: ignore[arg-type]
    assert begun is not None  # noqa: S101 - for the type checker
    return Every(timedelta(seconds=int(seconds)), begun)


def _job(row: Any) -> Job:
    return Job(
        JobId(row.id),
        Kind(row.kind),
        row.title,
        _rule(row.rule, row.rule_text),
        row.zone,
        PersonId(row.owner) if row.owner else None,
        SessionId(row.session_id) if row.session_id else None,
        row.payload,
        timedelta(seconds=row.grace_seconds),
        JobState(row.state),
        row.next_at,
        row.failures,
        row.made_at,
        row.paused_because,
        row.version,
    )


def _occurrence(row: Any) -> Occurrence:
    return Occurrence(
        JobId(row.job_id),
        row.at,
        Run(row.run),
        Delivery(row.delivery),
        row.fence,
        row.attempts,
        row.started_at,
        row.ended_at,
        row.note,
        row.outbox_id,
    )
