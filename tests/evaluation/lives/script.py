"""What happens in a life. A thing that is told has a key (thread, entity, attribute) and values that occur nowhere
else, so that a value found in a text is that value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


@dataclass(frozen=True, slots=True)
class Key:
    thread: str
    entity: str
    attribute: str

    @property
    def question(self) -> str:
        return QUESTIONS[self.attribute].format(entity=self.entity)


QUESTIONS: Mapping[str, str] = {
    "budget": "What is the budget for {entity}?",
    "launch": "When does {entity} launch?",
    "owner": "Who owns {entity}?",
    "supplier": "Which supplier did we choose for {entity}?",
    "price": "What is the price of {entity}?",
    "venue": "Where does {entity} take place?",
    "headcount": "How many people work on {entity}?",
}


class Fate(Enum):
    ABSENT = "absent"  # never told as a fact, or only in another thread
    ERASED = "erased"
    RETRACTED = "retracted"
    DISPUTED = "disputed"


@dataclass(frozen=True, slots=True)
class Say:
    ref: str
    thread: str
    who: str
    text: str
    key: Key | None = None
    value: str | None = None
    """What it tells; None: it tells nothing that is to be remembered."""
    quoted: str | None = None
    """Others' words that stand in it, marked as such by the channel."""


@dataclass(frozen=True, slots=True)
class Edit:
    ref: str
    text: str
    key: Key
    value: str


@dataclass(frozen=True, slots=True)
class Delete:
    """The writer deletes the message on the platform."""

    ref: str
    key: Key


@dataclass(frozen=True, slots=True)
class Correct:
    """A person rewrites what is remembered."""

    key: Key
    value: str
    text: str


@dataclass(frozen=True, slots=True)
class Retract:
    key: Key


@dataclass(frozen=True, slots=True)
class Forget:
    key: Key


@dataclass(frozen=True, slots=True)
class NewHistory:
    thread: str


@dataclass(frozen=True, slots=True)
class GuestJoins:
    thread: str


@dataclass(frozen=True, slots=True)
class Restart:
    """The process dies and another one starts."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is true now. A tuple holds the values of a dispute; keys that are left out are not asked for."""

    truth: Mapping[Key, str | tuple[str, ...] | Fate]


Step = Say | Edit | Delete | Correct | Retract | Forget | NewHistory | GuestJoins | Restart | Checkpoint


@dataclass(frozen=True, slots=True)
class Life:
    name: str
    steps: tuple[Step, ...]
    never: frozenset[str] = field(default=frozenset())
    """Values that are spoken of and never told: asked, supposed, reported, quoted."""

    @property
    def checkpoints(self) -> int:
        return sum(isinstance(step, Checkpoint) for step in self.steps)

    def values(self) -> Mapping[Key, tuple[str, ...]]:
        """All values that a key ever had, in order."""
        found: dict[Key, list[str]] = {}
        for step in self.steps:
            if isinstance(step, Say | Edit | Correct) and step.key is not None and step.value is not None:
                found.setdefault(step.key, []).append(step.value)
        return {key: tuple(dict.fromkeys(values)) for key, values in found.items()}
