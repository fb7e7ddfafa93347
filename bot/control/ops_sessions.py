"""Operations on sessions: what there is, and erasing one with everything derived from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import Field

from bot.control.request import OPERATOR, Request, operation
from bot.erasure.service import Erasure
from bot.gateway.channel import LocalHandler
from bot.kernel.errors import PermanentError
from bot.kernel.ids import SessionId
from bot.kernel.values import dataclass
from bot.sessions import listing
from bot.storage.database import Database


class Newest(Request):
    last: int = Field(50, ge=1, le=2_000)
    channel: str | None = None


class Delete(Request):
    session: str
    reason: str
    documents: bool = False
    """Also what was sent in it and approved by the company."""
    only_summary: bool = False


def handlers(
    database: Database, erasure: Erasure, forget_rooms: Callable[[], None], *, alone: bool
) -> Mapping[str, LocalHandler]:
    """`alone`: no daemon runs; what the tasks do waits for the next start."""
    sessions = Sessions(database, erasure, forget_rooms, alone)
    return {
        "sessions.list": operation(Newest, sessions.newest),
        "sessions.delete": operation(Delete, sessions.delete),
    }


@dataclass(frozen=True, slots=True)
class Sessions:
    database: Database
    erasure: Erasure
    forget_rooms: Callable[[], None]
    alone: bool

    async def newest(self, request: Newest) -> Mapping[str, object]:
        found = await self.database.read(lambda c: listing.newest(c, request.last, request.channel), long=True)
        return {
            "sessions": [
                {
                    "id": one.id,
                    "channel": one.channel,
                    "place": one.place,
                    "kind": one.kind,
                    "audience": one.audience,
                    "turns": one.turns,
                    "messages": one.messages,
                    "summarised": one.summarised,
                    "newest": one.newest.isoformat(),
                }
                for one in found
            ]
        }

    async def delete(self, request: Delete) -> Mapping[str, object]:
        reason = request.reason.strip()
        if not reason:
            raise PermanentError("say why: the reason is recorded")
        session = SessionId(request.session)
        if request.only_summary:
            return {"counts": await self.erasure.summary(session, OPERATOR, reason), "later": self.alone}
        counts = await self.erasure.session(session, OPERATOR, reason, approved_too=request.documents)
        self.forget_rooms()
        return {"counts": dict(counts), "later": self.alone}
