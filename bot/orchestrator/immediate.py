"""What must not wait for a lane: `/stop`, `/status`, presses and forms."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

from bot.gateway.channel import Channel
from bot.gateway.events import ButtonPressed, CommandInvoked, FormSubmitted
from bot.gateway.forms import Form
from bot.gateway.operations import Reply
from bot.intake import store as inbox
from bot.intake.tables import InState
from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError, TransientError
from bot.kernel.supervise import Bug, Supervisor, attempt, to_the_end
from bot.ledger.sealing import PREFIX as DECIDES
from bot.orchestrator import introductions
from bot.orchestrator.introductions import Introductions
from bot.orchestrator.lanes import Lanes
from bot.orchestrator.verdicts import Verdicts
from bot.outbox.service import Outbox, Queued
from bot.outbox.store import Origin
from bot.sessions import turns
from bot.storage.database import Database, Tx

RETRY = timedelta(seconds=2)
NO_LONGER = "This button is no longer in use."


class Immediate:
    def __init__(
        self,
        database: Database,
        clock: Clock,
        outbox: Outbox,
        supervisor: Supervisor,
        lanes: Lanes,
        channels: Mapping[str, Channel],
        introductions: Introductions,
        status: Callable[[], Awaitable[str]],
        verdicts: Verdicts | None = None,
    ) -> None:
        """`verdicts`: None where nothing is put to anybody."""
        self._database = database
        self._clock = clock
        self._outbox = outbox
        self._supervisor = supervisor
        self._lanes = lanes
        self._channels = channels
        self._introductions = introductions
        self._status = status
        self._verdicts = verdicts

    def take(self, row: inbox.Row) -> None:
        self._supervisor.job(f"immediate:{row.id}", self._until_done(row))

    async def _until_done(self, row: inbox.Row) -> None:
        """The row stays in the inbox until its answer is written, so that a restart finds it."""
        while True:
            try:
                result = await attempt(self._handle(row), f"immediate {row.id}")
            except TransientError:
                await self._clock.sleep(RETRY)
                continue
            if isinstance(result, Bug):
                await self._end(row, InState.PARKED, f"internal error ({result})", None)
            return

    async def _handle(self, row: inbox.Row) -> None:
        match row.event:
            case CommandInvoked(name="stop"):
                running = row.session is not None and self._lanes.stop(row.session)
                await self._end(row, InState.ANSWERED, None, "Stopped." if running else "Nothing is running here.")
            case CommandInvoked(name="status"):
                await self._end(row, InState.ANSWERED, None, await self._status())
            case ButtonPressed(token=token, response=response) as press if token.startswith(introductions.PREFIX):
                await self._respond(row.channel, response, await self._introductions.pressed(row, press))
            case ButtonPressed(token=token, response=response) as press if self._verdicts and token.startswith(DECIDES):
                await self._respond(row.channel, response, await self._verdicts.pressed(row, press))
            case FormSubmitted(token=token, response=response) as form if self._verdicts and token.startswith(DECIDES):
                await self._respond(row.channel, response, await self._verdicts.submitted(row, form))
            case ButtonPressed(response=response) | FormSubmitted(response=response):
                await self._end(row, InState.REFUSED, "no such button", None)
                await self._respond(row.channel, response, NO_LONGER)
            case _:
                await self._end(row, InState.REFUSED, "nothing answers this", None)

    async def _respond(self, channel: str, response: str | None, text: str | Form) -> None:
        """Best effort: the platform forgets such a handle within seconds anyway."""
        if response is None:
            return
        try:
            await attempt(self._channels[channel].respond(response, text), "respond")
        except OpenExecutiveError:
            return

    async def _end(self, row: inbox.Row, state: InState, reason: str | None, text: str | None) -> None:
        def unit(tx: Tx) -> tuple[Queued, ...]:
            if not inbox.end(tx, row.id, state, self._clock.now(), reason):
                return ()
            if text is None or not isinstance(row.event, CommandInvoked):
                return ()
            epoch = turns.current_epochs(tx.connection, row.session)[1] if row.session else None
            origin = Origin(row.session, None, epoch)
            return (self._outbox.queue(tx, row.channel, Reply(row.event.reply_path, text), origin),)

        async def commit() -> None:
            self._outbox.sending(await self._database.write(unit))

        await to_the_end(commit(), "immediate")
