"""What becomes of instants that came while nobody looked. Pure.

Within the job's grace the newest missed instant runs, once; the others, and all of a job that was missed by more, are
recorded as skipped. So three days of silence end in at most one run a job, not in a burst.
"""

from __future__ import annotations

from datetime import datetime
from itertools import takewhile

from bot.kernel.values import dataclass
from bot.scheduler.model import Job
from bot.scheduler.triggers import instants, next_after

PUNCTUAL_SECONDS = 60
"""An instant that is looked at within this time was not missed."""
MOST = 10_000
"""Missed instants that are counted."""


@dataclass(frozen=True, slots=True)
class Due:
    """What to do about a job whose next instant has come."""

    run: datetime | None
    """The instant to run."""
    skipped: datetime | None
    """The newest instant that is recorded as skipped; None: nothing was missed for good."""
    count: int
    """How many instants are skipped."""
    next_at: datetime | None
    """When it is due again; None: never."""


def due(job: Job, now: datetime) -> Due | None:
    """None as long as its next instant has not come."""
    if job.next_at is None or job.next_at > now:
        return None
    missed = [job.next_at, *takewhile(lambda each: each <= now, instants(job.rule, job.zone, job.next_at))][:MOST]
    newest = missed[-1]
    next_at = next_after(job.rule, job.zone, max(newest, now))
    if now - newest <= job.grace or (now - newest).total_seconds() <= PUNCTUAL_SECONDS:
        earlier = missed[:-1]
        return Due(newest, earlier[-1] if earlier else None, len(earlier), next_at)
    return Due(None, newest, len(missed), next_at)
