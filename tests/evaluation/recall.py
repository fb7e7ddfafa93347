"""Measures the search of turns and claims on public conversations, through the daemon's own index on a real file.

`python -m tests.evaluation --recall --data FOLDER` (or OPENEXECUTIVE_EVAL_DATA). Each conversation is a space of one
index, so no search may see another's turns and full text knows the words of all. The times of 100,000 claims need no
data: their texts are made of the words of the built-in notes, their vectors are made up; the question is embedded. On a
machine that others use, the processor's time tells more than the clock's.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import bot
from bot.kernel.supervise import Supervisor
from bot.retrieval import fulltext, fusion
from bot.retrieval.embedder import Embedder, EmbedderError
from bot.retrieval.fusion import Ranking
from bot.retrieval.recall import store
from bot.retrieval.recall.index import RecallIndex
from bot.retrieval.recall.model import Entry, Found, Kind, Question, Span, Within
from bot.retrieval.tables import recall_vector
from bot.retrieval.use3 import Use3
from bot.storage.database import Database, Tx
from tests.evaluation import conversations
from tests.evaluation.conversations import Asked, Conversation, NoDataError
from tests.evaluation.measures import percentile, recall
from tests.evaluation.minilm import MiniLm
from tests.evaluation.retrieval import questions as of_notes

ENVIRONMENT = "OPENEXECUTIVE_EVAL_DATA"
DEEP = 50
CLAIMS = 100_000
SPACES = 100
_NOW = datetime(2026, 1, 1, tzinfo=UTC)

Search = Callable[[Conversation, Asked, int], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True)
class Figure:
    measure: str
    set: str
    value: float


async def main(folder: Path | None, out: Path | None, *, both: bool = False, timing: bool = True) -> int:
    """`both`: with MiniLM beside the embedder that ships. Returns 2 if there is nothing to measure on."""
    figures: list[Figure] = []
    code = 0
    try:
        if folder is None:
            raise NoDataError(f"no folder of conversations: give --data, or set {ENVIRONMENT}")
        held = conversations.read(folder)
    except NoDataError as error:
        print(f"Not measured: {error}.")
        code = 2
    else:
        embedders: list[Sequence[Embedder]] = [(Use3(),), *([(Use3(), MiniLm())] if both else [])]
        for each in embedders:
            try:
                figures += await measure(held, each)
            except EmbedderError as error:
                print(f"Not measured with {each[-1].model}: {error.message}")
    if timing:
        figures += await times()
    print(table(figures))
    if out is not None:
        await asyncio.to_thread(_append, out, lines(figures))
    return code


async def measure(held: Sequence[Conversation], embedders: Sequence[Embedder]) -> list[Figure]:
    supervisor = Supervisor()
    name = " + ".join(each.model for each in embedders)
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        async with Database.open(Path(folder, "store.db")) as database:
            index = RecallIndex(database, embedders, supervisor, lambda tx: None, patience=timedelta(minutes=1))
            for each in held:
                entries = [_entry(each, turn) for turn in each.turns]
                await database.write(lambda tx, e=entries: index.put(tx, e))  # type: ignore[misc]
            began = time.perf_counter()
            made = await index.catch_up()
            spent = 1000 * (time.perf_counter() - began) / max(made, 1)
            figures.append(Figure("embedding, ms a turn", name, round(spent, 1)))
            ways = _ways(database, index, len(embedders) == 1)
            for way, search in ways.items():
                figures += await _measured(f"{way} ({name})", search, held)
            if not (await index.verify()).sound:
                raise AssertionError("the index is not sound")
            await index.close()
    await supervisor.stop()
    return figures


def _ways(database: Database, index: RecallIndex, with_plain: bool) -> Mapping[str, Search]:
    async def shipped(of: Conversation, asked: Asked, limit: int) -> list[str]:
        return _refs(await index.search(asked.text, _where(of), limit, at=asked.at))

    async def windows(of: Conversation, asked: Asked, limit: int) -> list[str]:
        found = await index.search(asked.text, _where(of), limit, at=asked.at, windows=True)
        return [ref for hit in found.hits for ref in (hit.ref, hit.before, hit.after) if ref is not None]

    async def words(of: Conversation, asked: Asked, limit: int) -> list[str]:
        return _refs(await index.search(asked.text, _where(of), limit, at=asked.at, meaning=False))

    async def meaning(of: Conversation, asked: Asked, limit: int) -> list[str]:
        return _refs(await index.search(asked.text, _where(of), limit, at=asked.at, words=False))

    async def plain_words(of: Conversation, asked: Asked, limit: int) -> list[str]:
        question = Question(fulltext.terms(asked.text), (), "", frozenset(), ())
        hits = await database.read(lambda c: store.by_words(c, question, _where(of), limit, seen=0), long=True)
        view = await index._view(_where(of))
        assert view is not None
        refs = {seq: ref for space, _ in view.parts for seq, ref in zip(space.seqs.tolist(), space.refs, strict=True)}
        return [refs[seq] for seq, _ in hits]

    async def plain_vectors(of: Conversation, asked: Asked, limit: int) -> list[str]:
        import numpy as np

        view = await index._view(_where(of))
        assert view is not None
        embedder = index._embedders[0]
        cosines = view.cosines(embedder.model, embedder.embed([asked.text])[0])
        return [view.ref(place) for place in np.argsort(-cosines)[:limit].tolist()]

    async def plain_fused(of: Conversation, asked: Asked, limit: int) -> list[str]:
        both = await plain_words(of, asked, 4 * limit), await plain_vectors(of, asked, 4 * limit)
        return [ref for ref, _ in fusion.fuse(*(Ranking(each, 1.0) for each in both))][:limit]

    ways: dict[str, Search] = {"shipped": shipped, "shipped, windows": windows}
    if with_plain:
        ways |= {"shipped, words only": words, "shipped, meaning only": meaning}
        ways |= {"plain FTS5": plain_words, "plain vectors": plain_vectors, "plain, ranks fused": plain_fused}
    return ways


async def _measured(way: str, search: Search, held: Sequence[Conversation]) -> list[Figure]:
    values: dict[tuple[str, str], list[float]] = {}
    seconds: list[float] = []

    def add(measure: str, of: Conversation, value: float) -> None:
        values.setdefault((measure, of.set), []).append(value)

    for of in held:
        sides = _sides(of)
        for asked in of.questions:
            if "windows" in way:
                if of.set == "LoCoMo":
                    found = _own(of, await search(of, asked, 10))
                    add("R@10 with neighbours", of, recall(found, asked.evidence, len(found)))
                continue
            began = time.perf_counter()
            refs = await search(of, asked, DEEP)
            seconds.append(time.perf_counter() - began)
            found = _own(of, refs)
            if of.set == "LongMemEval":
                add("all in 10", of, float(set(asked.evidence) <= set(found[:10])))
                continue
            for at in (10, 50) if of.set == "LoCoMo" else (10, 20):
                add(f"R@{at}", of, recall(found, asked.evidence, at))
            if of.set == "LoCoMo":
                around = [ref for each in found[:10] for ref in sides[each]]
                add("R@10 with neighbours", of, recall(around, asked.evidence, len(around)))
    figures = [Figure(f"{way}: {m}", s, round(sum(v) / len(v), 3)) for (m, s), v in values.items()]
    if seconds:
        figures += [
            Figure(f"{way}: {name}", "all", round(1000 * percentile(seconds, share), 1))
            for name, share in (("p50 ms", 0.5), ("p95 ms", 0.95))
        ]
    return figures


def _sides(of: Conversation) -> dict[str, list[str]]:
    """Each turn with those that were said within an hour beside it."""
    found: dict[str, list[str]] = {}
    for place, turn in enumerate(of.turns):
        near = of.turns[max(0, place - 1) : place + 2]
        found[turn.ref] = [each.ref for each in near if abs(each.at - turn.at) <= timedelta(hours=1)]
    return found


def _own(of: Conversation, refs: Sequence[str]) -> list[str]:
    """As the conversation calls them."""
    return [ref.removeprefix(_name(of)) for ref in refs]


def _where(of: Conversation) -> Within:
    return Within(Kind.TURN, tuple(Span(space, 0, 0) for space in dict.fromkeys(_space(of, each) for each in of.turns)))


def _name(of: Conversation) -> str:
    return f"{of.set}:{of.name}:"


def _space(of: Conversation, turn: conversations.Said) -> str:
    return _name(of) + turn.part


def _entry(of: Conversation, turn: conversations.Said) -> Entry:
    return Entry(Kind.TURN, _name(of) + turn.ref, _space(of, turn), 0, 0, turn.speaker, turn.at, turn.text)


def _refs(found: Found) -> list[str]:
    return [hit.ref for hit in found.hits]


# --- 100,000 claims --------------------------------------------------------------------------------------------------


async def times(claims: int = CLAIMS) -> list[Figure]:
    """How long a warm search takes over so many claims, all in one space and spread over many."""
    figures = [Figure("RSS before, MB", "no claims", _resident())]
    for spaces in (1, SPACES):
        figures += await _timed(claims, spaces)
    return figures


async def _timed(claims: int, spaces: int) -> list[Figure]:
    supervisor = Supervisor()
    chance = random.Random(7)
    words = _words()
    embedder = Use3()
    name = f"{claims} claims in {spaces} space{'s' * (spaces > 1)}"
    with tempfile.TemporaryDirectory() as folder:
        async with Database.open(Path(folder, "store.db")) as database:
            index = RecallIndex(database, [embedder], supervisor, lambda tx: None, patience=timedelta(minutes=1))
            for at in range(0, claims, 2_000):
                entries = [_made_up(chance, words, number, spaces) for number in range(at, at + 2_000)]
                await database.write(lambda tx, e=entries: index.put(tx, e))  # type: ignore[misc]
            await database.write(_made_up_vectors(embedder.dimension))
            texts = [each.text for each in of_notes()][:200]
            began = time.perf_counter()
            await index.search(texts[0], _of(0), 24, at=_NOW)
            cold = time.perf_counter() - began
            seconds, worked = [], []
            for number, text in enumerate(texts):
                where = _of(number % spaces)
                await index.search("warm", where, 1, at=_NOW, meaning=False)
                began, busy = time.perf_counter(), time.process_time()
                await index.search(text, where, 24, at=_NOW)
                seconds.append(time.perf_counter() - began)
                worked.append(time.process_time() - busy)
            await index.close()
    await supervisor.stop()
    return [
        Figure("first search, ms", name, round(1000 * cold, 1)),
        Figure("p50 ms", name, round(1000 * percentile(seconds, 0.5), 1)),
        Figure("p95 ms", name, round(1000 * percentile(seconds, 0.95), 1)),
        Figure("p50 ms of processor", name, round(1000 * percentile(worked, 0.5), 1)),
        Figure("p95 ms of processor", name, round(1000 * percentile(worked, 0.95), 1)),
        Figure("RSS, MB", name, _resident()),
    ]


def _of(space: int) -> Within:
    return Within(Kind.CLAIM, (Span(f"space{space}", 0, 0),))


def _made_up(chance: random.Random, words: Sequence[str], number: int, spaces: int) -> Entry:
    text = " ".join(chance.choices(words, k=chance.randint(10, 30)))
    said_at = _NOW - timedelta(minutes=CLAIMS - number)
    speaker = f"Person{number % 12}"
    return Entry(Kind.CLAIM, f"c{number}", f"space{number % spaces}", 0, 0, speaker, said_at, text)


def _words() -> list[str]:
    """The words of the built-in notes, each as often as it is there."""
    notes = sorted((Path(bot.__file__).parent / "knowledge" / "corpus").rglob("*.md"))
    return [word for note in notes for word in fulltext.words(note.read_text(encoding="utf-8"))]


def _made_up_vectors(dimension: int) -> Callable[[Tx], None]:
    def unit(tx: Tx) -> None:
        import numpy as np

        from bot.retrieval.recall.quantised import packed

        seqs = list(tx.execute(recall_vector.select().with_only_columns(recall_vector.c.seq)).scalars())
        numbers = np.random.default_rng(7)
        statement = "UPDATE recall_vector SET data = ? WHERE seq = ?"
        for at in range(0, len(seqs), 10_000):
            part = seqs[at : at + 10_000]
            vectors = numbers.standard_normal((len(part), dimension)).astype(np.float32)
            made = packed(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
            tx.connection.exec_driver_sql(statement, list(zip(made, part, strict=True)))

    return unit


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return round(pages * resource.getpagesize() / (1 << 20))


# --- telling ---------------------------------------------------------------------------------------------------------


def table(figures: Sequence[Figure]) -> str:
    rows = ["| What | On | Value |", "|---|---|---|"]
    return "\n".join([*rows, *(f"| {each.measure} | {each.set} | {each.value:g} |" for each in figures)])


def lines(figures: Sequence[Figure]) -> list[str]:
    """One JSON object a line."""
    return [json.dumps({"measure": each.measure, "set": each.set, "value": each.value}) for each in figures]


def _append(out: Path, lines: Sequence[str]) -> None:
    with out.open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def folder_named(option: str | None) -> Path | None:
    named = option or os.environ.get(ENVIRONMENT)
    return Path(named) if named else None


def run(data: str | None, out: str | None, *, both: bool, timing: bool) -> int:
    return asyncio.run(main(folder_named(data), Path(out) if out else None, both=both, timing=timing))
