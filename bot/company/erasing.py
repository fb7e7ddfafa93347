"""What goes of the profile because words are forgotten: the earlier versions of a field that tell them. What stands in
the profile now was put there by whoever runs the program, for everybody; that is theirs to change."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from bot.company.tables import company_field
from bot.kernel.erasing import Erased, Words
from bot.storage.redaction import Redaction


def redact(connection: sa.Connection, words: Words, now: datetime) -> Redaction:
    past = sa.select(company_field.c.name, company_field.c.version, company_field.c.lines)
    gone = [
        company_field.delete().where(company_field.c.name == row.name, company_field.c.version == row.version)
        for row in connection.execute(past.where(sa.not_(company_field.c.current)))
        if any(words.may_tell(line) and words.tells(line) for line in row.lines)
    ]
    return Redaction(Erased((("profile_versions", len(gone)),)), tuple(gone))
