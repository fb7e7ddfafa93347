"""`python -m tests.evaluation`: measures of quality, on standard output."""

from __future__ import annotations

import argparse
import asyncio

from tests.evaluation import recall, retrieval


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation", description="Measures of quality.")
    parser.add_argument("--knowledge", action="store_true", help="retrieval over the built-in notes")
    parser.add_argument("--recall", action="store_true", help="search of turns and claims over public conversations")
    parser.add_argument("--data", help=f"the folder of the conversations (else {recall.ENVIRONMENT})")
    parser.add_argument("--json", help="also write the figures of --recall there, as JSON lines")
    parser.add_argument("--both", action="store_true", help="also measure --recall with MiniLM beside the embedder")
    parser.add_argument("--no-timing", action="store_true", help="leave out the 100,000 claims of --recall")
    args = parser.parse_args()
    code = 0
    if args.knowledge or not args.recall:
        code |= asyncio.run(retrieval.main())
    if args.recall:
        code |= recall.run(args.data, args.json, both=args.both, timing=not args.no_timing)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
