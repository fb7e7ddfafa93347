"""Backups, wired: for the running daemon, and for commands that work without one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from bot.app.opening import Store
from bot.app.settings import backup_folder
from bot.backup.making import Maker, listed
from bot.backup.nightly import Nightly
from bot.erasure import journal
from bot.erasure.copies import Copy
from bot.kernel.values import dataclass
from config.schema import Settings


def journal_of(settings: Settings) -> Path:
    return backup_folder(settings) / journal.NAME


@dataclass(frozen=True, slots=True)
class Backups:
    maker: Maker
    nightly: Nightly

    def copies(self) -> Sequence[Copy]:
        """For receipts of erasures: which backups hold what was there until now."""
        return [Copy(*each) for each in listed(self.maker.folder, self.maker.keep, self.nightly.following())]


def backups(store: Store, settings: Settings, version: str) -> Backups:
    """The caller holds the data folder's lock: what is there half made is nobody's any more."""
    wanted = settings.backup
    maker = Maker(
        store.database,
        store.recorder,
        store.clock,
        settings.data_dir,
        backup_folder(settings),
        wanted.keep,
        wanted.passphrase.get_secret_value() if wanted.passphrase else None,
        version,
        asyncio.Lock(),
    )
    maker.sweep()
    return Backups(maker, Nightly(maker, wanted.at, settings.company.time_zone, enabled=wanted.enabled))
