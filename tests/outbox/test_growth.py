"""A placeholder grows into the answer: its edit waits for it, aims at what it became, and never says nothing."""

from __future__ import annotations

import pytest

from bot.gateway.channel import TargetGoneError
from bot.gateway.events import ReplyPath
from bot.gateway.operations import Delete, Edit, OutboundOp, OutFile, Send
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash, OutboxId
from bot.outbox import growth
from tests.outbox.channel import Gate
from tests.outbox.post import ORIGIN, Post

PATH = ReplyPath("a", "someone")
ROW = OutboxId("row")


def send(text: str, files: tuple[OutFile, ...] = ()) -> Send:
    return Send(PATH, text, text, files)


FILE = (OutFile("a.txt", "text/plain", BlobHash("0" * 64)),)


@pytest.mark.parametrize(
    ("planned", "grown"),
    [
        ([send("1"), send("2")], (Edit(PATH, "own:row", "1", "1"), send("2"))),
        ([send("1", FILE)], (Edit(PATH, "own:row", "1", "1"), send("", FILE))),
        ([send("", FILE)], (Delete(PATH, "own:row"), send("", FILE))),
    ],
    ids=["text", "text and file", "file alone"],
)
def test_the_first_message_becomes_the_edit(planned: list[OutboundOp], grown: tuple[OutboundOp, ...]) -> None:
    assert growth.grown(planned, ROW) == grown


async def placeholder(post: Post) -> OutboxId:
    queued = await post.database.write(lambda tx: post.outbox.queue_operations(tx, "test", [send("…")], ORIGIN))
    post.outbox.sending([queued])
    return queued.ids[0]


async def grow(post: Post, row: OutboxId, *texts: str) -> None:
    ops = growth.grown([send(text) for text in texts], row) if texts else [growth.removal([send("x")], row)]
    queued = await post.database.write(lambda tx: post.outbox.queue_operations(tx, "test", ops, ORIGIN))
    post.outbox.sending([queued])
    await post.settled()


async def test_the_edit_is_aimed_at_the_message_that_the_placeholder_became(post: Post) -> None:
    row = await placeholder(post)
    await post.settled()
    assert await post.outbox.ref_of(row) == "test:1"
    await grow(post, row, "1", "2")
    assert post.channel.ops == [send("…"), Edit(PATH, "test:1", "1", "1"), send("2")]


async def test_the_edit_waits_for_a_placeholder_that_is_under_way(post: Post) -> None:
    gate = Gate()
    post.channel.sends["…"] = [gate]
    row = await placeholder(post)
    await gate.entered.wait()
    ops = growth.grown([send("1")], row)
    await post.database.write(lambda tx: post.outbox.queue_operations(tx, "test", ops, ORIGIN))
    gate.open.set()
    await post.settled()
    assert post.channel.ops == [send("…"), Edit(PATH, "test:1", "1", "1")]


async def test_a_placeholder_that_was_never_sent_lets_the_answer_be_a_message_of_its_own(post: Post) -> None:
    post.channel.sends["…"] = [PermanentError("no")]
    row = await placeholder(post)
    await post.settled()
    await grow(post, row, "1", "2")
    assert post.channel.ops[1:] == [send("1"), send("2")]


async def test_a_placeholder_that_is_gone_from_the_platform_does_too(post: Post) -> None:
    row = await placeholder(post)
    await post.settled()
    post.channel.sends["1"] = [TargetGoneError("message to edit not found")]
    await grow(post, row, "1", "2")
    assert post.channel.ops[1:] == [Edit(PATH, "test:1", "1", "1"), send("1"), send("2")]
    assert set((await post.by_state()).values()) == {"sent"}


@pytest.mark.parametrize("sent", [True, False])
async def test_a_placeholder_is_taken_away_if_it_is_there(post: Post, sent: bool) -> None:
    post.channel.sends["…"] = [] if sent else [PermanentError("no")]
    row = await placeholder(post)
    await post.settled()
    await grow(post, row)
    assert post.channel.ops[1:] == ([Delete(PATH, "test:1")] if sent else [])
    assert [state.state for state in await post.states()] == ["sent" if sent else "parked", "sent"]


async def test_a_placeholder_that_was_taken_away_already_is_no_fault(post: Post) -> None:
    row = await placeholder(post)
    await post.settled()
    post.channel.sends["delete"] = [TargetGoneError("message to delete not found")]
    await grow(post, row)
    assert [state.state for state in await post.states()] == ["sent", "sent"]
