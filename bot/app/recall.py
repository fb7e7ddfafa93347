"""What a turn is shown of memory, wired, with the index behind it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta

from bot.app.opening import Store
from bot.kernel.supervise import Supervisor
from bot.kernel.values import dataclass
from bot.memory.indexing import Indexing
from bot.memory.ranking import IndexRanker
from bot.memory.recall import Recall
from bot.memory.upkeep import next_time
from bot.retrieval.embedder import Embedder
from bot.retrieval.recall.index import RecallIndex
from bot.storage.database import Tx
from bot.tasks import store as tasks
from bot.tasks.store import Task
from bot.tasks.worker import Done, Handler
from config.schema import Settings

log = logging.getLogger(__name__)

EMBED = "memory.embed"
CHECK = "memory.check"
PATIENCE = timedelta(seconds=0.5)
"""How long a turn waits for the model of meanings to be loaded; full text serves meanwhile."""
LOOK_EVERY = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Remembering:
    recall: Recall
    index: RecallIndex
    indexing: Indexing
    handlers: dict[str, Handler]
    queue_check: Callable[[Tx], None]
    """At a start: the nightly look at the index waits, unless it does already."""

    async def reindexed(self) -> Mapping[str, int]:
        """The index made anew from what it is derived from."""
        return {"rows": await self.indexing.anew()}

    async def differences(self) -> Mapping[str, int]:
        """Rows that the index has otherwise than claims and transcript; they are put right."""
        return {"rows": await self.indexing.differences()}


def build(
    store: Store, settings: Settings, supervisor: Supervisor, embedder: Embedder, ring: Callable[[], None]
) -> Remembering:
    """`ring` wakes the runner of tasks."""

    def embed_later(tx: Tx) -> None:
        """Not before somebody has searched: the model of meanings is large, and full text finds new words at once."""
        now = store.clock.now()
        run_at = now if index.loaded else now + LOOK_EVERY
        if tasks.enqueue(tx, EMBED, EMBED, {}, now, lane=EMBED, run_at=run_at) is None:
            tasks.hasten(tx, EMBED, EMBED, run_at)

    index = RecallIndex(store.database, [embedder], supervisor, embed_later, patience=PATIENCE)

    async def embed(task: Task) -> Done:
        if not index.loaded:
            return Done(embed_later, empty=True)
        made = await index.catch_up()
        return Done(what_came_meanwhile, empty=not made)

    def what_came_meanwhile(tx: Tx) -> None:
        """What is put while the task runs queues none: it is still pending."""
        if index.waits(tx.connection):
            embed_later(tx)

    def check_later(tx: Tx) -> None:
        now = store.clock.now()
        run_at = next_time(now, settings.company.time_zone)
        tasks.enqueue(tx, CHECK, CHECK, {}, now, lane=CHECK, run_at=run_at)

    async def check(task: Task) -> Done:
        found = await indexing.differences()
        if found:
            log.warning("the index of memories had %d rows otherwise than the store; they are put right", found)
        return Done(check_later, empty=not found)

    async def first_search() -> None:
        await store.database.write(embed_later)
        ring()

    indexing = Indexing(store.database, index)
    ranker = IndexRanker(index, indexing, store.clock, first_search)
    recall = Recall(store.database, ranker, settings.memory.block_tokens)
    return Remembering(recall, index, indexing, {EMBED: embed, CHECK: check}, check_later)
