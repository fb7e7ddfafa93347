"""`openexecutive console`: open the console in this machine's browser, signed in as who speaks at its terminal."""

from __future__ import annotations

import argparse
import webbrowser

from bot.cli.common import settings, socket_of
from bot.control.client import call


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--person", metavar="ID", help="sign in as this person, not as who speaks at this terminal")
    parser.add_argument("--print", action="store_true", help="only print the link; it holds once, for ten minutes")


def run(args: argparse.Namespace) -> int:
    link = str(call(socket_of(settings(args)), "console.link", person=args.person)["link"])
    print(link)
    if not args.print and not webbrowser.open(link):
        print("No browser could be opened here: open the link yourself.")
    return 0
