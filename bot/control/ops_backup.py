"""Operations on backups, on what is held after a restore, and on what of an erasure stands on platforms still."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import sqlalchemy as sa

from bot.audit.recorder import Recorder
from bot.backup.making import Maker, listed
from bot.backup.nightly import Nightly
from bot.control.request import OPERATOR, Nothing, Request, operation
from bot.erasure.copies import delete_there
from bot.gateway.channel import LocalHandler
from bot.intake import held as held_in
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BootId, InboxId, OutboxId, ProposalId, SessionId, TaskId
from bot.kernel.values import dataclass
from bot.ledger import erasing as held_proposals
from bot.outbox import held as held_out
from bot.storage.database import Database, Tx
from bot.tasks import store as tasks


class Make(Request):
    to: str | None = None
    """An absolute path of a folder; None: that of the settings."""


class Release(Request):
    ids: tuple[str, ...] = ()
    everything: bool = False


class Unsend(Request):
    receipt: str


@dataclass(frozen=True, slots=True)
class Keeping:
    database: Database
    recorder: Recorder
    maker: Maker
    nightly: Nightly
    wake: Callable[[Collection[SessionId]], None]
    """After the commit: messages wait in these sessions, and maybe something to be sent."""
    boot: BootId
    alone: bool
    """No daemon runs."""

    def handlers(self) -> Mapping[str, LocalHandler]:
        return {
            "backup.make": operation(Make, self.make),
            "backup.list": operation(Nothing, self.backups),
            "held.list": operation(Nothing, self.held),
            "held.release": operation(Release, self.release),
            "sessions.unsend": operation(Unsend, self.unsend),
        }

    async def make(self, request: Make) -> Mapping[str, object]:
        to = None if request.to is None else Path(request.to)
        if to is not None and not to.is_absolute():
            raise PermanentError("name the folder from the root on")
        made = await self.maker.make(OPERATOR, "asked", to)
        return {
            "path": str(made.path),
            "bytes": made.size,
            "files": len(made.manifest.files),
            "encrypted": made.manifest.encrypted,
            "audit_head": [made.manifest.audit_id, made.manifest.audit_hash],
            "removed": list(made.removed),
        }

    async def backups(self, _: Nothing) -> Mapping[str, object]:
        following = self.nightly.following()
        found = listed(self.maker.folder, self.maker.keep, following)
        return {
            "folder": str(self.maker.folder),
            "following": following.isoformat() if following else None,
            "backups": [
                {"name": name, "made_at": made_at.isoformat(), "until": until.isoformat() if until else None}
                for name, made_at, until in found
            ],
        }

    async def held(self, _: Nothing) -> Mapping[str, object]:
        def query(connection: sa.Connection) -> list[dict[str, object]]:
            out = [("out", one.id, one.channel, one.kind, one.created_at) for one in held_out.held(connection)]
            wish = [("proposal", one.id, "", one.action, one.made_at) for one in held_proposals.held(connection)]
            come = [("in", one.id, one.channel, one.kind, one.received_at) for one in held_in.held(connection)]
            return [
                {"way": way, "id": str(of), "channel": channel, "kind": kind, "at": at.isoformat()}
                for way, of, channel, kind, at in (*out, *wish, *come)
            ]

        return {"held": await self.database.read(query, long=True)}

    async def release(self, request: Release) -> Mapping[str, object]:
        if not request.ids and not request.everything:
            raise PermanentError("say which: ids of `openexecutive held list`, or --all")

        def unit(tx: Tx) -> tuple[int, int, list[SessionId]]:
            now = self.maker.clock.now()
            every = request.everything
            wish = (
                {one.id for one in held_proposals.held(tx.connection)} if every else set(map(ProposalId, request.ids))
            )
            out = {one.id for one in held_out.held(tx.connection)} if every else set(map(OutboxId, request.ids))
            come = {one.id for one in held_in.held(tx.connection)} if every else set(map(InboxId, request.ids))
            sent = held_out.release(tx, self.recorder, out, OPERATOR, now)
            wished = held_proposals.release(tx, self.recorder, wish, OPERATOR, now)
            return len(sent), len(wished), held_in.release(tx, come, now)

        sent, wished, sessions = await self.database.write(unit)
        if not request.everything and sent + wished + len(sessions) < len(set(request.ids)):
            raise PermanentError("some of these are not held: see `openexecutive held list`; the others were released")
        self.wake(set(sessions))
        return {"out": sent, "in": len(sessions), "proposals": wished, "later": self.alone}

    async def unsend(self, request: Unsend) -> Mapping[str, object]:
        def unit(tx: Tx) -> int | None:
            task = tasks.get(tx.connection, TaskId(request.receipt))
            there = None if task is None else task.payload.get("there")
            return None if there is None else delete_there(tx, there, self.boot, self.maker.clock.now())

        count = await self.database.write(unit)
        if count is None:
            raise PermanentError(f"there is no receipt {request.receipt} of a forgotten memory")
        self.wake(())
        return {"count": count, "later": self.alone}
