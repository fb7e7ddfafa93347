"""The watch itself: what holds the loop up is measured, told apart from waiting, and named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.daemon import ROOT
from tests.soak import loop, report

BUSY = """
import asyncio, time
from pathlib import Path
from tests.soak.watch import Watch

async def hold_up():
    end = time.thread_time() + 0.15
    while time.thread_time() < end:
        pass

async def main(file):
    watch = Watch(Path(file))
    watch.begin()
    await asyncio.sleep(0.05)
    await asyncio.create_task(hold_up(), name="guilty")
    time.sleep(0.3)  # waits, and has no work of its own
    await asyncio.sleep(0.05)
    watch.write()

asyncio.run(main({file!r}))
"""


def test_what_holds_up_the_loop_is_named_and_told_apart_from_waiting(tmp_path: Path) -> None:
    file = tmp_path / "watch.json"
    program = BUSY.replace("{file!r}", repr(str(file)))
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=60)
    found = loop.together([json.loads(file.read_text(encoding="utf-8"))])
    assert 150 <= found["piece"]["max_ms"] < 290
    assert found["piece"]["over"] == 1
    assert found["own"]["over"] == 1
    assert found["late"]["max_ms"] >= 290
    assert "guilty" in found["worst"][0][2]
    assert "hold_up" in found["worst"][0][2]


def test_lives_are_put_together() -> None:
    quiet = {name: {"0": 98, "4": 1} for name in ("late", "own", "pieces", "garbage")}
    bad = {name: {"130": 1} for name in ("late", "own", "pieces", "garbage")}
    found = loop.together(
        [
            {**quiet, "objects": 7, "worst": [[40, 50, "a"]], "passes": []},
            {**bad, "objects": 3, "worst": [[130, 130, "b"]], "passes": [[130, 9, "c"]]},
        ]
    )
    assert found["ticks"] == 100
    assert found["late"] == {"max_ms": 131, "p999_ms": 131, "p99_ms": 5, "over": 1}
    assert found["worst"] == [[130, 130, "b"], [40, 50, "a"]]
    assert found["passes"] == [[130, 9, "c"]]


def test_no_life_is_no_measurement() -> None:
    assert loop.together([])["late"]["max_ms"] == 0


def test_the_table_of_kills_is_taken_with_its_command() -> None:
    printed = (
        "tests/e2e/x.py\n$ KILLS=2 python -m pytest\nfar end  step\nslack    sent\nslack: none left\n.\n\n=== 1 passed"
    )
    block = report._kills_block(printed)
    assert block == "```\n$ KILLS=2 python -m pytest\nfar end  step\nslack    sent\nslack: none left\n```"
    with pytest.raises(SystemExit):
        report._kills_block("=== 1 failed")
