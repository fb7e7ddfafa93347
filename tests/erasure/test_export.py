"""What is gathered about a person is theirs, whole, and nobody else's."""

from __future__ import annotations

import json

import pytest

from bot.control.ops_export import Exporting
from bot.erasure import export
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from tests.erasure.memory_desk import (
    CONTROL,
    CONTROL_QUOTE,
    QUOTE,
    SAID,
    STATEMENT,
    forgets,
    remember,
    said_in,
    session_of,
)
from tests.erasure.test_service import OPERATOR
from tests.intake.events import dm, message
from tests.orchestrator.office import Office

BOSS = PersonId("boss")


class Peer:
    def __init__(self) -> None:
        self.sent: list[dict[str, object]] = []

    async def send(self, message: object) -> None:
        assert isinstance(message, dict)
        self.sent.append(message)

    async def receive(self) -> None:
        return None


async def test_everything_of_a_person_and_nothing_of_another(office: Office) -> None:
    await office.hear(message("1", SAID), message("2", "Ada's own plan for Nairobi.", by="2", thread=dm("2")))
    await office.ended("answered", "answered")
    own, other = await session_of(office), await session_of(office, "test:dm:2")
    said, theirs = (await said_in(office, own))[0], (await said_in(office, other))[0]
    first = await remember(office, said, own, QUOTE, STATEMENT)
    gone = await remember(office, said, own, CONTROL_QUOTE, CONTROL)
    about = await remember(office, theirs, other, "own plan", "The plan is to ask the Boss.", speaker="ada")
    await remember(office, theirs, other, "Nairobi", "Nairobi is planned.", speaker="ada")
    await forgets(office).memories([gone.id], OPERATOR, "private")
    parts, claims = await export.gather(office.database, BOSS)
    found: dict[str, list[dict[str, object]]] = {}
    for name, part in parts:
        found.setdefault(name, []).append(dict(part))
    assert set(found) <= set(export.SECTIONS)
    assert found["person"][0]["id"] == "boss"
    assert found["accounts"] == [{"channel": "test", "address": "1", "known_from": "settings"}]
    assert [QUOTE in str(each["text"]) for each in found["messages"]] == [True]
    assert claims == [first.id, about.id]
    (told, _) = found["memories"]
    evidence, history = told["evidence"], told["history"]
    assert isinstance(evidence, list)
    assert isinstance(history, list)
    assert [each["quote"] for each in evidence] == [QUOTE]
    assert [each["op"] for each in history] == ["written"]
    assert found["rooms"]
    assert found["usage"][0]["calls"] == 1
    assert {each["type"] for each in found["audit"]} >= {"message_received"}
    whole = json.dumps(parts)
    assert "Nairobi" not in whole
    assert CONTROL_QUOTE not in whole


async def test_it_is_recorded_before_anything_is_handed_out(office: Office) -> None:
    await office.hear(message("1", SAID))
    await office.ended("answered")
    said = (await said_in(office, await session_of(office)))[0]
    made = await remember(office, said, await session_of(office), QUOTE, STATEMENT)
    peer = Peer()
    asked = {"op": "export", "person": "boss", "reason": "asked for"}
    await Exporting(office.database, office.recorder).handlers()["export"](peer, asked)
    assert peer.sent[-1]["ok"] is True
    (exported,) = await office.audited("person_exported")
    assert (exported.payload["person"], exported.payload["messages"], exported.payload["memories"]) == ("boss", 1, 1)
    (viewed,) = await office.audited("memory_viewed")
    assert (viewed.payload["door"], viewed.payload["claims"]) == ("export", [made.id])


async def test_nobody_known_is_told(office: Office) -> None:
    with pytest.raises(PermanentError, match="nobody called"):
        await export.gather(office.database, PersonId("stranger"))
