"""Operations on tokens of the API. The secret of a new one is in its answer and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from pydantic import Field

from bot.audit.recorder import Recorder
from bot.control.request import OPERATOR, Nothing, Request, operation
from bot.gateway.channel import LocalHandler
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.people import tokens
from bot.people.tokens import Token
from bot.storage.database import Database


class Make(Request):
    person: str
    name: str = ""
    days: int = Field(30, ge=1, le=tokens.LONGEST.days)


class Revoke(Request):
    id: str


@dataclass(frozen=True, slots=True)
class Tokens:
    database: Database
    recorder: Recorder
    clock: Clock

    def handlers(self) -> Mapping[str, LocalHandler]:
        return {
            "tokens.make": operation(Make, self.make),
            "tokens.list": operation(Nothing, self.listed),
            "tokens.revoke": operation(Revoke, self.revoke),
        }

    async def make(self, request: Make) -> Mapping[str, object]:
        person, lasts = PersonId(request.person), timedelta(days=request.days)
        token, secret = await self.database.write(
            lambda tx: tokens.make(tx, self.recorder, person, request.name, lasts, OPERATOR, self.clock.now())
        )
        return {"token": self._described(token), "secret": secret}

    async def listed(self, _: Nothing) -> Mapping[str, object]:
        found = await self.database.read(tokens.listed)
        return {"tokens": [self._described(each) for each in found]}

    async def revoke(self, request: Revoke) -> Mapping[str, object]:
        done = await self.database.write(
            lambda tx: tokens.revoke(tx, self.recorder, request.id, OPERATOR, self.clock.now())
        )
        if not done:
            raise PermanentError(f"there is no token {request.id} that holds: see `openexecutive token list`")
        return {}

    def _described(self, token: Token) -> dict[str, object]:
        state = "revoked" if token.revoked_at else "expired" if token.expires_at <= self.clock.now() else "holds"
        return {
            "id": token.id,
            "person": token.person,
            "name": token.name,
            "state": state,
            "created_at": token.created_at.isoformat(),
            "expires_at": token.expires_at.isoformat(),
            "used_at": token.used_at.isoformat() if token.used_at else None,
        }
