"""`openexecutive status`: what the running daemon says of itself. Exit code 1 if none runs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from datetime import timedelta

from bot.cli.common import Answer, printable, rows, settings, socket_of
from bot.control.client import call

QUICK_WITHIN = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as one JSON object")
    parser.add_argument("--quick", action="store_true", help="one line, within five seconds; for health checks")


def run(args: argparse.Namespace) -> int:
    path = socket_of(settings(args))
    answer = call(path, "status", timeout=QUICK_WITHIN) if args.quick else call(path, "status")
    if args.json:
        print(json.dumps({key: value for key, value in answer.items() if key != "ok"}, ensure_ascii=False))
    elif args.quick:
        print(printable(answer.get("status", "running")))
    else:
        print(printable("\n".join(lines(answer))))
    return 0


def lines(answer: Answer) -> list[str]:
    """The status in words."""
    uptime = answer.get("uptime_seconds")
    up = f", up for {timedelta(seconds=uptime)}" if isinstance(uptime, int) else ""
    found = [
        f"openexecutive {answer.get('version', '')}{up}, boot {answer.get('boot', '')}: {answer.get('status', '')}"
    ]
    found.append(f"store     {_word(_part(answer, 'store'))}")
    model = _part(answer, "model")
    found.append(f"model     {model.get('provider', '')}, {_word(model)}")
    channels = _part(answer, "channels")
    for name in channels:
        channel = _part(channels, name)
        where = f" at {channel['where']}" if channel.get("where") else ""
        found.append(
            f"{name:<9} receives{where}"
            if channel.get("receiving")
            else f"{name:<9} does not receive: {channel.get('reason')}"
        )
    if knowledge := _part(answer, "knowledge"):
        found.append(f"documents {_counts(_part(knowledge, 'documents'))}; {_meaning(_part(knowledge, 'vectors'))}")
    found.append(f"came in   {_counts(_part(answer, 'inbox_last_day'))} (ended ones: of the last day)")
    found.append(f"to send   {_counts(_part(answer, 'outbox'))}")
    found.append(f"tasks     {_counts(_part(answer, 'tasks'))}")
    trouble = _part(answer, "tasks_in_trouble")
    for kind in trouble:
        found.append(f"          {kind}: {_counts(_part(trouble, kind))} (see `openexecutive tasks list`)")
    for row in rows(answer, "parked"):
        found.append(
            f"parked    {row.get('way')} {row.get('channel')} {row.get('id')} {row.get('at')}: {row.get('reason')}"
        )
    return found


def _part(answer: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = answer.get(key)
    return found if isinstance(found, Mapping) else {}


def _word(part: Mapping[str, object]) -> str:
    return "ok" if part.get("ok") else f"not available: {part.get('reason') or 'no reason is known'}"


def _meaning(vectors: Mapping[str, object]) -> str:
    how_many = f"{vectors.get('embedded')} of {vectors.get('items')} passages"
    match vectors.get("state"):
        case "serving":
            return f"search by meaning serves ({how_many})"
        case "cold":
            return f"search by meaning is loaded when it is needed ({how_many})"
        case _:
            return f"search by words only, {vectors.get('reason')} ({how_many})"


def _counts(counts: Mapping[str, object]) -> str:
    return ", ".join(f"{number} {state}" for state, number in sorted(counts.items())) or "nothing"
