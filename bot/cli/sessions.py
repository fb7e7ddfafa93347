"""`openexecutive sessions`: which conversations there are, and deleting one with everything derived from it."""

from __future__ import annotations

import argparse
import json

from bot.cli.common import Answer, ask, printable, rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listed = actions.add_parser("list", help="the conversations in which something happened last")
    listed.add_argument("--last", type=int, default=50, metavar="N", help="how many (default: 50)")
    listed.add_argument("--channel", help="of one channel only")
    listed.add_argument("--json", action="store_true", help="as one JSON object")
    delete = actions.add_parser("delete", help="delete a conversation with all that was derived from it")
    delete.add_argument("session", help="its id")
    delete.add_argument("--reason", required=True, help="why; it is recorded")
    delete.add_argument(
        "--documents", action="store_true", help="also documents that were sent in it and approved since"
    )
    delete.add_argument("--only-summary", action="store_true", help="only the summary of its older part")
    unsend = actions.add_parser("unsend", help="delete on the platforms what a forgotten memory was told in")
    unsend.add_argument("receipt", help="its id, which the receipt names")


def run(args: argparse.Namespace) -> int:
    match args.action:
        case "list":
            return _list(args)
        case "unsend":
            return _unsend(args)
        case _:
            return _delete(args)


def _unsend(args: argparse.Namespace) -> int:
    answer = ask(args, "sessions.unsend", receipt=args.receipt)
    when = "when the daemon runs again" if answer["later"] else "now"
    print(
        f"{answer['count']} messages are deleted on their platforms {when}; what a platform refuses shows in `status`"
    )
    return 0


def _list(args: argparse.Namespace) -> int:
    answer = ask(args, "sessions.list", last=args.last, channel=args.channel)
    if args.json:
        print(json.dumps({key: value for key, value in answer.items() if key != "ok"}, ensure_ascii=False))
        return 0
    found = rows(answer, "sessions")
    for one in found:
        print(printable(_line(one)))
    if not found:
        print("no sessions")
    return 0


def _line(one: Answer) -> str:
    summary = ", summarised" if one["summarised"] else ""
    return (
        f"{one['id']}  {str(one['newest'])[:16]}  {one['place']} ({one['kind']}, {one['audience']}): "
        f"{one['turns']} turns, {one['messages']} messages{summary}"
    )


def _delete(args: argparse.Namespace) -> int:
    chosen = {"documents": args.documents or None, "only_summary": args.only_summary or None}
    answer = ask(args, "sessions.delete", session=args.session, reason=args.reason, **chosen)
    counts = answer["counts"]
    assert isinstance(counts, dict)  # noqa: S101 - for the type checker
    gone = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)
    print(f"deleted: {gone or 'nothing was left of it'}")
    when = "when the daemon runs again" if answer["later"] else "now, in the background"
    print(
        f"Nobody finds anything of it any more. Its bytes leave the files {when}; then there is a receipt: "
        "`openexecutive audit show --type erasure_done`."
    )
    return 0
