"""`openexecutive rooms list`: the rooms the executive is in, and who reads there."""

from __future__ import annotations

import argparse

from bot.cli.common import ask, printable, rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("list", help="every room, with its audience and the reason for it")


def run(args: argparse.Namespace) -> int:
    found = rows(ask(args, "rooms"), "rooms")
    for room in found:
        print(printable(f"{room['audience']:<9} {room['key']} {room['title']}: {room['because']}"))
    if not found:
        print("no rooms yet")
    return 0
