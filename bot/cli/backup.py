"""`openexecutive backup`: make a backup now, or see which there are."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bot.cli.common import ask, follow, printable, rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", type=Path, metavar="DIR", help="make it in another folder (default: backup.folder)")
    parser.add_argument("--list", action="store_true", help="show which there are, and until when, instead")
    parser.add_argument("--json", action="store_true", help="as one JSON object")


def run(args: argparse.Namespace) -> int:
    if args.list:
        return _list(args)
    to = str(args.to.expanduser().absolute()) if args.to else None
    made = follow(args, "backup.make", lambda _: None, to=to)
    if args.json:
        print(json.dumps({key: value for key, value in made.items() if key != "ok"}, ensure_ascii=False))
        return 0
    print(f"{printable(made['path'])}: {made['files']} files, {int(str(made['bytes'])):,} bytes")
    if not made["encrypted"]:
        print(
            "It is not encrypted, and holds the keys: keep it as safe as the data folder (backup.passphrase encrypts)."
        )
    if to is not None:
        print("Restoring it asks for erasures.jsonl beside it: the newest one is in the folder of the nightly backups.")
    if made["removed"]:
        print(f"deleted: {printable(', '.join(map(str, _list_of(made['removed']))))}")
    return 0


def _list(args: argparse.Namespace) -> int:
    answer = ask(args, "backup.list")
    if args.json:
        print(json.dumps({key: value for key, value in answer.items() if key != "ok"}, ensure_ascii=False))
        return 0
    found = rows(answer, "backups")
    for one in found:
        until = f", until {str(one['until'])[:16]}" if one["until"] else ""
        print(printable(f"{one['name']}  made {str(one['made_at'])[:16]}{until}"))
    following = answer["following"]
    print(
        printable(f"{len(found)} in {answer['folder']}; the next one: {str(following)[:16] if following else 'none'}")
    )
    return 0


def _list_of(value: object) -> list[object]:
    return value if isinstance(value, list) else []
