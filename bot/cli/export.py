"""`openexecutive export`: all that is held about one person, for them."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.cli.common import Answer, follow, printable
from bot.kernel.errors import PermanentError

TITLES = {
    "person": "Who they are here",
    "accounts": "Accounts",
    "rooms": "Rooms and conversations",
    "messages": "What they wrote",
    "memories": "What is remembered of them",
    "documents": "Documents that they sent or decided about",
    "usage": "What their questions cost",
    "audit": "What the audit tells of them",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("person", help="their id, as `openexecutive people` shows it")
    parser.add_argument("--format", choices=("md", "json"), default="md", help="(default: md)")
    parser.add_argument("--to", type=Path, metavar="FILE", help="write it there (default: print it)")
    parser.add_argument("--reason", help="why; it is recorded")


def run(args: argparse.Namespace) -> int:
    found: dict[str, list[Mapping[str, Any]]] = {name: [] for name in TITLES}

    def seen(answer: Answer) -> None:
        section, part = answer.get("section"), answer.get("part")
        if isinstance(section, str) and isinstance(part, dict):
            found[section].append(part)

    follow(args, "export", seen, person=args.person, reason=args.reason)
    text = as_markdown(found) if args.format == "md" else json.dumps(found, ensure_ascii=False, indent=1)
    if args.to is None:
        print(printable(text))
        return 0
    try:
        with open(os.open(args.to, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(text + "\n")
    except FileExistsError as error:
        raise PermanentError(f"{args.to} is there already: name another file") from error
    except OSError as error:
        raise PermanentError(f"{args.to} cannot be written: {error.strerror}") from error
    print(f"{args.to}: {', '.join(f'{len(parts)} {name}' for name, parts in found.items() if parts)}")
    return 0


def as_markdown(found: Mapping[str, list[Mapping[str, Any]]]) -> str:
    """A document of sections; texts stand as quotes, so that nothing in them is taken for a part of it."""
    lines: list[str] = []
    for name, title in TITLES.items():
        lines += [f"# {title}", ""]
        for part in found[name]:
            lines += [*_part(part), ""]
        if not found[name]:
            lines += ["Nothing.", ""]
    return "\n".join(lines).rstrip()


def _part(part: Mapping[str, Any], depth: int = 0) -> list[str]:
    indent = "  " * depth
    lines = []
    for key, value in part.items():
        if value in (None, [], ""):
            continue
        if isinstance(value, list) and all(isinstance(each, dict) for each in value):
            lines.append(f"{indent}- {key}:")
            for each in value:
                lines += _part(each, depth + 1)
                lines.append("")
        elif isinstance(value, str) and ("\n" in value or len(value) > 60):
            lines.append(f"{indent}- {key}:")
            lines += [f"{indent}  > {line}" for line in value.splitlines()]
        else:
            told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            lines.append(f"{indent}- {key}: {told}")
    return lines
