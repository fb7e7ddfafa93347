"""`openexecutive schedule`: what comes when, and stopping it. One speaks as the person of this machine's terminal."""

from __future__ import annotations

import argparse
import json

from bot.cli.common import Answer, ask, printable, rows

ACTS = {"pause": "paused", "resume": "it goes on", "remove": "removed", "undo": "taken back", "run": "it fires now"}
HELP = {
    "pause": "let one rest",
    "resume": "let a paused one go on",
    "remove": "remove one",
    "undo": "take back that one was made or removed",
    "run": "let one fire now, besides its own times",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listed = actions.add_parser("list", help="active and paused ones, the next to fire first")
    listed.add_argument("--everybody", action="store_true", help="those of all people (principals)")
    listed.add_argument("--json", action="store_true", help="as one JSON object")
    show = actions.add_parser("show", help="one with its next dates and what it did lately")
    show.add_argument("schedule", help="its name")
    show.add_argument("--json", action="store_true", help="as one JSON object")
    add = actions.add_parser("add", help="make one in words")
    add.add_argument("sentence", nargs="+", help="like: remind me tomorrow at 9 to call Ben")
    for name, summary in HELP.items():
        actions.add_parser(name, help=summary).add_argument("schedule", help="its name")
    stop = actions.add_parser("stop", help="let none fire any more; chat goes on")
    stop.add_argument("--reason", required=True, help="why; it is recorded")
    actions.add_parser("start", help="let them fire again")
    actions.add_parser("today", help="what waits for you, what is due, what happened, what is next")


def run(args: argparse.Namespace) -> int:
    match args.action:
        case "list":
            return _list(args)
        case "show":
            return _show(args)
        case "add":
            print(printable(ask(args, "schedule.add", sentence=" ".join(args.sentence))["told"]))
        case "stop":
            ask(args, "schedule.stop", reason=args.reason)
            print("no schedule fires any more: `openexecutive schedule start` lets them")
        case "start":
            ask(args, "schedule.start")
            print("schedules fire again")
        case "today":
            print(printable(ask(args, "today")["told"]))
        case _:
            done = ask(args, "schedule.act", schedule=args.schedule, act=args.action)["schedule"]
            assert isinstance(done, dict)  # noqa: S101 - for the type checker
            print(printable(f"{ACTS[args.action]}: {_line(done)}"))
    return 0


def _list(args: argparse.Namespace) -> int:
    answer = ask(args, "schedule.list", everybody=args.everybody)
    if args.json:
        print(json.dumps({key: value for key, value in answer.items() if key != "ok"}, ensure_ascii=False))
        return 0
    stopped = answer["stopped"]
    if isinstance(stopped, dict):
        print(printable(f"nothing fires since {str(stopped['at'])[:16]} UTC: {stopped['because']}"))
    found = rows(answer, "schedules")
    for one in found:
        print(printable(_line(one)))
    if not found:
        print("nothing is scheduled")
    for one in rows(answer, "upkeep"):
        print(printable(f"{one['kind']}: {one['title']}; next {str(one['next'])[:16]} UTC ({one['name']})"))
    return 0


def _show(args: argparse.Namespace) -> int:
    one = ask(args, "schedule.show", schedule=args.schedule)["schedule"]
    assert isinstance(one, dict)  # noqa: S101 - for the type checker
    if args.json:
        print(json.dumps(one, ensure_ascii=False))
        return 0
    for name, value in one.items():
        if name not in ("history", "next") and value is not None:
            print(printable(f"{name:<15} {value}"))
    for at in one["next"]:
        print(printable(f"{'next':<15} {at}"))
    for each in one["history"]:
        note = f": {each['note']}" if each["note"] else ""
        print(printable(f"{str(each['at'])[:19]}  run {each['run']}, delivery {each['delivery']}{note}"))
    return 0


def _line(one: Answer) -> str:
    following = one["next"]
    at = f"; next {following[0]}" if isinstance(following, list) and following else ""
    state = f" ({one['state']})" if one["state"] != "active" else ""
    return f"{one['name']}  {one['kind']}: {one['title']} – {one['when']}{at}{state}, {one['owner']}"
