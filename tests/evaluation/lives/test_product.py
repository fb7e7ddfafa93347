"""The short form of the lives: nothing leaks, nothing forgotten is seen, and what is current is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluation.lives.generate import life
from tests.evaluation.lives.product import product
from tests.evaluation.lives.script import Life
from tests.evaluation.lives.systems import live
from tests.evaluation.lives.written import CHANGING, TWO_THREADS


@pytest.mark.parametrize("lived", [CHANGING, TWO_THREADS, life(5, checkpoints=4)], ids=lambda each: each.name)
async def test_a_life(lived: Life, all_tables: list[str], tmp_path: Path) -> None:
    async with product(tmp_path) as own:
        figures = (await live(lived, own)).figures()
    assert figures["scope leaks"] == figures["forgotten but visible"] == figures["invented"] == 0
    assert figures["leak probes"] > 0
    assert figures["current recall"] >= 0.95
    assert figures["stale"] <= 0.05
    assert figures["over-forgetting"] == 0
