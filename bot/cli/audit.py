"""`openexecutive audit`: check the chain, read what was recorded. What people said is shown of one session, for a
reason that is recorded."""

from __future__ import annotations

import argparse
import json

from bot.cli.audit_words import lines
from bot.cli.common import ask, operate, printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    verify = actions.add_parser("verify", help="recompute every hash; exit code 1 if the chain does not hold")
    verify.add_argument("--head", type=_head, metavar="ROW:HASH", help="a head noted earlier (the log has it)")
    show = actions.add_parser("show", help="the newest entries, or all of a session")
    show.add_argument("session", nargs="?", help="id of a session")
    show.add_argument("--last", type=int, default=50, metavar="N", help="how many, without a session (default: 50)")
    show.add_argument("--type", help="entries of one type only")
    show.add_argument("--reason", help="why you read what was said; it is recorded. Without one, texts are withheld")
    show.add_argument("--json", action="store_true", help="one JSON object per line, with every field")


def run(args: argparse.Namespace) -> int:
    return _verify(args) if args.action == "verify" else _show(args)


def _head(text: str) -> tuple[int, str]:
    row, _, digest = text.partition(":")
    if not row.isdigit() or not digest:
        raise argparse.ArgumentTypeError("the number of a row, a colon and its hash")
    return int(row), digest


def _verify(args: argparse.Namespace) -> int:
    row, digest = args.head or (None, None)
    answer = ask(args, "audit.verify", row=row, hash=digest)
    broken = answer.get("broken")
    if isinstance(broken, list) and broken:
        print("\n".join(str(line) for line in broken))
        print(f"The chain does not hold: {len(broken)} faults in {answer['rows']} rows.")
        return 1
    head = answer["head"]
    assert isinstance(head, dict)  # noqa: S101 - for the type checker
    print(
        f"sound: {answer['rows']} rows, {answer['erased']} texts erased on purpose, head {head['row']}:{head['hash']}"
    )
    return 0


def _show(args: argparse.Namespace) -> int:
    *entries, last = operate(
        args, "audit.show", session=args.session, last=args.last, type=args.type, reason=args.reason
    )
    shown = [entry for answer in entries if isinstance(entry := answer["entry"], dict)]
    told = [json.dumps(entry, ensure_ascii=False) for entry in shown] if args.json else lines(shown)
    for line in told:
        print(line if args.json else printable(line))
    if not entries and not args.json:
        print("no entries")
    if args.session and not last.get("texts") and not args.json:
        print("Texts are withheld: say with --reason why you read them.")
    return 0
