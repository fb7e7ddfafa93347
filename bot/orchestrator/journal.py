"""Steps with an outside effect whose result the turn needs: done once, replayed when the turn runs again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime

import sqlalchemy as sa

from bot.kernel.ids import TurnId
from bot.orchestrator.tables import journal
from bot.storage.database import Tx


def arguments_hash(arguments: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(arguments, sort_keys=True, default=str).encode()).hexdigest()


def note(tx: Tx, turn: TurnId, name: str, arguments: Mapping[str, object], result: str, now: datetime) -> bool:
    """Write the result of a step. False if it stands there already: then this was not the first time."""
    done = tx.execute(
        journal.insert()
        .prefix_with("OR IGNORE")
        .values(turn_id=turn, name=name, arguments_hash=arguments_hash(arguments), result=result, at=now)
    )
    return bool(done.rowcount)


def result_of(connection: sa.Connection, turn: TurnId, name: str, arguments: Mapping[str, object]) -> str | None:
    found: str | None = connection.execute(
        sa.select(journal.c.result).where(
            journal.c.turn_id == turn,
            journal.c.name == name,
            journal.c.arguments_hash == arguments_hash(arguments),
        )
    ).scalar()
    return found
