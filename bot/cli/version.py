"""`openexecutive version`."""

from __future__ import annotations

import argparse
from importlib.metadata import version


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(args: argparse.Namespace) -> int:
    print(version("openexecutive"))
    return 0
