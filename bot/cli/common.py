"""What commands do alike: read the settings, ask the running daemon, or do the same on the store when none runs."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bot.control.address import socket_path
from bot.control.client import NotRunningError, stream
from bot.kernel.errors import PermanentError
from bot.kernel.values import dataclass

if TYPE_CHECKING:
    from config.loader import Loaded

WRONG = 2
ANSWER_WITHIN = 120.0
"""Seconds; checking a long chain takes its time."""
LONG_ANSWER_WITHIN = 900.0
"""Seconds; for one word of an operation that tells how far it is."""

Answer = dict[str, object]


def settings(args: argparse.Namespace) -> Loaded:
    """The settings, as every command reads them. Prints all faults and ends with exit code 2 if there are any."""
    from config.loader import SettingsError, load

    try:
        return load(os.environ, args.config, Path.cwd())
    except SettingsError as error:
        print(f"openexecutive: {error}", file=sys.stderr)
        raise SystemExit(WRONG) from error


def socket_of(loaded: Loaded) -> Path:
    return socket_path(loaded.settings.data_dir)


def operate(args: argparse.Namespace, op: str, **fields: object) -> list[Answer]:
    """What the running daemon answers to an operation, the last answer having `ok`; without a daemon the operation is
    done here, under the data folder's lock. Raises `OpenExecutiveError` with what is said against it."""
    loaded = settings(args)
    given = {name: value for name, value in fields.items() if value is not None}
    try:
        return list(stream(socket_of(loaded), op, given, timeout=ANSWER_WITHIN))
    except NotRunningError:
        return asyncio.run(_offline(loaded, op, given))


def follow(args: argparse.Namespace, op: str, seen: Callable[[Answer], None], **fields: object) -> Answer:
    """`operate` for operations that tell how far they are: `seen` hears each answer as it comes. The last one."""
    loaded = settings(args)
    given = {name: value for name, value in fields.items() if value is not None}
    last: Answer = {}
    try:
        for last in stream(socket_of(loaded), op, given, timeout=LONG_ANSWER_WITHIN):
            seen(last)
    except NotRunningError:
        last = asyncio.run(_offline(loaded, op, given, seen))[-1]
    return last


def ask(args: argparse.Namespace, op: str, **fields: object) -> Answer:
    """`operate` for operations that answer once."""
    return operate(args, op, **fields)[-1]


def rows(answer: Answer, key: str) -> list[Answer]:
    """A list of objects in an answer."""
    found = answer.get(key)
    return cast("list[Answer]", found) if isinstance(found, list) else []


def printable(text: object) -> str:
    """`text` without what would steer the terminal instead of being shown: control characters (but line ends and
    tabs), and marks that turn the direction of what follows."""
    return "".join("\N{REPLACEMENT CHARACTER}" if _steers(char) else char for char in str(text))


def _steers(char: str) -> bool:
    code = ord(char)
    if code < 0x20:
        return char not in "\n\t"
    return 0x7F <= code < 0xA0 or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 or 0xD800 <= code <= 0xDFFF


@dataclass(slots=True)
class _Collected:
    """A `LocalPeer` that keeps what it is sent."""

    seen: Callable[[Answer], None]
    sent: list[Answer] = field(default_factory=list)

    async def send(self, message: Mapping[str, object]) -> None:
        self.sent.append(dict(message))
        self.seen(self.sent[-1])

    async def receive(self) -> Mapping[str, object] | None:
        return None


async def _offline(
    loaded: Loaded, op: str, fields: Mapping[str, object], seen: Callable[[Answer], None] = lambda _: None
) -> list[Answer]:
    from bot import app
    from bot.control import ops, ops_backup, ops_erase, ops_export, ops_sessions, ops_tasks
    from bot.kernel.clock import SystemClock
    from bot.kernel.ids import BootId
    from bot.kernel.logs import Redactor
    from bot.storage.lock import hold
    from config.keys import secret_values

    folder = loaded.settings.data_dir
    _must_be_ours(folder)
    if op.startswith(("ledger.", "schedule.")) or op == "today":
        raise PermanentError("this needs the running daemon: start it with `openexecutive run`")

    async def nothing() -> Mapping[str, object]:
        return {}

    with hold(folder):
        async with app.open_store(loaded.settings, Redactor(secret_values(loaded.settings)), SystemClock()) as store:
            handlers = ops.handlers(
                store.database,
                store.recorder,
                store.clock,
                nothing,
                lambda: None,
                audit_key=store.audit_key,
                time_zone=loaded.settings.company.time_zone,
                company=loaded.settings.company.name,
                outbox=None,
            )
            peer = _Collected(seen)
            tasks = ops_tasks.handlers(store.database, store.recorder, store.clock, lambda: None)
            own = ops_sessions.handlers(
                store.database, app.erasing.erasure(store, lambda: None), lambda: None, alone=True
            )
            backups = app.backups.backups(store, loaded.settings, installed_version("openexecutive"))
            keeping = ops_backup.Keeping(
                store.database,
                store.recorder,
                backups.maker,
                backups.nightly,
                lambda _: None,
                BootId(""),
                alone=True,
            )
            forgetting = app.erasing.forgetting(store, lambda: None, backups.copies)
            memories = app.rights.operations(
                store, forgetting, lambda: None, local_person=loaded.settings.channels.terminal.person
            )
            exporting = ops_export.Exporting(store.database, store.recorder)
            of_people = app.erasing.of_people(store, lambda: None, backups.copies)
            erasing = ops_erase.Erasing(store.database, of_people, alone=True)
            handlers = {**handlers, **tasks, **own, **keeping.handlers(), **exporting.handlers(), **memories}
            handlers |= erasing.handlers()
            if op.startswith("knowledge."):
                async with app.knowledge.operations(store, loaded.settings) as documents:
                    await documents[op](peer, {"op": op, **fields})
            else:
                await handlers[op](peer, {"op": op, **fields})
            return peer.sent


def _must_be_ours(folder: Path) -> None:
    """Files that we leave in another user's folder would lock that user's daemon out; a folder that is not there holds
    nothing to look at."""
    try:
        owner = folder.stat().st_uid
    except FileNotFoundError as error:
        raise PermanentError(f"there is nothing in {folder} yet: start the daemon with `openexecutive run`") from error
    if owner != os.geteuid():
        raise PermanentError(f"{folder} belongs to user {owner}: run this as that user, or start the daemon")
