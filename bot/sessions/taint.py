"""Whether a conversation has read what others wrote: guests, files, quoted and forwarded text, tools, the web.

A turn that has read such text is marked when it ends; from then on the session is tainted, as long as the same people
read in it (its audience epoch). `/new` does not wash that off: what was understood before may live on as memories.
Automatic writes and automatic actions ask here first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import sqlalchemy as sa

from bot.gateway.events import Proof, SpanKind
from bot.kernel.ids import SessionId, TurnId
from bot.people.model import Person
from bot.sessions.tables import session
from bot.sessions.tables import turn as turn_table
from bot.sessions.transcript import Said
from bot.storage.database import Tx

_ATTRIBUTION = re.compile(r"(?:On|Am|Le|El|Il)\b.{0,160}(?:wrote|schrieb|écrit|escribió|scritto)[^:]{0,80}:", re.DOTALL)
_NO_WORD = re.compile(r"[\W_]+")

# After every turn: built once.
_SINCE = sa.select(sa.func.min(turn_table.c.id)).where(
    turn_table.c.session_id == sa.bindparam("session"),
    turn_table.c.audience_epoch == sa.bindparam("epoch"),
    turn_table.c.untrusted,
)


def tainted_since(connection: sa.Connection, session_id: SessionId, audience_epoch: int) -> TurnId | None:
    """The first turn of the session in this audience epoch that read others' text; None if none has."""
    found = connection.execute(_SINCE, {"session": session_id, "epoch": audience_epoch}).scalar()
    return None if found is None else TurnId(found)


def is_tainted(connection: sa.Connection, session_id: SessionId) -> bool:
    """Whether the session, as it is now, has read others' text."""
    epoch = connection.execute(sa.select(session.c.audience_epoch).where(session.c.id == session_id)).scalar()
    return epoch is not None and tainted_since(connection, session_id, epoch) is not None


def mark(tx: Tx, turn_id: TurnId) -> None:
    """Others' text was read for the sake of a turn that has ended (a task that followed it, say)."""
    tx.execute(turn_table.update().where(turn_table.c.id == turn_id).values(untrusted=True))


def others_words(said: Said, writer: Person | None, before: Iterable[Said]) -> bool:
    """Whether a message holds what somebody else than a proven person of the company wrote. A quotation of what was
    said `before` in the same conversation is not others' text."""
    if said.role != "user":
        return False
    if writer is None or not writer.internal or said.proof is Proof.NONE:
        return True
    if any(file.text is not None or file.blob is not None for file in said.files):
        return True
    foreign = [s for s in said.body.spans if s.kind in (SpanKind.QUOTED, SpanKind.FORWARDED)]
    quoted = [said.body.text[s.start : s.end] for s in foreign]
    if not any(_bare(text) for text in quoted):
        return False
    if any(s.kind is SpanKind.FORWARDED for s in foreign):
        return True
    known = _bare("\n".join(each.body.text for each in before))
    return not all(_bare(line) in known for text in quoted for line in _ATTRIBUTION.sub("", text, count=1).splitlines())


def _bare(text: str) -> str:
    """Letters and digits only: what a mail program breaks, marks and decorates stays the same."""
    return _NO_WORD.sub("", text).casefold()
