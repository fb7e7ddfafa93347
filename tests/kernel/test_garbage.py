"""What stays for life is passed over by garbage collections; what comes later is looked at."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from bot.kernel.garbage import AGAIN_AFTER, set_aside
from bot.kernel.supervise import start
from tests.channels.support import HandClock


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


async def test_what_is_there_is_set_aside_at_once_and_again_after_each_wait() -> None:
    clock = HandClock()
    cache: list[list[int]] = [[]]
    work = start("garbage", set_aside(clock))
    for wait in AGAIN_AFTER:
        assert await clock.sleeper() == wait
        assert not looked_at(cache[-1])
        cache.append([])
        assert looked_at(cache[-1])
        clock.advance(wait)
    await work
    assert not looked_at(cache[-1])


def looked_at(what: object) -> bool:
    return any(each is what for each in gc.get_objects())
