"""`openexecutive explain`: the exact prompt of a turn, block by block, with sizes and where each came from."""

from __future__ import annotations

import argparse
import json

from bot.cli.common import Answer, operate, printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", help="id of a session (`openexecutive sessions list`)")
    parser.add_argument("--turn", type=int, metavar="N", help="which turn of it, from 1 (default: the newest)")
    parser.add_argument("--reason", help="why you read what was said; it is recorded. Without one, texts are withheld")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")


def run(args: argparse.Namespace) -> int:
    *parts, last = operate(args, "explain", session=args.session, turn=args.turn, reason=args.reason)
    if args.json:
        for part in (*parts, last):
            print(json.dumps(part, ensure_ascii=False))
        return 0
    print(f"turn {last['number']} of {last['count']} ({last['turn']})")
    for part in parts:
        for kind, shown in part.items():
            print(_KINDS[kind](shown) if isinstance(shown, dict) else printable(shown))
    if not parts:
        print("No request of this turn is kept: it asked nothing of a model, or it is too long ago.")
    if not last.get("texts"):
        print("\nTexts are withheld: say with --reason why you read them.")
    return 0


def _request(shown: Answer) -> str:
    exact = "exactly as it was sent" if shown["exact"] else "as it was sent, but for what is marked"
    return (
        f"\n=== request {shown['number']} ({shown['purpose']}) at {shown['at']}: {shown['model']}, {exact}\n"
        f"=== about {shown['tokens']:,} tokens; the answer may take {shown['max_tokens']:,}"
        + (", thinking included" if shown["thinking"] else "")
    )


def _block(shown: Answer) -> str:
    notes = [f"about {shown['tokens']:,} tokens", str(shown["origin"])]
    notes += [str(shown["cache"])] if shown["cache"] else []
    notes += [] if shown["whole"] else ["not byte for byte"]
    return printable(f"\n--- {shown['place']} | " + " | ".join(notes))


_KINDS = {"request": _request, "block": _block}
