"""What the pages of memories share: the rooms that they are made over, who acts, and what was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import sqlalchemy as sa

from bot.audit.events import Actor, Record
from bot.audit.events_memory import MemoryViewed
from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.kernel.ids import ClaimId, PersonId
from bot.kernel.values import dataclass
from bot.memory import reading
from bot.memory.model import Claim
from bot.memory.reading import Purpose
from bot.memory.recall import Recall
from bot.memory.service import Acting, Eraser, Memories
from bot.people import store as people
from bot.sessions.visible import Visible, visible
from bot.storage.database import Database
from bot.web.console.visits import Visit

MOST_WAITING = 100
"""So many are counted; then it says that there are more."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """Rooms of memory."""

    recall: Recall
    eraser: Eraser
    domains: tuple[str, ...]
    """The specialists' fields, by name."""


class MemoryDesk:
    def __init__(self, database: Database, recorder: Recorder, clock: Clock, remembered: Remembered) -> None:
        self.database = database
        self.recorder = recorder
        self.clock = clock
        self.recall = remembered.recall
        self.eraser = remembered.eraser
        self.domains = remembered.domains
        self.memories = Memories(recorder)

    @staticmethod
    def acting(visit: Visit) -> Acting:
        return Acting(Actor("person", visit.person.id), visit.scope, visit.person)

    def meant(self, connection: sa.Connection, visit: Visit) -> tuple[Visible, Claim]:
        """The memory that the path names, by its id or the six letters that lists show. Raises `UnknownMemoryError`."""
        view, named = visible(connection, visit.scope), visit.request.path_params["id"]
        found = reading.by_ids(connection, view, Purpose.REVIEW, [ClaimId(named)]).get(ClaimId(named))
        return view, found or self.memories.meant(connection, self.acting(visit), named)

    async def viewed(self, visit: Visit, claims: Sequence[Claim]) -> None:
        """It is noted before it is given out."""
        if claims:
            payload = MemoryViewed("web", tuple(each.id for each in claims))
            record = Record(payload, Actor("person", visit.person.id))
            await self.database.write(lambda tx: self.recorder.record(tx, record))


def names(connection: sa.Connection, ids: Iterable[str]) -> Mapping[str, str]:
    """Names of people, by id; who is none of the company's is not among them."""
    return {each.id: each.name for each in people.by_ids(connection, sorted({PersonId(i) for i in ids})).values()}
