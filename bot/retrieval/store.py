"""SQL of embeddings. Rooms enlist items and withdraw them in their own transactions; the index fills in the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import sqlalchemy as sa

from bot.kernel.values import dataclass
from bot.retrieval.tables import embedding
from bot.storage.database import Tx

_INSERT = embedding.insert().prefix_with("OR IGNORE")
_FILL = (
    embedding.update()
    .where(embedding.c.item == sa.bindparam("of"))
    .values(model=sa.bindparam("by"), data=sa.bindparam("numbers"))
)


@dataclass(frozen=True, slots=True)
class Waiting:
    item: str
    collection: str


@dataclass(frozen=True, slots=True)
class Embedded:
    item: str
    collection: str
    data: bytes


def enlist(tx: Tx, collection: str, items: Iterable[str]) -> None:
    """These can be searched for from now on, in this collection, once they are embedded."""
    rows = [{"item": item, "collection": collection, "model": ""} for item in items]
    if rows:
        tx.execute(_INSERT, rows)


def withdraw(tx: Tx, items: Collection[str]) -> None:
    for part in _parts(items):
        tx.execute(embedding.delete().where(embedding.c.item.in_(part)))


def waiting(connection: sa.Connection, model: str, limit: int) -> list[Waiting]:
    """Items that were not embedded by this model, oldest first among the new ones."""
    columns = (embedding.c.item, embedding.c.collection)
    found: list[Waiting] = []
    for stale in (embedding.c.model < model, embedding.c.model > model):
        query = sa.select(*columns).where(stale).order_by(embedding.c.model, embedding.c.item).limit(limit)
        found += [Waiting(row.item, row.collection) for row in connection.execute(query)]
    return found[:limit]


def fill(tx: Tx, model: str, numbers: Mapping[str, bytes]) -> None:
    """Store embeddings of items that are still enlisted."""
    if numbers:
        tx.execute(_FILL, [{"of": item, "by": model, "numbers": data} for item, data in numbers.items()])


def embedded(connection: sa.Connection, model: str, after: str, limit: int) -> list[Embedded]:
    """Items embedded by this model, in the order of their ids, from the first after `after` on."""
    rows = connection.execute(
        sa.select(embedding.c.item, embedding.c.collection, embedding.c.data)
        .where(embedding.c.model == model, embedding.c.item > after)
        .order_by(embedding.c.item)
        .limit(limit)
    )
    return [Embedded(row.item, row.collection, row.data) for row in rows]


def some(connection: sa.Connection, model: str, items: Collection[str]) -> list[Embedded]:
    """Those of the items that this model has embedded."""
    found: list[Embedded] = []
    for part in _parts(items):
        rows = connection.execute(
            sa.select(embedding.c.item, embedding.c.collection, embedding.c.data).where(
                embedding.c.item.in_(part), embedding.c.model == model
            )
        )
        found += [Embedded(row.item, row.collection, row.data) for row in rows]
    return found


def items_by_collection(connection: sa.Connection, model: str) -> dict[str, set[str]]:
    rows = connection.execute(sa.select(embedding.c.collection, embedding.c.item).where(embedding.c.model == model))
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row.collection, set()).add(row.item)
    return found


def counts(connection: sa.Connection, model: str) -> tuple[int, int]:
    """How many items there are, and how many of them this model has embedded."""
    row = connection.execute(
        sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(sa.cast(embedding.c.model == model, sa.Integer)), 0))
    ).one()
    return int(row[0]), int(row[1])


def _parts(items: Collection[str], size: int = 500) -> Iterable[list[str]]:
    ordered = list(items)
    for at in range(0, len(ordered), size):
        yield ordered[at : at + size]
