"""`openexecutive run`: the daemon, until SIGTERM or SIGINT, or until the terminal that it was started in is closed."""

from __future__ import annotations

import argparse
import asyncio
import gc
import signal
import sys

from bot.cli import common

WRONG = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--accept", action="store_true", help="take over a roster that deactivates many people or the last principal"
    )
    parser.add_argument(
        "--link",
        action="store_true",
        help="print a link that opens the console, signed in as who speaks at this terminal",
    )


def run(args: argparse.Namespace) -> int:
    """0 stopped cleanly, 1 failed, 2 settings that must not be taken as they are."""
    loaded = common.settings(args)
    for warning in loaded.warnings:
        print(f"openexecutive: warning: {warning}", file=sys.stderr)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # with nohup it is ignored, and stays so
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    gc.disable()  # imports and the building of rooms make little garbage and much to look through; `live` turns it on
    from bot import app
    from bot.people.model import RosterError
    from config.charters import charters
    from config.faults import SettingsError

    try:
        charters(loaded.settings)  # before anything is opened: files that the settings name
        return asyncio.run(app.run(loaded, accept=args.accept, greet=_greet if args.link else None))
    except RosterError as error:
        print(f"openexecutive: {error.message}", file=sys.stderr)
        return WRONG
    except SettingsError as error:
        print(f"openexecutive: {error}", file=sys.stderr)
        return WRONG


def _greet(link: str) -> None:
    """To the terminal, not to the log: whoever has the link is let in."""
    print(
        f"\n  Open the console: {link}\n  (it holds once, for ten minutes; `openexecutive console` makes another)\n",
        flush=True,
    )
