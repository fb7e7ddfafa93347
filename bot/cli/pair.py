"""`openexecutive pair`: a code by which a person claims a chat account, confirmed here by its immutable id."""

from __future__ import annotations

import argparse
from pathlib import Path

from bot.cli.common import Answer, printable, settings, socket_of
from bot.control.client import call


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("person", nargs="?", help="id of the person (default: the first principal)")


def run(args: argparse.Namespace) -> int:
    """0 linked, 1 not."""
    path = socket_of(settings(args))
    made = call(path, "pair.make", **({"person": args.person} if args.person else {}))
    person = made["person"]
    assert isinstance(person, dict)  # noqa: S101 - for the type checker
    print(printable(f"For {person['name']} ({person['role']}). Within ten minutes, send the executive this code"))
    print("in a direct message, from the account that is to be linked (never in a group: others would read it):")
    print(f"\n    {made['code']}\n")
    print("Waiting for it … (Ctrl-C gives up, and the code is void then.)", flush=True)
    try:
        claim = call(path, "pair.wait", timeout=None, code_id=made["code_id"])
        linked = claim["state"] == "claimed" and _confirmed(claim, str(person["name"]))
    except (KeyboardInterrupt, EOFError):
        _say_no(path, made)
        print("\nNothing was linked.")
        return 1
    match claim["state"]:
        case "claimed" if linked:
            call(path, "pair.confirm", code_id=made["code_id"], yes=True)
            print(printable(f"{claim['channel']} account {claim['address']} now belongs to {person['name']}."))
            return 0
        case "claimed":
            _say_no(path, made)
            print("Nothing was linked.")
        case "burned":
            print("The code was sent where others can read it and is void. Make a new one, and send it directly.")
        case _:
            print("The code's time is up. Make a new one.")
    return 1


def _confirmed(claim: Answer, name: str) -> bool:
    print(printable(f"Claimed by {claim['channel']} account {claim['address']}, which is shown as “{claim['name']}”."))
    return input(printable(f"Is this {name}? Shown names prove nothing; check the id. [y/N] ")).strip().lower() in (
        "y",
        "yes",
    )


def _say_no(path: Path, made: Answer) -> None:
    call(path, "pair.confirm", code_id=made["code_id"], yes=False)
