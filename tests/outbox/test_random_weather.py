"""Whatever platforms and processes do: nothing is lost, nothing doubled in silence, nothing overtakes."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.audit.recorder import Recorder
from bot.gateway.channel import NotReadyError
from bot.gateway.operations import CannotTell, Found, NotSent, OutboundOp, Receipt, Send
from bot.kernel.errors import PermanentError, TransientError, UncertainError
from bot.kernel.ids import OutboxId
from bot.kernel.logs import Redactor
from bot.kernel.supervise import Supervisor
from bot.outbox import store
from bot.outbox.service import Outbox
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.conftest import KEY
from tests.outbox.channel import ScriptedChannel
from tests.outbox.post import Post


class Weather(Enum):
    FINE = "fine"
    DOWN = "down"
    NOT_READY = "not ready"
    BUG = "bug"
    REFUSED = "refused for ever"
    CUT_BEFORE = "cut before the effect"
    CUT_AFTER = "cut after the effect"
    KILLED_BEFORE = "killed before the effect"
    KILLED_AFTER = "killed after the effect"


@dataclass(frozen=True, slots=True)
class Arrival:
    text: str
    again: bool


class Platform(ScriptedChannel):
    """Knows what really arrived. `tells`: it can be asked."""

    def __init__(self, clock: FakeClock, weather: Sequence[Weather], *, tells: bool) -> None:
        super().__init__(clock)
        self._weather = list(weather)
        self._tells = tells
        self.arrived: dict[OutboxId, Arrival] = {}
        self.arrivals: list[Arrival] = []
        self.hung = asyncio.Event()

    async def send(self, op: OutboundOp, key: OutboxId, again: bool) -> Receipt:
        assert isinstance(op, Send)
        weather = self._weather.pop(0) if self._weather else Weather.FINE
        if weather in (Weather.FINE, Weather.CUT_AFTER, Weather.KILLED_AFTER):
            self.arrived[key] = Arrival(op.text, again)
            self.arrivals.append(self.arrived[key])
        match weather:
            case Weather.FINE:
                return Receipt(f"test:{len(self.arrivals)}", self._clock.now())
            case Weather.DOWN:
                raise TransientError("down")
            case Weather.NOT_READY:
                raise NotReadyError("connecting")
            case Weather.BUG:
                raise ZeroDivisionError
            case Weather.REFUSED:
                raise PermanentError("no")
            case Weather.CUT_BEFORE | Weather.CUT_AFTER:
                raise UncertainError("cut")
            case Weather.KILLED_BEFORE | Weather.KILLED_AFTER:
                self.hung.set()
                await asyncio.Event().wait()
                raise AssertionError

    async def find(self, op: OutboundOp, key: OutboxId, tried_at: object) -> Found:
        if not self._tells:
            return CannotTell()
        return Receipt("test:found", self._clock.now()) if key in self.arrived else NotSent()


async def _until_quiet(post: Post, platform: Platform) -> bool:
    """Until nothing is being sent. False if the process has to be killed in the middle of a send."""
    quiet = post.supervisor.job("quiet", post.outbox.drain(timedelta(seconds=30)))
    hung = post.supervisor.job("hung", platform.hung.wait())
    await asyncio.wait({quiet, hung}, return_when=asyncio.FIRST_COMPLETED)
    return not platform.hung.is_set()


def _resume(outbox: Outbox, rows: Sequence[store.Row]) -> None:
    for row in rows:
        outbox._drive(row)


async def _live(folder: Path, weather: Sequence[Weather], replies: Sequence[tuple[str, int]], *, tells: bool) -> Post:
    clock = FakeClock()
    async with Database.open(folder / "store.db") as database:
        post = Post(database, await Recorder.open(database, clock, KEY, Redactor()), clock, Supervisor())
        post.channel = platform = Platform(clock, weather, tells=tells)
        post.boot("boot-0")
        expected: dict[str, list[str]] = {}
        for number, (thread, parts) in enumerate(replies):
            texts = [f"{number}.{part}" for part in range(parts)]
            expected.setdefault(thread, []).extend(texts)
            await post.queue(thread, "\n".join(texts))
        for boot in range(1, 200):
            if not await _until_quiet(post, platform):
                await post.die()
                platform.hung.clear()
                post.supervisor = Supervisor()
                await post.recover(f"boot-{boot}")
                in_doubt = await database.read(lambda c: store.in_doubt(c, post.outbox._boot))
                _resume(post.outbox, in_doubt)
                continue
            if not await database.read(lambda c: store.due_threads(c, clock.now() + timedelta(days=1), 10, ())):
                break
            clock.advance(timedelta(minutes=5))
            await post.outbox._claim_due()
        else:
            pytest.fail("never came to an end")
        states = {row.text: row for row in await post.states()}
        await post.die()
    assert sorted(states) == sorted(text for texts in expected.values() for text in texts)
    for text, row in states.items():
        arrivals = [arrival for arrival in platform.arrivals if arrival.text == text]
        assert row.state in ("sent", "parked"), f"{text} was lost on the way: {row}"
        assert row.state == "parked" or arrivals, f"{text} counts as sent and never arrived"
        assert len(arrivals) <= (1 if tells else 2), f"{text} arrived {len(arrivals)} times"
        assert all(arrival.again for arrival in arrivals[1:]), f"{text} was doubled in silence"
        if tells:
            assert row.state == "sent" or not arrivals, f"{text} is parked and had arrived"
            assert not any(arrival.again for arrival in arrivals), "a platform that tells leaves no doubt"
    first = list(dict.fromkeys(arrival.text for arrival in platform.arrivals))
    for texts in expected.values():
        assert [text for text in first if text in texts] == [text for text in texts if text in first], "overtaken"
    for number, (_, parts) in enumerate(replies):
        reply = [states[f"{number}.{part}"].state for part in range(parts)]
        assert reply == sorted(reply, key=["sent", "parked"].index), "after a parked part nothing of the reply is sent"
    return post


@given(
    weather=st.lists(st.sampled_from(Weather), max_size=14),
    replies=st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 3)), min_size=1, max_size=4),
    tells=st.booleans(),
)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.usefixtures("all_tables")
def test_any_weather(weather: list[Weather], replies: list[tuple[str, int]], tells: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        runner.run(_live(Path(folder), weather, replies, tells=tells))
