"""The soak in short: every run of the tests has some bad weather."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.soak import report
from tests.soak.run import Soak

MESSAGES, SECONDS = 400, 20.0
LONGEST_PIECE = 100
"""Milliseconds of the loop's own processor time."""
LATEST = 200
"""Milliseconds by which a timer may be late where nothing else runs, 100 for all but one in a thousand."""
QUIET = 0.5
"""Load average below which nobody else uses the machine."""


@pytest.fixture
def home() -> Iterator[Path]:
    with TemporaryDirectory(prefix="oe-") as folder:
        yield Path(folder)


@pytest.mark.timeout(300)
@pytest.mark.case(72)
async def test_case_72_in_bad_weather_every_message_has_one_answer_and_the_loop_is_not_held_up(home: Path) -> None:
    quiet = os.getloadavg()[0] < QUIET
    result = await Soak(home, messages=MESSAGES, seconds=SECONDS, hard=False).run()
    found = report.as_json(result, messages=MESSAGES, minutes=SECONDS / 60, seed=1)
    assert result.verdict.sound, report.printed(found)
    assert sum(t.written for t in result.verdict.tallies.values()) == MESSAGES
    assert sum(t.parked for t in result.verdict.tallies.values()) <= MESSAGES // 50, report.printed(found)
    assert set(result.verdict.tallies) == set(result.mishaps)
    assert result.errands.sound, report.printed(found)
    assert min(result.errands.sent, result.errands.rejected, result.errands.left) > 0, report.printed(found)
    assert all(sum(kinds.values()) for kinds in result.mishaps.values())
    # The processor time of one piece of work: whoever else uses the machine must not make this fail.
    assert result.watch["piece"]["max_ms"] <= LONGEST_PIECE, report.printed(found)
    late = result.watch["late"]
    assert not quiet or (late["max_ms"] <= LATEST and late["p999_ms"] <= 100), report.printed(found)
