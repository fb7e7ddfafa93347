"""The words that are commands in every channel, and how they are read out of text. Pure."""

from __future__ import annotations

import re

from bot.kernel.values import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    summary: str
    immediate: bool = False
    """Runs straight after it was accepted, outside the lane."""
    takes: str = ""
    """What may follow it, for menus of platforms; empty: nothing."""


COMMANDS: dict[str, Command] = {
    c.name: c
    for c in (
        Command("help", "what I can do and which words I know"),
        Command("new", "start afresh: what was said before is no longer shown to me"),
        Command("status", "what I am doing and whether all channels receive", immediate=True),
        Command("stop", "stop the answer that is being written", immediate=True),
        Command(
            "room", "what this place is and who reads here; the principal can say what it is", takes="as /help says"
        ),
        Command("memories", "what I remember, as far as it may be shown here", takes="words, pending, or an id"),
        Command("why", "which memories and sources stood behind my last answer here"),
        Command("correct", "put a memory right", takes="its id and the new words"),
        Command("forget", "erase a memory with the words that it rests on", takes="its id, or words of it"),
        Command("retract", "take a memory back, or dispute what another said", takes="its id and why"),
        Command("restore", "let a memory stand again that was taken back", takes="its id and why"),
        Command("promote", "let the whole company see a memory", takes="its id and why"),
        Command("accept", "say yes to a memory that waits, or to one side of a dispute", takes="its id"),
        Command("reject", "say no to a memory or a proposal that waits", takes="its id and why"),
        Command("ledger", "what waits for a yes, and what came of what you asked for", takes="an id"),
        Command("approve", "have a proposal done", takes="its id and the content's"),
        Command("schedule", "what I do for you at certain times; make, pause or remove one", takes="words, or an id"),
        Command("today", "what waits for you, what is due, what happened, what comes next"),
        Command("privacy", "who reads what is said here, for how long, and how to erase it"),
        Command("usage", "what I have spent on answers, and when the limits begin anew"),
        Command("pair", "claim this account with a code from `openexecutive pair`", takes="the code"),
    )
}

_SHAPE = re.compile(
    r"\A\s*/(?P<name>[A-Za-z]{2,20})(?:@(?P<bot>[A-Za-z0-9_]{3,64}))?(?:\s+(?P<rest>.*))?\s*\Z", re.DOTALL
)


OF_MESSAGES = ("keep", "learn")
"""Words after a slash that are no commands: they stand in messages and are about their files, also when such a message
has none of its own."""

_WORD = re.compile(
    r"\A\s*/(?P<name>[^\W\d_][\w-]{1,63})(?:@(?P<bot>[A-Za-z0-9_]{3,64}))?[.,:;!?]*(?:\s+(?P<rest>.*))?\s*\Z",
    re.DOTALL,
)
"""A text whose first word is one after a slash; no path (`/etc/hosts`), which is an ordinary word."""


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    name: str
    """Lower case; one of `COMMANDS` if it is known."""
    arguments: str
    bot: str | None
    """Whom the command names (`/help@somebot`), as written."""


def parse(text: str) -> ParsedCommand | None:
    """A known command at the start of `text`, else None."""
    match = _SHAPE.match(text)
    if match is None or match["name"].lower() not in COMMANDS:
        return None
    return ParsedCommand(match["name"].lower(), (match["rest"] or "").strip(), match["bot"])


def typed(text: str) -> ParsedCommand | None:
    """A command in what a person typed: a known one, or else the word after a slash that the text begins with. That is
    better called unknown, whatever follows it, than taken as a remark: a mistyped command is nothing to remember."""
    known = parse(text)
    if known is not None:
        return known
    word = _WORD.match(text)
    if word is None or word["name"].lower() in OF_MESSAGES:
        return None
    return ParsedCommand(word["name"].lower(), (word["rest"] or "").strip(), word["bot"])


def immediate(name: str) -> bool:
    return name in COMMANDS and COMMANDS[name].immediate
