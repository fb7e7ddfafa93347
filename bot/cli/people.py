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
    deactivate.add_argument("--to", metavar="PERSON", help="who takes over their open initiatives and schedules")
    edit = actions.add_parser("edit", help="change a person who does not stand in the settings")
    edit.add_argument("id", help="of the person")
    edit.add_argument("--name")
    edit.add_argument("--role", choices=("principal", "member", "guest"))
    edit.add_argument("--departments", metavar="A,B", help="all of them; '' for none")
    unlink = actions.add_parser("unlink", help="take back that an account is a person's; signs them out everywhere")
    unlink.add_argument("id", help="of the person")
    unlink.add_argument("account", help="as `people list` shows it: CHANNEL:ADDRESS")
    erase = actions.add_parser("erase", help="erase what is held of somebody who has left; without --yes: how much")
    erase.add_argument("id", help="of the person")
    erase.add_argument("--company-too", action="store_true", help="also what the company sees of what they said")
    erase.add_argument("--yes", action="store_true", help="do it: it cannot be undone")


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
            handed = ask(args, "people.deactivate", id=args.id, to=args.to).get("handed_over")
            print("deactivated")
            if isinstance(handed, dict):
                print(_handed(handed, args.to))
        case "erase":
            print(_erased(args))
        case "edit":
            departments = None if args.departments is None else [each for each in args.departments.split(",") if each]
            person = ask(args, "people.edit", id=args.id, name=args.name, role=args.role, departments=departments)
            _print([_person(person["person"])], "")  # type: ignore[arg-type]
        case "unlink":
            channel, _, address = args.account.partition(":")
            person = ask(args, "people.unlink", id=args.id, channel=channel, address=address)
            _print([_person(person["person"])], "")  # type: ignore[arg-type]
    return 0


def _erased(args: argparse.Namespace) -> str:
    if not args.yes:
        held = ask(args, "erase.look", id=args.id)["held"]
        return f"would be erased: {_counts(held)}. With --yes it is."
    answer = ask(args, "erase.begin", id=args.id, company_too=args.company_too)
    when = "when the daemon runs again" if answer["later"] else "now, in the background"
    receipt = "`openexecutive audit show --type erasure_done`"
    return f"is erased {when}: {_counts(answer['held'])}. Then there is a receipt: {receipt}."


def _counts(held: object) -> str:
    assert isinstance(held, dict)  # noqa: S101 - for the type checker
    named = {"memories": "memories of theirs", "company": "memories that the company sees (only with --company-too)"}
    return ", ".join(f"{count} {named.get(name, name)}" for name, count in held.items() if count) or "nothing"


def _handed(counts: Answer, to: str) -> str:
    told = f"{to} takes over {counts['initiatives']} initiatives, and {counts['schedules']} schedules that rest for now"
    hidden = counts["hidden"]
    return f"{told}; {hidden} initiatives stay, told where {to} was not" if hidden else told


def _person(person: Answer) -> str:
    handles = person.get("handles")
    accounts = ", ".join(handles) if isinstance(handles, list) and handles else "no accounts"
    state = "" if person.get("active") else " (deactivated)"
    return f"{person['id']:<24} {person['role']:<9} {person['name']}{state}: {accounts}"


def _request(request: Answer) -> str:
    return f"{request['id']} {request['asked_at']} {request['channel']}:{request['address']} shown as {request['name']}"


def _print(lines: list[str], none: str) -> None:
    print(printable("\n".join(lines)) if lines else none)
