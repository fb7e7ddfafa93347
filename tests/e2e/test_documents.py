"""A document's whole life through the program: handed over in a conversation, decided about, asked about, cited with
its source, explained, removed, and gone."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.e2e.daemon import Daemon, audited, command, rows, running
from tests.e2e.farends import base_settings, body_of, maildir
from tests.e2e.test_embedded import PRINCIPAL, ask, mail, submit
from tests.e2e.test_telegram import ANN, BOB, said_next
from tests.e2e.test_telegram import ask as ask_on_telegram
from tests.e2e.test_telegram import settings as telegram_settings
from tests.fakes.telegram import FakeTelegram
from tests.files import samples

pytestmark = pytest.mark.timeout(300)

POLICY = "# Travel policy\n\n## Hotels\n\nA hotel room may cost 187 EUR a night in Lisbon.\n"
QUESTION = "How much may a hotel room in Lisbon cost a night?"


def policy_pdf() -> bytes:
    return samples.pdf(*(samples.page(text) for text in ("Travel policy", "A hotel room may cost 187 EUR in Lisbon.")))


async def run(settings: dict[str, str], home: Path, *arguments: str) -> str:
    ended = await command(*arguments, settings=settings, home=home)
    assert ended.code == 0, ended
    return ended.out


async def status_of(daemon: Daemon, name: str, status: str) -> str:
    """The id of the document, once it is that."""
    query = "SELECT id FROM document WHERE name = ? AND status = ?"
    await daemon.until(lambda: bool(rows(daemon.data, query, [name, status])))
    return str(rows(daemon.data, query, [name, status])[0]["id"])


async def removed(daemon: Daemon, settings: dict[str, str], home: Path, document: str) -> None:
    assert "removed: " in await run(settings, home, "knowledge", "remove", document)
    await daemon.until(lambda: not rows(daemon.data, "SELECT 1 FROM document WHERE id = ?", [document]))


async def test_by_mail_with_a_principals_yes_in_the_terminal(home: Path) -> None:
    settings = base_settings(home / "data")
    async with running(settings, home, "email") as daemon:
        sent = mail("Please add this to our knowledge.")
        sent.add_attachment(policy_pdf(), maintype="application", subtype="pdf", filename="policy.pdf")
        assert await submit(daemon, sent) == 250
        document = await status_of(daemon, "policy.pdf", "pending")
        await daemon.until(lambda: len(maildir(daemon.data / "maildir")) == 2)
        told = [body_of(each) for each in maildir(daemon.data / "maildir")]
        assert any("I have policy.pdf and am reading it" in each for each in told)
        assert any("2 pages" in each and "needs a principal's yes" in each for each in told)
        assert "187 EUR" not in body_of(await ask(daemon, mail(QUESTION)))
        asked = await command("chat", "-m", "yes policy.pdf", settings=settings, home=home)
        assert "policy.pdf is kept" in asked.out, asked
        await status_of(daemon, "policy.pdf", "approved")
        answer = body_of(await ask(daemon, mail(QUESTION)))
        assert "187 EUR" in answer
        assert re.search(r"Sources: .*policy\.pdf", answer), answer
        session = rows(daemon.data, "SELECT session_id FROM turn_prompt ORDER BY turn_id DESC LIMIT 1")[0]["session_id"]
        explained = await run(settings, home, "explain", str(session), "--reason", "a check")
        assert "A hotel room may cost 187 EUR in Lisbon." in explained
        await removed(daemon, settings, home, document)
        assert "187 EUR" not in body_of(await ask(daemon, mail(QUESTION)))
        await daemon.settled()
        assert len(audited(daemon.data, "knowledge_removed")) == 2
        assert {str(each["To"]) for each in maildir(daemon.data / "maildir")} == {PRINCIPAL}


async def test_in_a_terminal_with_a_file(home: Path) -> None:
    settings = base_settings(home / "data")
    (home / "policy.md").write_text(POLICY, encoding="utf-8")
    async with running(settings, home, "email") as daemon:
        told = await run(settings, home, "chat", "-m", "/keep", "--file", "policy.md")
        assert "I have policy.md and am reading it" in told
        document = await status_of(daemon, "policy.md", "approved")
        asked = await command("chat", "-m", QUESTION, settings=settings, home=home)
        assert "187 EUR" in asked.out
        assert "Sources: policy.md" in asked.out or "policy.md" in asked.out.partition("Sources:")[2], asked
        assert "policy.md is kept for the company" in asked.err, "what was told meanwhile is shown beside"
        await removed(daemon, settings, home, document)
        again = await run(settings, home, "chat", "-m", QUESTION, "--thread", "other")
        assert "187 EUR" not in again
        missing = await command("chat", "-m", "/keep", "--file", "nowhere.md", settings=settings, home=home)
        assert missing.code == 1
        assert "nowhere.md is no file" in missing.err


async def test_a_deleted_conversation_takes_its_documents_along_if_that_is_asked(home: Path) -> None:
    settings = base_settings(home / "data")
    (home / "policy.md").write_text(POLICY, encoding="utf-8")
    async with running(settings, home, "email") as daemon:
        await run(settings, home, "chat", "-m", "/keep", "--file", "policy.md")
        document = await status_of(daemon, "policy.md", "approved")
        (session,) = rows(daemon.data, "SELECT session_id FROM document WHERE id = ?", [document])
        delete = ("sessions", "delete", str(session["session_id"]), "--reason", "a check")
        await run(settings, home, *delete)
        assert rows(daemon.data, "SELECT status FROM document WHERE id = ?", [document]) == [{"status": "approved"}]
        await run(settings, home, *delete, "--documents")
        await daemon.until(lambda: not rows(daemon.data, "SELECT 1 FROM document WHERE id = ?", [document]))
        answer = await run(settings, home, "chat", "-m", QUESTION, "--thread", "other")
        assert "187 EUR" not in answer
    blobs = [each for each in (home / "data" / "blobs").rglob("*") if each.is_file()]
    assert blobs == [], "its file is gone too"


async def test_on_telegram_a_members_document_waits_for_the_principals_yes_and_others_are_answered_meanwhile(
    home: Path, telegram: FakeTelegram
) -> None:
    own = telegram_settings(home, telegram)
    async with running(own, home, "telegram") as daemon:
        await ask_on_telegram(telegram, ANN, "Good morning")
        file_id = telegram.world.add_file(POLICY.encode(), name="policy.md")
        telegram.world.message(BOB, BOB, caption="/learn", document=file_id)
        assert "I have policy.md and am reading it" in await said_next(telegram, BOB, 0)
        question = await said_next(telegram, ANN, 1)
        assert question.startswith("Bob sent me policy.md (1 passage), to be kept for the company.")
        assert "needs a principal's yes: I have asked Ann" in await said_next(telegram, BOB, 1)
        await daemon.settled()
        telegram.world.private_message(BOB, "yes")  # not his to say, and nobody has asked him
        await said_next(telegram, BOB, 2)
        assert rows(daemon.data, "SELECT status FROM document WHERE name = 'policy.md'") == [{"status": "pending"}]
        assert "policy.md is kept" in await ask_on_telegram(telegram, ANN, "yes")
        document = await status_of(daemon, "policy.md", "approved")
        assert "policy.md: Ann said yes" in await said_next(telegram, BOB, 3)
        await daemon.settled()
        answer = await ask_on_telegram(telegram, BOB, QUESTION)
        assert "187 EUR" in answer
        assert "policy.md" in answer.partition("Sources:")[2]
        await removed(daemon, own, home, document)
        await ask_on_telegram(telegram, BOB, "/new")
        assert "187 EUR" not in await ask_on_telegram(telegram, BOB, QUESTION)


async def test_a_document_is_read_by_the_next_process_if_the_first_one_dies_and_its_sender_is_told(
    home: Path, telegram: FakeTelegram
) -> None:
    own = telegram_settings(home, telegram)
    pages = samples.pdf(*(samples.page(f"Page {number} says {number * 7919}.") for number in range(400)))
    async with running(own, home, "telegram") as daemon:
        file_id = telegram.world.add_file(pages, name="long.pdf")
        telegram.world.message(ANN, ANN, caption="keep this document", document=file_id)
        await daemon.until(lambda: bool(rows(daemon.data, "SELECT 1 FROM document WHERE name = 'long.pdf'")))
        (row,) = rows(daemon.data, "SELECT status FROM document WHERE name = 'long.pdf'")
        await daemon.kill()
    assert row["status"] == "reading"
    async with running(own, home, "telegram") as daemon:
        await asyncio.wait_for(status_of(daemon, "long.pdf", "approved"), 120)
        await telegram.deliveries.until(
            lambda: any("long.pdf is kept for the company (400 pages" in text for text in telegram.texts(ANN)),
            timeout=60,
        )
        await daemon.settled()
        assert sum("is kept" in text for text in telegram.texts(ANN)) == 1
