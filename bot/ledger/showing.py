"""A proposal in words. The whole payload stands before the buttons, and nothing in it can hide. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from bot.gateway.text_write import literal
from bot.ledger.actions import Shown
from bot.ledger.model import Failure, Proposal, State

_INVISIBLE = ("Cf", "Cc", "Co", "Cn", "Zl", "Zp")
_SCRIPTS = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE")
OUTCOMES = {
    State.PROPOSED: "waits for a decision",
    State.APPROVED_UNCHANGED: "approved",
    State.APPROVED_WITH_EDIT: "approved with an edit",
    State.AUTO_APPROVED: "approved automatically",
    State.REJECTED: "rejected: it will not be done",
    State.AUTO_NO_RESPONSE: "nobody answered in time: it was not done",
    State.WITHDRAWN: "withdrawn",
    State.EXECUTING: "is being done",
    State.EXECUTED: "done",
    State.FAILED: "failed",
    State.REVERSED: "done, and undone again",
}
_DECIDED = (State.APPROVED_UNCHANGED, State.APPROVED_WITH_EDIT, State.REJECTED)
FAILURES = {
    Failure.REFUSED: "failed: it was not done",
    Failure.INVALID: "failed: it could not be done like that any more",
    Failure.UNCERTAIN: "failed: whether it was done cannot be known; somebody has to look",
}

CAME_BACK = "done, but it came back: it did not arrive"


def revealed(text: str) -> str:
    """The text with everything visible that would hide: control and direction characters by their names, letters of
    another script among Latin ones marked."""
    return "".join(f"{char}{name}" for char, name in marked(text))


def marked(text: str) -> list[tuple[str, str]]:
    """The text in pieces: what stands there as it is, and beside it, or in its place (then the first is empty), the
    name of what would hide, in brackets; "" where nothing does."""
    shown: list[tuple[str, str]] = []
    plain = ""
    for word in _words(text):
        mixed = any(_is_latin(char) for char in word) and any(_is_other(char) for char in word)
        for char in word:
            name = _hiding(char, mixed=mixed)
            if name is None:
                plain += char
                continue
            visible = _is_other(char)
            shown += [(plain, "")] if plain else []
            shown.append((char if visible else "", name))
            plain = ""
    return [*shown, (plain, "")] if plain else shown


def _hiding(char: str, *, mixed: bool) -> str | None:
    if char in "\n\t":
        return None
    if unicodedata.category(char) in _INVISIBLE or (char != " " and unicodedata.category(char) == "Zs"):
        return f"[{unicodedata.name(char, f'U+{ord(char):04X}')}]"
    return f"[{unicodedata.name(char).split(' ')[0].lower()}]" if mixed and _is_other(char) else None


def told(proposal: Proposal, shown: Shown, memories: Sequence[str], hidden: int, zone: str) -> str:
    """For an approver, as Markdown: what will be done, exactly; why; what it rests on, as far as they may see it
    (`memories`; `hidden`: how many more); until when."""
    lines = [f"**{shown.what}?** ({proposal.id[-6:]})", ""]
    lines += [f"- {label}: {_inline(value)}" for label, value in shown.fields]
    if shown.body:
        lines += ["", *_quoted(revealed(shown.body))]
    if proposal.proposed != proposal.final:
        lines += ["", "It was edited since it was proposed."]
    if proposal.reason:
        lines += ["", f"Why: {_inline(proposal.reason)}"]
    if memories or hidden:
        lines.append("It rests on:")
        lines += [f"- {_inline(each)}" for each in memories]
        if hidden:
            lines.append(f"- {hidden} more that you may not see")
    if proposal.tainted:
        lines += ["", "The conversation had read text from others that may try to give orders: look twice."]
    if proposal.two_persons:
        lines += ["", "Two people must approve the same content."]
    lines += ["", f"Without a decision by {when(proposal.expires_at, zone)} it will not be done."]
    return "\n".join(lines)


def outcome(proposal: Proposal, shown: Shown, who: str | None, zone: str) -> str:
    """What the message becomes once it is decided."""
    to = next((value for _, value in shown.fields), "")
    by = f" by {_inline(who)}" if who else ""
    at = f" on {when(proposal.decided_at, zone)}" if proposal.decided_at else ""
    about = f" ({_inline(to)})" if to else ""
    became = OUTCOMES[proposal.state]
    if proposal.state is State.FAILED and proposal.failure is not None:
        became = FAILURES[proposal.failure]
    if proposal.came_back:
        became = CAME_BACK
    if proposal.state not in _DECIDED:
        by = f" (decided{by}{at})" if by else ""
        at = ""
    return f"**{shown.what}**{about}: {became}{by}{at}. ({proposal.id[-6:]})"


def difference(before: str, after: str) -> str:
    """Line by line, what was proposed (-) and what is final (+)."""
    from difflib import unified_diff

    lines = unified_diff(revealed(before).splitlines(), revealed(after).splitlines(), lineterm="", n=1)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def _words(text: str) -> list[str]:
    words, current = [], ""
    for char in text:
        if char.isspace():
            words += [current, char]
            current = ""
        else:
            current += char
    return [*words, current]


def _is_latin(char: str) -> bool:
    return char.isalpha() and unicodedata.name(char, "").startswith("LATIN")


def _is_other(char: str) -> bool:
    return char.isalpha() and unicodedata.name(char, "").startswith(_SCRIPTS)


def _inline(text: str) -> str:
    return literal(" ".join(revealed(text).split()))


def _quoted(text: str) -> list[str]:
    return [f"> {literal(line)}".rstrip() for line in text.split("\n")]


def when(at: datetime, zone: str) -> str:
    """`Tue 2026-12-01 13:05 (Europe/Berlin)`"""
    return f"{at.astimezone(ZoneInfo(zone)):%a %Y-%m-%d %H:%M} ({zone})"
