"""What passes between the steps of a turn, its ends and its lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from bot.audit.recorder import Recorder
from bot.extraction.tasks import Extractions
from bot.files.service import Files
from bot.gateway.channel import Channel
from bot.gateway.events import CommandInvoked, MessageReceived, ReplyPath
from bot.intake import store as inbox
from bot.kernel.clock import Clock
from bot.kernel.ids import BootId, PersonId
from bot.kernel.values import dataclass
from bot.llm.budget import Spender
from bot.llm.metered import Meter
from bot.llm.model import Model
from bot.memory.block import Block
from bot.memory.recall import EMPTY, Recall
from bot.memory.service import Eraser
from bot.orchestrator import prompt as prompts
from bot.orchestrator.compactions import Compactions
from bot.orchestrator.keeping import Keep
from bot.orchestrator.loop import Answered
from bot.orchestrator.scheduled import is_scheduled
from bot.orchestrator.tools import Asker, Registry
from bot.orchestrator.verdicts import Verdicts
from bot.outbox.service import Outbox
from bot.people.model import Person
from bot.sessions.compaction import Earlier
from bot.sessions.threads import Session
from bot.sessions.transcript import Said
from bot.sessions.turns import Turn
from bot.storage.database import Database


@dataclass(frozen=True, slots=True)
class Recalled:
    session: Session
    history: list[Said]
    earlier: Earlier
    """What stands before the history."""
    people: Mapping[PersonId, Person]
    company: str
    """The block of the company that those who read in the session may see."""
    remembered: Block = EMPTY


@dataclass(frozen=True, slots=True)
class Prompted:
    built: prompts.Built
    current: tuple[Said, ...]
    asker: Asker
    links: frozenset[str]
    """Addresses that stand in the people's own words."""
    earlier: Earlier
    remembered: Block = EMPTY
    """What the turn is shown of memory."""
    untrusted: bool = False
    """Others' words are among its messages, or a memory that rests on such."""


@dataclass(frozen=True, slots=True)
class Completed:
    """What the model said in the end, to which prompt, and what it took to get there."""

    prompted: Prompted
    answered: Answered
    keep: Keep | None = None
    """Files are to be kept, besides."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The lane goes on with these rows."""

    turn: Turn
    rows: tuple[inbox.Row, ...]


@dataclass(frozen=True, slots=True)
class Later:
    """Rows wait that are not ready before this instant."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Free:
    """Nothing waits."""


@dataclass(frozen=True, slots=True)
class Overtaken:
    """The turn may not end like this: its audience changed, or it is no longer ours."""


Next = Begun | Later | Free


@dataclass(frozen=True, slots=True)
class Parts:
    """What turns are made of, handed in once."""

    database: Database
    recorder: Recorder
    clock: Clock
    outbox: Outbox
    files: Files
    model: Model
    frame: prompts.Frame
    registry: Registry
    channels: Mapping[str, Channel]
    boot: BootId
    default_zone: str
    company_name: str
    meter: Meter
    gate: Model
    """Asked whether the executive is spoken to."""
    compact: Compactions
    recall: Recall | None = None
    """None: nothing is remembered."""
    eraser: Eraser | None = None
    """None: memories cannot be forgotten."""
    extract: Extractions | None = None
    """None: what is said is not read for what is worth remembering."""
    verdicts: Verdicts | None = None
    """None: nothing is put to anybody."""


def spender(turn: Turn, rows: Sequence[inbox.Row]) -> Spender:
    """On whose account a turn goes: that of whoever wrote last in it."""
    return Spender(turn.id, rows[-1].person, turn.session, turn.id, is_scheduled(rows))


def reply_path(rows: Sequence[inbox.Row]) -> ReplyPath:
    """Answers go to the last message of the turn."""
    for row in reversed(rows):
        if isinstance(row.event, MessageReceived | CommandInvoked):
            return row.event.reply_path
    raise ValueError("no row of the turn can be answered")
