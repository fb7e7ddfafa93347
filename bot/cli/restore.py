"""`openexecutive restore`: put a backup into an empty folder."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from bot.cli.common import printable, settings
from bot.kernel.errors import PermanentError

if TYPE_CHECKING:
    from bot.app.restoring import Restored


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the backup; its passphrase: backup.passphrase")
    parser.add_argument("--into", type=Path, required=True, metavar="DIR", help="an empty folder, or one to be made")
    erased = parser.add_mutually_exclusive_group()
    erased.add_argument(
        "--journal", type=Path, metavar="FILE", help="what was erased since (default: erasures.jsonl beside the backup)"
    )
    erased.add_argument(
        "--without-journal", action="store_true", help="there is none: what was erased since comes back"
    )


def run(args: argparse.Namespace) -> int:
    from bot.app.restoring import restore
    from bot.backup import restoring
    from bot.kernel.clock import SystemClock
    from bot.kernel.logs import Redactor
    from config.keys import secret_values

    loaded = settings(args)
    backup, into = args.file.expanduser().absolute(), args.into.expanduser().absolute()
    restoring.look(backup, into)
    redactor = Redactor(secret_values(loaded.settings))
    done = asyncio.run(restore(loaded.settings, redactor, SystemClock(), backup, into, _journal(args, backup)))
    _tell(done, into)
    return 0


def _journal(args: argparse.Namespace, backup: Path) -> Path | None:
    if args.without_journal:
        return None
    path: Path = args.journal.expanduser().absolute() if args.journal else backup.with_name("erasures.jsonl")
    if not path.is_file():
        raise PermanentError(
            f"there is no {path}, which says what was erased since the backup was made: give it with --journal, or say "
            "--without-journal if nothing was erased, or if it may come back"
        )
    return path


def _tell(done: Restored, into: Path) -> None:
    print(printable(f"restored into {into}: the state of {done.manifest.made_at[:16]} UTC"))
    again = done.replayed
    print(
        f"erased again: {again.memories} memories, {again.messages} messages, {again.sessions} conversations, "
        f"{again.documents} documents "
        "(the rest of it is done when the daemon runs)"
    )
    print(
        f"held for a look: {done.held_out} messages to be sent, {done.held_in} to be answered "
        "(`openexecutive held list`, `openexecutive held release`)"
    )
    print(printable(f"start it with OPENEXECUTIVE_DATA_DIR={into} or data_dir in the settings"))
