"""Fakes as processes of their own, used by real clients and steered through the control endpoint."""

from __future__ import annotations

import json
from pathlib import Path

import aiosmtplib
import pytest
from anthropic import APIConnectionError, APIStatusError, AsyncAnthropic
from telegram import Bot
from telegram.error import NetworkError

from tests.fakes.anthropic_reply import ErrorInStream, Reply, ToolUse, say
from tests.fakes.control import ControlError, running_anthropic, running_smtp, running_telegram
from tests.fakes.faults import CutAfter, Delay
from tests.fakes.mailer import send_mail


async def test_telegram_outlives_its_bot_and_counts_deliveries(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    async with running_telegram("--token", "42:abc", log=log) as far_end:
        file_id = await far_end.add_file(b"%PDF", "a.pdf", "application/pdf")
        await far_end.private_message(7, "hello")
        await far_end.act("add_chat", chat_id=-1001, title="Team", members=[7])
        await far_end.message(-1001, 7, document=file_id, caption="read")
        await far_end.plan("sendMessage", CutAfter())
        await far_end.plan("sendMessage", Delay(gate="held", when="after"))
        assert far_end.token == "42:abc"
        for _ in range(2):  # a bot that comes back after its death
            async with Bot("42:abc", base_url=far_end.base_url, base_file_url=far_end.base_file_url) as bot:
                updates = await bot.get_updates()
                assert [update.effective_chat.id for update in updates if update.effective_chat] == [7, -1001]
                with pytest.raises(NetworkError):
                    await bot.send_message(7, "hi", read_timeout=0.3)
        await far_end.reached("held")
        await far_end.release("held")
        sent = await far_end.deliveries("sendMessage", at_least=2)
        assert [one.body["text"] for one in sent] == ["hi", "hi"]
        assert len(await far_end.pending()) == 2
        assert (await far_end.requests("getMe"))[0].headers["Host"].startswith("127.0.0.1")
        with pytest.raises(TimeoutError):
            await far_end.deliveries(at_least=3, timeout=0.05)
        with pytest.raises(ControlError, match="no act"):
            await far_end.act("__init__")
    kinds = [json.loads(line)["kind"] for line in log.read_text().splitlines()]
    assert kinds.count("delivery") == 2


async def test_anthropic_takes_scripts_and_replies() -> None:
    async with running_anthropic("--script", "numbered") as far_end:
        async with AsyncAnthropic(api_key="k", base_url=far_end.url, max_retries=0) as client:

            async def ask() -> str:
                async with client.messages.stream(
                    model="claude-opus-5-5", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
                ) as stream:
                    message = await stream.get_final_message()
                return "".join(block.text for block in message.content if block.type == "text")

            assert await ask() == "Answer 1 to: hi"
            await far_end.dark()
            with pytest.raises(APIConnectionError):
                await ask()
            await far_end.clear()
            await far_end.script("recite history")
            await far_end.reply_with(
                say("first", gates={0: "go"}),
                say("second", fault=ErrorInStream()),
                Reply((ToolUse("look_up", {"q": 1}),)),
            )
            await far_end.release("go")
            assert await ask() == "first"
            with pytest.raises(APIStatusError):
                await ask()
            assert await ask() == ""
            assert await ask() == "user: hi"
        answers = await far_end.answers(at_least=5)
        assert [answer.body["outcome"] for answer in answers] == [
            "complete",
            "complete",
            "faulty",
            "complete",
            "complete",
        ]
        assert len(await far_end.requests("messages")) == 5


async def test_smtp_keeps_what_was_cut_off() -> None:
    async with running_smtp() as far_end:
        await far_end.plan("MESSAGE", CutAfter())
        with pytest.raises(aiosmtplib.SMTPServerDisconnected):
            await send_mail(far_end.port, b"Subject: x\r\n\r\n\xff\r\n", "a@x.test", "b@y.test")
        await far_end.dark()
        with pytest.raises(aiosmtplib.SMTPException):
            await send_mail(far_end.port, b"Subject: lost\r\n\r\n", "a@x.test", "b@y.test")
        await far_end.dark(False)
        await send_mail(far_end.port, b"Subject: y\r\n\r\n", "a@x.test", "b@y.test")
        first, second = await far_end.mails(at_least=2)
        assert first.raw == b"Subject: x\r\n\r\n\xff\r\n"
        assert second.body["rcpt_tos"] == ["b@y.test"]
        assert await far_end.requests("RCPT", at_least=2)
