"""Operations that erase what is held of somebody who has left: first how many of what, then the beginning of it."""

from __future__ import annotations

from collections.abc import Mapping

from bot.control.request import OPERATOR, Request, operation
from bot.erasure.people import Held, PersonErasure
from bot.gateway.channel import LocalHandler
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.storage.database import Database


class Look(Request):
    id: str


class Begin(Request):
    id: str
    company_too: bool = False
    """Also what the company sees of it."""


@dataclass(frozen=True, slots=True)
class Erasing:
    database: Database
    erasure: PersonErasure
    alone: bool
    """No daemon runs: it is done after the next start."""

    def handlers(self) -> Mapping[str, LocalHandler]:
        return {"erase.look": operation(Look, self.look), "erase.begin": operation(Begin, self.begin)}

    async def look(self, request: Look) -> Mapping[str, object]:
        held = await self.database.read(lambda c: self.erasure.preview(c, PersonId(request.id)), long=True)
        return {"held": _told(held)}

    async def begin(self, request: Begin) -> Mapping[str, object]:
        held = await self.erasure.begin(PersonId(request.id), OPERATOR, company_too=request.company_too)
        return {"held": _told(held), "later": self.alone}


def _told(held: Held) -> Mapping[str, int]:
    return {
        "conversations": held.conversations,
        "messages": held.messages,
        "memories": held.memories,
        "company": held.company,
        "documents": held.documents,
        "accounts": held.accounts,
    }
