"""Operations on the company's profile. Each is one unit with its audit rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from bot.audit.recorder import Recorder
from bot.company import model, store
from bot.company.model import Audience, Field, ProfileError, Stored
from bot.control.request import OPERATOR, Request
from bot.kernel.clock import Clock
from bot.kernel.values import dataclass
from bot.storage.database import Database, Tx

Whom = Literal["public", "company"]


class Show(Request):
    public: bool = False
    """Only what people from outside may be told."""
    history: str | None = None
    """Every version of this field."""


class Set(Request):
    field: str
    lines: tuple[str, ...]
    audience: Whom | None = None
    """None: as it was; of a new field, as its kind is."""


class Unset(Request):
    field: str


class Export(Request):
    pass


class Import(Request):
    text: str
    replace: bool = False
    """Take away the fields that the file has not."""


@dataclass(frozen=True, slots=True)
class Company:
    database: Database
    recorder: Recorder
    clock: Clock
    name: str
    """Of the settings: told where no field tells it."""

    async def show(self, request: Show) -> Mapping[str, object]:
        if request.history is not None:
            versions = await self.database.read(lambda c: store.history(c, request.history or ""))
            return {"fields": [_described(each) for each in versions]}
        found = await self.database.read(lambda c: store.stored(c, internal=not request.public))
        shown = model.block([each.field for each in found], self.name, internal=not request.public)
        return {"fields": [_described(each) for each in found], "block": shown}

    async def set(self, request: Set) -> Mapping[str, object]:
        def unit(tx: Tx) -> list[str]:
            known = {each.name: each for each in store.profile(tx.connection, internal=True)}.get(request.field)
            if request.audience is not None:
                audience = Audience(request.audience)
            else:
                audience = known.audience if known is not None else model.default_audience(request.field)
            lines = request.lines or (known.lines if known is not None else ())
            new = model.field(request.field, lines, audience)
            return store.put(tx, self.recorder, [new], OPERATOR, self.clock.now())

        return {"changed": await self.database.write(unit)}

    async def unset(self, request: Unset) -> Mapping[str, object]:
        def unit(tx: Tx) -> list[str]:
            gone = store.take_away(tx, self.recorder, [request.field], OPERATOR)
            if not gone:
                raise ProfileError(f"there is no field {request.field}")
            return gone

        return {"changed": await self.database.write(unit)}

    async def export(self, request: Export) -> Mapping[str, object]:
        fields = await self.database.read(lambda c: store.profile(c, internal=True))
        return {"text": model.to_file(fields)}

    async def import_(self, request: Import) -> Mapping[str, object]:
        """All of the file or nothing."""
        fields = model.from_file(request.text)

        def unit(tx: Tx) -> list[str]:
            gone: list[str] = []
            if request.replace:
                there = store.profile(tx.connection, internal=True)
                gone = store.take_away(tx, self.recorder, _missing(there, fields), OPERATOR)
            return gone + store.put(tx, self.recorder, fields, OPERATOR, self.clock.now())

        return {"changed": await self.database.write(unit)}


def _missing(there: list[Field], wanted: list[Field]) -> list[str]:
    names = {each.name for each in wanted}
    return [each.name for each in there if each.name not in names]


def _described(each: Stored) -> dict[str, object]:
    return {
        "name": each.field.name,
        "lines": list(each.field.lines),
        "audience": each.field.audience.value,
        "version": each.version,
        "changed_at": each.changed_at.isoformat(),
        "changed_by": each.changed_by,
    }
