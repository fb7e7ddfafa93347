"""`openexecutive mail login`: log in at the mail provider by a code that is typed into a browser, on any machine.

What comes of it is one file in the data folder, which the daemon reads at its next login: no restart is needed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from bot.cli.common import printable, settings
from bot.kernel.clock import Clock, SystemClock
from bot.kernel.errors import PermanentError
from config.schema import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None: all that is needed stands in the settings."""


def run(args: argparse.Namespace) -> int:
    """0: logged in. Raises `OpenExecutiveError` with the reason if not."""
    path = asyncio.run(login(settings(args).settings, SystemClock(), lambda text: print(printable(text), flush=True)))
    print(f"Logged in. The login is kept in {path} and renewed there; whoever can read that file can read the mail.")
    return 0


async def login(settings: Settings, clock: Clock, say: Callable[[str], None]) -> Path:
    """Go through the device code flow and store the login; returns where. Raises `OpenExecutiveError`."""
    email = settings.channels.email
    parts = (("imap", email.imap), ("relay", email.relay))
    users = [f"channels.email.{name}" for name, part in parts if part.auth == "oauth"]
    if not users:
        raise PermanentError(
            'nothing logs in by token: set auth = "oauth" in channels.email.imap or channels.email.relay first'
        )
    _folder_is_ours(settings.data_dir)
    oauth: Any = import_module("channels.email.oauth")
    device = await oauth.begin(email.oauth)
    minutes = max(1, device.expires_in // timedelta(minutes=1))
    say(f"For {' and '.join(users)}: open this address in a browser within {minutes} minutes,")
    say(f"\n    {device.url}\n\nlog in as the account that the executive shall use, and type the code")
    say(f"\n    {device.code}\n")
    say("Waiting for you to finish there (Ctrl-C gives up) ...")
    grant = await oauth.finish(email.oauth, device, clock)
    path: Path = oauth.token_file(settings.data_dir)
    await asyncio.to_thread(oauth.save, path, grant)
    if grant.refresh_token is None:
        say(
            "The provider gave no right to renew this login (is offline_access missing in channels.email.oauth.scope?)."
        )
        say("It will end in about an hour.")
    return path


def _folder_is_ours(folder: Path) -> None:
    """The daemon must be able to read what is stored there, and nobody else."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = folder.stat().st_uid
    except OSError as error:
        raise PermanentError(f"{folder} cannot be used: {error.strerror}") from error
    if owner != os.geteuid():
        raise PermanentError(f"{folder} belongs to user {owner}: run this as that user")
