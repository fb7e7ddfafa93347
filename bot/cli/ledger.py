"""`openexecutive ledger`: what waits for a yes, what came of it, and how reliable it was. It needs the daemon."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import cast

from bot.cli.common import Answer, ask, printable, rows
from bot.kernel.errors import PermanentError

OPEN = ("proposed",)
STATES = (
    "proposed", "approved_unchanged", "approved_with_edit", "auto_approved", "rejected", "auto_no_response",
    "withdrawn", "executing", "executed", "failed", "reversed",
)  # fmt: skip
RATES = ("unchanged", "edited", "rejected", "no_response", "reversed", "failed", "undelivered")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listed = actions.add_parser("list", help="what waits for a decision")
    listed.add_argument("--all", action="store_true", help="also what was decided")
    listed.add_argument("--state", action="append", choices=STATES, help="only in this state; may be given again")
    listed.add_argument("--last", type=int, default=50, metavar="N", help="how many (default: 50)")
    listed.add_argument("--json", action="store_true", help="as one JSON object")
    show = _about(actions.add_parser("show", help="one proposal, whole"))
    show.add_argument("--json", action="store_true", help="as one JSON object")
    approve = _about(actions.add_parser("approve", help="have it done, exactly as it is shown"))
    _content(approve)
    reject = _about(actions.add_parser("reject", help="have it not done"))
    _content(reject)
    edit = _about(actions.add_parser("edit", help="have it done with another text"))
    edit.add_argument("--text", help="the whole new text; when left out, standard input")
    edit.add_argument("--file", type=Path, help="a file with the new text")
    _content(edit)
    _about(actions.add_parser("withdraw", help="it is no longer wanted"))
    resolve = _about(actions.add_parser("resolve", help="say whether an uncertain one has happened"))
    resolve.add_argument("--happened", choices=("yes", "no"), required=True, help="after you looked")
    reverse = _about(actions.add_parser("reverse", help="take back what was done"))
    reverse.add_argument("--severity", choices=("minor", "serious", "grave"), required=True, help="how bad it was")
    reverse.add_argument("--reason", required=True, help="why; it is recorded")
    mode = actions.add_parser("mode", help="whether a class asks each time or acts by itself")
    mode.add_argument("name", help="the class, like send_message")
    mode.add_argument("mode", choices=("propose", "auto_execute"))
    mode.add_argument("--reason", required=True, help="why; it is recorded")
    card = actions.add_parser("card", help="how reliable a class was")
    card.add_argument("name", help="the class, like send_email")
    card.add_argument("--json", action="store_true", help="as one JSON object")


def _about(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("proposal", help="its id, or the last six characters")
    return parser


def _content(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--content", help="which content you mean, as `show` names it; when left out you are shown it and asked"
    )


def run(args: argparse.Namespace) -> int:
    match args.action:
        case "list":
            return _list(args)
        case "show":
            one = _one(args)
            print(json.dumps(one, ensure_ascii=False) if args.json else printable(whole(one)))
        case "approve" | "reject":
            content = args.content or _confirmed(args)
            answer = ask(args, "ledger.vote", proposal=args.proposal, content=content, verdict=args.action)
            print(printable(answer["told"]))
        case "edit":
            text = args.text or (args.file.read_text(encoding="utf-8") if args.file else sys.stdin.read())
            content = args.content or str(_one(args)["content"])
            answer = ask(args, "ledger.edit", proposal=args.proposal, content=content, text=text.strip())
            print(printable(answer["told"]))
        case "withdraw":
            ask(args, "ledger.withdraw", proposal=args.proposal)
            print("withdrawn")
        case "resolve":
            ask(args, "ledger.resolve", proposal=args.proposal, happened=args.happened == "yes")
            print("noted")
        case "reverse":
            return _reverse(args)
        case "mode":
            ask(args, "ledger.mode", action=args.name, mode=args.mode, reason=args.reason)
            print(f"{args.name}: {args.mode}")
        case _:
            return _card(args)
    return 0


def _list(args: argparse.Namespace) -> int:
    states = args.state or (None if args.all else list(OPEN))
    answer = ask(args, "ledger.list", state=states, last=args.last)
    found = rows(answer, "proposals")
    if args.json:
        print(json.dumps({"proposals": found}, ensure_ascii=False))
        return 0
    for one in found:
        print(printable(line(one)))
    if not found:
        print("nothing waits" if not args.all and not args.state else "no proposals")
    return 0


def _one(args: argparse.Namespace) -> Answer:
    return cast("Answer", ask(args, "ledger.show", proposal=args.proposal)["proposal"])


def _confirmed(args: argparse.Namespace) -> str:
    """Show it and ask; returns its content. Raises `PermanentError` without a yes."""
    one = _one(args)
    print(printable(whole(one)))
    if not sys.stdin.isatty():
        raise PermanentError(f"say which content you mean: --content {str(one['content'])[:12]}")
    if input(f"{args.action} this? [y/N] ").strip().lower() not in ("y", "yes"):
        raise PermanentError("nothing was decided")
    return str(one["content"])


def _reverse(args: argparse.Namespace) -> int:
    answer = ask(args, "ledger.reverse", proposal=args.proposal, severity=args.severity, reason=args.reason)
    if answer.get("refusal"):
        print(printable(f"it could not be taken back: {answer['refusal']}; that it was wanted is recorded"))
        return 1
    print("taken back")
    return 0


def _card(args: argparse.Namespace) -> int:
    answer = ask(args, "ledger.card", action=args.name)
    card = cast("dict[str, dict[str, object]]", answer["card"])
    if args.json:
        print(json.dumps({key: value for key, value in answer.items() if key != "ok"}, ensure_ascii=False))
        return 0
    print(printable(f"{args.name}, mode {answer['mode']}"))
    for name in RATES:
        rate = card[name]
        low, high = cast("list[float]", rate["between"])
        share = f"{low:.0%} to {high:.0%} with 95 % confidence" if rate["of"] else "nothing to count yet"
        print(printable(f"  {name.replace('_', ' '):<12} {rate['count']} of {rate['of']} ({share})"))
    why = answer.get("recommended")
    print(printable(f"could act by itself: {why}" if why else "nothing speaks for letting it act by itself yet"))
    return 0


def line(one: Answer) -> str:
    fields = cast("list[list[str]]", one["fields"])
    to = f" ({fields[0][1]})" if fields else ""
    yours = "  * yours" if one["yours"] else ""
    return f"{str(one['id'])[-6:]}  {str(one['made_at'])[:16]}  {one['state']:<18} {one['what']}{to}{yours}"


def whole(one: Answer) -> str:
    """All of it, as its approver has to see it."""
    lines = [f"{one['what']}  ({one['id']}, {one['state']})"]
    lines += [f"  {label}: {value}" for label, value in cast("list[list[str]]", one["fields"])]
    lines += ["", *(f"  | {each}" for each in str(one["text"]).split("\n"))] if one["text"] else []
    lines += ["", f"  why: {one['reason']}", f"  asked by: {one['asked_by'] or 'nobody'}"]
    lines += [f"  rests on: {each}" for each in cast("list[str]", one["memories"])]
    lines += [f"  and on {one['hidden_memories']} memories that you may not see"] if one["hidden_memories"] else []
    lines += ["  the conversation had read text of others: look twice"] if one["tainted"] else []
    lines += ["  two people must approve it"] if one["two_persons"] else []
    lines += ["  changed:", *(f"    {each}" for each in str(one["changed"]).split("\n"))] if one["changed"] else []
    lines += [f"  decided by: {one['decided_by']}"] if one["decided_by"] else []
    lines += ["  came back: it did not arrive"] if one["came_back"] else []
    lines += [f"  failed: {one['failure']}"] if one["failure"] and not one["came_back"] else []
    approvers = ", ".join(cast("list[str]", one["approvers"]))
    lines += [f"  may decide: {approvers}; until {str(one['expires_at'])[:16]} UTC"]
    return "\n".join([*lines, f"  content: {str(one['content'])[:12]}"])
