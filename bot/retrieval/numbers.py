"""What the index does with vectors. All of it blocks; numpy is imported at the first use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bot.retrieval.embedder import Embedder
from bot.retrieval.store import Embedded
from bot.retrieval.vectors import Generation, Near

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.embedder import Matrix

STORED = "<f2"
"""Half precision, little end first: the cosine of two stored vectors is off by less than 0.001."""


def search(
    embedder: Embedder,
    generation: Generation,
    question: str,
    collections: Sequence[str],
    limit: int,
) -> list[Near]:
    return generation.nearest(collections, embedder.embed([question])[0], limit)


def compare(embedder: Embedder, rows: Sequence[Embedded], question: str, limit: int) -> list[Near]:
    import numpy as np

    if not rows:
        return []
    cosines = np.stack([unpacked(row.data) for row in rows]) @ embedder.embed([question])[0]
    best = np.argsort(-cosines, kind="stable")[:limit]
    return [Near(rows[at].item, float(cosines[at])) for at in best.tolist()]


def embedded(embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    return [row.astype(STORED).tobytes() for row in embedder.embed(texts)]


def unpacked(data: bytes) -> NDArray[np.float32]:
    import numpy as np

    return np.frombuffer(data, dtype=STORED).astype(np.float32)


def upsert(generation: Generation, page: Sequence[Embedded]) -> None:
    import numpy as np

    by_collection: dict[str, list[Embedded]] = {}
    for each in page:
        by_collection.setdefault(each.collection, []).append(each)
    for collection, members in by_collection.items():
        matrix: Matrix = np.stack([unpacked(each.data) for each in members])
        generation.upsert(collection, [each.item for each in members], matrix)


def is_whole(generation: Generation, collection: str, count: int, sample: Mapping[str, bytes]) -> bool:
    return generation.is_whole(collection, count, {item: unpacked(data) for item, data in sample.items()})
