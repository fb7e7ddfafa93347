"""Puts proposals before who may decide them: alone, where they last wrote, with buttons where there are any.

The tables are the queue (`owing`): whoever has not been shown a proposal as it is now is shown it (not in their quiet
hours, unless they asked for it themselves), is reminded once before it expires, is asked again once after a stretch in
which a press cannot have come in (`gaps`), and the message says afterwards what came of it. Who asked is told the end.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import sqlalchemy as sa

from bot.gateway.channel import Channel
from bot.gateway.events import ReplyPath
from bot.gateway.forms import LONGEST_VALUE
from bot.gateway.operations import Choice, OutboundOp, Reply, asking
from bot.gateway.pages import last_resort
from bot.gateway.text_write import literal
from bot.intake.tables import inbox
from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError, PermanentError, TransientError
from bot.kernel.ids import ClaimId, PersonId, ProposalId
from bot.kernel.scope import PersonScope
from bot.kernel.supervise import Bell, Bug, attempt
from bot.ledger import asks, showing, store
from bot.ledger.actions import Shown
from bot.ledger.asks import Ask
from bot.ledger.model import Proposal, State
from bot.ledger.sealing import PREFIX
from bot.ledger.service import Ledger
from bot.memory import reading
from bot.memory.reading import Purpose
from bot.memory.recall import names_of
from bot.orchestrator import gaps
from bot.orchestrator.gaps import Gap, Gaps
from bot.orchestrator.owing import Again, Due, owed
from bot.orchestrator.telling import Words
from bot.outbox import growth
from bot.outbox.service import Outbox, Queued
from bot.outbox.store import Origin
from bot.people import store as people
from bot.people.model import Person
from bot.sessions.visible import visible
from bot.storage.database import Database, Tx

log = logging.getLogger(__name__)

LOOK_EVERY = timedelta(minutes=1)
MOST = 200
LOOK_BACK = 5_000
"""Rows of the inbox in which is looked where somebody wrote last."""
NOWHERE = Origin(None, None, None)
BY_MAIL = (
    "Answer this mail with `yes` or `no` on its first line. To have another text sent, answer with `edit` on the first "
    "line and the whole new text below it: it then comes back to you to be confirmed."
)
IN_WORDS = "`/approve {id} {hash}` has it done, `/reject {id}` does not."
AS_WELL = "Also: `openexecutive ledger approve {id}` on the machine that I live on."
REMINDER = "*Still waiting for you:*\n\n"
AWAY_ONE = "*I was not there for a while, and your word may not have reached me. Still waiting for you:*\n\n"
AWAY_SEVERAL = (
    "I was not there for a while, and your word may not have reached me. These still wait for you; what is above to "
    "press still works, and `/ledger ID` shows one again:"
)
MOST_LINES = 10


def approve_words(of: Proposal) -> str:
    return IN_WORDS.format(id=of.id[-6:], hash=of.hash[:6])


class Approvals:
    def __init__(
        self,
        database: Database,
        clock: Clock,
        ledger: Ledger,
        outbox: Outbox,
        channels: Mapping[str, Channel],
        mail: str,
    ) -> None:
        self._database = database
        self._clock = clock
        self._ledger = ledger
        self._outbox = outbox
        self._channels = channels
        self._mail = mail
        self._gaps = Gaps(database, clock, channels)
        self._bell = Bell(clock)

    def recover(self, tx: Tx) -> None:
        """At a start: what was pressed while nobody was there has not come in."""
        self._gaps.recover(tx)

    def ring(self) -> None:
        """Proposals were made or moved, and that is committed."""
        self._bell.ring()

    async def run(self) -> None:
        """For ever."""
        while True:
            wait = LOOK_EVERY
            try:
                wait = await self.once()
            except TransientError as error:
                log.warning("approvals wait for the store: %s", error.message)
            await self._bell.wait(max(wait, timedelta(milliseconds=20)))

    async def once(self) -> timedelta:
        """Show and tell what there is now; returns how long there is nothing more. Raises `TransientError`."""
        await self._gaps.watch()
        found = await self._database.read(
            lambda c: owed(c, self._ledger.rules, self._clock.now(), self._gaps.over(c))
        )  # fmt: skip
        for each in found.due:
            await self._attempt(self._show(each, REMINDER if each.reminder else ""), each.proposal.id)
        for again in found.again:
            await self._attempt(self._show_again(again), again.proposals[0].id)
        for behind in await self._database.read(lambda c: asks.behind(c, MOST)):
            await self._attempt(self._update(behind), behind.proposal)
        for ended in await self._database.read(lambda c: store.untold(c, MOST)):
            await self._attempt(self._tell_asker(ended), ended.id)
        return LOOK_EVERY if found.next_at is None else min(LOOK_EVERY, found.next_at - self._clock.now())

    async def _attempt(self, work: Awaitable[None], of: ProposalId) -> None:
        """One that cannot be shown now is tried again at the next look."""
        try:
            result = await attempt(work, f"show {of}")
        except OpenExecutiveError as error:
            log.warning("proposal %s cannot be shown: %s", of, error.message)
            return
        if isinstance(result, Bug):
            log.error("proposal %s cannot be shown: %s", of, result)

    # --- showing ---------------------------------------------------------------------------------------------------

    async def _show(self, due: Due, before: str = "", gap: Gap | None = None) -> None:
        """`before`: words before it. `gap`: because of which it is shown again."""
        of, person = due.proposal, due.person
        found = await self._direct(person, due.lost)
        if found is None:
            log.warning("nobody can show proposal %s to %s: no way to them", of.id, person.id)
            return
        channel, path = found
        action = self._ledger.action(of.action)
        shown = action.show(of.final)
        memories, hidden = await self._database.read(lambda c: memories_of(c, of.rests_on, person))
        text = showing.told(of, shown, memories, hidden, person.time_zone)
        token = asks.new_token()
        ops = self._ops(channel, path, of, shown, f"{before}{text}", token)

        def unit(tx: Tx) -> tuple[Queued, ...]:
            now = self._clock.now()
            current = store.get(tx.connection, of.id)
            if current is None or current.state is not State.PROPOSED or current.hash != of.hash:
                return ()
            if gap is not None and not gaps.ask(tx, gap, person.id, now):
                return ()
            self._ledger.shown(tx, of.id, person.id, channel.name, now, reminder=bool(before))
            queued = self._outbox.queue_operations(tx, channel.name, ops, NOWHERE)
            asks.add(
                tx, of, person.id, token, queued.ids[-1], channel.name, path.thread, path.address, now,
                reminder=due.reminder,
            )  # fmt: skip
            return (queued,)

        self._outbox.sending(await self._database.write(unit))

    async def _show_again(self, again: Again) -> None:
        """One is shown whole; several are named in one message: the buttons above still work."""
        person, channel = again.person, self._channels[again.gap.channel]
        if len(again.proposals) == 1:
            await self._show(Due(again.proposals[0], person, reminder=False), AWAY_ONE, again.gap)
            return
        address = next((each.address for each in person.handles if each.channel == channel.name), None)
        if address is None:
            return
        path = await channel.direct(address)
        lines = [self._line(each, person) for each in again.proposals[:MOST_LINES]]
        if len(again.proposals) > MOST_LINES:
            lines.append(f"- and {len(again.proposals) - MOST_LINES} more: `/ledger` lists them")
        ops = await self._outbox.plan(channel.name, Reply(path, "\n".join((AWAY_SEVERAL, "", *lines))))

        def unit(tx: Tx) -> tuple[Queued, ...]:
            now = self._clock.now()
            if not gaps.ask(tx, again.gap, person.id, now):
                return ()
            for each in again.proposals:
                current = store.get(tx.connection, each.id)
                if current is not None and current.state is State.PROPOSED:
                    self._ledger.shown(tx, each.id, person.id, channel.name, now, reminder=True)
            return (self._outbox.queue_operations(tx, channel.name, ops, NOWHERE),)

        self._outbox.sending(await self._database.write(unit))

    def _line(self, of: Proposal, person: Person) -> str:
        shown = self._ledger.action(of.action).show(of.final)
        to = f" ({literal(shown.fields[0][1])})" if shown.fields else ""
        return f"- `{of.id[-6:]}` {shown.what}{to}, until {showing.when(of.expires_at, person.time_zone)}"

    def _ops(
        self, channel: Channel, path: ReplyPath, of: Proposal, shown: Shown, text: str, token: str
    ) -> Sequence[OutboundOp]:
        if channel.has_buttons:
            choices = [
                Choice(f"{PREFIX}a:{token}", "Approve"),
                Choice(f"{PREFIX}r:{token}", "Reject"),
            ]
            if channel.form_fields and shown.body and len(shown.body) <= LONGEST_VALUE:
                choices.append(Choice(f"{PREFIX}e:{token}", "Edit …", opens_form=True))
            return asking(channel.plan(Reply(path, text)), choices, of.expires_at)
        if channel.name == self._mail:
            path = replace(path, subject=f"A decision is wanted ({of.id[-6:]})")
            return channel.plan(Reply(path, f"{text}\n\n{BY_MAIL} {AS_WELL.format(id=of.id[-6:])}"))
        return channel.plan(Reply(path, f"{text}\n\n{approve_words(of)}"))

    # --- what came of it -------------------------------------------------------------------------------------------

    async def _update(self, ask: Ask) -> None:
        """The message becomes its outcome. A mail stays as it is: who answered it was answered."""
        channel = self._channels.get(ask.channel)
        told = await self._database.read(lambda c: self._outcome(c, ask.proposal, ask.person))
        if told is None:
            return
        state, text = told
        ops: Sequence[OutboundOp] = ()
        if channel is not None and channel.name != self._mail:
            planned = channel.plan(Reply(ReplyPath(ask.thread, ask.address), text))
            ops = growth.grown(planned, ask.outbox) if channel.has_buttons else planned

        def unit(tx: Tx) -> tuple[Queued, ...]:
            asks.tell(tx, ask.id, state)
            return (self._outbox.queue_operations(tx, ask.channel, ops, NOWHERE),) if ops else ()

        self._outbox.sending(await self._database.write(unit))

    async def _tell_asker(self, of: Proposal) -> None:
        """Once, when it has ended, to who asked and did not end it."""
        asker = of.asked_by
        person = await self._database.read(lambda c: people.get(c, asker) if asker else None)
        found = await self._direct(person) if person is not None and person.active else None
        told = await self._database.read(lambda c: self._outcome(c, of.id, of.asked_by or PersonId("")))
        if told is None:
            return
        state, text = told

        def unit(tx: Tx) -> tuple[Queued, ...]:
            if found is None or of.asked_by is None:
                asks.note(tx, of, None, None, state, self._clock.now())
                return ()
            channel, path = found
            if channel.name == self._mail:
                path = replace(path, subject=f"What came of it ({of.id[-6:]})")
            queued = self._outbox.queue(tx, channel.name, Reply(path, text), NOWHERE)
            asks.note(tx, of, queued.ids[0], (channel.name, path.thread, path.address), state, self._clock.now())
            return (queued,)

        self._outbox.sending(await self._database.write(unit))

    def _outcome(self, connection: sa.Connection, of: ProposalId, reader: PersonId) -> tuple[State, str] | None:
        current = store.get(connection, of)
        if current is None:
            return None
        person = people.get(connection, reader)
        by = people.get(connection, current.decided_by) if current.decided_by else None
        shown = self._ledger.action(current.action).show(current.final)
        zone = person.time_zone if person else "UTC"
        text = showing.outcome(current, shown, by.name if by else None, zone)
        if current.proposed != current.final:
            before = self._ledger.action(current.action).show(current.proposed).body
            text = f"{text}\n\n```\n{showing.difference(before, shown.body)}\n```"
        return current.state, text

    # --- where -----------------------------------------------------------------------------------------------------

    async def _direct(self, person: Person, lost: Collection[str] = ()) -> tuple[Channel, ReplyPath] | None:
        """Where the person is reached alone: where they wrote last, else by any of their accounts, those with buttons
        first and those last where they hear of it only by looking. `lost`: channels on which it was tried in vain."""
        last = await self._database.read(lambda c: _wrote_last(c, person.id))
        ways = [(each.channel, each.address) for each in person.handles if each.channel not in lost]
        ways.sort(key=lambda way: (way != last, self._must_look(way[0]), not self._has_buttons(way[0]), way))
        for name, address in ways:
            channel = self._channels.get(name)
            if channel is None or not channel.health().sending:
                continue
            try:
                return channel, await channel.direct(address)
            except (PermanentError, TransientError) as error:
                log.info("%s cannot be reached on %s: %s", person.id, name, error.message)
        return None

    def _must_look(self, channel: str) -> bool:
        return last_resort(self._channels.get(channel))

    def _has_buttons(self, channel: str) -> bool:
        known = self._channels.get(channel)
        return known is not None and known.has_buttons


def memories_of(connection: sa.Connection, ids: Sequence[ClaimId], person: Person) -> tuple[list[str], int]:
    """What it rests on, as far as this person may see it, and how many more."""
    seen, hidden = rests_on(connection, ids, person)
    return [told for _, told in seen], hidden


def rests_on(
    connection: sa.Connection, ids: Sequence[ClaimId], person: Person
) -> tuple[list[tuple[ClaimId, str]], int]:
    """As `memories_of`, with the id of each."""
    if not ids:
        return [], 0
    found = reading.by_ids(connection, visible(connection, PersonScope(person.id)), Purpose.REVIEW, ids)
    seen = [found[each] for each in ids if each in found]
    words = Words(names_of(connection, seen), person.time_zone)
    told = [(of.id, f"{words.day(of.said_at)}, {words.who(of.speaker)}: {of.statement} ({of.handle})") for of in seen]
    return told, len(ids) - len(seen)


def _wrote_last(connection: sa.Connection, person: PersonId) -> tuple[str, str] | None:
    newest = sa.select(sa.func.max(inbox.c.seq)).scalar_subquery()
    row = connection.execute(
        sa.select(inbox.c.channel, inbox.c.address)
        .where(inbox.c.person_id == person, inbox.c.address.is_not(None), inbox.c.seq > newest - LOOK_BACK)
        .order_by(inbox.c.seq.desc())
        .limit(1)
    ).first()
    return None if row is None else (row.channel, row.address)
