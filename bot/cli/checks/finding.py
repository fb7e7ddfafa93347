"""What a check says."""

from __future__ import annotations

from enum import StrEnum

from bot.kernel.values import dataclass


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """`what` was found, `where` it is set or stands, and how to `mend` it (both may be empty when all is well)."""

    level: Level
    what: str
    where: str = ""
    mend: str = ""


def ok(what: str, where: str = "") -> Finding:
    return Finding(Level.OK, what, where)


def warn(what: str, where: str, mend: str) -> Finding:
    return Finding(Level.WARN, what, where, mend)


def fail(what: str, where: str, mend: str) -> Finding:
    return Finding(Level.FAIL, what, where, mend)
