"""Measures retrieval over the built-in notes: full text, meaning, and both fused, by the labelled questions.

Everything runs as in the daemon: the store, the index with Chroma, and `bot.knowledge.search`. A question's answer is
the list of notes in the order in which their first passage stands.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

import sqlalchemy as sa

from bot.audit.recorder import Recorder
from bot.kernel.clock import SystemClock
from bot.kernel.ids import ChunkId
from bot.kernel.logs import Redactor
from bot.kernel.scope import OperatorScope
from bot.kernel.supervise import Supervisor
from bot.knowledge import passages
from bot.knowledge.builtin import BuiltIn
from bot.knowledge.search import Search
from bot.knowledge.tables import chunk, document
from bot.retrieval.embedder import Embedder, EmbedderError
from bot.retrieval.index import Index, Work
from bot.retrieval.use3 import Use3
from bot.storage.database import Database
from tests.evaluation.measures import ndcg, percentile, recall
from tests.evaluation.minilm import MiniLm

QUESTIONS = Path(__file__).with_name("corpus_questions.jsonl")
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "evaluation.md"
BEGIN, END = "<!-- retrieval: begin -->", "<!-- retrieval: end -->"
DEEP = 40

Arm = Literal["full text", "vectors", "fused"]
ARMS: tuple[Arm, ...] = ("full text", "vectors", "fused")
SETS: Mapping[str, Callable[[str], bool]] = {
    "all": lambda lang: True,
    "English": lambda lang: not lang,
    "other languages": bool,
}


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    relevant: tuple[str, ...]
    lang: str


@dataclass(frozen=True, slots=True)
class Outcome:
    question: Question
    ranked: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Figure:
    model: str
    arm: Arm
    set: str
    measure: str
    value: float


def questions() -> list[Question]:
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    return [Question(row["question"], tuple(row["relevant"]), row.get("lang", "")) for row in rows]


async def measure(embedder: Embedder) -> list[Figure]:
    """Every figure for one embedder. Raises `EmbedderError` if it cannot be loaded."""
    await asyncio.to_thread(embedder.load)
    supervisor = Supervisor()

    async def nobody(_: Work) -> None:
        return

    with tempfile.TemporaryDirectory() as folder:
        async with Database.open(Path(folder, "store.db")) as database:
            recorder = await Recorder.open(database, SystemClock(), b"k" * 32, Redactor())
            built_in = BuiltIn(database, recorder, SystemClock())
            await built_in.load()
            index = Index(
                Path(folder, "vectors"), database, embedder, passages.texts_of(database), supervisor, nobody,
                patience=timedelta(minutes=1), time_limit=timedelta(minutes=1),
            )  # fmt: skip
            await index.catch_up()
            search = Search(database, index, built_in.ready)
            notes = await database.read(_notes)
            figures: list[Figure] = []
            for arm in ARMS:
                outcomes = [await _ask(search, notes, question, arm) for question in questions()]
                figures += _figures(embedder.model, arm, outcomes)
            await index.close()
    await supervisor.stop()
    return figures


async def _ask(search: Search, notes: Mapping[ChunkId, str], question: Question, arm: Arm) -> Outcome:
    began = time.perf_counter()
    chunks = await search.ranked(OperatorScope(None), question.text, words=arm != "vectors", meaning=arm != "full text")
    seconds = time.perf_counter() - began
    return Outcome(question, tuple(dict.fromkeys(notes[chunk] for chunk in chunks)), seconds)


def _figures(model: str, arm: Arm, outcomes: Sequence[Outcome]) -> list[Figure]:
    figures = []
    for name, chosen in SETS.items():
        some = [outcome for outcome in outcomes if chosen(outcome.question.lang)]
        if not some:
            continue
        means: dict[str, list[float]] = {
            "recall@5": [recall(each.ranked, each.question.relevant, 5) for each in some],
            "recall@10": [recall(each.ranked, each.question.relevant, 10) for each in some],
            "nDCG@10": [ndcg(each.ranked, each.question.relevant, 10) for each in some],
        }
        figures += [Figure(model, arm, name, each, round(sum(v) / len(v), 3)) for each, v in means.items()]
        figures.append(
            Figure(model, arm, name, "p95 ms", round(percentile([each.seconds for each in some], 0.95) * 1000, 1))
        )
    return figures


def _notes(connection: sa.Connection) -> Mapping[ChunkId, str]:
    query = sa.select(chunk.c.id, document.c.name).join(document, document.c.id == chunk.c.document_id)
    return {ChunkId(row.id): row.name for row in connection.execute(query)}


def lines(figures: Sequence[Figure]) -> list[str]:
    """One JSON object a line."""
    return [
        json.dumps({"measure": f"{each.arm}: {each.measure}", "set": f"{each.model}, {each.set}", "value": each.value})
        for each in figures
    ]


def table(figures: Sequence[Figure]) -> str:
    """The block of `docs/evaluation.md`."""
    by = {(each.model, each.arm, each.set, each.measure): each.value for each in figures}
    measures = ("recall@5", "recall@10", "nDCG@10", "p95 ms")
    rows = ["| Model | Questions | Search | " + " | ".join(measures) + " |", "|---|---|---|" + "---|" * len(measures)]
    for model in dict.fromkeys(each.model for each in figures):
        for name in SETS:
            for arm in ARMS:
                if (model, arm, name, "recall@5") in by:
                    values = " | ".join(f"{by[model, arm, name, measure]:g}" for measure in measures)
                    rows.append(f"| {model} | {name} | {arm} | {values} |")
    return "\n".join(rows)


def failures(figures: Sequence[Figure]) -> list[str]:
    """Where the fused ranking of all questions is not better than each of its two."""
    by = {(each.model, each.arm, each.measure): each.value for each in figures if each.set == "all"}
    ships = Use3.model
    return [
        f"{measure}: fused {by[ships, 'fused', measure]}, {arm} {by[ships, arm, measure]}"
        for measure in ("recall@5", "recall@10", "nDCG@10")
        for arm in ("full text", "vectors")
        if by[ships, "fused", measure] <= by[ships, arm, measure]
    ]


def write(block: str, count: int) -> None:
    """Put the block into the document, in the place of the one that is there."""
    text = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else f"# Evaluation\n\n{BEGIN}\n{END}\n"
    if BEGIN not in text:
        text = f"{text.rstrip()}\n\n{BEGIN}\n{END}\n"
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    DOCUMENT.write_text(f"{before}{BEGIN}\n{_ABOUT.format(count=count)}\n{block}\n{END}{after}", encoding="utf-8")


_ABOUT = """## Retrieval

{count} questions in ordinary words over the built-in notes (`tests/evaluation/corpus_questions.jsonl`), each with
the one to three notes that answer it; measured by `python -m tests.evaluation --knowledge` through the same search that
the daemon uses. nDCG counts every named note as equally good. Times are of one search, the question's embedding
included, on two cores that did nothing else. The weights of the fusion were chosen on 208 of these questions, before
the others were written and some notes reworded, so its figures flatter a little.
"""


async def main() -> int:
    figures: list[Figure] = []
    for embedder in (Use3(), MiniLm()):
        try:
            figures += await measure(embedder)
        except EmbedderError as error:
            print(json.dumps({"measure": "not measured", "set": embedder.model, "value": error.message}))
    print("\n".join(lines(figures)))
    write(table(figures), len(questions()))
    wrong = failures(figures)
    for line in wrong:
        print(json.dumps({"measure": "fused is not better", "set": "all", "value": line}))
    return 1 if wrong else 0
