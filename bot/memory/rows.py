"""Rows and values of claims, and a claim's fields as its events tell them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from bot.kernel.ids import ClaimId, MessageId, PersonId, SessionId, TurnId
from bot.memory.model import (
    Author,
    Claim,
    Evidence,
    Held,
    Kind,
    Source,
    Status,
    Support,
    Trust,
    Visibility,
    Work,
)

CHANGEABLE = frozenset(
    {
        *("statement", "rationale", "outcome", "domain", "department", "subject", "visibility", "status", "held"),
        *("source", "support", "trust", "confidence", "work", "owner", "due", "valid_from", "valid_to", "said_at"),
        *("replaced_by", "author", "by_person", "promotion_by", "owner_name"),
    }
)


def claim_of(row: Any) -> Claim:
    """A row of the claim table that is not erased."""
    return Claim(
        ClaimId(row.id),
        Kind(row.kind),
        row.statement,
        row.rationale,
        row.outcome,
        row.domain,
        row.department,
        row.subject,
        row.speaker,
        SessionId(row.session_id),
        TurnId(row.turn_id) if row.turn_id else None,
        row.history_epoch,
        row.audience_epoch,
        Visibility(row.visibility),
        Status(row.status),
        tuple(Held(each) for each in row.held),
        Source(row.source),
        Support(row.support),
        Trust(row.trust),
        row.confidence,
        Work(row.work) if row.work else None,
        PersonId(row.owner) if row.owner else None,
        row.due,
        row.said_at,
        row.heard_at,
        row.valid_from,
        row.valid_to,
        row.recorded_at,
        row.retired_at,
        row.touched_at,
        ClaimId(row.replaced_by) if row.replaced_by else None,
        Author(row.author_kind, row.author),
        row.by_person,
        PersonId(row.promotion_by) if row.promotion_by else None,
        row.version,
        row.owner_name,
    )


def evidence_value(row: Any) -> Evidence:
    values = {each.name: getattr(row, each.name) for each in fields(Evidence) if each.name not in ("message", "trust")}
    return Evidence(**values, message=MessageId(row.message_id), trust=Trust(row.trust))


def row_of(of: Claim) -> dict[str, Any]:
    values = {each.name: getattr(of, each.name) for each in fields(Claim)}
    author: Author = values.pop("author")
    values["session_id"], values["turn_id"] = values.pop("session"), values.pop("turn")
    values |= {"author_kind": author.kind, "author": author.name, "held": [each.value for each in of.held]}
    return {name: value.value if isinstance(value, StrEnum) else value for name, value in values.items()}


def told(of: Claim) -> dict[str, object]:
    """The changeable fields as an event tells them."""
    return {name: _plain(getattr(of, name)) for name in sorted(CHANGEABLE)}


def earlier(of: Claim, before: Mapping[str, object]) -> Claim:
    """The claim with fields as an event tells that they were before it."""
    values: dict[str, Any] = {
        name: _READ[name](value) if value is not None else None for name, value in before.items() if name in _READ
    }
    return replace(of, **values)


def values_of(told: Mapping[str, object]) -> dict[str, Any]:
    """Fields as an event tells them (`told`), as values of a claim."""
    return {name: None if value is None else {**_READ, **_MORE}[name](value) for name, value in told.items()}


_READ: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        ("statement", "rationale", "outcome", "domain", "department", "owner", "owner_name", "replaced_by"), str
    ),
    **dict.fromkeys(("valid_from", "valid_to"), datetime.fromisoformat),
    "status": Status,
    "work": Work,
    "due": date.fromisoformat,
}


_MORE: Mapping[str, Callable[[Any], Any]] = {
    "subject": str,
    "promotion_by": PersonId,
    "visibility": Visibility,
    "source": Source,
    "support": Support,
    "trust": Trust,
    "held": lambda each: tuple(map(Held, each)),
    "confidence": float,
    "by_person": bool,
    "said_at": datetime.fromisoformat,
    "author": lambda each: Author(**each),
}
"""Those that reading as of an instant leaves as they are."""


def _plain(value: object) -> object:
    match value:
        case StrEnum():
            return value.value
        case datetime() | date():
            return value.isoformat()
        case tuple():
            return [_plain(each) for each in value]
        case Author():
            return asdict(value)
        case _:
            return value
