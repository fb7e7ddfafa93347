"""A conversation with memories made of it, as tests of forgetting need them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.app.erasing import forgetting
from bot.app.opening import Store
from bot.erasure.copies import Copies, no_copies
from bot.erasure.memories import Forgetting
from bot.kernel.ids import EvidenceId, MessageId, SessionId, new_id
from bot.memory import store
from bot.memory.model import Claim, Evidence, Trust
from bot.sessions import threads, transcript
from bot.sessions.tables import message as messages
from bot.sessions.transcript import Said, said_of
from bot.storage.database import Tx
from tests.conftest import KEY
from tests.erasure.test_service import everywhere
from tests.memory import claims
from tests.orchestrator.office import Office

QUOTE = "we sell the Zanzibar stake to Quillfeather for 4711 euros in March"
SAID = f"Good morning. For the record: {QUOTE}. Please order new chairs for the Lisbon office."
ECHO = "Noted: the Zanzibar stake goes to Quillfeather in March for 4711 euros. Chairs for Lisbon are a good idea."
STATEMENT = "Acme sells the Zanzibar stake to Quillfeather for 4711 euros in March."
SECRETS = ("zanzibar", "quillfeather")
CONTROL_QUOTE = "Please order new chairs for the Lisbon office"
CONTROL = "New chairs are ordered for the Lisbon office."


def forgets(office: Office, copies: Copies = no_copies, ring: Callable[[], None] = lambda: None) -> Forgetting:
    return forgetting(Store(office.database, office.recorder, office.clock, KEY), ring, copies)


async def session_of(office: Office, key: str = "test:dm:1") -> SessionId:
    return (await office.database.read(lambda c: threads.by_thread(c, [key])))[key].id


async def said_in(office: Office, session: SessionId) -> list[Said]:
    def query(connection: sa.Connection) -> list[Said]:
        rows = connection.execute(
            sa.select(messages)
            .where(messages.c.session_id == session)
            .order_by(messages.c.turn_id, messages.c.position)
        )
        return [said_of(row) for row in rows]

    return await office.database.read(query, long=True)


def resting_on(said: Said, quote: str, now: datetime, speaker: str = "boss") -> Evidence:
    start = said.body.text.index(quote)
    digest = hashlib.sha256(said.body.text.encode()).hexdigest()
    return Evidence(
        EvidenceId(new_id(now)), said.id, start, start + len(quote), quote, digest, speaker, Trust.PROVEN, said.sent_at
    )


async def remember(office: Office, said: Said, session: SessionId, quote: str, statement: str, **values: Any) -> Claim:
    now = office.clock.now()
    given = {"speaker": "boss", "subject": f"{statement.split()[0]}/{new_id(now)}", "turn": said.turn} | values
    made = claims.claim(now, statement=statement, session=session, **given)
    await claims.written(office.database, office.recorder, made, [resting_on(said, quote, now, made.speaker)])
    return made


async def shown(office: Office, claim: Claim, said: Said) -> None:
    """The claim stood before the model in the turn of a message."""
    await office.database.write(lambda tx: store.asked(tx, said.turn, [claim], office.clock.now()))


async def text_of(office: Office, message: MessageId) -> str:
    return (await office.database.read(lambda c: transcript.by_ids(c, [message])))[message].body.text


async def apply(office: Office, *statements: sa.Executable) -> None:
    def unit(tx: Tx) -> None:
        for statement in statements:
            tx.execute(statement)

    await office.database.write(unit)


async def anywhere(office: Office, words: Sequence[str] = SECRETS) -> dict[str, list[str]]:
    """Tables in which any of the words stands, in whatever column, compressed ones too."""
    return {word: found for word in words if (found := await everywhere(office, word))}
