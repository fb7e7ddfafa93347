"""What becomes of a model's answer: pure."""

from __future__ import annotations

from collections.abc import Sequence

from bot.gateway.text_write import literal
from bot.kernel.values import dataclass
from bot.llm.model import Finished, StopReason, Text
from bot.orchestrator.tools import Source

SILENCE = "[silence]"
"""What the model writes, alone, when nothing should be said."""

CUT = "\n\n*(cut here: the answer reached its permitted length; ask me to go on)*"
REFUSED = "I will not answer that one. If I misunderstood, put it differently."
EMPTY = "I have no answer to this: nothing came back from the model. Please ask again."
ODD = "\n\n*(the model ended this answer in an unexpected way: {detail})*"


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    refused: bool = False
    """Nothing was asked of the model: a limit of the budget left no room."""


@dataclass(frozen=True, slots=True)
class Silent:
    pass


Decision = Answer | Silent

MOST_SOURCES = 6


def said_with_sources(text: str, sources: Sequence[Source]) -> str:
    """The answer and, in one line, where what it rests on comes from: what was read, else what a search showed."""
    named = [source for source in sources if source.read] or sources
    if not named:
        return text
    shown = "; ".join(literal(source.label) for source in named[:MOST_SOURCES])
    more = f"; and {len(named) - MOST_SOURCES} more" if len(named) > MOST_SOURCES else ""
    return f"{text}\n\n*Sources: {shown}{more}*"


def decide(finished: Finished) -> Decision:
    """Every way in which an answer may end has its outcome; half an answer says that it is one."""
    text = "".join(block.text for block in finished.content if isinstance(block, Text)).strip()
    if text == SILENCE:
        return Silent()
    match finished.stop:
        case StopReason.REFUSAL:
            return Answer(f"{text}\n\n{REFUSED}" if text else REFUSED)
        case StopReason.MAX_TOKENS:
            return Answer(text + CUT if text else EMPTY)
        case StopReason.UNKNOWN | StopReason.PAUSE_TURN | StopReason.TOOL_USE | StopReason.CONTEXT_EXCEEDED:
            return Answer(text + ODD.format(detail=finished.detail or finished.stop.value) if text else EMPTY)
        case StopReason.END_TURN | StopReason.STOP_SEQUENCE:
            return Answer(text) if text else Answer(EMPTY)
