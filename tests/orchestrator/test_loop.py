"""The loop of tool calls: isolated, bounded, and nothing that the model writes widens what it may see."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta

from pydantic import BaseModel

from bot.kernel.errors import PermanentError, TransientError
from bot.llm.model import (
    Block,
    Event,
    Finished,
    Message,
    ModelHealth,
    Request,
    StopReason,
    Text,
    TextDelta,
    ToolResult,
    ToolUse,
    Usage,
)
from bot.orchestrator import loop
from bot.orchestrator.tools import RESULT_CAP, Asker, Outcome, Registry, Source, Tool
from tests.orchestrator.test_basics import ASKER


class Scripted:
    """A model that says what it is told to, one answer after the other, and keeps what it was asked."""

    provider = "scripted"

    def __init__(self, *answers: Sequence[Block]) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        self.asked.append(request)
        content = tuple(self.answers.pop(0)) if len(self.answers) > 1 else tuple(self.answers[0])
        if not request.tools:
            content = tuple(block for block in content if not isinstance(block, ToolUse)) or (Text("enough"),)
        for block in content:
            if isinstance(block, Text):
                yield TextDelta(block.text)
        calls = any(isinstance(block, ToolUse) for block in content)
        yield Finished(content, StopReason.TOOL_USE if calls else StopReason.END_TURN, Usage(10, 2), "m")

    def health(self) -> ModelHealth:
        return ModelHealth(True)

    async def close(self) -> None: ...


class Echo(BaseModel):
    word: str


async def echo(asker: Asker, arguments: Echo) -> Outcome:
    if arguments.word == "later":
        raise TransientError("the index is being built")
    if arguments.word == "never":
        raise PermanentError("no such thing")
    if arguments.word == "bug":
        raise ValueError("a bug with a secret")
    if arguments.word == "slow":
        await asyncio.Event().wait()
    source = Source(arguments.word, f"note {arguments.word}")
    return Outcome(arguments.word * 3, untrusted=arguments.word == "theirs", sources=(source,))


ECHO = Tool("echo", "Says it again.", Echo, echo, within=timedelta(milliseconds=50))


def call(word: object, number: int = 1, name: str = "echo") -> ToolUse:
    return ToolUse(f"c{number}", name, {"word": word})


async def run(model: Scripted, shown: list[str | None] | None = None) -> loop.Answered:
    request = Request("m", (), (Message("user", (Text("hello"),)),))
    pieces: list[str | None] = [] if shown is None else shown
    return await loop.answer(model, request, Registry([ECHO]), ASKER, pieces.append)


def results(model: Scripted, asked: int = 1) -> list[ToolResult]:
    return [block for block in model.asked[asked].messages[-1].content if isinstance(block, ToolResult)]


async def test_calls_are_answered_and_the_model_goes_on() -> None:
    model = Scripted([Text("let me see"), call("ab"), call("cd", 2)], [Text("done")])
    shown: list[str | None] = []
    answered = await run(model, shown)
    assert [(r.tool_use_id, r.text, r.is_error) for r in results(model)] == [
        ("c1", "ababab", False),
        ("c2", "cdcdcd", False),
    ]
    assert answered.finished.content == (Text("done"),)
    assert answered.finished.usage == Usage(20, 4)
    assert [source.label for source in answered.sources] == ["note ab", "note cd"]
    assert shown == ["let me see", None, "done"]


async def test_a_call_that_fails_harms_neither_the_others_nor_the_turn() -> None:
    words = ["later", "never", "bug", "slow", "fine"]
    model = Scripted([call(word, n) for n, word in enumerate(words)], [Text("done")])
    await run(model)
    found = {word: (r.is_error, r.text) for word, r in zip(words, results(model), strict=True)}
    assert found["fine"] == (False, "finefinefine")
    assert all(error for word, (error, _) in found.items() if word != "fine")
    assert "the index is being built" in found["later"][1]
    assert "secret" not in found["bug"][1]
    assert "in time" in found["slow"][1]


async def test_wrong_arguments_and_unknown_tools_are_told_to_the_model() -> None:
    model = Scripted([call(5), ToolUse("c2", "rm", {})], [Text("done")])
    await run(model)
    wrong, unknown = results(model)
    assert wrong.is_error
    assert "word" in wrong.text
    assert unknown.text == "There is no tool 'rm'."


async def test_rounds_are_bounded_and_the_last_one_has_no_tools() -> None:
    model = Scripted([call("ab")])
    answered = await run(model)
    assert len(model.asked) == loop.ROUNDS + 1
    assert model.asked[-1].tools == ()
    assert answered.finished.content == (Text("enough"),)
    last = model.asked[-1].messages[-1].content[-1]
    assert isinstance(last, Text)
    assert last.text == loop.LAST_ROUND


async def test_a_long_result_is_cut_visibly() -> None:
    model = Scripted([call("x" * 20_000)], [Text("done")])
    await run(model)
    (result,) = results(model)
    assert len(result.text) < RESULT_CAP + 100
    assert "cut here: the result has 60000 characters" in result.text


async def test_others_text_is_fenced_and_remembered() -> None:
    model = Scripted([call("theirs"), call("ours", 2)], [Text("done")])
    answered = await run(model)
    theirs, ours = results(model)
    assert theirs.text == "<material>\ntheirstheirstheirs\n</material>"
    assert ours.text == "oursoursours"
    assert answered.untrusted


async def test_every_call_is_recorded_by_name_and_digest_not_by_its_words() -> None:
    model = Scripted([call("secret plan")], [Text("done")])
    (record,) = (await run(model)).records
    assert record.type == "tool_called"
    assert "secret" not in repr(record)


def test_tools_are_offered_in_one_order() -> None:
    names = ["b", "c", "a"]
    registry = Registry([Tool(name, name, Echo, echo) for name in names])
    assert [spec.name for spec in registry.specs()] == ["a", "b", "c"]
