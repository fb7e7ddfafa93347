"""`openexecutive company`: what the executive knows of the company itself, field by field or as one file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bot.cli.common import Answer, ask, printable, rows
from bot.kernel.errors import PermanentError

_LARGEST = 200_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="the profile as it stands in prompts")
    show.add_argument("--public", action="store_true", help="as people from outside may be told")
    show.add_argument("--history", metavar="FIELD", help="every version of one field")
    put = actions.add_parser("set", help="set a field")
    put.add_argument("field")
    put.add_argument(
        "lines", nargs="*", metavar="TEXT", help="one text, or several for a list (none: change who sees it)"
    )
    put.add_argument("--audience", choices=("public", "company"), help="who may be told (default: as it was)")
    unset = actions.add_parser("unset", help="take a field away")
    unset.add_argument("field")
    take = actions.add_parser("import", help="take over a file as `export` writes it")
    take.add_argument("file", help="- reads standard input")
    take.add_argument("--replace", action="store_true", help="take away the fields that the file has not")
    give = actions.add_parser("export", help="write the profile into a file")
    give.add_argument("file", nargs="?", default="-", help="- writes to standard output")


def run(args: argparse.Namespace) -> int:
    match args.action:
        case "show" if args.history:
            for each in rows(ask(args, "company.show", history=args.history), "fields"):
                print(printable(_version(each)))
        case "show":
            print(printable(ask(args, "company.show", public=args.public)["block"]), end="")
        case "set":
            _say(ask(args, "company.set", field=args.field, lines=args.lines, audience=args.audience))
        case "unset":
            _say(ask(args, "company.unset", field=args.field))
        case "import":
            _say(ask(args, "company.import", text=_read(args.file), replace=args.replace))
        case "export":
            _write(args.file, str(ask(args, "company.export")["text"]))
    return 0


def _version(each: Answer) -> str:
    lines = each["lines"]
    text = " | ".join(map(str, lines)) if isinstance(lines, list) else ""
    return f"{each['version']}  {each['changed_at']}  {each['changed_by']}  ({each['audience']}) {text}"


def _say(answer: Answer) -> None:
    changed = answer["changed"]
    names = ", ".join(map(str, changed)) if isinstance(changed, list) else ""
    print(f"changed: {names}" if names else "nothing to change")


def _read(name: str) -> str:
    try:
        raw = sys.stdin.buffer.read(_LARGEST + 1) if name == "-" else _head(Path(name))
    except OSError as error:
        raise PermanentError(f"{name} cannot be read: {error.strerror or error}") from error
    if len(raw) > _LARGEST:
        raise PermanentError(f"{name} is larger than {_LARGEST} bytes")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PermanentError(f"{name} is not UTF-8") from error


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(_LARGEST + 1)


def _write(name: str, text: str) -> None:
    if name == "-":
        sys.stdout.write(text)
        return
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise PermanentError(f"{name} cannot be written: {error.strerror or error}") from error
