"""`python -m tests.evaluation`: measures of quality, as JSON lines on standard output."""

from __future__ import annotations

import argparse
import asyncio

from tests.evaluation import retrieval


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation", description="Measures of quality.")
    parser.add_argument("--knowledge", action="store_true", help="retrieval over the built-in notes")
    args = parser.parse_args()
    code = 0
    if args.knowledge or not any(vars(args).values()):
        code |= asyncio.run(retrieval.main())
    return code


if __name__ == "__main__":
    raise SystemExit(main())
