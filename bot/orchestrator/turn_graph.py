"""One turn as a graph: what was said, what stood before the model, what it asked and looked up, its answer, and what
came of it – proposals, memories, and later answers before which these memories stood.

As one person may see it: the turn's own words if they were there when it began, memories and proposals by their own
rules, and everything else from the entries of the audit that are theirs to read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa

from bot.audit.timeline import Entry
from bot.kernel.ids import ClaimId, ProposalId, SessionId, TurnId
from bot.kernel.scope import PersonScope
from bot.kernel.values import dataclass
from bot.ledger import store as ledger
from bot.ledger.model import Proposal
from bot.memory import later, reading
from bot.memory.model import Claim
from bot.memory.reading import Purpose
from bot.sessions import trail
from bot.sessions.tables import message
from bot.sessions.tables import turn as turn_table
from bot.sessions.visible import Visible, visible

MOST = 6
"""Nodes of one step that are drawn; the others are counted."""


class Step(StrEnum):
    MESSAGE = "message"
    RECALL = "recall"
    LOOKUP = "lookup"
    TOOL = "tool"
    CONSULT = "consult"
    REPLY = "reply"
    PROPOSAL = "proposal"
    EXTRACTION = "extraction"
    MEMORY = "memory"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class Node:
    step: Step
    title: str
    text: str = ""
    ref: str | None = None
    """Id of the message, memory, proposal or turn that it stands for; None for what is only counted or told of."""
    at: datetime | None = None
    """Of a later answer."""


@dataclass(frozen=True, slots=True)
class Words:
    """A message of the turn."""

    id: str
    answer: bool
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class TurnGraph:
    turn: TurnId
    session: SessionId
    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]
    """From node to node, by their places in `nodes`; without circles."""
    words: tuple[Words, ...]
    entries: tuple[Entry, ...]
    """In order."""


@dataclass(slots=True)
class _Drawing:
    nodes: list[Node] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)

    def add(self, node: Node, after: Sequence[int]) -> int:
        self.nodes.append(node)
        at = len(self.nodes) - 1
        self.edges += [(each, at) for each in after]
        return at

    def group(self, nodes: Sequence[Node], more: Node, hidden: int, after: Sequence[int]) -> list[int]:
        """`MOST` of the nodes; what is left over is one more, and so is what the reader may not see."""
        found = [self.add(each, after) for each in nodes[:MOST]]
        if len(nodes) > MOST:
            found.append(self.add(Node(more.step, more.title, f"and {len(nodes) - MOST} more"), after))
        if hidden:
            found.append(self.add(Node(more.step, more.title, f"{hidden} that you may not see"), after))
        return found


def graph(connection: sa.Connection, scope: PersonScope, turn: TurnId) -> TurnGraph | None:
    """None where the person may see nothing of it, or there is none."""
    entries = trail.of_turn(connection, scope, turn)
    session = next((each.session for each in entries if each.session is not None), None)
    if session is None:
        return None
    view = visible(connection, scope)
    words = _words(connection, view, turn)
    drawing = _Drawing()
    asked = drawing.group(
        [Node(Step.MESSAGE, each.speaker, each.text, each.id) for each in words if not each.answer],
        Node(Step.MESSAGE, "Messages"), 0, (),
    ) or [drawing.add(Node(Step.MESSAGE, "Messages", "whose words you may not see"), ())]  # fmt: skip
    before = _inputs(connection, view, turn, entries, drawing, asked)
    reply = drawing.add(_reply(words, entries), before or asked)
    _proposals(connection, scope, view, entries, drawing, reply)
    _memories(connection, view, turn, entries, drawing, reply)
    return TurnGraph(turn, SessionId(session), tuple(drawing.nodes), tuple(drawing.edges), tuple(words), tuple(entries))


# --- before the answer ------------------------------------------------------------------------------------------------


def _words(connection: sa.Connection, view: Visible, turn: TurnId) -> list[Words]:
    """The turn's messages, if the reader was there when it began."""
    rows = connection.execute(
        sa.select(message)
        .select_from(message.join(turn_table, turn_table.c.id == message.c.turn_id))
        .where(
            message.c.turn_id == turn,
            view.within(turn_table.c.session_id, turn_table.c.audience_epoch, turn_table.c.started_at),
        )
        .order_by(message.c.position)
    )
    return [
        Words(
            row.id,
            row.role == "assistant",
            "The executive" if row.role == "assistant" else row.speaker,
            row.text,
            row.sent_at,
        )
        for row in rows
    ]


def _inputs(
    connection: sa.Connection,
    view: Visible,
    turn: TurnId,
    entries: Sequence[Entry],
    drawing: _Drawing,
    asked: Sequence[int],
) -> list[int]:
    recalled, hidden = reading.shown_in(connection, view, turn)
    found = drawing.group(
        [_of(Step.RECALL, claim) for claim, _ in recalled], Node(Step.RECALL, "Recalled"), hidden, asked
    )
    told = [node for node in map(_input, entries) if node is not None]
    for step in (Step.LOOKUP, Step.TOOL, Step.CONSULT):
        of_step = [each for each in told if each.step is step]
        found += drawing.group(of_step, Node(step, _MORE[step]), 0, asked)
    return found


_MORE = {Step.LOOKUP: "Looked up", Step.TOOL: "Used tools", Step.CONSULT: "Asked"}


def _input(entry: Entry) -> Node | None:
    told = entry.payload
    match entry.type:
        case "specialist_consulted":
            return Node(Step.CONSULT, f"Asked {told['name']}", _plain(told["outcome"]))
        case "knowledge_retrieved":
            return Node(Step.LOOKUP, "Looked up", _count(told["sections"], "passage"))
        case "tool_called" if not str(told["name"]).startswith(_TOLD_OTHERWISE):
            return Node(Step.TOOL, "Used a tool", _plain(told["name"]))
        case _:
            return None


_TOLD_OTHERWISE = ("recall", "read_memory", "search_knowledge", "read_section", "consult_")
"""Tools that leave another entry too, by how their names begin."""


def _reply(words: Sequence[Words], entries: Sequence[Entry]) -> Node:
    answer = next((each for each in words if each.answer), None)
    if answer is not None:
        return Node(Step.REPLY, "Answered", answer.text, answer.id)
    ended = next((each for each in reversed(entries) if each.type == "turn_finished"), None)
    if ended is not None:
        return Node(Step.REPLY, _plain(ended.payload["outcome"]).capitalize(), _plain(ended.payload["stop"]))
    failed = any(each.type == "turn_failed" for each in entries)
    return Node(Step.REPLY, "Failed" if failed else "Not answered yet")


# --- after it ---------------------------------------------------------------------------------------------------------


def may_see(view: Visible, scope: PersonScope, proposal: Proposal) -> bool:
    return view.decides or scope.person in (*proposal.approvers, proposal.asked_by)


def _proposals(
    connection: sa.Connection,
    scope: PersonScope,
    view: Visible,
    entries: Sequence[Entry],
    drawing: _Drawing,
    reply: int,
) -> None:
    made = [each for each in entries if each.type == "proposal_made"]
    nodes = []
    for entry in made:
        proposal = ledger.get(connection, ProposalId(str(entry.payload["proposal"])))
        if proposal is not None:
            theirs = may_see(view, scope, proposal)
            state = _plain(proposal.state.value) if theirs else "that you may not see"
            ref = proposal.id if theirs else None
            nodes.append(Node(Step.PROPOSAL, f"Put forward {_plain(proposal.action)}", state, ref))
    drawing.group(nodes, Node(Step.PROPOSAL, "Put forward"), 0, [reply])


def _memories(
    connection: sa.Connection,
    view: Visible,
    turn: TurnId,
    entries: Sequence[Entry],
    drawing: _Drawing,
    reply: int,
) -> None:
    read = [each for each in entries if each.type.startswith("extraction_")]
    after = [drawing.add(_extraction(read[-1]), [reply])] if read else [reply]
    named = [str(each.payload["claim"]) for each in entries if each.type in ("memory_written", "memory_confirmed")]
    ids = [ClaimId(each) for each in dict.fromkeys(named)]
    seen = reading.by_ids(connection, view, Purpose.REVIEW, ids)
    claims = [seen[each] for each in ids if each in seen]
    places = drawing.group(
        [_of(Step.MEMORY, each) for each in claims], Node(Step.MEMORY, "Memory"), len(ids) - len(claims), after
    )
    _later(connection, view, turn, dict(zip((each.id for each in claims[:MOST]), places, strict=False)), drawing)


def _later(
    connection: sa.Connection, view: Visible, turn: TurnId, claims: Mapping[ClaimId, int], drawing: _Drawing
) -> None:
    """The first later answers before which these memories stood."""
    stood: dict[TurnId, tuple[datetime, list[int]]] = {}
    for claim, place in claims.items():
        shown = later.first_shown(connection, view, claim, 2 * MOST)
        for each in {one.turn: one for one in shown if one.turn != turn}.values():
            stood.setdefault(each.turn, (each.at, []))[1].append(place)
    in_order = sorted(stood.items(), key=lambda each: each[1][0])
    for of, (at, after) in in_order[:MOST]:
        drawing.add(Node(Step.LATER, "Later answer", ref=of, at=at), after)
    if len(in_order) > MOST:
        after = sorted({place for _, (_, places) in in_order[MOST:] for place in places})
        drawing.add(Node(Step.LATER, "Later answers", "and others"), after)


def _extraction(entry: Entry) -> Node:
    told = entry.payload
    match entry.type:
        case "extraction_finished":
            parts = [f"{told[name]} {name}" for name in ("written", "confirmed", "held", "refused") if told[name]]
            return Node(Step.EXTRACTION, "Read for memories", ", ".join(parts) or "nothing to remember")
        case "extraction_failed":
            return Node(Step.EXTRACTION, "Read for memories", "failed" if told["final"] else "failed, is tried again")
        case _:
            return Node(Step.EXTRACTION, "Read for memories", "waits")


def _of(step: Step, claim: Claim) -> Node:
    return Node(step, claim.kind.value.capitalize(), claim.statement or "", claim.id)


def _plain(value: object) -> str:
    return str(value).replace("_", " ")


def _count(values: object, one: str) -> str:
    number = len(values) if isinstance(values, list) else 0
    return f"{number} {one}" if number == 1 else f"{number} {one}s"
