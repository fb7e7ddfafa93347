from __future__ import annotations

import pytest

from bot.control.wire import encode
from bot.gateway.events import ReplyPath
from bot.gateway.operations import OutFile, Reply, Send
from bot.kernel.ids import BlobHash
from channels.terminal.render import PART, plan

PATH = ReplyPath("cli:anna:main", "anna", "id1")


def sends(reply: Reply) -> list[Send]:
    ops = plan(reply)
    assert all(isinstance(op, Send) for op in ops)
    return [op for op in ops if isinstance(op, Send)]


def test_a_reply_is_one_plain_message() -> None:
    (send,) = sends(Reply(PATH, "**Yes**, see [the plan](https://example.org/plan)."))
    assert send.text == "Yes, see the plan (https://example.org/plan)."
    assert send.path == PATH


def test_files_are_named_only() -> None:
    file = OutFile("q3.pdf", "application/pdf", BlobHash("0" * 64))
    (send,) = sends(Reply(PATH, "Here.", (file,)))
    assert send.text == "Here.\n\n[file: q3.pdf (application/pdf)]"
    (alone,) = sends(Reply(PATH, "", (file,)))
    assert alone.text == "[file: q3.pdf (application/pdf)]"


@pytest.mark.parametrize("unit", ["word " * 20 + "\n\n", "x", "😀", "\x01"])
def test_every_part_of_a_very_long_reply_fits_into_a_line_of_the_socket(unit: str) -> None:
    text = "```\n" + unit * (2 * PART // len(unit) + 10) + "\n```"
    parts = sends(Reply(PATH, text))
    assert len(parts) > 1
    for part in parts:
        assert encode({"type": "message", "key": "k" * 24, "text": part.text, "re": "r" * 64, "alone": False})
    assert sum(part.text.count(unit[0]) for part in parts) == text.count(unit[0])
