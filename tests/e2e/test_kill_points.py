"""SIGKILL at every step of a message's path, once per channel: nothing is lost, nothing is doubled. Deliveries are
counted at the far end by what they say."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.chatends import DIRECT, FOLLOW_UP, LEISURELY, MENTION, DiscordEnd, SlackEnd
from tests.e2e.farends import EFFECT, Count, FarEnd, MaildirEnd, RelayEnd, TelegramEnd, counts
from tests.e2e.kills import HAPPENED_AT, UNCERTAIN_AT, Series, points_of
from tests.e2e.numbers import PARAGRAPHS
from tests.e2e.webend import WebEnd
from tests.fakes.discord import FakeDiscord
from tests.fakes.slack import FakeSlack
from tests.fakes.smtp import SmtpSink
from tests.fakes.telegram import FakeTelegram

IN_PROCESS = {"E2E_MODEL": "numbers"}
NO_WEB = {"OPENEXECUTIVE_WEB__ENABLED": "false"}

pytestmark = pytest.mark.timeout(400)


def expected(far_end: FarEnd, point: str) -> Count:
    """What must have arrived of a message at whose step the process died once."""
    if far_end.certain or point not in UNCERTAIN_AT:
        return Count(plain=1, marked=0)
    return Count(plain=int(point in HAPPENED_AT), marked=1)


async def killed_at_every_step(series: Series, steps: Sequence[tuple[str, str | None]] = ()) -> None:
    """`steps`: points (`point:n`) and the manners of the messages that come to them; none: all points once."""
    at: dict[int, str] = {}
    daemon = await series.start()
    try:
        for point, manner in steps or [(point, None) for point in points_of(series.far_end)]:
            await daemon.ready(series.far_end.channel)
            at[await series.kill_at(daemon, point, manner)] = point
            daemon = await series.start()
            await series.all_answered(daemon)
        await daemon.stop()
    finally:
        await daemon.abandon()
    arrived = counts(series.far_end)
    assert {number: (point, arrived.get(number)) for number, point in at.items()} == {
        number: (point, expected(series.far_end, point)) for number, point in at.items()
    }
    assert series.far_end.left_behind() == []
    assert arrived.keys() == at.keys()
    uncertain = 0 if series.far_end.certain else len(UNCERTAIN_AT)
    assert series.uncertain() == uncertain
    assert series.parked() == []


CHAT_STEPS: Sequence[tuple[str, str | None]] = (
    ("tx1_before", DIRECT),
    ("tx1_after", MENTION),
    ("accepted", FOLLOW_UP),
    ("model_before", MENTION),
    ("streaming:2", LEISURELY),  # the placeholder stands
    ("model_after", LEISURELY),
    ("tx3_before", LEISURELY),
    ("tx3_after", MENTION),
    ("send_before", DIRECT),
    (EFFECT, MENTION),
    ("sent", DIRECT),
    ("tx4_before", FOLLOW_UP),
    ("tx4_after", MENTION),  # on Discord the thread is open and nothing said in it
    ("sent", LEISURELY),  # the placeholder
    ("sent:2", LEISURELY),  # its last words
)
"""Every point, and those of a placeholder."""


@pytest.mark.case(30)
@pytest.mark.case(31)
@pytest.mark.case(142)
@pytest.mark.case(143)
async def test_case_30_case_31_case_142_case_143_telegram_killed_at_every_step(
    home: Path, telegram: FakeTelegram
) -> None:
    await killed_at_every_step(Series(TelegramEnd(telegram), home, IN_PROCESS, NO_WEB))


@pytest.mark.case(142)
@pytest.mark.case(143)
async def test_case_142_case_143_mail_into_a_maildir_killed_at_every_step(home: Path) -> None:
    await killed_at_every_step(Series(MaildirEnd(home / "data"), home, IN_PROCESS, NO_WEB))


@pytest.mark.case(142)
@pytest.mark.case(143)
async def test_case_142_case_143_mail_through_a_relay_killed_at_every_step(home: Path, relay: SmtpSink) -> None:
    await killed_at_every_step(Series(RelayEnd(relay), home, IN_PROCESS, NO_WEB))


@pytest.mark.case(142)
@pytest.mark.case(143)
async def test_case_142_case_143_discord_killed_at_every_step(home: Path, discord: FakeDiscord) -> None:
    end = DiscordEnd(discord)
    assert {step.partition(":")[0] for step, _ in CHAT_STEPS} == set(points_of(end))
    await killed_at_every_step(Series(end, home, IN_PROCESS, NO_WEB), CHAT_STEPS)


@pytest.mark.case(142)
@pytest.mark.case(143)
async def test_case_142_case_143_slack_killed_at_every_step(home: Path, slack: FakeSlack) -> None:
    await killed_at_every_step(Series(SlackEnd(slack), home, IN_PROCESS, NO_WEB), CHAT_STEPS)


@pytest.mark.case(142)
@pytest.mark.case(143)
async def test_case_142_case_143_the_chat_of_the_console_killed_at_every_step(home: Path) -> None:
    await killed_at_every_step(Series(WebEnd(), home, IN_PROCESS))


@pytest.mark.parametrize(
    ("point", "unmarked", "marked"),
    [
        pytest.param("tx4_after:1", [1, 3, 4], [2], id="between two parts"),
        pytest.param("send_before:2", [1, 3, 4], [2], id="before the second part"),
        pytest.param("sent:2", [1, 2, 3, 4], [2], id="after the second part"),
        pytest.param("tx4_before:4", [1, 2, 3, 4], [4], id="after the last part"),
    ],
)
@pytest.mark.case(143)
async def test_case_143_a_long_answer_cut_into_parts_goes_on_where_it_stopped(
    home: Path, telegram: FakeTelegram, point: str, unmarked: list[int], marked: list[int]
) -> None:
    series = Series(TelegramEnd(telegram), home, IN_PROCESS, NO_WEB)
    telegram.world.private_message(101, "Tell me at length")
    daemon = await series.start(point)
    try:
        assert await daemon.ended() == -signal.SIGKILL
        daemon = await series.start()
        await daemon.ready("telegram")
        await daemon.until(lambda: any(f"Paragraph {PARAGRAPHS}." in text for text in telegram.texts(101)))
        await daemon.settled()
        await daemon.stop()
    finally:
        await daemon.abandon()
    parts = [[int(n) for n in re.findall(r"Paragraph (\d+)\.", text)] for text in telegram.texts(101)]
    is_marked = ["may have reached you already" in text for text in telegram.texts(101)]
    order = [part for part, again in zip(parts, is_marked, strict=True) if not again]
    again = [part for part, again in zip(parts, is_marked, strict=True) if again]
    whole = list(dict.fromkeys(tuple(part) for part in parts))
    assert [number for part in whole for number in part] == list(range(1, PARAGRAPHS + 1))
    assert [whole.index(tuple(part)) + 1 for part in order] == unmarked
    assert [whole.index(tuple(part)) + 1 for part in again] == marked
    assert series.parked() == []
