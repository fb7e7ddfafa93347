"""The operation that gathers all that is held about one person, in parts: one answer for each thing, then the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from bot.audit.events import PersonExported, Record
from bot.audit.events_memory import MemoryViewed
from bot.audit.recorder import Recorder
from bot.control.request import OPERATOR, Request, parsed
from bot.erasure import export
from bot.gateway.channel import LocalHandler, LocalPeer
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.storage.database import Database, Tx


class Export(Request):
    person: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Exporting:
    database: Database
    recorder: Recorder

    def handlers(self) -> Mapping[str, LocalHandler]:
        return {"export": self.export}

    async def export(self, peer: LocalPeer, first: Mapping[str, object]) -> None:
        request = parsed(Export, first)
        person = PersonId(request.person)
        parts, claims = await export.gather(self.database, person)
        counts = Counter(name for name, _ in parts)

        def unit(tx: Tx) -> None:
            """Before anything is handed out: what is read is recorded."""
            told = PersonExported(person, counts["messages"], counts["memories"], counts["documents"], counts["audit"])
            self.recorder.record(tx, Record(told, OPERATOR, text=request.reason))
            self.recorder.record(tx, Record(MemoryViewed("export", tuple(claims)), OPERATOR))

        await self.database.write(unit)
        for name, part in parts:
            await peer.send({"section": name, "part": dict(part)})
        await peer.send({"ok": True, "counts": dict(counts)})
