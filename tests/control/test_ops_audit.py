from __future__ import annotations

import pytest
import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.events import MessageDuplicate, Record, SessionChanged
from bot.audit.tables import audit
from bot.control.ops_audit import Audit
from bot.gateway.events import Place, PlaceKind
from bot.kernel.errors import PermanentError
from bot.kernel.ids import SessionId
from bot.sessions import places, threads
from bot.storage.database import Tx
from tests.control.desk import KEY, Answers, Desk


async def a_session_with_text(desk: Desk) -> SessionId:
    now = desk.clock.now()

    def unit(tx: Tx) -> SessionId:
        places.see(tx, desk.recorder, "terminal", "cli:anna:main", Place(PlaceKind.DIRECT, ""), ["anna"], now)
        session = threads.open_session(tx, desk.recorder, "terminal", "cli:anna:main", "cli:anna:main", now).id
        desk.recorder.record(tx, Record(SessionChanged("epoch", 1), session=session, text="private words"))
        return session

    return await desk.database.write(unit)


async def test_a_sound_chain_is_verified_up_to_the_head_the_daemon_holds(desk: Desk) -> None:
    answer = await desk.ask("audit.verify")
    assert answer["broken"] == []
    assert answer["rows"] == desk.recorder.head.id
    assert answer["head"] == {"row": desk.recorder.head.id, "hash": desk.recorder.head.hash}


async def test_rows_cut_off_at_the_end_are_found(desk: Desk) -> None:
    head = desk.recorder.head

    def cut(tx: Tx) -> None:
        tx.execute(sa.text("DROP TRIGGER audit_no_delete"))
        tx.execute(audit.delete().where(audit.c.id == head.id))

    await desk.database.write(cut)
    assert await desk.rows("audit.verify", "broken")
    noted = await desk.ask("audit.verify", row=head.id, hash=head.hash)
    assert noted["broken"]
    with pytest.raises(PermanentError, match="number of a row and its hash"):
        await desk.ask("audit.verify", row=1)


async def test_newest_entries_come_without_texts(desk: Desk) -> None:
    await a_session_with_text(desk)
    *entries, last = await desk.ask_all("audit.show", last=2)
    assert len(entries) == 2
    assert all(entry["entry"]["text"] is None for entry in entries)  # type: ignore[index]
    assert last == {"ok": True, "texts": False}


async def test_entries_are_chosen_by_type(desk: Desk) -> None:
    await desk.database.write(lambda tx: desk.recorder.record(tx, Record(MessageDuplicate("email", "message", None))))
    entry, _ = await desk.ask_all("audit.show", type="message_duplicate")
    assert entry["entry"]["payload"]["channel"] == "email"  # type: ignore[index]
    with pytest.raises(PermanentError, match="no event of type"):
        await desk.ask("audit.show", type="gossip")


@pytest.mark.parametrize("reason", [None, "", "  "])
async def test_without_a_reason_a_sessions_texts_are_withheld(desk: Desk, reason: str | None) -> None:
    session = await a_session_with_text(desk)
    before = await desk.audited()
    *entries, _ = await desk.ask_all("audit.show", session=session, reason=reason)
    assert entries
    assert all(entry["entry"]["text"] is None for entry in entries)  # type: ignore[index]
    assert await desk.audited() == before


async def test_with_a_reason_texts_are_shown_and_the_reading_is_recorded(desk: Desk) -> None:
    session = await a_session_with_text(desk)
    *entries, last = await desk.ask_all("audit.show", session=session, reason="complaint 12")
    assert [e["entry"]["text"] for e in entries if e["entry"]["text"]] == ["private words"]  # type: ignore[index]
    assert last["texts"] is True
    recorded = (await desk.database.read(lambda c: timeline.of_session(c, session)))[-1]
    assert (recorded.type, recorded.actor, recorded.text) == ("content_viewed", "operator", "complaint 12")


async def test_a_session_that_does_not_exist_is_named(desk: Desk) -> None:
    with pytest.raises(PermanentError, match="no session nowhere"):
        await desk.ask("audit.show", session="nowhere", reason="x")


async def test_a_long_session_is_read_whole(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await a_session_with_text(desk)

    def many(tx: Tx) -> None:
        for n in range(1_200):
            desk.recorder.record(tx, Record(SessionChanged("epoch", n), session=session))

    await desk.database.write(many)
    peer = Answers()
    await Audit(desk.database, desk.recorder, KEY).show(peer, {"op": "audit.show", "session": session})
    assert len(peer.sent) > 1_200
