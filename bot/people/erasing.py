"""What this room deletes of somebody who is erased: by which accounts they were known, what they were called and set,
and what let them in. Their id stays, as the name of somebody who was here."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from bot.kernel.erasing import Erased
from bot.people.model import Origin, Person
from bot.people.tables import access_token, browser_session, handle, pairing_code, pairing_request, person, sign_in_link
from bot.storage.database import Tx

NAME = "somebody who has left"


def of_person(tx: Tx, known: Person, now: datetime) -> Erased:
    for table in (handle, access_token, browser_session, sign_in_link, pairing_code):
        tx.execute(table.delete().where(table.c.person_id == known.id))
    for each in known.handles:
        asked = (pairing_request.c.channel == each.channel, pairing_request.c.address == each.address)
        tx.execute(pairing_request.delete().where(sa.and_(*asked)))
    tx.execute(
        person.update()
        .where(person.c.id == known.id)
        .values(
            name=NAME,
            departments=[],
            time_zone="UTC",
            quiet_hours=None,
            origin=Origin.PAIRED.value,
            active=False,
            changed_at=now,
        )
    )
    return Erased()
