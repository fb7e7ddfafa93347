"""What the pages of settings tell of the machine and of the program on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from bot.kernel.values import dataclass

Backup = tuple[str, datetime, datetime | None]
"""Its name, when it was made, and when it is deleted; None: nobody does that by itself."""


@dataclass(frozen=True, slots=True)
class House:
    data_dir: Path
    backup_folder: Path
    backups: Callable[[], Sequence[Backup]]
    """Those that there are, oldest first. Blocking."""
    time_zone: str
    """The company's, in whose days money is counted."""
    settings: Sequence[tuple[str, str, str]]
    """Each setting in force: its key, its value (of a secret only whether it is set), and where it comes from."""
    ring: Callable[[], None]
    """Wakes the runner of tasks."""
