"""`openexecutive knowledge`: the company's documents: bring, look at, find, decide, remove."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from bot.cli.common import Answer, ask, follow, printable, rows, settings
from bot.cli.files import stored
from bot.kernel.errors import PermanentError

_BAR = 24
_ENDINGS = frozenset(
    {
        ".pdf",
        ".docx",
        ".docm",
        ".xlsx",
        ".xlsm",
        ".pptx",
        ".pptm",
        ".csv",
        ".tsv",
        ".md",
        ".txt",
        ".html",
        ".htm",
        ".eml",
    }
)
"""What is taken of a folder; a file that is named is tried whatever it is called."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="take files, or the files of folders, in")
    add.add_argument("paths", nargs="+", type=Path, metavar="FILE")
    add.add_argument("--audience", default="company", help="public, company or department:NAME (default: company)")
    add.add_argument("--domain", help="strategy, finance, people, legal, operations, marketing, product or board")
    add.add_argument("--department", action="append", default=[], help="whom it concerns; may be given again")
    add.add_argument("--yes", action="store_true", help="also let it replace the document of its name that serves now")
    listed = actions.add_parser("list", help="documents, newest first")
    listed.add_argument("--all", action="store_true", help="also rejected, replaced and unreadable ones")
    listed.add_argument("--built-in", action="store_true", help="also the notes that come with the program")
    show = actions.add_parser("show", help="a document and its sections")
    show.add_argument("id")
    search = actions.add_parser("search", help="find passages")
    search.add_argument("query", nargs="+")
    search.add_argument("--domain", help="of one domain only")
    search.add_argument("--department", help="of what concerns one department only")
    search.add_argument("--limit", type=int, default=8, metavar="N", help="how many (default: 8)")
    approve = actions.add_parser("approve", help="let a document be found")
    approve.add_argument("id")
    reject = actions.add_parser("reject", help="say no to a document, or take an approved one back")
    reject.add_argument("id")
    reject.add_argument("--reason", help="for the record")
    remove = actions.add_parser("remove", help="delete a document and all that was made of it")
    remove.add_argument("id")
    actions.add_parser("reindex", help="make the index anew")


def run(args: argparse.Namespace) -> int:
    match args.action:
        case "add":
            return _add(args)
        case "list":
            documents = rows(ask(args, "knowledge.list", all=args.all, built_in=args.built_in), "documents")
            print("\n".join(printable(_line(document)) for document in documents) or "no documents")
        case "show":
            _show(ask(args, "knowledge.show", id=args.id))
        case "search":
            _found(
                ask(
                    args,
                    "knowledge.search",
                    query=" ".join(args.query),
                    domain=args.domain,
                    department=args.department,
                    limit=args.limit,
                )
            )
        case "approve":
            print(printable(_line(_document(ask(args, "knowledge.approve", id=args.id)))))
        case "reject":
            print(printable(_line(_document(ask(args, "knowledge.reject", id=args.id, reason=args.reason)))))
        case "remove":
            answer = ask(args, "knowledge.remove", id=args.id)
            rest = "" if answer.get("erased") else "; its last bytes leave the files within moments"
            print(printable(f"removed: {_document(answer)['name']}{rest}"))
        case "reindex":
            answer = follow(args, "knowledge.reindex", _Bar("").step)
            _Bar.end()
            print(f"{answer['embedded']} of {answer['items']} passages have vectors of {answer['model']}")
    return 0


def _add(args: argparse.Namespace) -> int:
    loaded = settings(args)
    if not loaded.settings.data_dir.is_dir():
        raise PermanentError(f"there is nothing in {loaded.settings.data_dir} yet: start it with `openexecutive run`")
    files = [file for path in args.paths for file in _files(path)]
    failed = 0
    for file in files:
        blob = asyncio.run(stored(loaded.settings.data_dir, file, loaded.settings.knowledge.max_file)).id
        answer = follow(
            args,
            "knowledge.add",
            _Bar(file.name).step,
            blob=blob,
            name=file.name,
            audience=args.audience,
            domain=args.domain,
            departments=args.department,
            yes=args.yes,
        )
        _Bar.end()
        document = _document(answer)
        print(printable(_line(document)))
        if document["status"] == "failed":
            failed += 1
            print(printable(f"    {document['note']}"))
        elif document["status"] == "pending":
            print(f"    waits for a yes: openexecutive knowledge approve {document['id']}")
    return 1 if failed else 0


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if each.is_file() and each.suffix.lower() in _ENDINGS)
    if not path.is_file():
        raise PermanentError(f"{path} is no file")
    return [path]


class _Bar:
    """How far it is, on a terminal only."""

    def __init__(self, name: str) -> None:
        self._name = name

    def step(self, answer: Answer) -> None:
        if not sys.stderr.isatty() or "step" not in answer:
            return
        done, of = int(str(answer["done"])), max(1, int(str(answer["of"])))
        full = _BAR * min(done, of) // of
        bar = f"[{'#' * full}{'.' * (_BAR - full)}] {done}/{of}" if of > 1 else "…"
        print(f"\r\x1b[K{printable(self._name)[:40]} {answer['step']} {bar}", end="", file=sys.stderr, flush=True)

    @staticmethod
    def end() -> None:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _document(answer: Answer) -> Answer:
    document = answer["document"]
    assert isinstance(document, dict)  # noqa: S101 - for the type checker
    return document


def _line(document: Answer) -> str:
    pages = f", {document['pages']} pages" if document.get("pages") else ""
    return (
        f"{document['id']} {document['status']:<9} {document['audience']:<10} {document['name']} "
        f"(version {document['version']}{pages}, {document['chunks']} passages)"
    )


def _show(answer: Answer) -> None:
    document = _document(answer)
    lines = [_line(document)]
    for name in ("title", "domain", "departments", "media_type", "uploader", "dated", "decided_by", "note", "reason"):
        if value := document.get(name):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            lines.append(f"    {name.replace('_', ' ')}: {shown}")
    for section in rows(answer, "sections"):
        page = f" (page {section['page']})" if section.get("page") else ""
        lines.append(f"    {section['id']} {section['heading'] or '–'}{page}")
    print(printable("\n".join(lines)))


def _found(answer: Answer) -> None:
    found = rows(answer, "found")
    for stub in found:
        place = f": {stub['where']}" if stub["where"] else ""
        print(printable(f"{stub['section']} {stub['source']}{place} ({stub['dated']})\n    {stub['snippet']}"))
    if not found:
        print("nothing was found")
    if not answer.get("vectors"):
        print(printable(f"Found by words alone: the index of meanings does not serve now ({answer.get('reason')})."))
