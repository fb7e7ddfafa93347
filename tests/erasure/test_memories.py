"""A forgotten memory is gone from every table with everything that tells the same; whatever else was said and
remembered stays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.app.erasing import tombstone_key
from bot.audit.events import Actor
from bot.audit.verify import verify
from bot.erasure import journal
from bot.erasure.copies import Copy, delete_there
from bot.erasure.service import FINISH
from bot.erasure.work import Beyond
from bot.files.blobs import BlobFolder
from bot.gateway.codec import load_operation
from bot.gateway.events import ReplyPath, Thread
from bot.gateway.operations import Delete, Send
from bot.kernel.erasing import FORGOTTEN
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash, BootId, ClaimId, PersonId
from bot.kernel.scope import OperatorScope, SessionScope
from bot.memory import reading, store, tombstones
from bot.memory.indexing import Indexing
from bot.memory.model import Op, Source, Status, Support, Visibility
from bot.memory.reading import Filter, Purpose
from bot.memory.tables import claim as claim_table
from bot.memory.tables import claim_event_text, erase_journal, evidence
from bot.orchestrator.tables import journal as steps
from bot.outbox import store as outbox_store
from bot.outbox.store import Origin
from bot.outbox.tables import Policy, outbox
from bot.retrieval.recall.index import RecallIndex
from bot.retrieval.tables import recall_row
from bot.sessions import compaction, transcript
from bot.sessions.tables import message as messages
from bot.sessions.tables import summary
from bot.sessions.visible import visible
from bot.storage.database import Tx
from bot.tasks import store as tasks
from bot.tasks.tables import task as task_table
from tests.clock import START
from tests.conftest import KEY
from tests.erasure.memory_desk import (
    CONTROL,
    CONTROL_QUOTE,
    ECHO,
    QUOTE,
    SAID,
    SECRETS,
    STATEMENT,
    anywhere,
    apply,
    forgets,
    remember,
    resting_on,
    said_in,
    session_of,
    shown,
    text_of,
)
from tests.erasure.test_service import SUMMARY, erasure, finish, work
from tests.intake.events import command, dm, edit, message
from tests.orchestrator.office import Office

BOSS = Actor("person", "boss")
KEY_OF_TOMBSTONES = tombstone_key(KEY)


async def talk(office: Office) -> None:
    office.model.answer = lambda request: ECHO if "Zanzibar" in repr(request.messages[-1]) else "Fine."
    await office.hear(message("1", SAID))
    await office.ended("answered")
    await office.hear(message("2", "And what about the chairs?"))
    await office.ended("answered", "answered")
    await office.said(2)


async def known(office: Office) -> dict[ClaimId, Status]:
    rows = await office.database.read(lambda c: c.execute(sa.select(claim_table.c.id, claim_table.c.status)).all())
    return {ClaimId(row.id): Status(row.status) for row in rows}


async def test_every_table_loses_the_words_and_another_memory_of_the_same_message_stays(office: Office) -> None:
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    made = await remember(office, said, session, QUOTE, STATEMENT, rationale="Zanzibar costs more than it brings us.")
    control = await remember(office, said, session, CONTROL_QUOTE, CONTROL)
    before = await anywhere(office)
    assert {"message", "inbox", "outbox", "claim", "evidence", "content"} <= set(before["zanzibar"])

    counts = await forgets(office).memories([made.id], BOSS, "it is private")

    assert await anywhere(office) == {}
    assert await known(office) == {made.id: Status.ERASED, control.id: Status.ACTIVE}
    assert await text_of(office, said.id) == f"Good morning. {FORGOTTEN} {CONTROL_QUOTE}."
    texts = [each.body.text for each in await said_in(office, session)]
    assert texts[1:] == [f"{FORGOTTEN} Chairs for Lisbon are a good idea.", "And what about the chairs?", "Fine."]
    assert (counts["memories"], counts["messages"], counts["events"], counts["replies"]) == (1, 2, 1, 1)
    assert counts["prompts"] == 2, "what was asked since is not kept"
    view = await office.database.read(lambda c: visible(c, SessionScope(session)))
    found = await office.database.read(lambda c: reading.find(c, view, Purpose.PROMPT, Filter(), 10))
    assert [each.statement for _, each in found] == [CONTROL]
    assert (await office.database.read(lambda c: verify(c, KEY))).broken == ()


async def test_the_search_index_loses_the_words_in_the_same_transaction(office: Office) -> None:
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    made = await remember(office, said, session, QUOTE, STATEMENT)
    control = await remember(office, said, session, CONTROL_QUOTE, CONTROL)
    indexing = Indexing(office.database, RecallIndex(office.database, [], office.supervisor, lambda _: None))
    await indexing.bring()
    assert "recall_row" in (await anywhere(office))["zanzibar"]
    await forgets(office).memories([made.id], BOSS, "private")
    assert await anywhere(office) == {}
    assert await indexing.bring() > 0
    assert await anywhere(office) == {}
    rows = await office.database.read(lambda c: c.execute(sa.select(recall_row.c.ref)).scalars().all())
    assert {control.id, said.id} <= set(rows)
    assert made.id not in rows
    await erasure(office).session(session, BOSS, "asked to", approved_too=False)
    assert "recall_row" not in (await anywhere(office, ["chairs"])).get("chairs", [])


async def test_what_another_memory_rests_on_is_known_to_stand_where_it_stands_now(office: Office) -> None:
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    made = await remember(office, said, session, QUOTE, STATEMENT)
    control = await remember(office, said, session, CONTROL_QUOTE, CONTROL)
    await forgets(office).memories([made.id], BOSS, "private")
    (rests,) = await office.database.read(lambda c: store.evidence_of(c, control.id))
    text = await text_of(office, said.id)
    assert text[rests.start : rests.end] == CONTROL_QUOTE
    assert rests.digest == hashlib.sha256(text.encode()).hexdigest()
    kept = await office.database.read(lambda c: store.get(c, control.id))
    assert kept is not None
    assert kept.source is Source.FRESH


async def test_the_preview_tells_what_goes_and_changes_nothing(office: Office) -> None:
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    made = await remember(office, said, session, QUOTE, STATEMENT)
    await shown(office, made, (await said_in(office, session))[2])
    before = await anywhere(office)
    own = forgets(office, copies=lambda: [Copy("b", START, None)])
    told = await office.database.read(lambda c: own.preview(c, [made.id]))
    whole = await office.database.read(lambda c: own.vanishing(c, [made.id]))
    assert whole.quotes == ((said.id, QUOTE),)
    assert (told["shown"], told["backups"], told["on_platforms"]) == (1, 1, 1)
    assert await anywhere(office) == before
    assert await own.memories([made.id], BOSS, "private") == told


async def test_summaries_tasks_steps_and_events_of_other_memories_lose_the_words(office: Office) -> None:
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    made = await remember(office, said, session, QUOTE, STATEMENT)
    control = await remember(office, said, session, CONTROL_QUOTE, CONTROL)

    def unit(tx: Tx) -> None:
        tx.append(summary, SUMMARY | {"session_id": session, "text": f"They talked of chairs. {STATEMENT}"})
        tasks.enqueue(tx, "other", "k", {"a": ["x", {"text": f"Ä: {QUOTE}"}], "n": 4}, START, lane="l")
        tx.execute(steps.insert().values(turn_id=said.turn, name="s", arguments_hash="h", result=STATEMENT, at=START))
        seen = store.get(tx.connection, control.id)
        assert seen is not None
        store.change(tx, office.recorder, seen, Op.EDITED, BOSS, START, f"Not to be mixed up: {QUOTE}", domain="office")

    await office.database.write(unit)
    counts = await forgets(office).memories([made.id], BOSS, "private")
    assert await anywhere(office) == {}
    assert (counts["summaries"], counts["tasks"], counts["steps"], counts["memory_events"]) == (1, 1, 1, 1)
    assert await office.database.read(lambda c: compaction.current(c, SessionScope(session))) is None
    payload = await office.database.read(
        lambda c: c.execute(sa.select(task_table.c.payload).where(task_table.c.kind == "other")).scalar()
    )
    assert payload == {"a": ["x", {"text": FORGOTTEN}], "n": 4}


async def test_a_summary_that_is_being_made_of_the_words_is_not_stored(office: Office) -> None:
    await talk(office)
    session = await session_of(office)
    said = await said_in(office, session)
    made = await remember(office, said[0], session, QUOTE, STATEMENT)
    await office.database.write(lambda tx: transcript.start_history_at(tx, session, said[2].turn))
    segment = await office.database.read(lambda c: compaction.segment(c, session))
    assert segment is not None
    await forgets(office).memories([made.id], BOSS, "private")
    assert not await office.database.write(lambda tx: compaction.put(tx, segment, STATEMENT, "m", START))


async def test_what_superseded_it_goes_along_only_when_asked_and_what_holds_its_words_always(office: Office) -> None:
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    old = await remember(office, said, session, QUOTE, STATEMENT)
    new = await remember(office, said, session, "Please order new chairs", "Zanzibar is kept after all.")
    copy = await remember(office, said, session, f"For the record: {QUOTE}", "Something on record.")

    def supersede(tx: Tx) -> None:
        store.change(
            tx, office.recorder, old, Op.SUPERSEDED, BOSS, START, None, status=Status.SUPERSEDED, replaced_by=new.id
        )

    await office.database.write(supersede)
    own = forgets(office)
    alone = await office.database.read(lambda c: own.vanishing(c, [new.id]))
    assert {each.id for each in alone.claims} == {new.id}
    held = await office.database.read(lambda c: own.vanishing(c, [old.id]))
    assert {each.id for each in held.claims} == {old.id, copy.id}
    chain = await office.database.read(lambda c: own.vanishing(c, [new.id], chain=True))
    assert {each.id for each in chain.claims} == {old.id, new.id, copy.id}


async def test_a_memory_of_a_part_of_the_words_stays_and_is_marked(office: Office) -> None:
    whole = "We sell the Zanzibar stake in March and Marta leads the handover to the buyers"
    await office.hear(message("1", f"{whole}. Nothing else."))
    await office.ended("answered")
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    made = await remember(office, said, session, whole, "Acme sells the Zanzibar stake in March, led by Marta.")
    part = await remember(office, said, session, "Marta leads the handover to the buyers", "Marta leads the handover.")
    await forgets(office).memories([made.id], BOSS, "private")
    kept = await office.database.read(lambda c: store.get(c, part.id))
    assert kept is not None
    assert (kept.status, kept.source) == (Status.ACTIVE, Source.EDITED)
    assert await text_of(office, said.id) == f"{FORGOTTEN} Nothing else."


async def test_short_words_go_from_their_message_and_are_looked_for_nowhere_else(office: Office) -> None:
    office.model.answer = lambda request: "Yes, do that? I will."
    await office.hear(message("1", "Yes, do that. And water the plants."), message("2", "Yes, do that too.", by="1"))
    await office.ended("answered", "answered")
    session = await session_of(office)
    first, *others = await said_in(office, session)
    made = await remember(office, first, session, "Yes, do that", "Agreed.")
    await forgets(office).memories([made.id], BOSS, "private")
    assert await text_of(office, first.id) == f"{FORGOTTEN}. And water the plants."
    assert [await text_of(office, each.id) for each in others] == [each.body.text for each in others]


async def test_other_conversations_keep_their_own_words(office: Office) -> None:
    await talk(office)
    await office.hear(message("9", SAID, by="2", thread=dm("2")))
    await office.ended("answered", "answered", "answered")
    session, other = await session_of(office), await session_of(office, "test:dm:2")
    said, theirs = (await said_in(office, session))[0], await said_in(office, other)
    made = await remember(office, said, session, QUOTE, STATEMENT)
    same = await remember(office, theirs[0], other, QUOTE, STATEMENT, speaker="ada")
    await forgets(office).memories([made.id], BOSS, "private")
    assert await said_in(office, other) == theirs
    assert (await known(office))[same.id] is Status.ACTIVE
    where = await office.database.read(
        lambda c: [tombstones.matches(c, KEY_OF_TOMBSTONES, each, STATEMENT, [QUOTE], "x") for each in (session, other)]
    )
    assert where == [office.clock.now(), None]


async def test_what_the_company_saw_goes_from_answers_in_other_conversations_too(office: Office) -> None:
    await talk(office)
    await office.hear(message("8", "What do we do about Nairobi?", by="2", thread=dm("2")))
    office.model.answer = lambda request: ECHO
    await office.hear(message("9", "And the island?", by="2", thread=dm("2")))
    await office.ended(*["answered"] * 4)
    session, other = await session_of(office), await session_of(office, "test:dm:2")
    said, theirs = (await said_in(office, session))[0], await said_in(office, other)
    made = await remember(office, said, session, QUOTE, STATEMENT, visibility=Visibility.COMPANY)
    await shown(office, made, theirs[2])
    await forgets(office).memories([made.id], BOSS, "private")
    assert await anywhere(office) == {}
    left = [each.body.text for each in await said_in(office, other)]
    assert left == [
        theirs[0].body.text,
        theirs[1].body.text,
        "And the island?",
        f"{FORGOTTEN} Chairs for Lisbon are a good idea.",
    ]
    assert (
        await office.database.read(lambda c: tombstones.matches(c, KEY_OF_TOMBSTONES, other, STATEMENT, [], "x"))
        == office.clock.now()
    )


async def test_what_was_listed_or_asked_about_elsewhere_by_its_id_loses_the_words_too(office: Office) -> None:
    """A list, a brief, a question to who decides, and an answer that quotes it: none of them is of its conversation."""
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    made = await remember(office, said, session, QUOTE, STATEMENT)
    listed = f"- `{made.handle}` 2026-03-02 decision – boss: {STATEMENT}\n- `aaaaaa` 2026-03-02 fact – ada: {CONTROL}"
    office.model.answer = lambda request: listed
    await office.hear(message("8", "What waits?", by="2", thread=dm("2")))
    office.model.answer = lambda request: "Fine."
    await office.hear(message("9", f"> {listed}\n\nWhat is that?", by="3", thread=dm("3")))
    await office.ended(*["answered"] * 4)
    told = Send(ReplyPath("test:dm:4", "4"), listed, listed)

    def unit(tx: Tx) -> None:
        origin, now = Origin(None, None, None), office.clock.now()
        outbox_store.insert(tx, "test", [told], origin, Policy.RESEND_ONCE, BootId(""), now, may_leave=False)

    await office.database.write(unit)
    await forgets(office).memories([made.id], BOSS, "private")
    assert await anywhere(office) == {}
    for key in ("test:dm:2", "test:dm:3"):
        left = [each.body.text for each in await said_in(office, await session_of(office, key))]
        assert any(CONTROL in each for each in left), left


async def test_a_turn_that_thinks_begins_anew_without_the_words(office: Office) -> None:
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    made = await remember(office, said, session, QUOTE, STATEMENT)
    office.model.gate.clear()
    office.model.answer = lambda request: ECHO if "Zanzibar" in repr(request) else "I know of nothing."
    await office.hear(message("3", "What did I say first?"))
    await office.model.until(asked=3)
    await forgets(office).memories([made.id], BOSS, "private")
    office.model.gate.set()
    await office.ended("answered", "answered", "answered")
    assert (await office.said(3))[-1] == "I know of nothing."
    assert await anywhere(office) == {}


async def test_the_command_that_asks_for_it_is_not_run_twice_and_keeps_no_words(office: Office) -> None:
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    made = await remember(office, said, session, QUOTE, STATEMENT)
    await office.hear(command("3", "forget", "the quillfeather thing"))
    await office.ended("answered", "answered", "answered")
    # Looked for from another place, too.
    await office.hear(command("4", "memories", "quillfeather", thread=Thread("test:room:9:t", "test:room:9")))
    await office.ended("answered", "answered", "answered", "answered")
    await office.hear(edit("e", "1", f"{SAID} Really."))
    await forgets(office).memories([made.id], BOSS, f"because {QUOTE}, you know")
    assert await anywhere(office) == {}
    (forgot,) = await office.audited("memory_forgotten")
    assert forgot.payload["claims"] == [made.id]


async def test_a_file_in_which_the_words_stand_goes(office: Office, tmp_path: Path) -> None:
    blobs = BlobFolder(tmp_path / "blobs")
    blob = (await blobs.put(f"... {QUOTE} ...".encode(), 1_000)).id
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    file = {
        "name": "f.txt",
        "media_type": "text/plain",
        "blob": blob,
        "text": f"{QUOTE}. The fair is in May.",
        "note": None,
    }
    await apply(office, messages.update().where(messages.c.id == said.id).values(files=[file]))
    made = await remember(office, said, session, QUOTE, STATEMENT)
    await forgets(office).memories([made.id], BOSS, "private")
    (left,) = (await said_in(office, session))[0].files
    assert (left.blob, left.text) == (None, f"{FORGOTTEN} The fair is in May.")
    await finish(office, work(office, tmp_path / "blobs"))
    assert not await blobs.exists(BlobHash(blob))


async def test_the_receipt_names_backups_and_is_told_to_who_asked(office: Office, tmp_path: Path) -> None:
    told: list[tuple[PersonId, str]] = []

    async def tell(person: PersonId, about: str, text: str) -> Callable[[Tx], None]:
        return lambda _: told.append((person, text))

    copies = [Copy("a", START, START + timedelta(days=3)), Copy("b", START, START + timedelta(days=4))]
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    made = await remember(office, said, session, QUOTE, STATEMENT)
    await forgets(office).memories([made.id], BOSS, "private")
    path = tmp_path / "backups" / journal.NAME
    await finish(office, work(office, tmp_path / "blobs", beyond=Beyond((), lambda: copies, path, tell)))
    (done,) = await office.audited("erasure_done")
    day = (START + timedelta(days=4)).date().isoformat()
    assert (done.payload["why"], done.payload["memories"], done.payload["backups"]) == ("memory", 1, 2)
    assert done.payload["until"] == day
    ((person, text),) = told
    assert person == "boss"
    assert f"2 backups made before still hold it, until {day}" in text
    assert "sessions unsend" in text
    entries = journal.read(path)
    assert {each["what"] for each in entries} == {"claim", "message", "tombstone"}
    assert not any(word in path.read_text().casefold() for word in SECRETS)


async def test_the_journal_beside_the_backups_only_grows(office: Office, tmp_path: Path) -> None:
    path = tmp_path / "backups" / journal.NAME
    await office.database.write(lambda tx: tx.append(erase_journal, {"what": "session", "id": "one", "at": START}))
    await journal.write_out(office.database, path)
    await apply(office, erase_journal.delete(), erase_journal.insert().values(what="claim", id="two", at=START))
    await journal.write_out(office.database, path)
    await journal.write_out(office.database, path)
    assert [(each["what"], each["id"]) for each in journal.read(path)] == [("session", "one"), ("claim", "two")] or [
        (each["what"], each["id"]) for each in journal.read(path)
    ] == [("claim", "two"), ("session", "one")]
    assert path.stat().st_mode & 0o777 == 0o600


async def test_messages_on_the_platform_are_deleted_when_asked(office: Office) -> None:
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    made = await remember(office, said, session, QUOTE, STATEMENT)
    found = await office.database.read(lambda c: forgets(office).vanishing(c, [made.id]))
    assert len(found.there) == 1
    await forgets(office).memories([made.id], BOSS, "private")
    assert await office.database.write(lambda tx: delete_there(tx, found.there, BootId("b"), START)) == 1
    rows = await office.database.read(lambda c: c.execute(sa.select(outbox).order_by(outbox.c.seq)).all())
    last = load_operation(rows[-1].op)
    assert isinstance(last, Delete)
    assert last.target == rows[0].ref


async def test_twice_is_refused_and_an_unknown_one_too(office: Office) -> None:
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    made = await remember(office, said, session, QUOTE, STATEMENT)
    await forgets(office).memories([made.id], BOSS, "private")
    for each in (made.id, ClaimId("nobody")):
        with pytest.raises(PermanentError, match="no memory"):
            await forgets(office).memories([each], BOSS, "again")
    queued = await office.database.read(
        lambda c: c.execute(sa.select(task_table.c.payload).where(task_table.c.kind == FINISH)).scalars().all()
    )
    assert len(queued) == 1
    assert not any(word in json.dumps(queued).casefold() for word in SECRETS)


async def test_with_a_session_its_memories_go_and_what_the_company_may_see_stays_with_a_person_behind_it(
    office: Office,
) -> None:
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    private = await remember(office, said, session, QUOTE, STATEMENT)
    own = await remember(office, said, session, CONTROL_QUOTE, CONTROL, by_person=True, support=Support.PERSON)
    company = await remember(office, said, session, "Good morning", "The office opens.", visibility=Visibility.COMPANY)
    await erasure(office).session(session, BOSS, "asked to", approved_too=False)
    assert await known(office) == {
        private.id: Status.ERASED,
        own.id: Status.ERASED,
        company.id: Status.ACTIVE,
    }
    assert await anywhere(office) == {}
    kept = await office.database.read(lambda c: store.get(c, company.id))
    assert kept is not None
    assert kept.support is Support.PERSON
    for table in (evidence, claim_event_text):
        assert not await office.database.read(lambda c, t=table: c.execute(sa.select(t)).all())  # type: ignore[misc]
    noted = await office.database.read(lambda c: c.execute(sa.select(erase_journal.c.what, erase_journal.c.id)).all())
    assert [tuple(each) for each in noted] == [("session", session)]


async def test_retention_takes_old_memories_but_not_what_a_person_put_down_or_what_was_said_again(
    office: Office,
) -> None:
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    old = await remember(office, said, session, QUOTE, STATEMENT)
    own = await remember(office, said, session, CONTROL_QUOTE, CONTROL, by_person=True)
    again = await remember(office, said, session, "Good morning", "Mornings are good.")
    office.clock.advance(timedelta(days=20))
    await office.hear(message("9", "Good morning again.", at=office.clock.now()))
    await office.ended("answered", "answered", "answered")
    new = next(each for each in await said_in(office, session) if "again" in each.body.text)
    rests = [resting_on(new, "Good morning", office.clock.now())]
    await office.database.write(
        lambda tx: store.change(
            tx, office.recorder, again, Op.CONFIRMED, BOSS, office.clock.now(), None, rests_on=rests
        )
    )
    await erasure(office).older([session], office.clock.now() - timedelta(days=1), BOSS)
    assert await known(office) == {old.id: Status.ERASED, own.id: Status.ACTIVE, again.id: Status.ACTIVE}
    assert await anywhere(office) == {}
    view = await office.database.read(lambda c: visible(c, OperatorScope("a look")))
    assert await office.database.read(lambda c: reading.count(c, view, Purpose.PROMPT)) == 2
