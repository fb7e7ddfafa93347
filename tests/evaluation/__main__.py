"""`python -m tests.evaluation`: measures of quality, on standard output. Without a choice, all of them."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from bot.retrieval.use3 import one_thread

with one_thread():  # as the daemon does: numpy reads it when it is loaded
    from tests.evaluation import recall, retrieval
    from tests.evaluation.lives import run as lives


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation", description="Measures of quality.")
    parser.add_argument("--knowledge", action="store_true", help="retrieval over the built-in notes")
    parser.add_argument("--recall", action="store_true", help="search of turns and claims over public conversations")
    parser.add_argument("--lives", action="store_true", help="checkpointed lives of a memory")
    parser.add_argument("--data", help=f"the folder of the conversations (else {recall.ENVIRONMENT})")
    parser.add_argument("--json", help="also write the figures of --recall and --lives there, as JSON lines")
    parser.add_argument("--both", action="store_true", help="also measure --recall with MiniLM beside the embedder")
    parser.add_argument("--no-timing", action="store_true", help="leave out the 100,000 claims of --recall")
    args = parser.parse_args()
    everything = not (args.knowledge or args.recall or args.lives)
    if args.json:
        Path(args.json).write_text("", encoding="utf-8")
    code = 0
    if args.knowledge or everything:
        code |= asyncio.run(retrieval.main())
    if args.recall or everything:
        missing = recall.run(args.data, args.json, both=args.both, timing=not args.no_timing)
        code |= missing if args.recall else 0  # without the conversations the rest is measured all the same
    if args.lives or everything:
        code |= lives.main(args.json)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
