"""What lives are run on: a port, and three simple systems to compare with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from bot.llm import lexical, tokens
from tests.evaluation.lives.score import Shown, Tally, asserts, holds, score
from tests.evaluation.lives.script import (
    Checkpoint,
    Correct,
    Delete,
    Edit,
    Fate,
    Forget,
    GuestJoins,
    Key,
    Life,
    NewHistory,
    Restart,
    Retract,
    Say,
    Step,
)

LAST = 20
MOST = 8


class System(Protocol):
    name: str

    async def apply(self, step: Step) -> None: ...

    async def believed(self, key: Key, thread: str) -> str:
        """What stands before the model when the key's question is asked in a thread."""
        ...

    async def readers(self, key: Key) -> Mapping[str, str]:
        """What all other readers of that thread show, by name."""
        ...

    def lags(self) -> list[float]: ...

    async def orphans(self) -> int:
        """Claims of which nobody can say where they come from."""
        ...


async def live(life: Life, system: System) -> Tally:
    """Run a life and count."""
    shown: list[Shown] = []
    right_before: dict[Key, bool] = {}
    told_right: dict[Key, bool] = {}
    changed: dict[Key, tuple[int, str]] = {}
    lifetimes: list[int] = []
    threads = sorted({key.thread for key in life.values()})
    for number, step in enumerate(life.steps):
        if isinstance(step, Forget):
            right_before |= {key: right for key, right in told_right.items() if key != step.key and right}
        await system.apply(step)
        await _follow(system, life, step, number, changed, lifetimes)
        if not isinstance(step, Checkpoint):
            right_before = {k: r for k, r in right_before.items() if getattr(step, "key", None) != k}
            continue
        for key, truth in step.truth.items():
            believed = await system.believed(key, key.thread)
            readers = await system.readers(key) if truth is Fate.ERASED else {}
            elsewhere = [await system.believed(key, thread) for thread in threads if thread != key.thread]
            known = tuple(dict.fromkeys(_told_before(life, key, number)))
            survives = right_before.get(key, False)
            size = tokens.of_text(believed)
            shown.append(Shown(key, truth, believed, readers, size, "\n".join(elsewhere), known, survives))
            told_right[key] = isinstance(truth, str) and holds(believed, truth)
    lifetimes += [len(life.steps) - since for since, _ in changed.values()]
    tally = score(life, shown)
    tally.lifetimes += lifetimes
    tally.lags += system.lags()
    tally.counts["orphans"] += await system.orphans()
    return tally


async def _follow(
    system: System, life: Life, step: Step, number: int, changed: dict[Key, tuple[int, str]], lifetimes: list[int]
) -> None:
    """How many steps an old value goes on being told after it has changed."""
    if isinstance(step, Say | Edit | Correct) and step.key is not None and step.value is not None:
        before = [value for value in _told_before(life, step.key, number) if value != step.value]
        if before and not isinstance(step, Say):
            changed[step.key] = (number, before[-1])
    for key, (since, old) in list(changed.items()):
        if not asserts(await system.believed(key, key.thread), old):
            lifetimes.append(number - since)
            del changed[key]


def _told_before(life: Life, key: Key, number: int) -> list[str]:
    return [
        step.value
        for step in life.steps[:number]
        if isinstance(step, Say | Edit | Correct) and step.key == key and step.value is not None
    ]


class Nothing:
    name = "no memory"

    async def apply(self, step: Step) -> None: ...

    async def believed(self, key: Key, thread: str) -> str:
        return ""

    async def readers(self, key: Key) -> Mapping[str, str]:
        return {}

    def lags(self) -> list[float]:
        return []

    async def orphans(self) -> int:
        return 0


@dataclass
class _Line:
    ref: str
    thread: str
    text: str


class LastN(Nothing):
    """The last messages of the thread, as they stand now."""

    name = f"last {LAST} messages"

    def __init__(self) -> None:
        self._lines: list[_Line] = []

    async def apply(self, step: Step) -> None:
        match step:
            case Say():
                self._lines.append(_Line(step.ref, step.thread, "\n".join(filter(None, (step.text, step.quoted)))))
            case Edit():
                for line in self._lines:
                    if line.ref == step.ref:
                        line.text = step.text
            case Delete():
                self._lines = [line for line in self._lines if line.ref != step.ref]
            case Correct():
                self._lines.append(_Line("", step.key.thread, step.text))
            case NewHistory():
                self._lines = [line for line in self._lines if line.thread != step.thread]
            case Retract() | Forget() | GuestJoins() | Restart() | Checkpoint():
                pass

    async def believed(self, key: Key, thread: str) -> str:
        return "\n".join(line.text for line in [each for each in self._lines if each.thread == thread][-LAST:])

    async def readers(self, key: Key) -> Mapping[str, str]:
        return {"messages": await self.believed(key, key.thread)}


class AppendOnly(Nothing):
    """Everything that was said is kept for ever; what shares most words with the question is shown."""

    name = "append only"

    def __init__(self) -> None:
        self._lines: list[_Line] = []

    async def apply(self, step: Step) -> None:
        match step:
            case Say():
                self._lines.append(_Line(step.ref, step.thread, "\n".join(filter(None, (step.text, step.quoted)))))
            case Edit():
                self._lines.append(_Line(step.ref, step.key.thread, step.text))
            case Correct():
                self._lines.append(_Line("", step.key.thread, step.text))
            case _:
                pass

    async def believed(self, key: Key, thread: str) -> str:
        asked = set(lexical.terms(key.question))
        own = [line.text for line in self._lines if line.thread == thread]
        ranked = sorted(own, key=lambda text: -len(asked & set(lexical.terms(text))))
        return "\n".join(ranked[:MOST])

    async def readers(self, key: Key) -> Mapping[str, str]:
        return {"everything": "\n".join(line.text for line in self._lines)}
