"""Rules as text that can be kept and read again, and in words for people. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from bot.scheduler.model import Cron, Delivery, Every, Job, Kind, Once, Rule, Run
from bot.scheduler.triggers import instant_of, instants
from bot.scheduler.when import read
from bot.scheduler.when_rule import UnclearError

SHOWN = 3
"""Dates that are shown before something is scheduled, and after."""
KINDS = {
    Kind.REMINDER: "reminder",
    Kind.QUESTION: "question to me",
    Kind.CHECK_IN: "check-in",
    Kind.MORNING_BRIEF: "morning brief",
    Kind.EVENING_BRIEF: "evening brief",
    Kind.WEEKLY_REVIEW: "weekly review",
    Kind.COMMITMENT: "follow-up of what you promised",
    Kind.NUDGE: "nudge about what waits for you",
    Kind.UPKEEP: "upkeep",
}
RUNS = {
    Run.CLAIMED: "under way",
    Run.DONE: "done",
    Run.NOTHING: "nothing to say",
    Run.SKIPPED: "missed while I was away",
    Run.FAILED: "failed",
}
DELIVERIES = {
    Delivery.NONE: "no message",
    Delivery.QUEUED: "on its way",
    Delivery.SENT: "delivered",
    Delivery.FAILED: "not delivered",
    Delivery.UNCERTAIN: "may have been delivered",
}
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EVERY = re.compile(r"every (\d+) seconds from (\S+)")
_CRON = re.compile(r"[\d*/,-]+(?:\s+[\w*/,#-]+){4}")
_UNITS = ((timedelta(days=1), "days"), (timedelta(hours=1), "hours"), (timedelta(minutes=1), "minutes"))


def text_of(rule: Rule, zone: str) -> str:
    """The rule as one line that `rule_of` reads again: a local time, a cron rule, or an interval."""
    match rule:
        case Once(at):
            return at.astimezone(ZoneInfo(zone)).replace(tzinfo=None).isoformat(timespec="seconds")
        case Cron(text):
            return text
        case Every(interval, since):
            begun = since.astimezone(UTC).isoformat(timespec="seconds")
            return f"every {int(interval.total_seconds())} seconds from {begun}"


def rule_of(text: str, now: datetime, zone: str) -> Rule:
    """What `text_of` wrote, a cron rule, an ISO time (of the zone, if it names none), or a time in words. Raises
    `UnclearError`."""
    text = text.strip()
    if every := _EVERY.fullmatch(text):
        return Every(timedelta(seconds=int(every[1])), datetime.fromisoformat(every[2]))
    if _CRON.fullmatch(text):
        return Cron(text)
    if re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", text):
        try:
            local = datetime.fromisoformat(text)
        except ValueError as error:
            raise UnclearError(f"{text!r} is no time: write it like 2026-12-24T18:00.") from error
        return Once(instant_of(local, ZoneInfo(zone)) if local.tzinfo is None else local.astimezone(UTC))
    found = read(text, 0, now, zone)
    if found is None or text[found.end :].strip(" .,"):
        raise UnclearError(
            f"I cannot read {text!r} as a time: say it like `in two hours`, `on Friday at 14:00`, `every weekday at "
            "8:30`, `2026-12-24T18:00` or as a cron rule (`30 8 * * 1-5`)."
        )
    return found.rule


def dates(rule: Rule, zone: str, after: datetime, count: int = SHOWN) -> list[datetime]:
    """The next instants, in the zone."""
    return [each.astimezone(ZoneInfo(zone)) for each in islice(instants(rule, zone, after), count)]


def told(at: Sequence[datetime], zone: str) -> str:
    """`Wednesday 2026-12-02 09:00, Thursday 2026-12-03 09:00 (Europe/Berlin)`."""
    local = [each.astimezone(ZoneInfo(zone)) for each in at]
    clock = "%H:%M:%S" if any(each.second for each in local) and len(local) == 1 else "%H:%M"
    return f"{', '.join(each.strftime(f'%A %Y-%m-%d {clock}') for each in local)} ({zone})" if local else "never"


def described(rule: Rule, zone: str) -> str:
    """The rule in words, as far as there are plain ones."""
    match rule:
        case Once(at):
            return f"once, {told([at], zone)}"
        case Every(interval, _):
            unit, name = next((unit, name) for unit, name in _UNITS if not interval % unit)
            count = interval // unit
            return f"every {name[:-1]}" if count == 1 else f"every {count} {name}"
        case Cron(text):
            return f"{_cron(text)} ({zone})"


def _cron(text: str) -> str:
    minute, hour, day, month, weekday = text.split()
    plain = minute.isdigit() and hour.isdigit() and month == "*"
    if not plain or (day != "*" and (weekday != "*" or not day.isdigit())):
        return f"by the rule `{text}`"
    at = f"at {int(hour):02d}:{int(minute):02d}"
    if day != "*":
        return f"every month on day {day} {at}"
    if weekday == "*":
        return f"every day {at}"
    if weekday == "1-5":
        return f"every weekday {at}"
    if not re.fullmatch(r"[0-7](?:,[0-7])*", weekday):
        return f"by the rule `{text}`"
    return f"every {' and '.join(_DAYS[int(each)] for each in weekday.split(','))} {at}"


def titled(job: Job) -> str:
    """What a schedule is, in a few words."""
    return KINDS[job.kind] if job.title in ("", KINDS[job.kind]) else f"{KINDS[job.kind]}: {job.title}"
