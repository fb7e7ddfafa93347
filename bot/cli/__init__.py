"""The command line: `openexecutive <command>`, one module per command.

A module offers `add_arguments(parser)` and `run(args) -> int` and is imported only when its command was chosen, so that
help and the light commands do not wait for the daemon's libraries. `common` holds what several commands do alike
(settings, asking the daemon or the store). Exit codes: 0 done, 1 failed, 2 settings or arguments wrong. Only this room
may import `bot.app`; nothing imports this room.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from bot.cli.examples import epilog
from bot.kernel.errors import OpenExecutiveError

COMMANDS = {
    "run": "run the daemon",
    "chat": "talk to the executive in this terminal",
    "console": "open the pages of the executive in a browser",
    "init": "write a settings file by asking",
    "doctor": "check every part that is configured",
    "status": "what the running daemon is doing",
    "pair": "link a chat account to a person",
    "mail": "log in at the mail provider",
    "people": "who may speak to the executive",
    "company": "what the executive knows of the company itself",
    "knowledge": "the company's documents",
    "rooms": "which rooms there are and who reads in them",
    "audit": "read and check what was recorded",
    "sessions": "which conversations there are; deleting one",
    "memory": "what the executive remembers, and putting it right",
    "ledger": "what waits for a yes, and what came of it",
    "schedule": "what comes at which time, and stopping it",
    "token": "tokens with which programs act as a person",
    "backup": "make a backup, or see which there are",
    "restore": "put a backup into an empty folder",
    "held": "what waits for a look since a backup was restored",
    "export": "all that is held about one person",
    "tasks": "work in the background: what is queued, failed or dead",
    "explain": "the exact prompt of a turn, and where each part of it came from",
    "usage": "what was spent on the model",
    "version": "which version this is",
}
OK, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130


class _Parser(argparse.ArgumentParser):
    """`alone`: nothing follows the command's name; then what is missing is said with the whole help."""

    alone = False

    def error(self, message: str) -> NoReturn:
        if not self.alone:
            super().error(message)
        self.print_help(sys.stderr)
        self.exit(WRONG, f"\n{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. Wrong arguments end in SystemExit(2), as argparse does it."""
    _open_standard_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _Parser(prog="openexecutive", description="One AI executive for a company.")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings file (default: ./openexecutive.toml)")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    chosen = _chosen(arguments)
    module = import_module(f"bot.cli.{chosen}") if chosen is not None else None
    for name, summary in COMMANDS.items():
        below = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=epilog(name),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if module is not None and name == chosen:
            below.alone = arguments[-1] == name
            module.add_arguments(below)
    args = parser.parse_args(arguments)
    if module is None:
        parser.print_help()
        return WRONG
    try:
        code: int = module.run(args)
        sys.stdout.flush()
    except OpenExecutiveError as error:
        print(f"openexecutive: {error.message}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has had enough; the interpreter must not stumble over it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"openexecutive: what was to be written could not be: {error.strerror}", file=sys.stderr)
        return FAILED
    return code


def _open_standard_streams() -> None:
    """A caller may have closed them: nothing else may get their numbers (what prints would write into a database), and
    nothing has to ask whether they are there."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for the whole life


def _chosen(arguments: Sequence[str]) -> str | None:
    """The command among the arguments: the first word that is no option and no option's value."""
    words = iter(arguments)
    for word in words:
        if word == "--config":
            next(words, None)
        elif not word.startswith("-"):
            return word if word in COMMANDS else None
    return None
