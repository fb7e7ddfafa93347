"""How memories are put on pages: what things are called, what changed between versions, where quotes stand. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.kernel.values import dataclass
from bot.memory.model import EXECUTIVE, Claim, Event, Kind, Op, Source, Status, Support, Trust, Visibility, Work
from bot.memory.rights import Act, No, Verdict
from bot.orchestrator.telling import DONE, HELD
from bot.web.console.diffs import Piece, pieces

KINDS = {
    Kind.DECISION: "Decisions",
    Kind.INITIATIVE: "Initiatives",
    Kind.ADVICE: "Advice",
    Kind.FACT: "Facts",
    Kind.PREFERENCE: "Preferences",
}
STATUSES = {
    Status.PENDING: ("waits for a yes", "warn"),
    Status.ACTIVE: ("believed", "good"),
    Status.DISPUTED: ("disputed", "warn"),
    Status.SUPERSEDED: ("superseded", ""),
    Status.RETRACTED: ("retracted", "bad"),
}
"""What it is called, and the colour of its tag."""
WORK = {
    Work.PROPOSED: ("proposed", ""),
    Work.ACTIVE: ("active", "info"),
    Work.BLOCKED: ("blocked", "bad"),
    Work.COMPLETED: ("completed", "good"),
    Work.DROPPED: ("dropped", ""),
}
SOURCES = {
    Source.FRESH: "",
    Source.EDITED: "its message was edited since",
    Source.DELETED: "its message was deleted by its writer",
}
SUPPORT = {
    Support.NONE: "nothing",
    Support.QUOTE: "words of the message",
    Support.JUDGE: "a second reading of the message",
    Support.PERSON: "a person",
}
TRUST = {
    Trust.PROVEN: "a person of the company",
    Trust.OWN: "the executive's own answer",
    Trust.GUEST: "a guest",
    Trust.UNPROVEN: "nobody known for sure",
    Trust.FOREIGN: "a file, a tool, or quoted text",
}
WAYS = {"block": "shown", "recall": "found", "read": "read in full"}
"""How it came before the model."""
FIELDS = {
    "statement": "says",
    "rationale": "because",
    "outcome": "outcome",
    "subject": "subject",
    "domain": "field",
    "department": "department",
    "work": "work",
    "owner": "owner",
    "owner_name": "owner",
    "due": "due",
    "valid_from": "valid from",
    "valid_to": "valid until",
    "visibility": "seen by",
    "status": "status",
}
"""Fields of an event that a person is told of, in this order."""
LABELS: Mapping[Act, Mapping[Verdict, str]] = {
    Act.ACCEPT: {Verdict.NOW: "Accept", Verdict.ASK: "Put it before the principals"},
    Act.SETTLE: {Verdict.NOW: "This one holds"},
    Act.REJECT: {Verdict.NOW: "Reject"},
    Act.PROMOTE: {Verdict.NOW: "Show it to the company", Verdict.ASK: "Ask that the company may see it"},
    Act.DECLINE: {Verdict.NOW: "Do not show it"},
    Act.DEMOTE: {Verdict.NOW: "Take it back from the company"},
    Act.RETRACT: {Verdict.NOW: "Retract"},
    Act.DISPUTE: {Verdict.NOW: "Dispute", Verdict.DISPUTE: "Dispute"},
    Act.RESTORE: {Verdict.NOW: "Restore"},
    Act.KEEP: {Verdict.NOW: "Keep it all the same"},
}
"""Of the buttons that need no more than a reason, in their order. Without one for a verdict there is no button."""
COUNTS = {
    "memories": ("memory", "memories"),
    "messages": ("message loses words", "messages lose words"),
    "memory_events": ("change of another memory that tells it", "changes of other memories that tell it"),
    "summaries": ("summary", "summaries"),
    "replies": ("reply that tells it", "replies that tell it"),
    "events": ("received message", "received messages"),
    "audit_texts": ("text of the audit", "texts of the audit"),
    "tasks": ("task", "tasks"),
    "proposals": ("proposal", "proposals"),
    "schedules": ("schedule", "schedules"),
    "profile_versions": ("version of the company's profile", "versions of the company's profile"),
    "prompts": ("request to the model", "requests to the model"),
    "steps": ("step of a turn", "steps of turns"),
}
"""What goes when a memory is forgotten, one and many."""


@dataclass(frozen=True, slots=True)
class Change:
    """A field that an event changed."""

    name: str
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True)
class Told:
    """An event, for a person."""

    event: Event
    done: str
    by: str
    changes: Sequence[Change]
    hidden: bool
    """Its words are shown to who was there only."""


@dataclass(frozen=True, slots=True)
class Button:
    act: str
    """The use case."""
    label: str
    quiet: bool
    """It is not what one comes for."""


def who(speaker: str, names: Mapping[str, str]) -> str:
    return "the executive" if speaker == EXECUTIVE else names.get(speaker, speaker)


def waits(of: Claim) -> str:
    """Why it waits for a person."""
    return "; ".join(HELD[each] for each in of.held)


def told(events: Sequence[Event], names: Mapping[str, str], *, heard: bool) -> list[Told]:
    """The newest first. `heard`: the reader was there when it was said."""
    return [_told(each, names, heard=heard) for each in reversed(events)]


def _told(of: Event, names: Mapping[str, str], *, heard: bool) -> Told:
    before, after = of.before or {}, of.after or {}
    if of.op is Op.WRITTEN:  # all of it is new: what it says is enough
        before, after = {}, {name: value for name, value in after.items() if name in ("statement", "work", "due")}
    changes = []
    for name, label in FIELDS.items():
        if name in after and (of.op is not Op.WRITTEN or after[name]):
            old, new = (_plain(name, side.get(name), names) for side in (before, after))
            found = pieces(old, new) if name in _PROSE else _replaced(old, new)
            changes.append(Change(label, found))
    hidden = not heard and of.after is None and of.op not in (Op.PROMOTED, Op.PROMOTION_ASKED)
    return Told(of, _done(of), _by(of, names), changes, hidden)


_PROSE = ("statement", "rationale", "outcome")


def _replaced(old: str, new: str) -> list[Piece]:
    return [*([Piece("out", old)] if old else []), *([Piece("in", new)] if new else [])]


def _done(of: Event) -> str:
    if of.op is Op.PROMOTION_ASKED and not (of.after or {}).get("promotion_by"):
        return "not shown to the company"
    return DONE[of.op]


def _by(of: Event, names: Mapping[str, str]) -> str:
    if of.actor_kind == "person":
        return names.get(of.actor, of.actor)
    return "the operator" if of.actor == "operator" else "the executive"


def _plain(name: str, value: object, names: Mapping[str, str]) -> str:
    match value:
        case None:
            return ""
        case str() if name == "owner":
            return names.get(value, value)
        case str() if name == "visibility":
            return "the company" if value == Visibility.COMPANY.value else "those who were there"
        case str() if name in ("valid_from", "valid_to"):
            return value[:10]
        case _:
            return str(value)


def buttons(of: Claim, verdicts: Mapping[Act, Verdict | No]) -> list[Button]:
    found = []
    for act, labels in LABELS.items():
        verdict = verdicts.get(act)
        asked_already = verdict is Verdict.ASK and of.promotion_by is not None
        if isinstance(verdict, Verdict) and verdict in labels and not asked_already:
            found.append(Button(_USE.get(act, act.value), labels[verdict], act not in _FIRST))
    return found


_USE = {Act.SETTLE: "accept", Act.DECLINE: "reject"}
_FIRST = frozenset({Act.ACCEPT, Act.SETTLE, Act.PROMOTE})


def marked(text: str, quotes: Sequence[tuple[int, str]]) -> tuple[list[tuple[bool, str]], list[str]]:
    """A text in parts, each with whether it is quoted; and the quotes that do not stand in it any more. `quotes`: where
    each stood, and its words."""
    spans, gone = [], []
    for start, quote in quotes:
        at = start if text[start : start + len(quote)] == quote else text.find(quote)
        if at < 0:
            gone.append(quote)
        else:
            spans.append((at, at + len(quote)))
    parts: list[tuple[bool, str]] = []
    last = 0
    for start, end in sorted(spans):
        begin = max(start, last)
        if begin > last:
            parts.append((False, text[last:begin]))
        if end > begin:
            parts.append((True, text[begin:end]))
        last = max(last, end)
    if last < len(text):
        parts.append((False, text[last:]))
    return parts, gone


AROUND = 1_200
"""Characters of a long message that are shown on each side of a quote."""


def clipped(parts: Sequence[tuple[bool, str]]) -> list[tuple[bool, str]]:
    """What is far from any quote is left out of a long text."""
    found = []
    for at, (quoted, text) in enumerate(parts):
        head = AROUND if at else 0
        tail = AROUND if at + 1 < len(parts) else 0
        if quoted or len(text) <= head + tail + AROUND:
            found.append((quoted, text))
        else:
            found.append((False, f"{text[:head]} […] {text[len(text) - tail :]}"))
    return found
