"""A series of kills on one far end, and what came of it."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path

from tests.e2e.daemon import PATIENCE, Daemon, audited, rows
from tests.e2e.farends import EFFECT, Count, FarEnd, base_settings, counts
from tests.e2e.launcher import POINTS
from tests.e2e.numbers import numbers_in

AT_WORK = "moment of work"
AT_START = "moment of the start"
UNCERTAIN_AT = frozenset({"tx3_after", "send_before", EFFECT, "sent", "tx4_before"})
"""Between the claim of a row and its outcome: nobody knows whether the send happened."""
HAPPENED_AT = frozenset({EFFECT, "sent", "tx4_before"})
"""Of these, the ones at which it has."""


def points_of(far_end: FarEnd) -> list[str]:
    """The steps of one message, in order."""
    points = [point for point in POINTS if point != "maildir_renamed"]
    at = points.index("sent")
    return [*points[:at], *far_end.effects, *points[at:]]


@dataclass
class Tally:
    """One line of the table."""

    kills: int = 0
    messages: int = 0
    once: int = 0
    repeated: int = 0
    parked: int = 0
    lost: int = 0
    doubled: int = 0


@dataclass
class Series:
    """Kills a daemon again and again while people write, then counts at the far end."""

    far_end: FarEnd
    home: Path
    launcher: Mapping[str, str]
    more: Mapping[str, str] = field(default_factory=dict)
    next_number: int = 1
    sent_at: dict[int, str] = field(default_factory=dict)
    """Message to the step at which the process died next."""
    kills: Counter[str] = field(default_factory=Counter)

    @property
    def data(self) -> Path:
        return self.home / "data"

    async def start(self, arm: str | None = None) -> Daemon:
        variables = {**self.launcher, "E2E_ARM_FILE": str(self.home / "arm")}
        if arm is not None:
            variables["E2E_ARM"] = arm
        settings = {**base_settings(self.data), **self.far_end.settings(), **self.more}
        return await Daemon.spawn(settings, self.home, launcher=variables)

    async def arm(self, daemon: Daemon, point: str) -> None:
        """Arm a running daemon, and return when it is."""
        (self.home / "arm").write_text(point, encoding="ascii")
        daemon.signal(signal.SIGUSR2)
        await daemon.line(rf"armed {point}\b")

    async def write(self, daemon: Daemon, step: str, manner: str | None = None) -> int:
        """A person writes; the step is noted with the message."""
        number, self.next_number = self.next_number, self.next_number + 1
        self.sent_at[number] = step
        manners = self.far_end.manners
        await self.far_end.send(daemon, number, manners[number % len(manners)] if manner is None else manner)
        return number

    async def kill_at(self, daemon: Daemon, point: str, manner: str | None = None) -> int:
        """Bring a settled daemon to die at a point (`point:n`: at its n-th passage) with one message; returns the
        message's number."""
        step = point.partition(":")[0]
        if point == EFFECT:
            gate = f"gate{self.next_number}"
            self.far_end.hold_effect(gate)
            number = await self.write(daemon, step, manner)
            await self.far_end.effect_reached(gate)
            await daemon.kill()
            self.far_end.let_go()
        else:
            await self.arm(daemon, point)
            number = await self.write(daemon, step, manner)
            code = await daemon.ended()
            assert code == -signal.SIGKILL, f"{point}: ended with {code}\n{daemon.output}"
            daemon.assert_clean()
        self.kills[step] += 1
        return number

    async def all_answered(self, daemon: Daemon, timeout: float = PATIENCE) -> None:
        """Let everything that is owed arrive, and every outcome be written. `timeout` is for the next answer: a busy
        machine may take its time over many."""
        await daemon.ready(self.far_end.channel)
        await self.far_end.insist(daemon)

        def owed() -> set[int]:
            return set(self.sent_at) - counts(self.far_end).keys() - self.given_up()

        while left := owed():
            try:
                await daemon.until(lambda: len(owed()) < len(left), timeout)
            except TimeoutError as error:
                lacking = {number: self.sent_at[number] for number in left}
                raise AssertionError(f"no answer to {lacking}\n{daemon.output}") from error
        await daemon.settled(timeout)

    def table(self) -> dict[str, Tally]:
        """One line per step. A repeat is `repeated` if it is marked as one, and `doubled` if it is not."""
        tallies: dict[str, Tally] = {}
        arrived = counts(self.far_end)
        given_up = self.given_up()
        for step, kills in self.kills.items():
            tallies.setdefault(step, Tally()).kills = kills
        for number, step in self.sent_at.items():
            tally = tallies.setdefault(step, Tally())
            found = arrived.get(number, Count(0, 0))
            tally.messages += 1
            tally.once += found.plain + found.marked == 1
            tally.repeated += found.marked == 1 and found.plain == 1
            tally.parked += found.plain + found.marked == 0 and number in given_up
            tally.lost += found.plain + found.marked == 0 and number not in given_up
            tally.doubled += found.plain > 1 or found.marked > 1
        return tallies

    def uncertain(self) -> int:
        """Sends of which the daemon says that their outcome was not known."""
        return len(audited(self.data, "delivery_uncertain"))

    def parked(self) -> list[str]:
        """Why rows of either way were given up."""
        query = (
            "SELECT reason FROM inbox WHERE state = 'parked' UNION ALL SELECT reason FROM outbox WHERE state = 'parked'"
        )
        return [str(row["reason"]) for row in rows(self.data, query)]

    def given_up(self) -> set[int]:
        """Messages whose answer was in doubt twice: repeated once, then parked and shown, never sent a third time."""
        query = "SELECT op FROM outbox WHERE state = 'parked' AND reason = 'uncertain'"
        return {number for row in rows(self.data, query) for number in numbers_in(str(row["op"]))}


class Dice:
    """Lives of a daemon that end at random: at a random step, at a random moment of a stream of messages, or at a
    random moment of the start and the recovery."""

    SETTLE_EVERY = 4
    """After so many lives everything owed is let through, so that no turn is interrupted for ever."""
    AT_START = 4.0

    def __init__(self, series: Series, seed: int) -> None:
        self._series = series
        self._random = random.Random(seed)

    async def run(self, kills: int, say: Callable[[str], None]) -> None:
        series = self._series
        while (done := series.kills.total()) < kills:
            life = self._random.choice((self._at_a_step, self._at_a_step, self._at_work, self._at_work, self._at_start))
            await life()
            if done % self.SETTLE_EVERY == 0:
                await self._settle()
                say(f"{series.far_end.name}: {done + 1} kills, {len(series.sent_at)} messages")
        await self._settle()

    async def _settle(self) -> None:
        daemon = await self._series.start()
        try:
            await self._series.all_answered(daemon)
            await daemon.stop()
        finally:
            await daemon.abandon()

    async def _at_a_step(self) -> None:
        """Armed from the start, so that recovery may be what is hit."""
        point = self._random.choice([p for p in points_of(self._series.far_end) if p != EFFECT])
        daemon = await self._series.start(f"{point}:{self._random.randint(1, 3)}")
        try:
            async with asyncio.timeout(PATIENCE):
                await self._stream(daemon, point, messages=6)
            if daemon.running and await self._outlived(daemon):
                point = AT_WORK
            await self._dead(daemon, point)
        finally:
            await daemon.abandon()

    async def _outlived(self, daemon: Daemon) -> bool:
        """Whether everything was answered without reaching the armed passage."""
        try:
            await daemon.settled()
        except AssertionError:
            return False
        return True

    async def _at_work(self) -> None:
        daemon = await self._series.start()
        try:
            await daemon.ready(self._series.far_end.channel)
            async with asyncio.timeout(PATIENCE):
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._random.uniform(0.0, self._series.far_end.busy)):
                        await self._stream(daemon, AT_WORK, messages=20)
            await self._dead(daemon, AT_WORK)
        finally:
            await daemon.abandon()

    async def _at_start(self) -> None:
        daemon = await self._series.start()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._random.uniform(0.0, self.AT_START)):
                    await daemon.ready(self._series.far_end.channel)
                    await self._stream(daemon, AT_START, messages=20)
            await self._dead(daemon, AT_START)
        finally:
            await daemon.abandon()

    async def _stream(self, daemon: Daemon, step: str, messages: int) -> None:
        """People write, at a random pace; until the daemon dies."""
        try:
            await daemon.ready(self._series.far_end.channel)
            for _ in range(messages):
                await self._series.write(daemon, step)
                await asyncio.sleep(self._random.choice((0.0, 0.0, 0.01, 0.05)))  # the pace, not a wait
                if not daemon.running:
                    return
        except AssertionError:
            if daemon.running:
                raise

    async def _dead(self, daemon: Daemon, step: str) -> None:
        await daemon.kill()
        self._series.kills[step] += 1


HEAD = (
    f"{'far end':<14} {'step':<20} {'kills':>5} {'messages':>8} {'once':>6} {'repeated':>8} {'parked':>6} "
    f"{'lost':>5} {'doubled':>7}"
)


def printed(name: str, tallies: Mapping[str, Tally]) -> str:
    lines = [
        f"{name:<14} {step:<20} {t.kills:>5} {t.messages:>8} {t.once:>6} {t.repeated:>8} {t.parked:>6} "
        f"{t.lost:>5} {t.doubled:>7}"
        for step, t in sorted(tallies.items(), key=lambda item: _order(item[0]))
    ]
    return "\n".join(lines)


def total(tables: Iterable[Mapping[str, Tally]]) -> Tally:
    """The sum of all lines."""
    found = Tally()
    for tally in (tally for table in tables for tally in table.values()):
        for each in fields(Tally):
            setattr(found, each.name, getattr(found, each.name) + getattr(tally, each.name))
    return found


def _order(step: str) -> int:
    steps = ["", *POINTS, EFFECT, AT_WORK, AT_START]
    return steps.index(step)
