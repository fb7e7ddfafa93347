"""`python -m tests.bench [--all | --channels telegram,discord,slack] [--quick]`: see the package. Ends with 1 if an aim
was not met."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shlex
import sys
from pathlib import Path

from tests.bench import measure, report
from tests.bench.crowds import CROWDS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="The daemon against a plain bot.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: for looking at one's own changes")
    parser.add_argument("--json", type=Path, default=None, help="write the figures to this file too")
    parser.add_argument("--daemon", default=None, help="command that starts the daemon")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--channels", default="telegram", help=f"of {', '.join(CROWDS)}, with commas")
    which.add_argument("--all", action="store_true", help="all channels")
    options = parser.parse_args()
    channels = list(CROWDS) if options.all else options.channels.split(",")
    if unknown := set(channels) - set(CROWDS):
        parser.error(f"no such channel: {', '.join(sorted(unknown))}")
    command = (
        shlex.split(options.daemon) if options.daemon else [str(Path(sys.executable).with_name("openexecutive")), "run"]
    )
    load = os.getloadavg()[0]
    print(
        f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f} at start"
    )
    figures = asyncio.run(
        measure.run(
            command,
            measure.QUICK if options.quick else measure.FULL,
            lambda text: print(text, flush=True),
            channels,
        )
    )
    print(f"\n{report.table(figures)}")
    if options.json is not None:
        options.json.write_text(json.dumps({"load": load, "figures": report.as_json(figures)}, indent=1) + "\n")
    return 0 if all(each.met is not False for each in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
