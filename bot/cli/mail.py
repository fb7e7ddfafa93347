"""`openexecutive mail`: what concerns the mail account."""

from __future__ import annotations

import argparse

from bot.cli import mail_login


def add_arguments(parser: argparse.ArgumentParser) -> None:
    below = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    mail_login.add_arguments(below.add_parser("login", help="log in at the mail provider in a browser (OAuth)"))


def run(args: argparse.Namespace) -> int:
    return mail_login.run(args)
