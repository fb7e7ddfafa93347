"""`openexecutive tasks`: work that is done in the background, what became of it, trying it again, dropping it."""

from __future__ import annotations

import argparse
import json

from bot.cli.common import Answer, ask, printable, rows

STATES = ("queued", "running", "failed", "done", "done_empty", "dead")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listed = actions.add_parser("list", help="the newest tasks")
    listed.add_argument("--last", type=int, default=50, metavar="N", help="how many (default: 50)")
    listed.add_argument("--state", choices=STATES, help="in one state only; dead: a person must look")
    listed.add_argument("--kind", help="of one kind only, like memory.extract")
    listed.add_argument("--json", action="store_true", help="as one JSON object")
    show = actions.add_parser("show", help="one task, with its last error")
    show.add_argument("task", help="its id")
    show.add_argument("--json", action="store_true", help="as one JSON object")
    retry = actions.add_parser("retry", help="try a dead task again")
    retry.add_argument("task", help="its id")
    drop = actions.add_parser("drop", help="take a task that waits, failed or died out of the queue")
    drop.add_argument("task", help="its id")
    drop.add_argument("--reason", required=True, help="why; it is recorded")


def run(args: argparse.Namespace) -> int:
    match args.action:
        case "list":
            return _list(args)
        case "show":
            return _show(args)
        case "retry":
            ask(args, "tasks.retry", task=args.task)
            print("it is tried again")
        case _:
            ask(args, "tasks.drop", task=args.task, reason=args.reason)
            print("dropped")
    return 0


def _list(args: argparse.Namespace) -> int:
    answer = ask(args, "tasks.list", last=args.last, state=args.state, kind=args.kind)
    if args.json:
        print(json.dumps({key: value for key, value in answer.items() if key != "ok"}, ensure_ascii=False))
        return 0
    found = rows(answer, "tasks")
    for one in found:
        print(printable(_line(one)))
    if not found:
        print("no tasks")
    return 0


def _show(args: argparse.Namespace) -> int:
    answer = ask(args, "tasks.show", task=args.task)
    one = answer["task"]
    assert isinstance(one, dict)  # noqa: S101 - for the type checker
    if args.json:
        print(json.dumps(one, ensure_ascii=False))
        return 0
    for name, value in one.items():
        shown = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
        if shown is not None:
            print(printable(f"{name:<10} {shown}"))
    return 0


def _line(one: Answer) -> str:
    when = one["ended_at"] or one["run_at"]
    error = f": {one['error']}" if one["error"] else ""
    state = f"{one['state']:<10} {one['kind']} {one['key']}"
    return f"{one['id']}  {str(when)[:16]}  {state}, attempt {one['attempts']}{error}"
