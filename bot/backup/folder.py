"""Which backups there are in a folder, what they are called, and which go. Blocking, but for the pure parts."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.kernel.values import dataclass

ENDING = ".oebackup"
UNFINISHED = ".unfinished"
_FORM = "%Y%m%dT%H%M%SZ"
_NAME = re.compile(r"openexecutive-(\d{8}T\d{6}Z)(?:-\d+)?" + re.escape(ENDING))


@dataclass(frozen=True, slots=True)
class Found:
    path: Path
    made_at: datetime


def name_of(made_at: datetime, number: int = 0) -> str:
    again = f"-{number}" if number else ""
    return f"openexecutive-{made_at.astimezone(UTC):{_FORM}}{again}{ENDING}"


def free_name(folder: Path, made_at: datetime) -> str:
    number = 0
    while (folder / name_of(made_at, number)).exists():
        number += 1
    return name_of(made_at, number)


def whole(folder: Path) -> list[Found]:
    """The backups of a folder, oldest first."""
    return sorted(_found(folder, ""), key=lambda each: (each.made_at, each.path.name))


def being_made(folder: Path) -> list[Found]:
    return _found(folder, UNFINISHED)


def _found(folder: Path, ending: str) -> list[Found]:
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [
        Found(folder / name, datetime.strptime(match[1], _FORM).replace(tzinfo=UTC))
        for name in names
        if name.endswith(ending) and (match := _NAME.fullmatch(name.removesuffix(ending) if ending else name))
    ]


def superfluous(backups: Sequence[Found], keep: int) -> list[Found]:
    """All but the newest. Pure."""
    return list(backups[: max(0, len(backups) - keep)])


def until(backups: Sequence[Found], keep: int, following: datetime) -> list[datetime]:
    """When each backup (oldest first) is deleted, if one more is made at `following` and every day after. Pure."""
    newer = range(len(backups) - 1, -1, -1)
    return [following + timedelta(days=max(0, keep - number - 1)) for number in newer]


def sweep(folder: Path) -> int:
    """Remove what makers that died have left. Only one makes backups in a folder at a time. Returns how many files."""
    left = [path for path in folder.glob(f"openexecutive-*{UNFINISHED}*") if path.is_file()]
    for path in left:
        path.unlink(missing_ok=True)
    return len(left)
