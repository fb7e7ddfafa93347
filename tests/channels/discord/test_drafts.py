"""The placeholder that grows into the answer."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.gateway.operations import Edit
from bot.kernel.ids import TurnId
from channels.discord.drafts import EDIT_INTERVAL
from tests.channels.discord.conftest import ANN, GENERAL, Rig, channel, direct, words
from tests.fakes.faults import Answer, CutBefore, Delay

TURN = TurnId("t" * 24)


async def placeholder(rig: Rig) -> str:
    receipt = await rig.send(words(channel(), rig.channel.placeholder or ""))
    assert receipt.ref is not None
    return receipt.ref


async def grow(rig: Rig, ref: str, text: str | None) -> None:
    await rig.channel.draft(channel(), TURN, text, ref)


async def idle(rig: Rig) -> None:
    assert await rig.bench.supervisor.drain(timedelta(seconds=10))


def edits(rig: Rig) -> list[str]:
    return [str(effect.body["content"]) for effect in rig.server.effects.of("editMessage")]


async def test_the_placeholder_grows_at_a_bounded_pace_into_the_answer(rig: Rig) -> None:
    await rig.start()
    ref = await placeholder(rig)
    await grow(rig, ref, "**Hel")
    await idle(rig)
    await grow(rig, ref, "**Hello** y")
    await grow(rig, ref, "**Hello** yo")
    await idle(rig)
    assert edits(rig) == ["\\*\\*Hel"]
    rig.clock.advance(EDIT_INTERVAL)
    await grow(rig, ref, None)
    await idle(rig)
    assert edits(rig) == ["\\*\\*Hel", "**Hello** yo"]
    await rig.send(Edit(channel(), ref, "**Hello** you!", "Hello you!"))
    rig.clock.advance(EDIT_INTERVAL)
    await grow(rig, ref, "late")
    await idle(rig)
    assert edits(rig)[-1] == "**Hello** you!"
    assert rig.server.texts(GENERAL) == ["…"]


async def test_the_last_words_never_race_with_a_draft(rig: Rig) -> None:
    await rig.start()
    ref = await placeholder(rig)
    rig.server.faults.plan("editMessage", Delay(gate="slow"))
    await grow(rig, ref, "half")
    await rig.server.faults.gate("slow").reached.wait()
    await grow(rig, ref, "half and mo")
    final = rig.bench.supervisor.job("final", rig.send(Edit(channel(), ref, "all of it", "all of it")))
    await rig.send(words(direct(), "elsewhere"))
    assert rig.server.requests.count("editMessage") == 1, "the answer waits for the draft that is under way"
    rig.server.faults.gate("slow").release()
    await final
    await idle(rig)
    assert edits(rig) == ["half", "all of it"]


@pytest.mark.case(37)
@pytest.mark.parametrize("retry_after", [0.05, 33])
async def test_case_37_a_pause_holds_all_edits_of_the_channel_and_only_the_newest_is_kept(
    rig: Rig, retry_after: float
) -> None:
    await rig.start()
    ref = await placeholder(rig)
    rig.server.limit("editMessage", retry_after)
    for n in range(5):
        await grow(rig, ref, f"text {n}")
    await rig.server.requests.wait(1, "editMessage")
    await grow(rig, ref, "newest")
    await idle(rig)
    if retry_after > 30:
        rig.clock.advance(timedelta(seconds=30))
        await grow(rig, ref, "not yet")
        await grow(rig, ref, "newest")
        await idle(rig)
        assert rig.server.requests.count("editMessage") == 1
    rig.clock.advance(timedelta(seconds=5))
    await grow(rig, ref, None)
    await idle(rig)
    assert edits(rig)[-1] == "newest"
    assert len(edits(rig)) <= 2
    await rig.send(Edit(channel(), ref, "final", "final"))
    assert edits(rig)[-1] == "final"


@pytest.mark.case(37)
async def test_case_37_the_final_text_is_sent_after_a_pause_of_its_own(rig: Rig) -> None:
    await rig.start()
    ref = await placeholder(rig)
    rig.server.limit("editMessage", 0.02)
    await rig.send(Edit(channel(), ref, "final", "final"))
    assert edits(rig) == ["final"]


@pytest.mark.case(13)
async def test_case_13_a_full_placeholder_is_frozen(rig: Rig) -> None:
    await rig.start()
    ref = await placeholder(rig)
    for size in (500, 1900, 2500, 5000, 9000):
        await grow(rig, ref, "word " * (size // 5))
        await idle(rig)
        rig.clock.advance(EDIT_INTERVAL)
    assert len(edits(rig)) == 3
    assert all(len(text) <= 2000 for text in edits(rig))


async def test_typing_is_renewed_before_it_ends_and_nothing_raises(rig: Rig) -> None:
    await rig.channel.draft(direct(), TURN, None)
    await rig.start()
    for _ in range(3):
        await rig.channel.draft(direct(), TURN, None)
        await idle(rig)
    place = rig.world.dm_channel(ANN).id
    assert [effect.body["channel_id"] for effect in rig.server.effects.of("typing")] == [place]
    rig.clock.advance(timedelta(seconds=9))
    for fault in (Answer(403), CutBefore(), Answer(429, retry_after=99)):
        rig.server.faults.plan("typing", fault)
        await rig.channel.draft(direct(), TURN, None)
        await idle(rig)
        rig.clock.advance(timedelta(seconds=9))
    assert rig.server.requests.count("typing") == 4
    await rig.channel.draft(direct(), TURN, None)
    await idle(rig)
    assert rig.server.requests.count("typing") == 4, "quiet was asked for"
    rig.server.faults.plan("editMessage", Answer(503))
    ref = await placeholder(rig)
    await grow(rig, ref, "text")
    await idle(rig)
    rig.server.faults.plan("createDM", Answer(403))
    await rig.channel.draft(direct(9999), TURN, None)
