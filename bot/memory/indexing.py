"""Keeping the search index in step with claims and the transcript.

Triggers note what changed; here it is brought into the index, soon after each turn and before every search, so that
what was committed is found. A claim that is not believed, and a message that was deleted, is taken out.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from bot.memory.model import STANDING, Claim, Source
from bot.memory.recall import names_of, space_of
from bot.memory.rows import claim_of
from bot.memory.tables import claim, to_index
from bot.retrieval.recall.index import RecallIndex
from bot.retrieval.recall.model import Entry, Kind
from bot.retrieval.tables import recall_row
from bot.sessions.tables import message
from bot.storage.database import Database, Tx
from bot.storage.metadata import among

AT_ONCE = 100
"""Rows of one transaction."""
SPEAKER = "executive"
_BELIEVED = sa.and_(among(claim.c.status, STANDING), claim.c.source != Source.DELETED.value)
_STANDS = sa.and_(message.c.deleted_at.is_(None), sa.func.trim(message.c.text) != "")


class Indexing:
    def __init__(self, database: Database, index: RecallIndex) -> None:
        self._database = database
        self._index = index

    async def bring(self) -> int:
        """Bring in all that changed. Returns how many rows."""
        count = 0
        while await self._database.read(waits):
            done = await self._database.write(lambda tx: self.some(tx, AT_ONCE))
            count += done
            if not done:
                break
        return count

    async def anew(self) -> int:
        """Make the index anew from claims and transcript. Returns how many rows."""

        def unit(tx: Tx) -> None:
            tx.execute(to_index.delete())
            for kind, table in (("claim", claim), ("turn", message)):
                rows = sa.select(sa.literal(kind), table.c.id)
                tx.execute(to_index.insert().from_select(["kind", "ref"], rows))

        await self._database.write(unit)
        count = await self.bring()
        await self._index.reindex()
        return count

    async def differences(self) -> int:
        """How many rows of claims and messages the index lacks or has too many; they are brought in."""

        def unit(tx: Tx) -> int:
            counted = sa.select(sa.func.count()).select_from(to_index)
            before: int = tx.execute(counted).scalar_one()
            for kind, table, stands in (("claim", claim, _BELIEVED), ("turn", message, _STANDS)):
                own = sa.select(table.c.id).where(stands)
                indexed = sa.select(recall_row.c.ref).where(recall_row.c.kind == kind)
                for lacking in (sa.except_(own, indexed), sa.except_(indexed, own)):
                    rows = sa.select(sa.literal(kind), lacking.subquery().c[0])
                    tx.execute(to_index.insert().prefix_with("OR IGNORE").from_select(["kind", "ref"], rows))
            after: int = tx.execute(counted).scalar_one()
            return after - before

        count = await self._database.write(unit)
        await self.bring()
        return count

    def some(self, tx: Tx, limit: int) -> int:
        """A part of it, within a transaction: what is erased in it must not stay in the index."""
        rows = tx.execute(sa.select(to_index).limit(limit)).all()
        claims = [row.ref for row in rows if row.kind == "claim"]
        turns = [row.ref for row in rows if row.kind == "turn"]
        if claims:
            self._claims(tx, claims)
        if turns:
            self._turns(tx, turns)
        for kind, refs in (("claim", claims), ("turn", turns)):
            if refs:
                tx.execute(to_index.delete().where(to_index.c.kind == kind, to_index.c.ref.in_(refs)))
        return len(rows)

    def _claims(self, tx: Tx, refs: Sequence[str]) -> None:
        believed = sa.select(claim).where(claim.c.id.in_(refs), _BELIEVED)
        found = [claim_of(row) for row in tx.execute(believed)]
        names = names_of(tx.connection, found)
        self._index.put(tx, [_of_claim(each, names.get(each.speaker, each.speaker)) for each in found])
        gone = set(refs) - {each.id for each in found}
        if gone:
            self._index.remove(tx, Kind.CLAIM, gone)

    def _turns(self, tx: Tx, refs: Sequence[str]) -> None:
        rows = tx.execute(sa.select(message).where(message.c.id.in_(refs), _STANDS)).all()
        self._index.put(
            tx,
            [
                Entry(
                    Kind.TURN,
                    row.id,
                    row.session_id,
                    row.history_epoch,
                    row.audience_epoch,
                    row.speaker if row.role == "user" else SPEAKER,
                    row.sent_at,
                    row.text,
                )
                for row in rows
            ],
        )
        gone = set(refs) - {row.id for row in rows}
        if gone:
            self._index.remove(tx, Kind.TURN, gone)


def waits(connection: sa.Connection) -> bool:
    """Whether anything is to be brought in."""
    return connection.execute(sa.select(to_index.c.ref).limit(1)).first() is not None


def _of_claim(of: Claim, speaker: str) -> Entry:
    text = of.statement if of.rationale is None else f"{of.statement} Because: {of.rationale}"
    return Entry(Kind.CLAIM, of.id, space_of(of), 0, 0, speaker, of.said_at, text)
