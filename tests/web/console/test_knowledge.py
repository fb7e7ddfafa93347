"""Knowledge: documents come, are decided about, read and tried, each under its visitor's own scope."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import sqlalchemy as sa

from bot.audit.tables import audit
from bot.kernel.ids import DocumentId, PersonId
from bot.kernel.scope import OperatorScope
from bot.kernel.supervise import start
from bot.knowledge import shelf, store
from bot.knowledge.model import Document, Origin, Status
from bot.knowledge.service import Bringing
from bot.people import store as people
from bot.people.model import Change
from bot.web.console.files import MOST_OF_ONE
from tests.contracts.bench import until
from tests.web.console.shelves import LIMIT
from tests.web.console.site import Answer, Browser, Site

POLICY = b"# Travel policy\n\n## Hotels\n\nA hotel may cost 180 EUR a night.\n"
NEWER = POLICY.replace(b"180", b"220")
XSS = "<script>alert('x')</script>\"'<img src=x onerror=alert(1)>"


async def _bring(site: Site, data: bytes, name: str, by: str | None = "boss", audience: str = "company") -> Document:
    kept = await site.documents.blobs.put(data, LIMIT)
    who = None
    if by is not None:
        who = await site.desk.rooms.database.read(lambda c: people.get(c, PersonId(by)))
    bringing = Bringing(who, Origin.COMMAND, audience)
    return await site.documents.library.ingest(kept.id, name, bringing)


async def _upload(browser: Browser, data: bytes | AsyncIterator[bytes], **asked: str) -> Answer:
    headers = {"X-CSRF": browser.csrf, "HX-Request": "true", "Content-Type": "text/markdown"}
    return await browser._ask("POST", "/knowledge/files", params=asked, data=data, headers=headers)


async def _read(site: Site, document: str) -> Document:
    """Once its reading has ended."""
    while True:
        found = await site.desk.rooms.database.read(lambda c: store.get(c, DocumentId(document)))
        assert found is not None
        if found.status is not Status.READING:
            return found
        await asyncio.sleep(0.01)


async def _audited(site: Site, kind: str) -> list[tuple[str, dict[str, object]]]:
    query = sa.select(audit.c.actor, audit.c.payload).where(audit.c.type == kind).order_by(audit.c.id)
    rows = await site.desk.rooms.database.read(lambda c: c.execute(query).all())
    return [(row.actor, json.loads(row.payload)) for row in rows]


async def _join(site: Site, who: str, departments: Sequence[str]) -> None:
    rooms = site.desk.rooms
    known = await rooms.database.read(lambda c: people.get(c, PersonId(who)))
    assert known is not None
    change = Change(replace(known, departments=tuple(departments)), "updated")
    await rooms.write(lambda tx: people.apply(tx, rooms.recorder, [change], rooms.clock.now()))


async def test_a_principals_file_arrives_is_read_and_serves(site: Site) -> None:
    browser = await site.enter("boss")
    page = await browser.go("/knowledge")
    assert "No documents of the company yet" in page.words
    sent = await _upload(browser, POLICY, name="policy.md", audience="company")
    where = sent.headers["HX-Location"]
    await _read(site, where.rpartition("/")[2])
    page = await browser.go(where)
    assert "Travel policy" in page.words
    assert "in use" in page.words
    assert "brought by boss" in page.words
    assert [each.text_content() for each in page.all(".passage .text")] == ["A hotel may cost 180 EUR a night."]
    ((actor, payload),) = await _audited(site, "knowledge_ingested")
    assert (actor, payload["status"]) == ("boss", "approved")
    found = await browser.part("/knowledge/try?q=hotel+night")
    assert "policy.md" not in found.text
    assert "A hotel may cost 180 EUR" in found.words


async def test_a_members_file_waits_until_a_principal_says_yes(site: Site) -> None:
    ada, boss, bob = await site.enter("ada"), await site.enter("boss"), await site.enter("bob")
    await ada.go("/knowledge")
    sent = await _upload(ada, POLICY, name="policy.md", audience="company")
    where = sent.headers["HX-Location"]
    await _read(site, where.rpartition("/")[2])
    assert "waits for a yes" in (await ada.go(where)).words
    assert (await bob.go(where)).status == 404
    assert "policy.md" not in (await bob.go("/knowledge")).text
    refused = await ada.post(f"{where}/approve")
    assert refused.status == 403
    assert "Waits for a principal" in (await boss.go("/knowledge")).words
    page = await boss.go(where)
    assert "A hotel may cost 180 EUR" in page.words, "nobody says yes to what they cannot read"
    await boss.post(f"{where}/approve")
    assert "in use" in (await bob.go(where)).words
    assert [actor for actor, _ in await _audited(site, "knowledge_decided")] == ["boss"]


async def test_a_rejected_one_says_why_to_who_brought_it(site: Site) -> None:
    ada, boss = await site.enter("ada"), await site.enter("boss")
    document = await _bring(site, POLICY, "policy.md", "ada")
    await boss.go("/knowledge")
    await boss.post(f"/knowledge/{document.id}/reject", {"reason": "out of date"})
    assert "Rejected by boss: out of date" in (await ada.go(f"/knowledge/{document.id}")).words


async def test_a_replacement_waits_and_the_old_one_serves_meanwhile(site: Site) -> None:
    boss = await site.enter("boss")
    old = await _bring(site, POLICY, "policy.md")
    await boss.go("/knowledge")
    sent = await _upload(boss, NEWER, replaces=old.id, name="other name.md")
    new = await _read(site, sent.headers["HX-Location"].rpartition("/")[2])
    assert (new.name, new.version, new.status) == ("policy.md", 2, Status.PENDING)
    page = await boss.go(f"/knowledge/{new.id}")
    assert "It would take the place of version 1" in page.words
    await boss.post(f"/knowledge/{new.id}/approve")
    assert "replaced by version 2" in (await boss.go(f"/knowledge/{old.id}")).words
    third = await _upload(boss, POLICY + b"More.", replaces=new.id, yes="on")
    assert (await _read(site, third.headers["HX-Location"].rpartition("/")[2])).status is Status.APPROVED


async def test_another_departments_document_is_not_there(site: Site) -> None:
    await _join(site, "ada", ["finance"])
    ada, bob, boss = await site.enter("ada"), await site.enter("bob"), await site.enter("boss")
    document = await _bring(site, POLICY, "secret.md", None, "department:finance")
    assert document.status is Status.APPROVED
    sections = await site.desk.rooms.database.read(lambda c: shelf.passages(c, OperatorScope(None), document.id, -1, 5))
    paths = [f"/knowledge/{document.id}", f"/knowledge/{document.id}/passages", f"/knowledge/{document.id}/remove"]
    assert (await ada.go(paths[0])).status == 200
    assert "secret.md" in (await ada.go("/knowledge")).text
    assert "180 EUR" in (await ada.go("/knowledge/try?q=hotel")).text
    for other in (bob, boss):
        for path in paths:
            assert (await other.go(path)).status == 404
        await other.go("/knowledge")
        for act in ("approve", "reject", "remove"):
            assert (await other.post(f"/knowledge/{document.id}/{act}")).status == 404
        assert "secret" not in (await other.go("/knowledge?q=secret")).all("#documents")[0].text_content()
        assert "180 EUR" not in (await other.go("/knowledge/try?q=hotel")).text
        assert (await other.go(f"/knowledge/nothing?from={sections[0].id}")).status == 404
        assert (await _upload(other, NEWER, replaces=document.id)).status == 404
    assert site.refused.count("web_not_found") == 16
    still = await site.desk.rooms.database.read(lambda c: store.get(c, document.id))
    assert still is not None
    assert still.status is Status.APPROVED


async def test_one_can_only_bring_for_departments_of_ones_own(site: Site) -> None:
    await _join(site, "ada", ["finance"])
    ada = await site.enter("ada")
    page = await ada.go("/knowledge")
    assert [each.get("value") for each in page.all("select[name=audience] option")] == [
        "company", "department:finance", "public",
    ]  # fmt: skip
    assert (await _upload(ada, POLICY, name="a.md", audience="department:board")).status == 403
    assert (await _upload(ada, POLICY, name="a.md", audience="everything")).status == 400


async def test_guests_see_what_is_public_and_bring_nothing(site: Site) -> None:
    guest = await site.enter("guest")
    await site.documents.search.search(OperatorScope(None), "rent")
    inside = await _bring(site, POLICY, "policy.md")
    public = await _bring(site, NEWER, "press.md", audience="public")
    page = await guest.go("/knowledge")
    assert page.all("form[data-upload]") == []
    assert (await guest.go(f"/knowledge/{inside.id}")).status == 404
    assert "220 EUR" in (await guest.go(f"/knowledge/{public.id}")).words
    assert (await _upload(guest, POLICY, name="a.md", audience="company")).status == 403


async def test_what_is_too_large_is_refused_and_nothing_of_it_kept(site: Site) -> None:
    boss = await site.enter("boss")
    await boss.go("/knowledge")
    answer = await _upload(boss, b"x" * (LIMIT + 1), name="large.txt", audience="company")
    assert answer.status == 400
    assert "larger than" in answer.words
    assert "large.txt" not in (await boss.go("/knowledge")).text


async def test_files_that_come_slowly_are_few_of_one_person(site: Site) -> None:
    boss, ada = await site.enter("boss"), await site.enter("ada")
    await boss.go("/knowledge")
    await ada.go("/knowledge")
    go_on = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield POLICY
        await go_on.wait()

    coming = [start("upload", _upload(boss, slowly(), name="a.md", audience="company")) for _ in range(MOST_OF_ONE + 1)]
    try:
        await until(lambda: bool(site.refused))
        assert site.refused == ["web_too_many_files"]
        assert (await _upload(ada, NEWER, name="b.md", audience="company")).status == 200
    finally:
        go_on.set()
    answers = [(await each).status for each in coming]
    assert sorted(answers) == [200] * MOST_OF_ONE + [503]
    assert (await _upload(boss, NEWER, name="c.md", audience="company")).status == 200


async def test_a_file_without_the_guard_of_its_session_is_not_taken(site: Site) -> None:
    boss = await site.enter("boss")
    boss.csrf = "0" * 64
    assert (await _upload(boss, POLICY, name="a.md", audience="company")).status == 403
    assert site.refused == ["web_bad_csrf"]


async def test_what_cannot_be_read_says_why(site: Site) -> None:
    boss = await site.enter("boss")
    await boss.go("/knowledge")
    sent = await _upload(boss, b"PK\x03\x04 no archive at all", name="plan.docx", audience="company")
    document = await _read(site, sent.headers["HX-Location"].rpartition("/")[2])
    page = await boss.go(f"/knowledge/{document.id}")
    assert "not readable" in page.words
    assert document.note
    assert document.note in page.words


async def test_taking_back_can_be_undone_and_removing_says_what_goes(site: Site) -> None:
    boss = await site.enter("boss")
    document = await _bring(site, POLICY, "policy.md")
    path = f"/knowledge/{document.id}"
    await boss.go("/knowledge")
    page = await boss.post(f"{path}/reject", {"reason": "old"})
    (undo,) = page.all(".notice form")
    await boss.post(undo.get("action"))
    assert "in use" in (await boss.go(path)).words
    page = await boss.go(f"{path}/remove")
    assert f"1 passage with {document.characters} characters" in page.words
    page = await boss.post(f"{path}/remove")
    assert "gone from every answer" in page.words
    assert (await boss.go(path)).status == 404
    assert [actor for actor, _ in await _audited(site, "knowledge_removed")] == ["boss"]


async def test_trying_a_question_shows_both_rankings(site: Site) -> None:
    boss = await site.enter("boss")
    await _bring(site, POLICY, "policy.md")
    await site.documents.index.catch_up()
    await site.documents.index.warm()
    page = await boss.go("/knowledge/try?q=hotel+night")
    row = page.all("tbody tr")[0]
    cells = {each.get("data-label"): " ".join(each.text_content().split()) for each in row.cssselect("td")}
    assert cells["By words"].startswith("1. BM25 ")
    assert cells["By meaning"].startswith("1. ")
    assert float(cells["Together"]) > 0
    link = row.cssselect("a")[0].get("href")
    assert "180 EUR" in (await boss.go(link)).words


async def test_the_built_in_notes_can_be_read_and_not_decided_about(site: Site) -> None:
    boss = await site.enter("boss")
    await site.documents.search.search(OperatorScope(None), "rent")
    page = await boss.go("/knowledge/notes")
    (link,) = page.all("main ul a")
    note = await boss.go(link.get("href"))
    assert "Rent is paid before the month begins." in note.words
    assert (await boss.post(f"{link.get('href')}/remove")).status == 403
    assert (await _upload(boss, POLICY, replaces=link.get("href").rpartition("/")[2])).status == 404


async def test_documents_come_in_pages(site: Site) -> None:
    boss = await site.enter("boss")
    for number in range(33):
        await _bring(site, POLICY + str(number).encode(), f"file {number}.md")
    page = await boss.go("/knowledge")
    assert len(page.all("#documents tbody tr")) == 30
    older = await boss.go(page.all("#documents a.button")[0].get("href"))
    assert [each.text_content() for each in older.all("#documents tbody th a")] == ["Travel policy"] * 3
    found = await boss.part("/knowledge?q=FILE+7.md")
    assert len(found.all("tbody tr")) == 1


async def test_names_and_texts_from_outside_come_out_as_text(site: Site) -> None:
    boss = await site.enter("boss")
    await boss.go("/knowledge")
    data = f"# {XSS}\n\n## {XSS}\n\nA hotel {XSS}\n".encode()
    sent = await _upload(boss, data, name=f"{XSS}.md", audience="company")
    document = await _read(site, sent.headers["HX-Location"].rpartition("/")[2])
    await boss.post(f"/knowledge/{document.id}/reject", {"reason": XSS})
    await boss.post(f"/knowledge/{document.id}/approve")
    for path in (
        "/knowledge",
        f"/knowledge/{document.id}",
        f"/knowledge/{document.id}/remove",
        "/knowledge/try?q=hotel",
    ):
        page = await boss.go(path)
        assert "alert(" in page.words
        assert [each.get("src") for each in page.all("main script, main img, main [onerror]")] == []


async def test_a_page_that_waited_for_the_reading_is_loaded_anew_when_it_ends(site: Site) -> None:
    boss = await site.enter("boss")
    document = await _bring(site, POLICY, "policy.md")
    asked = await boss.part(f"/knowledge/{document.id}?reading=1")
    assert asked.headers["HX-Refresh"] == "true"
    assert "HX-Refresh" not in (await boss.part(f"/knowledge/{document.id}")).headers
    assert (await boss.go(f"/knowledge/{document.id}?reading=1")).status == 200
