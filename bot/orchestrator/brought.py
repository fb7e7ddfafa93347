"""What is said of documents that were brought outside of conversations, in the console: to whoever has to decide, and
to who brought one."""

from __future__ import annotations

import sqlalchemy as sa

from bot.gateway.text_write import literal
from bot.kernel.ids import DocumentId, PersonId
from bot.knowledge import store as documents
from bot.knowledge.model import Status
from bot.people import store as people


def waits(connection: sa.Connection, document: DocumentId) -> tuple[list[PersonId], str] | None:
    """Whom to tell that it waits, and how. None if it does not wait any more."""
    found = documents.get(connection, document)
    if found is None or found.status is not Status.PENDING or found.uploader is None:
        return None
    by = people.get(connection, found.uploader)
    serving = documents.serving(connection, found)
    instead = "" if serving is None else f" in the place of version {serving.version}, which serves until then"
    text = (
        f"{'Somebody' if by is None else by.name} brought **{literal(found.name)}** for {_audience(found.audience)}. "
        f"It waits for a principal's yes{instead}: in the console under Knowledge, or with "
        f"`openexecutive knowledge approve {found.id}`."
    )
    return [each.id for each in people.principals(connection)], text


def ended(connection: sa.Connection, document: DocumentId) -> tuple[PersonId, str] | None:
    """Whom to tell what was decided, and how."""
    found = documents.get(connection, document)
    if found is None or found.uploader is None or found.status not in (Status.APPROVED, Status.REJECTED):
        return None
    by = None if found.decided_by is None else people.get(connection, PersonId(found.decided_by))
    who, yes = "The operator" if by is None else by.name, found.status is Status.APPROVED
    end = "I can answer from it from now on" if yes else "I do not keep it"
    why = f" ({found.reason})" if found.reason and not yes else ""
    return found.uploader, f"**{literal(found.name)}**: {who} said {'yes' if yes else 'no'}{why}: {end}."


def _audience(of: str) -> str:
    named = {"company": "the company", "public": "anybody, also outsiders"}
    return named.get(of) or f"the {of.removeprefix('department:')} department"
