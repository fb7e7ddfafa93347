"""What people and programs do with memories, wired: the operations of the command line, the API, and telling somebody
that their private conversation was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from bot.app.opening import Store
from bot.audit.events import Actor
from bot.control.memory_reader import VIEWED, notice
from bot.erasure.work import Tell
from bot.gateway.channel import LocalHandler
from bot.gateway.text_links import inert
from bot.kernel.ids import ClaimId, DocumentId, PersonId
from bot.kernel.scope import PersonScope
from bot.knowledge.tasks import Kind
from bot.memory import store as memories
from bot.memory.model import Claim, Status
from bot.memory.moves import ASKED, HELD
from bot.memory.recall import names_of
from bot.memory.rights import Act
from bot.memory.service import Acting, Eraser, Memories
from bot.orchestrator import brought
from bot.orchestrator.clerk import Clerk
from bot.orchestrator.leaving import HANDED
from bot.orchestrator.leaving import told as what_was_handed_over
from bot.orchestrator.schedule_desk import ScheduleDesk
from bot.orchestrator.telling import GUEST_WAITS, wish
from bot.orchestrator.telling import held as held_words
from bot.people import store as people
from bot.people.model import Person
from bot.storage.database import Tx
from bot.tasks.store import Task
from bot.tasks.worker import Done, Handler

COMPANY_SEES = "Your yes is wanted: what the company is to see"

if TYPE_CHECKING:
    from bot.control.ops_memory import Counted


def handlers(store: Store, tell: Tell) -> Mapping[str, Handler]:
    """Durable work: it is told also if it was done while no daemon ran."""

    async def asked(task: Task) -> Done:
        def query(connection: sa.Connection) -> tuple[Claim, list[Person], Mapping[str, str]] | None:
            found = memories.get(connection, ClaimId(task.payload["claim"]))
            if found is None or found.promotion_by is None:
                return None
            names = dict(names_of(connection, [found]))
            names |= {person.id: person.name for person in people.by_ids(connection, [found.promotion_by]).values()}
            return found, people.principals(connection), names

        found = await store.database.read(query)
        if found is None:
            return Done(empty=True)
        claim, principals, names = found
        about = "Your yes is wanted: what I am to go by" if claim.status is Status.PENDING else COMPANY_SEES
        said = [await tell(each.id, about, inert(wish(claim, names, each.time_zone), ())) for each in principals]

        def apply(tx: Tx) -> None:
            for each in said:
                each(tx)

        return Done(apply)

    async def held(task: Task) -> Done:
        def query(connection: sa.Connection) -> str | None:
            person = people.get(connection, PersonId(task.payload["person"]))
            claims = [memories.get(connection, ClaimId(each)) for each in task.payload["claims"]]
            waits = [each for each in claims if each is not None and each.status is Status.PENDING]
            if person is None or not waits:
                return None
            if not person.internal:
                return GUEST_WAITS
            by = Acting(Actor("person", person.id), PersonScope(person.id), person)
            return held_words([(each, Memories.verdict(connection, by, Act.ACCEPT, each)) for each in waits])

        text = await store.database.read(query)
        if text is None:
            return Done(empty=True)
        return Done(await tell(PersonId(task.payload["person"]), "What you told me waits for a yes", text))

    async def viewed(task: Task) -> Done:
        return Done(
            await tell(PersonId(task.payload["person"]), "A private conversation was read", notice(task.payload))
        )

    async def handed(task: Task) -> Done:
        text = await store.database.read(lambda c: what_was_handed_over(c, task.payload))
        if text is None:
            return Done(empty=True)
        return Done(await tell(PersonId(task.payload["to"]), "What was handed over to you", inert(text, ())))

    async def waits(task: Task) -> Done:
        document = DocumentId(task.payload["document"])
        found = await store.database.read(lambda c: brought.waits(c, document))
        if found is None:
            return Done(empty=True)
        said = [await tell(each, "A document waits for a yes", inert(found[1], ())) for each in found[0]]

        def apply(tx: Tx) -> None:
            for each in said:
                each(tx)

        return Done(apply)

    async def ended(task: Task) -> Done:
        document = DocumentId(task.payload["document"])
        found = await store.database.read(lambda c: brought.ended(c, document))
        if found is None:
            return Done(empty=True)
        return Done(await tell(found[0], "Your document", inert(found[1], ())))

    return {
        ASKED: asked, HELD: held, VIEWED: viewed, HANDED: handed, Kind.WAITS.value: waits, Kind.ENDED.value: ended,
    }  # fmt: skip


def operations(
    store: Store,
    eraser: Eraser,
    ring: Callable[[], None],
    reindexed: Counted | None = None,
    differences: Counted | None = None,
    *,
    local_person: str | None,
) -> Mapping[str, LocalHandler]:
    """Of the socket, and of commands that work without a daemon. `ring` wakes whoever runs tasks; `reindexed` makes the
    index of memories anew, `differences` counts what it has otherwise than the store: None where there is none.
    `local_person`: who speaks at this machine's terminal; None: the first principal."""
    from bot.control.ops_memory import Operations
    from bot.control.ops_tokens import Tokens

    memory = Operations(store.database, store.recorder, store.clock, eraser, reindexed, differences, ring, local_person)
    return {**memory.handlers(), **Tokens(store.database, store.recorder, store.clock).handlers()}


def routes(
    store: Store,
    eraser: Eraser,
    version: str,
    on_refused: Callable[[str], None],
    clerk: Clerk,
    schedules: ScheduleDesk,
    visitors: Any = None,
) -> Sequence[Any]:
    """Of the API, which is loaded with the first request. Loads the web server's library. `visitors`: who is signed in
    to the console; None without one."""
    from bot.web.later import Later

    def made() -> Sequence[Any]:
        from bot.web import api

        return api.routes(
            store.database, store.recorder, store.clock, eraser, version, on_refused, clerk, schedules, visitors
        )

    return [Later("/api/", made)]
