"""The scripted model: what it sees of a request, and the scripts that have names.

A script is any callable from `ModelRequest` to `Reply`; it may keep state between calls. Pure otherwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from tests.fakes import anthropic_rules as rules
from tests.fakes.anthropic_reply import Reply, ToolUse, say
from tests.fakes.faults import JsonObject


@dataclass(frozen=True)
class ModelRequest:
    """One request as the scripted model sees it; `body` is the whole JSON."""

    body: JsonObject

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def system(self) -> str:
        return "\n\n".join(str(block["text"]) for block in rules.blocks(self.body.get("system") or []))

    @property
    def messages(self) -> list[JsonObject]:
        return list(self.body["messages"])

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(str(tool["name"]) for tool in self.body.get("tools") or [])

    @property
    def forced(self) -> str | None:
        """The tool that has to be called."""
        choice = self.body.get("tool_choice")
        return str(choice["name"]) if isinstance(choice, dict) and choice.get("type") == "tool" else None

    @property
    def turns(self) -> tuple[tuple[str, str], ...]:
        """(role, text) of every message, tool blocks left out."""
        return tuple((str(one["role"]), _text_of(one)) for one in self.messages)

    @property
    def last_text(self) -> str:
        """The text of the last user message; of several blocks, the last, which is the message itself."""
        for one in reversed(self.messages):
            texts = [str(part["text"]) for part in rules.blocks(one["content"]) if part.get("type") == "text"]
            if one["role"] == "user" and texts:
                return texts[-1]
        return ""

    @property
    def tool_results(self) -> dict[str, str]:
        """Results in the last message: tool_use id to text."""
        parts = rules.blocks(self.messages[-1]["content"])
        return {
            str(part["tool_use_id"]): "".join(
                str(one.get("text", "")) for one in rules.blocks(part.get("content") or [])
            )
            for part in parts
            if part.get("type") == "tool_result"
        }


Script = Callable[[ModelRequest], Reply]


def _text_of(one: JsonObject) -> str:
    return "\n".join(str(part["text"]) for part in rules.blocks(one["content"]) if part.get("type") == "text")


def nothing_to_remember(request: ModelRequest) -> Reply:
    """Calls the tool that has to be called, with nothing in it."""
    return Reply((ToolUse(request.forced or "", {"items": []}),))


def instant_echo(request: ModelRequest) -> Reply:
    """Answers at once with what was said."""
    return say(f"You said: {request.last_text.strip()}")


def recite_history(request: ModelRequest) -> Reply:
    """Answers with every message of the request, a line each: what a real model could know, and no more."""
    lines = [f"{role}: {' '.join(text.split())}" for role, text in request.turns]
    return say("\n".join(lines))


def numbered() -> Script:
    """A script that numbers its answers, so that a doubled or lost one shows."""
    numbers = itertools.count(1)
    return lambda request: say(f"Answer {next(numbers)} to: {request.last_text.strip()}")


def script_named(name: str) -> Script:
    """`instant echo`, `recite history` or `numbered`. Raises `KeyError`."""
    makers: dict[str, Callable[[], Script]] = {
        "instant echo": lambda: instant_echo,
        "recite history": lambda: recite_history,
        "numbered": numbered,
    }
    return makers[name]()
