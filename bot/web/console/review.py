"""What waits for a yes or no, to be gone through by keys: held memories, wishes that the company may see one, and
disputes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from starlette.routing import Route

from bot.kernel.values import dataclass
from bot.memory import around, reading, service
from bot.memory.model import Claim, Evidence, Held, Status
from bot.memory.rights import Act, No, Verdict
from bot.memory.service import UnclearError
from bot.sessions.visible import visible
from bot.web.console import memory_query, memory_words
from bot.web.console.memory_acts import NO, YES, MemoryActs, chosen, undo_button
from bot.web.console.memory_desk import MOST_WAITING, MemoryDesk, names
from bot.web.console.site import Answer, Moved, Page, Site
from bot.web.console.visits import Notice, Undo, Visit

LISTED = 20
MOST_WORDS = 3
"""Quotes of one memory."""


@dataclass(frozen=True, slots=True)
class Item:
    claim: Claim
    why: str
    """Why it waits."""
    yes: str
    """What the button says; "" where the reader's yes comes to nothing."""
    no: str
    refused: str
    """Why the reader cannot decide it."""
    words: tuple[Evidence, ...]
    against: tuple[Claim, ...]
    """What stands beside it on its subject."""


class ReviewPage:
    def __init__(self, desk: MemoryDesk, acts: MemoryActs) -> None:
        self._desk = desk
        self._acts = acts

    def routes(self, site: Site) -> list[Route]:
        return [
            site.page("/memories/review", self.show),
            site.page("/memories/review", self.decide, method="POST"),
        ]

    async def show(self, visit: Visit) -> Page:
        return await self._page(visit, memory_query.place(visit.asked("before")))

    async def decide(self, visit: Visit) -> Answer:
        """One by one: the queue comes back without what was decided, and the next one is chosen."""
        name = visit.field("act")
        if name not in (YES, NO):
            raise UnclearError("say yes or no")
        before = memory_query.place(visit.field("before"))
        text, step = await self._acts.decide(visit, name, [chosen(visit.field("memory"))])
        back = "/memories/review" if before is None else f"/memories/review?before={before}"
        done = Notice(text, None if step is None else undo_button(step, back))
        if not visit.partial:
            return Moved(back, done)
        at = visit.field("at")
        return await self._page(visit, before, done, int(at) if at.isascii() and at.isdigit() and len(at) < 4 else 0)

    async def _page(self, visit: Visit, before: int | None, done: Notice | None = None, at: int = 0) -> Page:
        """`at`: which one is chosen, from 0."""

        def query(connection: sa.Connection) -> tuple[list[Claim], Mapping[str, object]]:
            view = visible(connection, visit.scope)
            found = service.queue(connection, view, LISTED + 1, before)
            page = [claim for _, claim in found[:LISTED]]
            words = reading.evidence_of_each(connection, view, [each.id for each in page])
            opposed = [each for each in page if each.status is Status.DISPUTED or Held.OUTRANKED in each.held]
            against = around.rivals(connection, view, opposed)
            items = [
                self._item(connection, visit, each, words.get(each.id, ()), against.get(each.id, ())) for each in page
            ]
            everyone = [*page, *(other for each in items for other in each.against)]
            wishes = [each.promotion_by for each in page if each.promotion_by is not None]
            return page, {
                "items": items,
                "names": names(connection, [*(each.speaker for each in everyone), *wishes]),
                "waiting": service.count(connection, view, MOST_WAITING),
                "more": found[LISTED - 1][0] if len(found) > LISTED else None,
            }

        page, values = await self._desk.database.read(query, long=True)
        await self._desk.viewed(visit, page)
        undo: Undo | None = None if done is None else done.undo
        return Page(
            "memories/review.html",
            {
                **values,
                "before": before,
                "done": done,
                "undo": undo,
                "at": min(at, max(0, len(page) - 1)),
                "most_waiting": MOST_WAITING,
                "words": memory_words,
            },
            part="queue",
        )

    def _item(
        self,
        connection: sa.Connection,
        visit: Visit,
        of: Claim,
        rests_on: Sequence[Evidence],
        against: Sequence[Claim],
    ) -> Item:
        verdicts = self._desk.memories.verdicts(connection, self._desk.acting(visit), of)
        labels = {each.act: each.label for each in memory_words.buttons(of, verdicts)}
        waits = of.status is Status.PENDING
        wished = of.promotion_by is not None
        answer = verdicts.get(Act.ACCEPT if waits else Act.PROMOTE if wished else Act.SETTLE)
        refused = answer.why if isinstance(answer, No) else ""
        if waits:
            why = f"Waits: {memory_words.waits(of)}."
        elif wished:
            why = "Somebody wants the company to see it."
        else:
            why = "Others say otherwise: a yes to one side settles it."
        if answer is Verdict.ASK and wished:
            refused = "It was put before the principals: one of them decides."
        yes = labels.get("promote" if wished and not waits else "accept", "")
        no = labels.get("reject", "") or ("" if waits or wished else labels.get("retract", ""))
        return Item(of, why, yes, no, refused, tuple(rests_on[:MOST_WORDS]), tuple(against))
