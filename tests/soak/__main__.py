"""`python -m tests.soak --minutes 5 --messages 10000 [--kill] [--seed 1]`, and `--write-docs` for the document."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.soak import report
from tests.soak.run import Soak


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description="The whole daemon in bad weather.")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long people write")
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1, help="the same choices again (not the same timing)")
    parser.add_argument("--kill", action="store_true", help="kill the daemon now and then, too")
    parser.add_argument("--keep", type=Path, default=None, help="a new folder for the daemon's data, to be looked at")
    parser.add_argument("--write-docs", action="store_true", help="fill docs/reliability.md from the last runs, only")
    asked = parser.parse_args()
    if asked.write_docs:
        print("filled: " + (", ".join(report.write_docs()) or f"nothing, {report.KEPT} holds no numbers"))
        return 0

    def say(line: str) -> None:
        print(f"\r{line:<70}", end="", file=sys.stderr, flush=True)

    with TemporaryDirectory(prefix="oe-") as passing:
        home = asked.keep or Path(passing)
        home.mkdir(parents=True, exist_ok=True)
        soak = Soak(
            home, messages=asked.messages, seconds=60 * asked.minutes, seed=asked.seed, kill=asked.kill, say=say
        )
        result = asyncio.run(soak.run())
    found = report.as_json(result, messages=asked.messages, minutes=asked.minutes, seed=asked.seed)
    print(f"\n{report.printed(found)}")
    report.KEPT.mkdir(exist_ok=True)
    (report.SOAK_KILL if asked.kill else report.SOAK).write_text(json.dumps(found, indent=1), encoding="utf-8")
    for name, tally in found["channels"].items():
        for what in ("untaken", "lost", "doubled"):
            if tally[what]:
                print(f"{name}: {what}: {tally[what]}")
    sound = result.verdict.sound and result.errands.sound
    print("sound" if sound else "NOT SOUND")
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
