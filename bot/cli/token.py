"""`openexecutive token`: tokens with which programs act as a person by the API."""

from __future__ import annotations

import argparse
import json

from bot.cli.common import Answer, ask, printable, rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="make a token; it is printed once and kept nowhere")
    create.add_argument("person", help="id of the person as whom it acts (`openexecutive people list`)")
    create.add_argument("--days", type=int, default=30, metavar="N", help="how long it holds (default: 30)")
    create.add_argument("--name", default="", help="what it is for")
    listed = actions.add_parser("list", help="all tokens, without what lets anybody in")
    listed.add_argument("--json", action="store_true", help="as one JSON object")
    revoke = actions.add_parser("revoke", help="let a token hold no longer, at once")
    revoke.add_argument("id", help="of the token")


def run(args: argparse.Namespace) -> int:
    match args.action:
        case "create":
            answer = ask(args, "tokens.make", person=args.person, days=args.days, name=args.name or None)
            print(answer["secret"])
        case "list":
            found = rows(ask(args, "tokens.list"), "tokens")
            if args.json:
                print(json.dumps({"tokens": found}, ensure_ascii=False))
            else:
                print(printable("\n".join(_line(each) for each in found)) if found else "no tokens")
        case "revoke":
            ask(args, "tokens.revoke", id=args.id)
            print("revoked")
    return 0


def _line(one: Answer) -> str:
    used = f"used {str(one['used_at'])[:16]}" if one["used_at"] else "never used"
    name = f" “{one['name']}”" if one["name"] else ""
    return f"{one['id']}  {one['person']:<20} {one['state']:<8} until {str(one['expires_at'])[:10]}  {used}{name}"
