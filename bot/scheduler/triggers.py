"""When a job is due. Pure.

A fixed local time that falls into the gap of a change to summer time is due at the first instant after the gap; one
that occurs twice, at the first of the two; so once a date. Patterns with a wildcard in hour or minute follow elapsed
time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from bot.kernel.errors import PermanentError
from bot.scheduler.model import Cron, Every, Once, Rule

_SECOND = timedelta(seconds=1)


class RuleError(PermanentError):
    """Says to a person why a rule is none."""


def checked(rule: Rule, zone: str) -> Rule:
    """The rule, if it is one. Raises `RuleError`."""
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise RuleError(f"{zone!r} is no time zone; one is named like Europe/Berlin") from error
    if isinstance(rule, Cron):
        _cron(rule.text, datetime(2026, 1, 1))  # noqa: DTZ001 - a local time, only to read the text
    if isinstance(rule, Every) and rule.interval < timedelta(minutes=1):
        raise RuleError("an interval is at least a minute")
    return rule


def next_after(rule: Rule, zone: str, after: datetime) -> datetime | None:
    """The first instant after `after` (aware) at which the rule is due, in UTC; None if there is none any more."""
    return next(instants(rule, zone, after), None)


def instants(rule: Rule, zone: str, after: datetime) -> Iterator[datetime]:
    """All instants after `after`, in order, in UTC, each once."""
    match rule:
        case Once(at):
            if at > after:
                yield at.astimezone(UTC)
        case Every(interval, since):
            steps = max(0, (after - since) // interval + 1)
            while True:
                yield (since + steps * interval).astimezone(UTC)
                steps += 1
        case Cron(text):
            yield from _of_cron(text, ZoneInfo(zone), after)


def _of_cron(text: str, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    minute, hour = text.split()[-5:-3]
    last = after.astimezone(UTC)
    if minute.startswith("*") or hour.startswith("*"):
        found: Iterator[datetime] = (each.astimezone(UTC) for each in _cron(text, last.astimezone(zone)))
    else:
        local = last.astimezone(zone).replace(tzinfo=None)
        found = (instant_of(each, zone) for each in _cron(text, local))
    for each in found:
        if each > last:
            last = each
            yield each


def _cron(text: str, since: datetime) -> CronSim:
    if len(text.split()) != 5:
        raise RuleError(f"{text!r} is no rule: minute, hour, day, month and weekday are needed, like `30 8 * * 1-5`")
    try:
        return CronSim(text, since)
    except CronSimError as error:
        raise RuleError(f"{text!r} is no rule: {str(error)[:1].lower()}{str(error)[1:]}") from error


def instant_of(local: datetime, zone: ZoneInfo) -> datetime:
    """The instant (UTC) of a local time: the first of two, the first after a gap."""
    first = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if first.astimezone(zone).replace(tzinfo=None) == local:
        return first
    # In a gap the offset before it leads past its end, and the one after it to before its beginning (PEP 495).
    before, behind = local.replace(tzinfo=zone, fold=1).astimezone(UTC), first
    offset = before.astimezone(zone).utcoffset()
    while behind - before > _SECOND:
        middle = before + (behind - before) // 2
        middle -= timedelta(microseconds=middle.microsecond)
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            behind = middle
    return behind
