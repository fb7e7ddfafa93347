"""`openexecutive usage`: what was spent on the model, and what may be spent."""

from __future__ import annotations

import argparse
import json

from bot.cli.common import Answer, ask, printable, rows, settings

MICROS = 1_000_000
FIGURES = ("calls", "input", "output", "cache_read", "cache_written")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--by", choices=("day", "model", "person", "purpose"), default="day", help="how it is summed up (default: day)"
    )
    parser.add_argument("--days", type=int, default=31, metavar="N", help="the last N days (default: 31)")
    parser.add_argument("--json", action="store_true", help="as one JSON object")


def run(args: argparse.Namespace) -> int:
    answer = ask(args, "usage", by=args.by, days=args.days)
    if args.json:
        print(json.dumps({key: value for key, value in answer.items() if key != "ok"}, ensure_ascii=False))
        return 0
    lines = rows(answer, "lines")
    print(f"since {answer['since']}, in US dollars by the prices in the settings")
    print(f"{args.by:<28} {'calls':>7} {'read':>12} {'written':>10} {'cache read':>12} {'cache new':>12} {'USD':>10}")
    for line in lines:
        print(_line(line))
    total = {name: sum(_number(line, name) for line in lines) for name in (*FIGURES, "micros")}
    print(_line({"key": "total", **total}))
    budget = settings(args).settings.budget
    optional = {
        "one conversation a day": budget.session,
        "everybody a month": budget.company_month,
        "one person a month": budget.person_month,
    }
    limits = {
        "everybody a day": budget.company,
        "one person a day": budget.person,
        "scheduled work a day": budget.scheduled,
        **{name: most for name, most in optional.items() if most is not None},
    }
    print("limits: " + "; ".join(f"{name} {most:g} USD" for name, most in limits.items()))
    return 0


def _line(line: Answer) -> str:
    key = printable(line.get("name") or line["key"] or "(nobody)")
    calls, *tokens = (_number(line, name) for name in FIGURES)
    read, written, cached, new = tokens
    dollars = _number(line, "micros") / MICROS
    return f"{key:<28.28} {calls:>7} {read:>12,} {written:>10,} {cached:>12,} {new:>12,} {dollars:>10.4f}"


def _number(line: Answer, name: str) -> int:
    value = line[name]
    return value if isinstance(value, int) else 0
