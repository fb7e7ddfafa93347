"""`openexecutive memory`: what the executive remembers, and putting it right."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from bot.cli.common import Answer, ask, follow, printable, rows, settings
from bot.kernel import days
from bot.kernel.errors import PermanentError

KINDS = ("decision", "initiative", "advice", "fact", "preference")
STATUSES = ("pending", "active", "disputed", "superseded", "retracted")
CHANGES = {
    "promote": "let the whole company see it",
    "demote": "take it back from the company",
    "retract": "take it back",
    "restore": "let it stand again",
    "accept": "say yes: to what waits, to a wish, or to one side of a dispute",
    "reject": "say no to what waits, or to a wish",
    "keep": "go on believing what its writer deleted",
    "dispute": "mark it as disputed",
}
WHY_READ = "why you read what was told in private; it is recorded, and whoever told it hears of it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listed = actions.add_parser("list", help="the newest ones")
    _filters(listed)
    listed.add_argument("--pending", action="store_true", help="what waits for a yes or no")
    as_of = actions.add_parser("as-of", help="what was known on a day")
    as_of.add_argument("known", metavar="DATE", help="a day (its end), or an instant with its zone")
    as_of.add_argument("--true", metavar="DATE", help="and was true in the world at that time")
    _filters(as_of)
    for name, words in (("show", "everything about one"), ("history", "who changed it, when and why")):
        one = actions.add_parser(name, help=words)
        one.add_argument("id", help="its id, or the end of it")
        one.add_argument("--reason", help=WHY_READ)
        one.add_argument("--json", action="store_true", help="as one JSON object")
    edit = _change(actions.add_parser("edit", help="put it right"))
    edit.add_argument("--statement", help="what it should say")
    edit.add_argument("--work", choices=("proposed", "active", "blocked", "completed", "dropped"))
    edit.add_argument("--owner", metavar="PERSON", help='id of a person; "" for nobody')
    edit.add_argument("--due", metavar="DATE", help='a day; "" for none')
    for name, words in CHANGES.items():
        _change(actions.add_parser(name, help=words))
    forget = _change(actions.add_parser("forget", help="erase it with the words that it rests on"))
    forget.add_argument("--yes", action="store_true", help="do it; without, it is only told what would go")
    undo = actions.add_parser("undo", help="take back everything that one message brought")
    undo.add_argument("message", help="id of the message, as `memory show` tells it")
    undo.add_argument("--reason", required=True, help="why; it is recorded")
    export = actions.add_parser("export", help="all of them, one JSON object a line")
    export.add_argument("--reason", help=WHY_READ)
    actions.add_parser("reindex", help="make the index of memories anew")
    verify = actions.add_parser("verify", help="whether it holds together")
    verify.add_argument("--json", action="store_true", help="as one JSON object")


def _filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", help="words that stand in the statement")
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--status", action="append", choices=STATUSES)
    parser.add_argument("--department")
    parser.add_argument("--domain")
    parser.add_argument("--speaker", metavar="PERSON", help="id of who said it")
    parser.add_argument("--since", metavar="DATE", help="said on this day or later")
    parser.add_argument("--until", metavar="DATE", help="said on this day or earlier")
    parser.add_argument("--last", type=int, default=50, metavar="N", help="how many (default: 50)")
    parser.add_argument("--reason", help=WHY_READ)
    parser.add_argument("--json", action="store_true", help="as one JSON object")


def _change(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("id", help="its id, or the end of it")
    parser.add_argument("--reason", required=True, help="why; it is kept with it")
    parser.add_argument("--version", type=int, metavar="N", help="only if it is still at this version")
    return parser


def run(args: argparse.Namespace) -> int:
    match args.action:
        case "list" | "as-of":
            return _list(args)
        case "show" | "history":
            return _show(args)
        case "edit":
            return _edit(args)
        case "forget":
            return _forget(args)
        case "undo":
            return _undo(args)
        case "export":
            return _export(args)
        case "reindex":
            counts = ask(args, "memory.reindex")["counts"]
            print(f"done: {_counts(counts)}")
            return 0
        case "verify":
            return _verify(args)
        case _:
            answer = ask(args, f"memory.{args.action}", id=args.id, reason=args.reason, version=args.version)
            _print([answer["memory"]])
            return 0


def _list(args: argparse.Namespace) -> int:
    zone = settings(args).settings.company.time_zone
    as_of = args.action == "as-of"
    answer = ask(
        args,
        "memory.list",
        kind=args.kind,
        status=args.status,
        department=args.department,
        domain=args.domain,
        speaker=args.speaker,
        since=_instant(args.since, zone, days.begins),
        until=_instant(args.until, zone, days.follows),
        known=_instant(args.known, zone, days.ends) if as_of else None,
        true=_instant(args.true, zone, days.ends) if as_of else None,
        words=args.words or None,
        pending=(None if as_of else args.pending) or None,
        last=args.last,
        reason=args.reason,
    )
    found = rows(answer, "memories")
    if args.json:
        print(json.dumps({"memories": found}, ensure_ascii=False))
    else:
        _print(found)
        _hint(found)
    return 0


def _instant(text: str | None, zone: str, of_day: Callable[[date, str], datetime]) -> str | None:
    """`of_day`: which instant of a day is meant; days are the company's."""
    if text is None:
        return None
    try:
        if "T" in text or " " in text:
            at = datetime.fromisoformat(text)
            return (at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone))).astimezone(UTC).isoformat()
        return of_day(date.fromisoformat(text), zone).isoformat()
    except (ValueError, OverflowError) as error:
        raise PermanentError(f"{text!r} is no date: write 2026-03-01, or 2026-03-01T12:00") from error


def _show(args: argparse.Namespace) -> int:
    memory = ask(args, f"memory.{args.action}", id=args.id, reason=args.reason)["memory"]
    assert isinstance(memory, dict)  # noqa: S101 - for the type checker
    if args.json:
        print(json.dumps({"memory": memory}, ensure_ascii=False))
        return 0
    _print([memory])
    if args.action == "show":
        for name in _FIELDS:
            if memory.get(name) not in (None, [], ""):
                print(printable(f"  {name.replace('_', ' ')}: {_plain(memory[name])}"))
        for each in rows(memory, "evidence"):
            print(printable(f"  {each['speaker']} said {str(each['at'])[:16]} ({each['message']}): “{each['quote']}”"))
        for each in rows(memory, "answers"):
            print(f"  stood behind an answer {str(each['at'])[:16]} in {each['session']}, turn {each['turn']}")
    for each in rows(memory, "events"):
        reason = f": {each['reason']}" if each["reason"] else ""
        print(printable(f"  {each['version']:>3}  {str(each['at'])[:16]}  {each['op']} by {each['actor']}{reason}"))
        before, after = each.get("before"), each.get("after")
        if isinstance(before, dict) and isinstance(after, dict):
            for name in after:
                print(printable(f"         {name}: {_plain(before.get(name))} -> {_plain(after[name])}"))
    _hint([memory])
    return 0


def _edit(args: argparse.Namespace) -> int:
    chosen = {"statement": args.statement, "work": args.work, "owner": args.owner, "due": args.due}
    answer = ask(args, "memory.edit", id=args.id, reason=args.reason, version=args.version, **chosen)
    _print([answer["memory"]])
    return 0


def _forget(args: argparse.Namespace) -> int:
    answer = ask(args, "memory.forget", id=args.id, reason=args.reason, version=args.version, yes=args.yes or None)
    if not args.yes:
        _print([answer["memory"]])
        print(
            f"what would go, or is touched: {_counts(answer['would_vanish'])}. --yes does it; it cannot be taken back."
        )
        return 0
    print(f"forgotten: {_counts(answer['vanished'])}")
    print(
        "Nobody is shown any of it any more. Its bytes leave the files in the background, or when the daemon runs "
        "again; then there is a receipt: `openexecutive audit show --type erasure_done`."
    )
    return 0


def _undo(args: argparse.Namespace) -> int:
    answer = ask(args, "memory.undo", message=args.message, reason=args.reason)
    for name in ("retracted", "marked"):
        found = rows(answer, name)
        print(f"{name}: {len(found)}")
        if found:
            _print(found)
    return 0


def _export(args: argparse.Namespace) -> int:
    def seen(answer: Answer) -> None:
        if "memory" in answer:
            print(json.dumps(answer["memory"], ensure_ascii=False))

    last = follow(args, "memory.export", seen, reason=args.reason)
    print(f"{last['count']} memories", file=sys.stderr)
    return 0


def _verify(args: argparse.Namespace) -> int:
    answer = {name: value for name, value in ask(args, "memory.verify").items() if name != "ok"}
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
        return 0 if answer["sound"] else 1
    print(f"{answer['claims']} memories: {'all is well' if answer['sound'] else 'something is wrong'}")
    for name, words in _FAULTS.items():
        found = answer[name]
        if isinstance(found, list) and found:
            print(f"  {words}: {len(found)} ({', '.join(map(str, found[:10]))}{' …' if len(found) > 10 else ''})")
    index = answer["index"]
    if isinstance(index, dict) and any(index.values()):
        print(f"  the index differs from the store in: {_counts(index)}")
    return 0 if answer["sound"] else 1


_FAULTS = {
    "orphans": "neither words nor a person behind them",
    "stray": "words are kept of what is not there",
    "unfounded": "the message does not say so (any more), and no mark says that it was changed",
    "gaps": "a version without its event",
    "talkative": "forgotten, and the history still tells of it",
}
_FIELDS = (
    *("rationale", "outcome", "subject", "domain", "department", "held", "source", "support", "trust", "work"),
    *(
        "owner",
        "owner_name",
        "due",
        "valid_from",
        "valid_to",
        "visibility",
        "promotion_by",
        "replaced_by",
        "author",
        "session",
    ),
    *("version", "id"),
)


def _print(found: Sequence[object]) -> None:
    lines = [_line(each) for each in found if isinstance(each, dict)]
    print(printable("\n".join(lines)) if lines else "nothing")


def _line(one: Answer) -> str:
    marks = [str(one["status"])] if one["status"] != "active" else []
    marks += [str(one["work"])] if one["work"] else []
    marks += [f"source {one['source']}"] if one["source"] != "fresh" else []
    marks += ["company"] if one["visibility"] == "company" else []
    marks += [f"{one['promotion_by']} wants it promoted"] if one["promotion_by"] else []
    after = f"  ({', '.join(marks)})" if marks else ""
    head = f"{one['handle']}  {str(one['said_at'])[:10]}  {one['kind']:<10}  {one['speaker_name']!s:<14.14}"
    return f"{head}  {' '.join(str(one['statement']).split())}{after}"


def _hint(found: Sequence[Answer]) -> None:
    hidden = sum(1 for each in found if each["withheld"])
    if hidden:
        print(f"\n{hidden} were told in private: say with --reason why you read them.")


def _counts(counts: object) -> str:
    told = [f"{name.replace('_', ' ')}: {count}" for name, count in counts.items()] if isinstance(counts, dict) else []
    return ", ".join(told) or "nothing"


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
