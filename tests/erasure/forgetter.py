"""Remember and forget on a data folder without a daemon, as a program of its own that can die on the way. Test-only.

`remember`: makes a memory of the sentence of the first message that has the words, and one of another sentence of it.
`forget ID`: forgets a memory. `FORGET_DIE_AT`: `in_transaction` or `after_transaction`."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bot import app
from bot.audit.events import Actor
from bot.erasure.memories import Forgetting
from bot.erasure.words import sentences
from bot.kernel.clock import SystemClock
from bot.kernel.ids import ClaimId, EvidenceId, MessageId, SessionId, TurnId, new_id
from bot.kernel.logs import Redactor
from bot.memory import store
from bot.memory.model import Evidence, Trust
from bot.sessions.tables import message
from bot.storage.lock import hold
from config.loader import load
from tests.erasure.launcher import die
from tests.memory import claims

MODEL = Actor("model", "test/1")
OPERATOR = Actor("system", "operator")


def main() -> int:
    action, *rest = sys.argv[1:]
    print(json.dumps(asyncio.run(_run(action, rest))))
    return 0


async def _run(action: str, rest: list[str]) -> Any:
    settings = load(os.environ, None, Path.cwd()).settings
    with hold(settings.data_dir):
        async with app.open_store(settings, Redactor([]), SystemClock()) as opened:
            if action == "remember":
                return await _remember(opened, *rest)
            forgetting = app.erasing.forgetting(opened, lambda: None)
            point = os.environ.get("FORGET_DIE_AT")
            if point == "in_transaction":
                Forgetting._finish = lambda *_: die()  # type: ignore[method-assign]
            counts = await forgetting.memories([ClaimId(rest[0])], OPERATOR, "a wish")
            if point == "after_transaction":
                die()
            return dict(counts)


async def _remember(opened: app.Store, word: str, other: str) -> list[str]:
    """Ids of the two memories."""
    now = opened.clock.now()

    def query(connection: sa.Connection) -> Any:
        return connection.execute(
            sa.select(message).where(message.c.text.like(f"%{word}%"), message.c.role == "user").order_by(message.c.id)
        ).first()

    said = await opened.database.read(query)
    made = []
    for each in (word, other):
        start, end = next((a, b) for a, b in sentences(said.text) if each in said.text[a:b])
        quote = said.text[start:end]
        new = claims.claim(
            now,
            statement=quote,
            session=SessionId(said.session_id),
            turn=TurnId(said.turn_id),
            subject=f"{each}/x",
            speaker=said.person_id,
        )
        rests = Evidence(
            EvidenceId(new_id(now)),
            MessageId(said.id),
            start,
            end,
            quote,
            hashlib.sha256(said.text.encode()).hexdigest(),
            said.person_id,
            Trust.PROVEN,
            said.sent_at,
        )
        await opened.database.write(lambda tx, n=new, r=rests: store.add(tx, opened.recorder, n, [r], MODEL))  # type: ignore[misc]
        made.append(str(new.id))
    return made


if __name__ == "__main__":
    sys.exit(main())
