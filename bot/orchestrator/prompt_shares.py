"""What prompts are made of: about how many tokens each kind of block took, over a few newest turns. Numbers only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date

import sqlalchemy as sa

from bot.kernel.ids import PersonId, TurnId
from bot.llm import tokens
from bot.llm.budget import Purpose
from bot.llm.model import ToolResult, ToolUse
from bot.llm.tables import spend
from bot.orchestrator import kept
from bot.orchestrator.kept import Shown

OTHER = "Context and rules of the turn"
_STARTS = {
    "<past_decisions": "Memories",
    "<no_longer_true": "Memories",
    "<earlier_conversation": "Summary of what was said before",
}
_LOOKED_AT = 200
"""Newest calls among which turns are looked for."""


def newest_turns(connection: sa.Connection, of: PersonId | None, since: date, limit: int) -> list[TurnId]:
    """Turns since a day; `of`: those that this person caused; None: anybody's."""
    query = (
        sa.select(spend.c.turn_id)
        .where(spend.c.day >= since.isoformat(), spend.c.turn_id.is_not(None))
        .order_by(spend.c.at.desc())
        .limit(_LOOKED_AT)
    )
    if of is not None:
        query = query.where(spend.c.person_id == of)
    found = dict.fromkeys(connection.execute(query).scalars())
    return [TurnId(each) for each in found][:limit]


def shares(connection: sa.Connection, turns: Sequence[TurnId]) -> list[tuple[str, int]]:
    """Kinds of blocks of what the executive itself was asked in these turns, with their tokens, the largest first."""
    found: Counter[str] = Counter()
    for turn in turns:
        for request in kept.of_turn(connection, turn):
            if request.purpose is Purpose.ANSWER:
                for block in request.blocks:
                    found[_kind(block)] += (
                        tokens.of_text(block.text) if block.block is None else tokens.of_block(block.block)
                    )
    return found.most_common()


def _kind(of: Shown) -> str:
    if of.place == "system 1":
        return "Persona and rules"
    if of.place.startswith("system"):
        return "The company's profile"
    if of.place == "tools":
        return "Tools that may be used"
    if of.said is not None:
        return "The conversation"
    if isinstance(of.block, ToolUse | ToolResult):
        return "Results of tools"
    return next((kind for start, kind in _STARTS.items() if of.text.startswith(start)), OTHER)
