"""The one word that the daemon says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from bot.app.status import STARTS_WITHIN, in_a_word
from bot.gateway.channel import Health
from tests.clock import START

GOOD = Health(True, None, START)
NEW = Health(False, "starting: not connected yet")
DOWN = Health(False, "token refused", START)
MUTE = Health(True, "nothing can be sent", START, sending=False)
SOON = timedelta(seconds=5)


@pytest.mark.parametrize(
    ("sound", "channels", "uptime", "word"),
    [
        (True, [], SOON, "ok"),
        (True, [GOOD, GOOD], SOON, "ok"),
        (True, [GOOD, NEW], SOON, "starting"),
        (True, [NEW, NEW], STARTS_WITHIN, "degraded"),
        (True, [NEW, DOWN], SOON, "degraded"),
        (True, [GOOD, DOWN], SOON, "degraded"),
        (True, [MUTE], SOON, "degraded"),
        (False, [GOOD], SOON, "degraded"),
        (False, [NEW], SOON, "degraded"),
    ],
)
def test_in_a_word(sound: bool, channels: Sequence[Health], uptime: timedelta, word: str) -> None:
    assert in_a_word(sound, channels, uptime) == word
