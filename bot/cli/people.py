"""`openexecutive people`: the roster, requests to be let in, and taking an entry away."""

from __future__ import annotations

import argparse

from bot.cli.common import Answer, ask, printable, rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("list", help="everyone, with their accounts")
    actions.add_parser("requests", help="strangers who asked to be let in")
    accept = actions.add_parser("accept", help="let somebody in")
    accept.add_argument("id", help="of the request")
    accept.add_argument("--role", choices=("principal", "member", "guest"), default="member")
    decline = actions.add_parser("decline", help="do not let somebody in")
    decline.add_argument("id", help="of the request")
    deactivate = actions.add_parser("deactivate", help="take a person's entry away, at once")
    deactivate.add_argument("id", help="of the person")


def run(args: argparse.Namespace) -> int:
    match args.action:
        case "list":
            people = rows(ask(args, "people.list"), "people")
            _print([_person(person) for person in people], "nobody")
        case "requests":
            requests = rows(ask(args, "people.requests"), "requests")
            _print([_request(request) for request in requests], "no open requests")
        case "accept":
            person = ask(args, "people.accept", id=args.id, role=args.role)["person"]
            assert isinstance(person, dict)  # noqa: S101 - for the type checker
            _print([_person(person)], "")
        case "decline":
            ask(args, "people.decline", id=args.id)
            print("declined")
        case "deactivate":
            ask(args, "people.deactivate", id=args.id)
            print("deactivated")
    return 0


def _person(person: Answer) -> str:
    handles = person.get("handles")
    accounts = ", ".join(handles) if isinstance(handles, list) and handles else "no accounts"
    state = "" if person.get("active") else " (deactivated)"
    return f"{person['id']:<24} {person['role']:<9} {person['name']}{state}: {accounts}"


def _request(request: Answer) -> str:
    return f"{request['id']} {request['asked_at']} {request['channel']}:{request['address']} shown as {request['name']}"


def _print(lines: list[str], none: str) -> None:
    print(printable("\n".join(lines)) if lines else none)
