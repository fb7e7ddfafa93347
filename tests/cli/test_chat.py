from __future__ import annotations

import asyncio
import os
import pty
import select
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.gateway.channel import LocalPeer
from tests.cli.program import PROGRAM, command, daemon, parrot


async def test_one_question_and_its_answer(folder: Path) -> None:
    async with daemon(folder, {"chat": parrot}):
        by_flag = await command("chat", "-m", "hello")
        by_pipe = await command("chat", say="two\nlines")
    assert (by_flag.returncode, by_flag.stdout, by_flag.stderr) == (0, "you said: hello\n", "")
    assert by_pipe.stdout == "you said: two\nlines\n"


async def test_an_older_answer_does_not_pass_for_this_one(folder: Path) -> None:
    async def chat(peer: LocalPeer, first: Mapping[str, object]) -> None:
        await peer.send({"type": "hello"})
        await peer.send({"type": "message", "key": "k0", "text": "older", "re": "0" * 24, "alone": False})
        await parrot(peer, first)

    async with daemon(folder, {"chat": chat}):
        done = await command("chat", "-m", "hello")
    assert (done.stdout, done.stderr) == ("you said: hello\n", "older\n")


async def test_a_refused_question_ends_with_1(folder: Path) -> None:
    async def chat(peer: LocalPeer, first: Mapping[str, object]) -> None:
        await peer.send({"type": "hello"})
        while (message := await peer.receive()) is not None:
            await peer.send({"type": "refused", "id": message["id"], "message": "you may not"})

    async with daemon(folder, {"chat": chat}):
        done = await command("chat", "-m", "hello")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "openexecutive: you may not\n")


async def test_a_question_without_an_answer_in_time_ends_with_1(folder: Path) -> None:
    async def chat(peer: LocalPeer, first: Mapping[str, object]) -> None:
        await peer.send({"type": "hello"})
        while (await peer.receive()) is not None:
            pass

    async with daemon(folder, {"chat": chat}):
        done = await command("chat", "-m", "hello", "--timeout", "0.2")
    assert done.returncode == 1
    assert "no answer yet" in done.stderr


class Typist:
    """A person at a terminal in which the program runs."""

    def __init__(self, arguments: list[str]) -> None:
        ours, theirs = pty.openpty()
        self._ours = ours
        self._seen = ""
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TERM": "xterm"}
        self.process: subprocess.Popen[Any] = subprocess.Popen(
            [*PROGRAM, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
        )
        os.close(theirs)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def see(self, text: str, within: float = 20.0) -> str:
        """Read on until `text` is there; returns what came up to it."""
        deadline = time.monotonic() + within
        while text not in self._seen:
            assert time.monotonic() < deadline, self._seen
            if select.select([self._ours], [], [], 0.1)[0]:
                self._seen += os.read(self._ours, 4096).decode(errors="replace")
        before, self._seen = self._seen.split(text, 1)
        return before

    def end(self) -> int:
        try:
            return self.process.wait(20)
        finally:
            os.close(self._ours)


async def test_a_conversation_on_a_terminal(folder: Path) -> None:
    def converse() -> int:
        typist = Typist(["chat"])
        typist.see("> ")
        typist.type("hello\n")
        typist.see("being wri")  # the draft
        typist.see("you said: hello")
        typist.see("> ")
        typist.type("more\\\n")
        typist.type("lines\n")
        typist.see("you said: more")
        typist.see("lines")
        typist.see("> ")
        typist.type("\x04")
        return typist.end()

    async with daemon(folder, {"chat": parrot}):
        assert await asyncio.to_thread(converse) == 0


async def test_ctrl_c_while_an_answer_is_written_asks_for_a_stop(folder: Path) -> None:
    heard: list[object] = []

    async def chat(peer: LocalPeer, first: Mapping[str, object]) -> None:
        await peer.send({"type": "hello"})
        question = ""
        while (message := await peer.receive()) is not None:
            if message["type"] != "say":
                continue
            heard.append(message["text"])
            await peer.send({"type": "accepted", "id": message["id"]})
            if message["text"] == "/stop":
                stopped = {"type": "message", "key": "k1", "text": "stopped.", "re": question, "alone": False}
                await peer.send(stopped)
            else:
                question = str(message["id"])
                await peer.send({"type": "draft", "turn": "t", "text": "endless"})

    def converse() -> int:
        typist = Typist(["chat"])
        typist.see("> ")
        typist.type("tell me\n")
        typist.see("endless")
        os.kill(typist.process.pid, 2)
        typist.see("stopped.")
        typist.see("> ")
        typist.type("/quit\n")
        return typist.end()

    async with daemon(folder, {"chat": chat}):
        assert await asyncio.to_thread(converse) == 0
    assert heard == ["tell me", "/stop"]
