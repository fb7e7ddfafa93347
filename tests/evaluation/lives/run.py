"""Running all lives on all systems, and the table of what came of it."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import bot
from tests.evaluation.lives.generate import life
from tests.evaluation.lives.product import product
from tests.evaluation.lives.score import Tally
from tests.evaluation.lives.script import Life
from tests.evaluation.lives.systems import AppendOnly, LastN, Nothing, live
from tests.evaluation.lives.written import LIVES
from tests.evaluation.measures import percentile

SEEDS = range(1, 11)
DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "evaluation.md"
BEGIN, END = "<!-- lives: begin -->", "<!-- lives: end -->"
PRODUCT = "openexecutive"


@dataclass(frozen=True, slots=True)
class Figure:
    system: str
    measure: str
    value: float


def all_lives(seeds: Sequence[int] = SEEDS) -> list[Life]:
    return [*LIVES, *map(life, seeds)]


def import_tables() -> None:
    for module in sorted(Path(bot.__path__[0]).glob("*/tables.py")):
        importlib.import_module(f"bot.{module.parent.name}.tables")


async def measure(lives: Sequence[Life], *, tell: bool = False) -> list[Figure]:
    import_tables()
    tallies: dict[str, Tally] = {}
    for one in lives:
        for make in (Nothing, LastN, AppendOnly):
            system = make()
            tallies.setdefault(system.name, Tally()).add(await live(one, system))
        begun = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            async with product(Path(folder)) as own:
                tally = await live(one, own)
        tallies.setdefault(PRODUCT, Tally()).add(tally)
        if tell:
            figures = tally.figures()
            told = ", ".join(f"{name} {figures[name]:.2f}" for name in ("current recall", "stale", "invented", "score"))
            print(f"{one.name}: {told} ({time.perf_counter() - begun:.1f} s)", file=sys.stderr, flush=True)
    found = [
        Figure(system, name, value) for system, tally in tallies.items() for name, value in tally.figures().items()
    ]
    lags = tallies[PRODUCT].lags
    found.append(Figure(PRODUCT, "write to readable, p50 ms", 1000 * percentile(lags, 0.5)))
    found.append(Figure(PRODUCT, "write to readable, p95 ms", 1000 * percentile(lags, 0.95)))
    return found


def table(figures: Sequence[Figure]) -> str:
    systems = list(dict.fromkeys(each.system for each in figures))
    measures = list(dict.fromkeys(each.measure for each in figures))
    value = {(each.system, each.measure): each.value for each in figures}
    lines = [f"| Measure | {' | '.join(systems)} |", f"|---|{'---|' * len(systems)}"]
    for name in measures:
        cells = [f"{value[system, name]:.3g}" if (system, name) in value else "" for system in systems]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(out: str | None) -> int:
    """Measure, print, write the document's table and JSON lines. 1 if something of the last kind was seen: a leak, or
    what was forgotten."""
    lives = all_lives()
    figures = asyncio.run(measure(lives, tell=True))
    print(table(figures))
    write(f"{_ABOUT.format(lives=len(lives), checkpoints=sum(each.checkpoints for each in lives))}\n{table(figures)}")
    own = {each.measure: each.value for each in figures if each.system == PRODUCT}
    if out:
        with Path(out).open("a", encoding="utf-8") as file:
            for measure_, value in own.items():
                file.write(json.dumps({"measure": measure_, "set": "lives", "value": value}) + "\n")
    return 1 if own["scope leaks"] or own["forgotten but visible"] else 0


def write(block: str) -> None:
    """Put the block into the document, in the place of the one that is there."""
    text = DOCUMENT.read_text(encoding="utf-8")
    if BEGIN not in text:
        text = f"{text.rstrip()}\n\n{BEGIN}\n{END}\n"
    before, rest = text.split(BEGIN, 1)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{block}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")


_ABOUT = """## Lives of a memory

{lives} lives with {checkpoints} checkpoints, five written by hand and the others made from seeds
(`tests/evaluation/lives`), told to the daemon's own rooms in plain words: intake, turns, extraction by rules without a
language model, the index, people's corrections, the erasing of what is forgotten. Measured by `python -m
tests.evaluation --lives`. At each checkpoint the block that stands before the model is compared with a table of what is
true, by exact match; for what was forgotten, every other reader and all text of the database too. *Last messages* and
*append only* are what simple memories do. A system that tells less than half of what is current has no score. Times are
of the whole path from an answered turn to its being found, extraction included, without the two seconds that a turn is
left to settle. The rules of extraction were last extended with these sentences in view, so that part flatters; on 88
sentences that they were not written for (`tests/extraction/labelled.py`) their precision is 1.0 and recall 0.98.
"""
