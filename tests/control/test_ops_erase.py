"""Erasing somebody by the operator: how much is told first, and only who has left is erased."""

from __future__ import annotations

import pytest

from bot.app.erasing import of_people
from bot.app.opening import Store
from bot.audit.events import Actor
from bot.control.ops_erase import Erasing
from bot.kernel.errors import PermanentError
from bot.people import store
from bot.people.model import Handle, Origin, Role
from tests.control.desk import KEY, Answers, Desk, person


async def _ask(desk: Desk, op: str, **fields: object) -> dict[str, object]:
    peer = Answers()
    erasing = of_people(Store(desk.database, desk.recorder, desk.clock, KEY), lambda: None)
    await Erasing(desk.database, erasing, alone=True).handlers()[op](peer, {"op": op, **fields})
    return peer.sent[-1]


async def test_it_is_told_how_much_and_done_only_for_who_has_left(desk: Desk) -> None:
    cleo = person("cleo", Role.MEMBER, Origin.PAIRED, Handle("telegram", "3", Origin.PAIRED))
    by, now = Actor("system", "operator"), desk.clock.now()
    await desk.database.write(lambda tx: store.add(tx, desk.recorder, cleo, by, now))
    held = (await _ask(desk, "erase.look", id="cleo"))["held"]
    assert held == {
        "conversations": 0, "messages": 0, "memories": 0, "company": 0, "documents": 0, "accounts": 1,
    }  # fmt: skip
    with pytest.raises(PermanentError, match="has not left"):
        await _ask(desk, "erase.begin", id="cleo")
    await desk.ask("people.deactivate", id="cleo")
    assert await _ask(desk, "erase.begin", id="cleo") == {"ok": True, "held": held, "later": True}
    assert ("person_erased", "operator") in await desk.audited()
    with pytest.raises(PermanentError, match="nobody called"):
        await _ask(desk, "erase.look", id="nobody")
