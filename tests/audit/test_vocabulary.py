"""The vocabulary is closed, and no payload type has room for what a person wrote."""

from __future__ import annotations

import types
import typing
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from bot.audit import events, events_ledger, events_memory
from bot.audit.events import Payload, Record
from bot.audit.recorder import Recorder, UndeclaredEventError
from bot.audit.vocabulary import VOCABULARY
from bot.storage.database import Database

IDS = {
    *(
        "ChunkId",
        "ClaimId",
        "DocumentId",
        "InboxId",
        "JobId",
        "MessageId",
        "OutboxId",
        "PersonId",
        "SectionId",
        "SessionId",
    ),
    *("ProposalId", "TaskId", "TurnId"),
}

NAMES = {
    "action": "the name of a class of actions",
    "addressed": "an enum of the gateway",
    "after": "an audience",
    "arguments_hash": "a digest",
    "because": "one of the judge's own sentences, which name no one",
    "before": "an audience, a day, or a digest",
    "boot": "an id",
    "budget": "an enum of the budget",
    "change": "an enum",
    "channel": "a channel's name",
    "code": "an id, never the code",
    "digest": "a digest",
    "door": "an enum",
    "error": "the name of a class",
    "hash": "a digest",
    "holder": "an id of a process",
    "keys": "names of settings",
    "kind": "a kind of event or task",
    "model": "a model's name",
    "name": "a tool's name, or that of a specialist",
    "origin": "an enum",
    "outcome": "an enum of the gateway",
    "place": "a place's key",
    "proof": "an enum of the gateway",
    "purpose": "an enum of the budget",
    "reason": "a short name such as audience_changed",
    "request": "an id",
    "state": "a state",
    "subject": "the id of a person or a session",
    "stop": "a stop reason of the model port",
    "token": "an id, never the token",
    "until": "a day",
    "version": "of the program",
}
"""Fields of type `str` and what stands in them. A new one is added here with the same thought: if a person's words or
name can get into it, it belongs into `Record.text`."""


def _is_closed(kind: Any) -> bool:
    """Whether values of this type can only be ids, numbers, enums or None."""
    if getattr(kind, "__supertype__", None) is not None:
        return kind.__name__ in IDS
    if get_origin(kind) in (types.UnionType, typing.Union, tuple):
        return all(part is Ellipsis or part is types.NoneType or _is_closed(part) for part in get_args(kind))
    if get_origin(kind) is Literal:
        return True
    return kind in (int, bool) or (isinstance(kind, type) and issubclass(kind, StrEnum))


def _holds_text(kind: Any) -> bool:
    return kind is str or any(_holds_text(part) for part in get_args(kind) if get_origin(kind) is not Literal)


@pytest.mark.parametrize("payload", VOCABULARY.values(), ids=VOCABULARY.keys())
def test_a_payload_holds_ids_numbers_enums_and_short_names_only(payload: type[Payload]) -> None:
    assert is_dataclass(payload)
    hints = get_type_hints(payload, vars(events) | vars(events_memory) | vars(events_ledger))
    for field in fields(payload):
        kind = hints[field.name]
        if _holds_text(kind):
            assert field.name in NAMES, f"{payload.type}.{field.name} could hold free text"
        else:
            assert _is_closed(kind), f"{payload.type}.{field.name}: {kind}"


def test_types_are_unique_and_each_payload_states_its_own() -> None:
    named = {**vars(events), **vars(events_memory), **vars(events_ledger)}
    declared = [cls for cls in named.values() if isinstance(cls, type) and issubclass(cls, Payload)]
    declared.remove(Payload)
    assert len(declared) == len(VOCABULARY)
    assert all(VOCABULARY[cls.type] is cls for cls in declared)


def test_the_types_of_this_part_are_there() -> None:
    assert VOCABULARY.keys() >= {
        "message_received", "message_refused", "message_duplicate", "turn_started", "turn_finished", "turn_failed",
        "tool_called", "specialist_consulted", "cache_used",
        "delivery_sent", "delivery_failed", "delivery_uncertain", "delivery_parked",
        "auth_refused", "person_paired", "person_changed", "room_changed", "setting_changed", "company_changed",
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Undeclared:
    type = "made_up"
    words: str


@dataclass(frozen=True, slots=True)
class _Impostor:
    """Bears a declared type with fields of its own."""

    type = "daemon_stopped"
    words: str


@pytest.mark.parametrize("payload", [_Undeclared("x"), _Impostor("x")], ids=["unknown type", "foreign fields"])
async def test_what_is_not_declared_cannot_be_recorded(
    database: Database, recorder: Recorder, payload: _Undeclared | _Impostor
) -> None:
    record = Record(payload)  # type: ignore[arg-type]
    with pytest.raises(UndeclaredEventError):
        await database.write(lambda tx: recorder.record(tx, record))
