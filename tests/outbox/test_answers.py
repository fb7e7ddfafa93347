"""What was said into a thread as it reads now: to one person, edits and deletions carried out, what was not sent left
out."""

from __future__ import annotations

import sqlalchemy as sa

from bot.gateway.events import ReplyPath
from bot.gateway.operations import Ask, Choice, Delete, Edit, OutboundOp, Send
from bot.kernel.ids import BootId, OutboxId, PersonId
from bot.kernel.scope import PersonScope
from bot.outbox import answers, store
from bot.outbox.store import Origin
from bot.outbox.tables import OutState, Policy, outbox
from bot.people import store as people
from bot.people.model import Change, Handle
from bot.people.model import Origin as From
from tests.outbox.post import Post
from tests.people.test_model import person

THREAD = "test:dm:ada"
ADA, BOB = PersonScope(PersonId("ada")), PersonScope(PersonId("bob"))
PATH = ReplyPath(THREAD, "ada")


async def known(post: Post) -> None:
    both = [person(name, handles=[Handle("test", name, From.SETTINGS)]) for name in ("ada", "bob")]
    changes = [Change(each, "added") for each in both]
    await post.database.write(lambda tx: people.apply(tx, post.recorder, changes, post.clock.now()))


async def put(post: Post, op: OutboundOp, state: OutState = OutState.SENT) -> OutboxId:
    ids, _ = await post.database.write(
        lambda tx: store.insert(
            tx, "test", [op], Origin(None, None, None), Policy.PARK, BootId("b"), post.clock.now(), may_leave=False
        )
    )
    ended = post.clock.now() if state in (OutState.SENT, OutState.PARKED) else None
    values = {"state": state.value, "ended_at": ended, "reason": "r" if state is OutState.PARKED else None}
    await post.database.write(lambda tx: tx.execute(outbox.update().where(outbox.c.id == ids[0]).values(values)))
    return ids[0]


async def read(post: Post, scope: PersonScope = ADA, limit: int = 50, before: str | None = None) -> list[str]:
    found = await post.database.read(lambda c: answers.in_thread(c, scope, THREAD, limit, before))
    return [each.op.text for each in found]


async def test_what_was_sent_or_is_about_to_be_is_there_the_newest_first(post: Post) -> None:
    await known(post)
    for text, state in (("one", OutState.SENT), ("two", OutState.PARKED), ("three", OutState.QUEUED)):
        await put(post, Send(PATH, text, text), state)
    last = await put(post, Send(PATH, "four", "four"), OutState.CLAIMED)
    await put(post, Send(ReplyPath("test:dm:bob", "bob"), "elsewhere", "elsewhere"))
    assert await read(post) == ["four", "one"]
    assert await read(post, limit=1) == ["four"]
    assert await read(post, before=last) == ["one"]


async def test_it_is_there_for_the_one_that_it_was_said_to(post: Post) -> None:
    await known(post)
    row = await put(post, Send(PATH, "for ada", "for ada"))
    assert await read(post, BOB) == []
    assert await post.database.read(lambda c: answers.one(c, BOB, THREAD, row)) is None
    assert await post.database.read(lambda c: answers.one(c, ADA, "test:other", row)) is None
    assert await post.database.read(lambda c: answers.one(c, ADA, THREAD, row)) == Send(PATH, "for ada", "for ada")


async def test_edits_and_deletions_are_carried_out_also_on_an_older_page(post: Post) -> None:
    await known(post)
    asked = await put(post, Ask(PATH, "Yes?", "Yes?", (Choice("t", "Yes"),)))
    gone = await put(post, Send(PATH, "gone", "gone"))
    between = await put(post, Send(PATH, "between", "between"))
    await put(post, Edit(PATH, f"own:{asked}", "first", "first"))
    await put(post, Edit(PATH, f"own:{asked}", "Approved.", "Approved."))
    await put(post, Delete(PATH, f"test:{gone}"))
    await put(post, Edit(PATH, f"own:{between}", "not sent", "not sent"), OutState.PARKED)
    assert await read(post) == ["between", "Approved."]
    assert await read(post, before=between) == ["Approved."]
    (found,) = await post.database.read(lambda c: answers.in_thread(c, ADA, THREAD, 50, gone))
    assert isinstance(found.op, Send), "an answered question has no buttons"


async def test_a_thread_is_read_along_its_index(post: Post) -> None:
    await known(post)
    await put(post, Send(PATH, "one", "one"))

    def plan(connection: sa.Connection) -> list[str]:
        seen: list[str] = []

        def explain(conn: sa.Connection, _c: object, statement: str, parameters: object, *_: object) -> None:
            rows = conn.connection.cursor().execute(f"EXPLAIN QUERY PLAN {statement}", parameters)  # type: ignore[arg-type]
            seen.extend(str(row[3]) for row in rows or ())

        sa.event.listen(connection, "before_cursor_execute", explain)
        answers.in_thread(connection, ADA, THREAD, 24)
        sa.event.remove(connection, "before_cursor_execute", explain)
        return seen

    steps = await post.database.read(plan)
    assert [each for each in steps if "outbox" in each] == [
        "SEARCH outbox USING INDEX ix_outbox_thread_key (thread_key=?)",
        "SEARCH outbox USING INDEX ix_outbox_thread_key (thread_key=? AND id>?)",
    ]
    assert not [each for each in steps if "TEMP B-TREE" in each]
