"""`openexecutive held`: what waits for a look since a backup was restored."""

from __future__ import annotations

import argparse
import json

from bot.cli.common import ask, printable, rows

_WAITS = {"out": "to be sent", "in": "to be answered", "proposal": "proposal, not to be done before a look"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listed = actions.add_parser("list", help="what waited to be sent or answered when the backup was made")
    listed.add_argument("--json", action="store_true", help="as one JSON object")
    release = actions.add_parser("release", help="have it sent or answered after all")
    release.add_argument("ids", nargs="*", metavar="ID", help="which")
    release.add_argument("--all", action="store_true", dest="everything", help="all of it")


def run(args: argparse.Namespace) -> int:
    if args.action == "release":
        answer = ask(args, "held.release", ids=args.ids, everything=args.everything)
        when = "when the daemon runs again" if answer["later"] else "now"
        counts = f"{answer['out']} to be sent, {answer['in']} to be answered, {answer['proposals']} proposals go on"
        print(f"{when}: {counts}")
        return 0
    answer = ask(args, "held.list")
    found = rows(answer, "held")
    if args.json:
        print(json.dumps({"held": found}, ensure_ascii=False))
        return 0
    for one in found:
        where = f"{one['channel']}: " if one["channel"] else ""
        print(printable(f"{one['id']}  {str(one['at'])[:16]}  {where}{_WAITS[str(one['way'])]} ({one['kind']})"))
    if not found:
        print("nothing is held")
    return 0
