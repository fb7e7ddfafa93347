"""The composition root: settings become a running daemon, and a signal becomes a clean stop.

Everything is made here and handed down by argument; nothing is looked up from here. `opening` opens the store of a
data folder, `building` makes all rooms of it (`rooms`), `doors` opens them to this machine and the web, `daemon` runs
them from start to stop. `settings` says settings in the rooms' own words, `guard` looks again at what is about to be
sent, `status` tells how all of it is. Channels are found by name, so that the library of one that is switched off is
never imported. Only `bot.cli` may import this room.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.app import backups, erasing, knowledge, rights
from bot.app.daemon import Daemon
from bot.app.opening import Store, adopt_roster, open_store
from bot.kernel import logs
from bot.kernel.clock import SystemClock
from bot.storage import lock
from config.effective import effective
from config.keys import secret_values
from config.loader import Loaded

__all__ = ["Store", "adopt_roster", "backups", "erasing", "knowledge", "open_store", "rights", "run"]


async def run(loaded: Loaded, *, accept: bool, greet: Callable[[str], None] | None = None) -> int:
    """Run the daemon until SIGTERM or SIGINT. Returns the exit code. `greet` is told a link that opens the
    console, once it can be opened. It is a secret: to be shown to a person, never logged.

    Raises `PermanentError` for what a person must mend before it can start (folder in use, newer store, roster).
    """
    settings = loaded.settings
    redactor = logs.Redactor(secret_values(settings))
    logs.configure(settings.log_level, redactor)
    with lock.hold(settings.data_dir):
        async with open_store(settings, redactor, SystemClock()) as store:
            await adopt_roster(store, settings, accept=accept)
            daemon = await Daemon.build(store, settings, effective(loaded))
            return await daemon.live(greet)
