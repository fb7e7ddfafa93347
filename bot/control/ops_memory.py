"""Operations on memories: as the operator sees and changes them. What the operator is shown, `memory_reader` says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from datetime import date
from typing import Any, Literal

import sqlalchemy as sa
from pydantic import AwareDatetime, Field

from bot.audit.recorder import Recorder
from bot.control.memory_reader import Reader, Told
from bot.control.request import OPERATOR, Nothing, Request, operation, parsed
from bot.gateway.channel import LocalHandler, LocalPeer
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError
from bot.kernel.ids import MessageId, PersonId
from bot.kernel.scope import OperatorScope
from bot.kernel.values import dataclass
from bot.memory import reading, verify
from bot.memory.model import Claim, Kind, Status, Work
from bot.memory.reading import AsOf, Filter, Purpose
from bot.memory.service import Acting, Done, Eraser, Memories, waiting
from bot.sessions.visible import visible
from bot.storage.database import Database, Tx

PAGE = 200
Counted = Callable[[], Awaitable[Mapping[str, int]]]


class List(Request):
    kind: tuple[Kind, ...] = ()
    status: tuple[Status, ...] = ()
    department: str | None = None
    domain: str | None = None
    speaker: str | None = None
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None
    known: AwareDatetime | None = None
    true: AwareDatetime | None = None
    words: tuple[str, ...] = ()
    pending: bool = False
    last: int = Field(50, ge=1, le=2_000)
    reason: str | None = None


class Look(Request):
    id: str
    reason: str | None = None


class Of(Request):
    id: str
    reason: str
    version: int | None = None


class Edit(Of):
    statement: str | None = None
    work: Work | None = None
    owner: str | None = None
    """Empty: nobody."""
    due: date | Literal[""] | None = None


class Forget(Of):
    yes: bool = False


class Undo(Request):
    message: str
    reason: str


class Export(Request):
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Operations:
    database: Database
    recorder: Recorder
    clock: Clock
    eraser: Eraser
    reindexed: Counted | None
    """Makes the index of memories anew; None: there is none."""
    differences: Counted | None
    """What the index has otherwise than the store."""
    ring: Callable[[], None]
    """Wakes whoever runs tasks."""
    local_person: str | None
    """Who speaks at this machine's terminal; None: the first principal."""

    def handlers(self) -> Mapping[str, LocalHandler]:
        service = Memories(self.recorder)
        simple = {
            "promote": service.promote,
            "demote": service.demote,
            "retract": service.retract,
            "restore": service.restore,
            "accept": service.accept,
            "reject": service.reject,
            "keep": service.keep,
            "dispute": service.dispute,
        }
        return {
            "memory.list": operation(List, self.listed),
            "memory.show": operation(Look, self.show),
            "memory.history": operation(Look, self.history),
            "memory.edit": operation(Edit, self.edit),
            "memory.forget": operation(Forget, self.forget),
            "memory.undo": operation(Undo, self.undo),
            "memory.export": self.export,
            "memory.reindex": operation(Nothing, self.reindex),
            "memory.verify": operation(Nothing, self.verify),
            **{f"memory.{name}": operation(Of, self._simple(use)) for name, use in simple.items()},
        }

    # --- looking ---------------------------------------------------------------------------------------------------

    async def listed(self, request: List) -> Mapping[str, object]:
        wanted = Filter(
            request.kind,
            request.status,
            request.department,
            request.domain,
            request.speaker,
            since=request.since,
            until=request.until,
            as_of=AsOf(request.known, request.true) if request.known or request.true else None,
            words=request.words,
        )

        def unit(tx: Tx) -> Mapping[str, object]:
            view = visible(tx.connection, OperatorScope(request.reason))
            if request.pending:
                found = waiting(tx.connection, view, request.last)
            else:
                page = reading.find(tx.connection, view, Purpose.REVIEW, wanted, request.last)
                found = [each for _, each in page]
            told = self._reader(tx, request.reason).listed(found)
            # Which words stand in what is private is not told either.
            return {"memories": [each for each in told if not (request.words and each["withheld"])]}

        return await self._looked(unit)

    async def show(self, request: Look) -> Mapping[str, object]:
        """With its history, the words that it rests on, and the answers that it stood behind."""

        def unit(tx: Tx) -> Mapping[str, object]:
            found = _meant(tx.connection, request.id)
            return {"memory": self._reader(tx, request.reason).whole([found], words=True)[0]}

        return await self._looked(unit)

    async def history(self, request: Look) -> Mapping[str, object]:
        def unit(tx: Tx) -> Mapping[str, object]:
            found = _meant(tx.connection, request.id)
            return {"memory": self._reader(tx, request.reason).whole([found], words=False)[0]}

        return await self._looked(unit)

    async def export(self, peer: LocalPeer, first: Mapping[str, object]) -> None:
        """All of them, oldest last, a page at a time."""
        request = parsed(Export, first)
        before: int | None = None
        count = 0
        while True:

            def unit(tx: Tx, before: int | None = before) -> tuple[list[Told], int | None]:
                view = visible(tx.connection, OperatorScope(request.reason))
                page = reading.find(tx.connection, view, Purpose.REVIEW, Filter(), PAGE, before)
                told = self._reader(tx, request.reason).whole([each for _, each in page], words=True)
                return told, page[-1][0] if len(page) == PAGE else None

            told, before = await self.database.write(unit)
            for each in told:
                await peer.send({"memory": each})
            count += len(told)
            if before is None:
                break
        self.ring()
        await peer.send({"ok": True, "count": count})

    def _reader(self, tx: Tx, reason: str | None) -> Reader:
        return Reader.of(tx, self.recorder, self.clock.now(), reason, self.local_person)

    async def _looked(self, unit: Callable[[Tx], Mapping[str, object]]) -> Mapping[str, object]:
        answer = await self.database.write(unit)
        self.ring()
        return answer

    # --- changing --------------------------------------------------------------------------------------------------

    async def edit(self, request: Edit) -> Mapping[str, object]:
        plan: dict[str, Any] = {}
        if request.work is not None:
            plan["work"] = request.work
        if request.owner is not None:
            plan["owner"] = PersonId(request.owner) if request.owner else None
        if request.due is not None:
            plan["due"] = request.due or None
        if request.statement is None and not plan:
            raise PermanentError("say what is to be changed: --statement, --work, --owner or --due")

        def unit(tx: Tx) -> Mapping[str, object]:
            service, now = Memories(self.recorder), self.clock.now()
            of, version = _meant(tx.connection, request.id), request.version
            done: Done | None = None
            if request.statement is not None:
                done = service.correct(tx, _operator(), of.id, request.statement, request.reason, now, version)
                version = done.claim.version
            if plan:
                done = service.plan(tx, _operator(), of.id, plan, request.reason, now, version)
            return self._changed(tx, done)

        return await self.database.write(unit)

    async def forget(self, request: Forget) -> Mapping[str, object]:
        def unit(tx: Tx) -> Mapping[str, object]:
            found = _meant(tx.connection, request.id)
            if not request.yes:
                told = self._reader(tx, None).told([found])[0]
                return {"memory": told, "would_vanish": dict(self.eraser.preview(tx.connection, [found.id]))}
            service = Memories(self.recorder)
            counts = service.forget(
                tx, _operator(), found.id, self.eraser, request.reason, self.clock.now(), request.version
            )
            return {"vanished": dict(counts) if isinstance(counts, Mapping) else {}}

        answer = await self.database.write(unit)
        self.eraser.ring()
        return answer

    async def undo(self, request: Undo) -> Mapping[str, object]:
        def unit(tx: Tx) -> Mapping[str, object]:
            service, message = Memories(self.recorder), MessageId(request.message)
            undone = service.undo(tx, _operator(), message, request.reason, self.clock.now())
            return {
                "retracted": self._reader(tx, None).told(undone.retracted),
                "marked": self._reader(tx, None).told(undone.marked),
            }

        return await self.database.write(unit)

    def _simple(self, use: Callable[..., Done]) -> Callable[[Of], Awaitable[Mapping[str, object]]]:
        async def work(request: Of) -> Mapping[str, object]:
            def unit(tx: Tx) -> Mapping[str, object]:
                of = _meant(tx.connection, request.id)
                return self._changed(tx, use(tx, _operator(), of.id, request.reason, self.clock.now(), request.version))

            return await self.database.write(unit)

        return work

    def _changed(self, tx: Tx, done: Done | None) -> Mapping[str, object]:
        return {"memory": self._reader(tx, None).told([done.claim])[0] if done is not None else None}

    # --- the whole -------------------------------------------------------------------------------------------------

    async def reindex(self, _: Nothing) -> Mapping[str, object]:
        if self.reindexed is None:
            raise PermanentError("the index of memories is the running daemon's: start it first")
        return {"counts": dict(await self.reindexed())}

    async def verify(self, _: Nothing) -> Mapping[str, object]:
        found = await self.database.read(verify.faults, long=True)
        told = {each.name: getattr(found, each.name) for each in fields(found)}
        differences = None if self.differences is None else dict(await self.differences())
        sound = found.sound and not any((differences or {}).values())
        return {"sound": sound, **told, "index": differences}


def _operator() -> Acting:
    return Acting(OPERATOR, OperatorScope(None), None)


def _meant(connection: sa.Connection, handle: str) -> Claim:
    return Memories.meant(connection, _operator(), handle)
