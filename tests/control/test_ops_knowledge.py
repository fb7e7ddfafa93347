"""Operations on documents, as the command line asks them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.audit.recorder import Recorder
from bot.control import ops_knowledge
from bot.control.wire import MalformedError
from bot.gateway.channel import LocalHandler
from bot.kernel.errors import PermanentError
from bot.kernel.supervise import Supervisor
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.control.desk import Answers
from tests.knowledge.desk import Desk, build


@pytest.fixture
async def desk(
    database: Database, recorder: Recorder, clock: FakeClock, supervisor: Supervisor, tmp_path: Path
) -> AsyncIterator[Desk]:
    desk = await build(tmp_path, database, recorder, clock, supervisor)
    desk.built_in.there.set()
    yield desk
    await supervisor.stop()
    await desk.index.close()


def handlers(desk: Desk, *, alone: bool = True) -> Mapping[str, LocalHandler]:
    return ops_knowledge.handlers(desk.database, desk.library, desk.search, desk.index, desk.eraser, alone=alone)


async def ask(desk: Desk, op: str, *, alone: bool = True, **fields: Any) -> list[dict[str, Any]]:
    peer = Answers()
    await handlers(desk, alone=alone)[op](peer, {"op": op, **fields})
    assert peer.sent[-1]["ok"] is True
    return peer.sent


async def add(desk: Desk, text: str, name: str, **fields: Any) -> dict[str, Any]:
    blob = await desk.store(text.encode())
    document = (await ask(desk, "knowledge.add", blob=blob, name=name, **fields))[-1]["document"]
    assert isinstance(document, dict)
    return document


async def test_a_document_from_its_file_to_its_end(desk: Desk) -> None:
    document = await add(desk, "# Plan\n\nzebra stripes", "plan.md", domain="product", departments=["engineering"])
    assert (document["status"], document["domain"], document["departments"]) == ("approved", "product", ["engineering"])
    (listed,) = (await ask(desk, "knowledge.list"))[-1]["documents"]
    assert listed == document
    shown = (await ask(desk, "knowledge.show", id=document["id"]))[-1]
    assert [section["heading"] for section in shown["sections"]] == ["Plan"]
    await desk.work()
    found = (await ask(desk, "knowledge.search", query="zebra"))[-1]
    assert found["vectors"] is True
    assert [(hit["source"], hit["where"]) for hit in found["found"]] == [("plan.md", "Plan")]
    removed = (await ask(desk, "knowledge.remove", id=document["id"]))[-1]
    assert removed["erased"] is True
    assert b"zebra" not in desk.bytes_on_disk()
    assert (await ask(desk, "knowledge.list", all=True))[-1]["documents"] == []


async def test_a_replacement_is_approved_or_rejected_by_command(desk: Desk) -> None:
    await add(desk, "zebra one", "plan.md")
    second = await add(desk, "zebra two", "plan.md")
    assert second["status"] == "pending"
    await ask(desk, "knowledge.reject", id=second["id"], reason="wrong file")
    third = await add(desk, "zebra three", "plan.md")
    await ask(desk, "knowledge.approve", id=third["id"])
    documents = (await ask(desk, "knowledge.list", all=True))[-1]["documents"]
    assert [each["status"] for each in documents] == ["approved", "rejected", "withdrawn"]
    fourth = await add(desk, "zebra four", "plan.md", yes=True)
    assert fourth["status"] == "approved"


async def test_with_a_daemon_the_bytes_go_a_moment_later(desk: Desk) -> None:
    document = await add(desk, "zebra one", "plan.md")
    removed = (await ask(desk, "knowledge.remove", alone=False, id=document["id"]))[-1]
    assert removed["erased"] is False
    assert await desk.found("zebra") == []
    await desk.work()
    assert b"zebra" not in desk.bytes_on_disk()


@pytest.mark.parametrize("alone", [True, False])
async def test_the_index_is_made_anew_on_request(desk: Desk, alone: bool) -> None:
    await add(desk, "zebra one", "plan.md")
    done = (await ask(desk, "knowledge.reindex", alone=alone))[-1]
    assert (done["items"], done["embedded"], done["full_text"]) == (1, 1, alone)
    assert (await ask(desk, "knowledge.search", query="zebra"))[-1]["vectors"] is True


async def test_what_is_not_there_or_not_understood_is_said(desk: Desk) -> None:
    for op in ("knowledge.show", "knowledge.approve", "knowledge.reject", "knowledge.remove"):
        with pytest.raises(PermanentError, match="there is no document"):
            await ask(desk, op, id="nothing")
    with pytest.raises(MalformedError):
        await ask(desk, "knowledge.search", question="zebra")
    with pytest.raises(PermanentError, match="public, company or department"):
        await add(desk, "zebra", "z.md", audience="everybody")
