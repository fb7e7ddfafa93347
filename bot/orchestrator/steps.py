"""The steps of a turn before its end: recall, prompt, complete, decide. `lanes` calls them in order."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from functools import partial

import sqlalchemy as sa

from bot.company import store as company
from bot.company.model import block
from bot.gateway.events import MessageReceived
from bot.intake import store as inbox
from bot.kernel.errors import OpenExecutiveError
from bot.kernel.ids import MessageId, TurnId
from bot.kernel.scope import SessionScope
from bot.llm import budget
from bot.llm.budget import OverBudgetError
from bot.llm.converse import converse
from bot.llm.model import ContextTooLongError, Finished, Image, Request, StopReason, Text, Usage
from bot.memory import recall as memory
from bot.memory.recall import Standing
from bot.orchestrator import gate, loop, material
from bot.orchestrator import prompt as prompts
from bot.orchestrator.cleaning import cleaned
from bot.orchestrator.decide import Answer, Decision, decide
from bot.orchestrator.drafts import Drafter
from bot.orchestrator.keeping import Errand, Keep, Keeping, receipt
from bot.orchestrator.loop import Answered
from bot.orchestrator.material import Material
from bot.orchestrator.placeholder import Placeholders
from bot.orchestrator.prompt import Built
from bot.orchestrator.recollection import TRUSTED
from bot.orchestrator.scheduled import is_scheduled
from bot.orchestrator.tools import Asker
from bot.orchestrator.values import Completed, Parts, Prompted, Recalled, reply_path
from bot.orchestrator.verdicts import Verdicts
from bot.people import store as people
from bot.sessions import compaction, threads, transcript
from bot.sessions.audience import Audience
from bot.sessions.taint import others_words
from bot.sessions.transcript import Said
from bot.sessions.turns import Turn
from bot.sessions.visible import PUBLIC_ONLY, company_view, of_session

log = logging.getLogger(__name__)

SHORTER_TRIES = 4
GATE_DEADLINE = timedelta(seconds=20)


class Steps:
    def __init__(
        self,
        parts: Parts,
        placeholders: Placeholders,
        keeping: Keeping | None = None,
        verdicts: Verdicts | None = None,
    ) -> None:
        """`keeping`: None where documents cannot be handed over; `verdicts`: None where nothing is decided by mail."""
        self._p = parts
        self._placeholders = placeholders
        self._keeping = keeping
        self._verdicts = verdicts

    async def recall(self, turn: Turn, rows: Sequence[inbox.Row]) -> Recalled:
        wanted = sorted({row.person for row in rows if row.person is not None})

        def query(connection: sa.Connection) -> tuple[Recalled, Standing | None]:
            session = threads.get(connection, turn.session)
            if session is None:
                raise LookupError(f"session {turn.session} of a turn is gone")
            scope = SessionScope(turn.session)
            seen = PUBLIC_ONLY if session.audience is Audience.EXTERNAL else company_view(connection, scope)
            fields = company.profile(connection, internal=seen.company)
            view = of_session(session.id, session.audience_epoch, seen)
            standing = None if self._p.recall is None else memory.standing(connection, view)
            recalled = Recalled(
                session,
                transcript.history(connection, scope),
                compaction.earlier(connection, scope),
                people.by_ids(connection, wanted),
                block(fields, self._p.company_name, internal=seen.company),
            )
            return recalled, standing

        recalled, standing = await self._p.database.read(query)
        if self._p.recall is None or standing is None:
            return recalled
        zone = self._context(rows, recalled).time_zone
        block_of_memory = await self._p.recall.block(standing, _asked(rows), self._p.clock.now(), zone)
        return replace(recalled, remembered=block_of_memory)

    async def errand(self, turn: Turn, rows: Sequence[inbox.Row], recalled: Recalled) -> Errand | None:
        """What is to be done about documents and proposals; a verdict is carried out. Raises `TransientError`."""
        if is_scheduled(rows):
            return None
        decided = None if self._verdicts is None else await self._verdicts.errand(rows, recalled.people)
        if decided is not None:
            return decided
        if self._keeping is None:
            return None
        return await self._keeping.errand(turn, rows, recalled.people, recalled.session.audience)

    async def without_model(
        self, turn: Turn, rows: Sequence[inbox.Row], recalled: Recalled, errand: Errand
    ) -> tuple[Completed, Decision]:
        """The end of a turn whose words were an errand alone. Raises `TransientError` when a file can be had only
        later."""
        said = [(await self._said(row, recalled, show=False))[0] for row in rows]
        request = Request(self._p.frame.model, (), (), max_tokens=1, deadline=self._p.frame.deadline)
        asker = self._asker(turn, rows, recalled, self._context(rows, recalled))
        prompted = Prompted(Built(request, None, {}), tuple(said), asker, frozenset(), recalled.earlier)
        keep = errand if isinstance(errand, Keep) else None
        text = receipt(errand, said) if isinstance(errand, Keep) else errand.text
        finished = Finished((Text(text),), StopReason.END_TURN, Usage(), "", "errand")
        return Completed(prompted, Answered(finished, (), (), untrusted=False), keep), Answer(text)

    async def prompt(self, turn: Turn, rows: Sequence[inbox.Row], recalled: Recalled) -> Prompted:
        """Raises `TransientError` when a file of a message can be had only later."""
        said: list[Said] = []
        pictures: dict[MessageId, Sequence[Image]] = {}
        for row in rows:
            each, shown = await self._said(row, recalled)
            said.append(each)
            pictures[each.id] = shown
        context = self._context(rows, recalled)
        built = prompts.build(
            self._p.frame, recalled.company, context, recalled.earlier, recalled.history, said, pictures,
            recalled.remembered.text, recalled.remembered.no_longer,
        )  # fmt: skip
        asker = self._asker(turn, rows, recalled, context)
        links = prompts.own_addresses((*recalled.history, *said))
        untrusted = _reads_others(said, recalled)
        return Prompted(built, tuple(said), asker, links, recalled.earlier, recalled.remembered, untrusted)

    async def complete(
        self, turn: Turn, rows: Sequence[inbox.Row], recalled: Recalled, prompted: Prompted
    ) -> Completed:
        """Ask the model; a request that is too long is asked again with less history. Raises like `Model.stream`."""
        for tries in range(SHORTER_TRIES):
            try:
                return Completed(prompted, await self._ask(turn, rows, prompted))
            except ContextTooLongError:
                if not recalled.history or tries == SHORTER_TRIES - 1:
                    raise
                history, start = prompts.halved(recalled.history)
                left_out = len(recalled.history) - len(history)
                earlier = replace(recalled.earlier, hidden=recalled.earlier.hidden + left_out)
                recalled = replace(recalled, history=history, earlier=earlier)
                again = await self.prompt(turn, rows, recalled)
                # The same asker: what the turn has used up stays used up.
                built = replace(again.built, history_start=start)
                prompted = replace(again, built=built, asker=prompted.asker)
        raise AssertionError("the loop returns or raises")

    async def not_spoken_to(self, recalled: Recalled, prompted: Prompted) -> Completed | None:
        """In a room that is listened to: the light model's no (as it answered); None if the executive shall speak."""
        deadline = min(self._p.frame.deadline, GATE_DEADLINE)
        request = gate.question(self._p.frame.light_model, recalled.history, prompted.current, deadline)
        try:
            async with aclosing(converse(self._p.gate, request)) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        return None if gate.is_yes(event) else _no(prompted, event)
        except OpenExecutiveError as error:
            log.warning("gate: %s", error.message)
        return _no(prompted, Finished((), StopReason.END_TURN, Usage(), self._p.frame.light_model, "gate"))

    @staticmethod
    def over_budget(prompted: Prompted, error: OverBudgetError) -> tuple[Completed, Decision]:
        """What is said when a limit of the budget leaves no room. Amounts are for people of the company only."""
        asker = prompted.asker
        internal = asker.audience is not Audience.EXTERNAL and asker.person is not None and asker.person.internal
        text = budget.refusal(error.account, error.spent, asker.time_zone, figures=internal)
        finished = Finished((Text(text),), StopReason.END_TURN, Usage(), "budget", error.account.limit.value)
        return Completed(prompted, Answered(finished, (), (), untrusted=False)), Answer(text, refused=True)

    @staticmethod
    def decide(finished: Finished) -> Decision:
        return decide(finished)

    async def _ask(self, turn: Turn, rows: Sequence[inbox.Row], prompted: Prompted) -> Answered:
        path, channel = reply_path(rows), self._p.channels[rows[-1].channel]
        stand_in = partial(self._placeholders.stand_in, turn, channel, path)
        clean = partial(cleaned, permitted=prompted.links)
        async with Drafter(channel, path, turn.id, self._p.clock, stand_in, clean) as drafter:
            return await loop.answer(
                self._p.model, prompted.built.request, self._p.registry, prompted.asker, drafter.show
            )

    @staticmethod
    def _asker(turn: Turn, rows: Sequence[inbox.Row], recalled: Recalled, context: prompts.Context) -> Asker:
        return Asker(
            turn.id,
            SessionScope(turn.session),
            recalled.session.audience,
            recalled.people.get(rows[-1].person) if rows[-1].person else None,
            context.now,
            context.time_zone,
            recalled.company,
        )

    async def _said(self, row: inbox.Row, recalled: Recalled, *, show: bool = True) -> tuple[Said, Sequence[Image]]:
        """`show`: files are read for the model; else they are fetched only."""
        event = row.event
        if not isinstance(event, MessageReceived):
            raise TypeError(f"inbox row {row.id} is no message")
        person = recalled.people.get(row.person) if row.person else None
        found = material.NOTHING
        if event.attachments and show:
            found = await material.gather(self._p.files, self._p.channels[row.channel], event.attachments)
        elif event.attachments:
            found = Material(await material.fetched(self._p.channels[row.channel], event.attachments), ())
        body = event.body
        return (
            Said(
                MessageId(row.id),
                row.turn or TurnId(""),
                "user",
                row.person,
                person.name if person else event.sender.name,
                event.ref,
                body,
                event.sender.proof,
                event.sent_at,
                found.files,
            ),
            found.pictures,
        )

    def _context(self, rows: Sequence[inbox.Row], recalled: Recalled) -> prompts.Context:
        asker = recalled.people.get(rows[-1].person) if rows[-1].person else None
        return prompts.Context(
            self._p.clock.now(),
            asker.time_zone if asker else self._p.default_zone,
            recalled.session.audience,
            recalled.session.title or "a direct conversation",
            recalled.session.channel,
        )


def _asked(rows: Sequence[inbox.Row]) -> str:
    """The people's own words of a turn."""
    return "\n".join(row.event.body.own() for row in rows if isinstance(row.event, MessageReceived))


def _reads_others(said: Sequence[Said], recalled: Recalled) -> bool:
    """What earlier messages hold is known from their own turns (`sessions.taint`)."""
    doubtful = any(each.claim.trust not in TRUSTED for each in recalled.remembered.shown)
    return doubtful or any(
        others_words(each, recalled.people.get(each.person) if each.person else None, recalled.history) for each in said
    )


def _no(prompted: Prompted, finished: Finished) -> Completed:
    return Completed(prompted, Answered(finished, (), (), untrusted=False))
