"""A ranker for tests of what stands around ranking: shared words, nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from bot.kernel.ids import SessionId
from bot.llm import lexical
from bot.memory.model import Status
from bot.memory.recall import Hit, space_of
from bot.memory.rows import claim_of
from bot.memory.tables import claim
from bot.sessions.tables import message
from bot.storage.database import Database


class Words:
    """Implements `bot.memory.recall.Ranker`. `careless`: it finds everything, whatever it was asked for."""

    def __init__(self, database: Database, *, careless: bool = False) -> None:
        self._database = database
        self._careless = careless

    async def claims(self, query: str, spaces: Sequence[str], limit: int) -> list[Hit]:
        rows = await self._database.read(
            lambda c: c.execute(sa.select(claim).where(claim.c.status != Status.ERASED.value)).all()
        )
        found = [claim_of(row) for row in rows]
        hits = [
            Hit(each.id, _shared(query, each.statement)) for each in found if self._careless or space_of(each) in spaces
        ]
        return sorted(hits, key=lambda hit: -hit.score)[:limit]

    async def turns(
        self, query: str, session: SessionId, history_epoch: int, audience_epoch: int, limit: int
    ) -> list[Hit]:
        own = sa.and_(
            message.c.session_id == session,
            message.c.history_epoch == history_epoch,
            message.c.audience_epoch == audience_epoch,
        )
        rows = await self._database.read(
            lambda c: c.execute(sa.select(message).where(sa.true() if self._careless else own)).all()
        )
        hits = [Hit(row.id, _shared(query, row.text)) for row in rows]
        return sorted((hit for hit in hits if hit.score), key=lambda hit: -hit.score)[:limit]


def _shared(query: str, text: str) -> float:
    asked = set(lexical.terms(query))
    return len(asked & set(lexical.terms(text))) / max(1, len(asked))
