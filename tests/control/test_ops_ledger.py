"""Operations on proposals: whoever reaches the socket speaks as the person of this machine's terminal."""

from __future__ import annotations

from typing import Any

import pytest

from bot.control import ops_ledger
from bot.kernel.errors import PermanentError
from bot.ledger.model import Failure, State
from bot.ledger.sealing import Sealer
from bot.orchestrator.clerk import Clerk, NotDoneError, UnknownProposalError
from bot.orchestrator.verdicts import Verdicts
from tests.control.desk import Answers
from tests.ledger.conftest import post, shop
from tests.ledger.workshop import Workshop, mail, message

__all__ = ["post", "shop"]


class Socket:
    def __init__(self, shop: Workshop, person: str | None = None) -> None:
        self.rung = 0
        verdicts = Verdicts(shop.database, shop.clock, shop.ledger, {}, self._ring, Sealer(b"k" * 32))
        self.handlers = ops_ledger.handlers(shop.database, Clerk(shop.database, shop.clock, verdicts, "cli"), person)

    def _ring(self) -> None:
        self.rung += 1

    async def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        peer = Answers()
        await self.handlers[f"ledger.{op}"](peer, {"op": f"ledger.{op}", **fields})
        return peer.sent[-1]


async def test_what_waits_is_listed_shown_whole_and_approved_by_its_content(shop: Workshop) -> None:
    made = await shop.propose("send_email", mail("Hel\u200blo"))
    socket = Socket(shop)
    (one,) = (await socket.ask("list", state=["proposed"]))["proposals"]
    assert (one["id"], one["yours"], one["approvers"]) == (made.id, True, ["boss"])
    shown = (await socket.ask("show", proposal=made.id[-6:]))["proposal"]
    assert "ZERO WIDTH SPACE" in shown["text"]
    with pytest.raises(NotDoneError, match="edited since"):
        await socket.ask("vote", proposal=made.id, content="000000", verdict="approve")
    assert (await shop.now(made)).state is State.PROPOSED
    told = await socket.ask("vote", proposal=made.id, content=shown["content"][:12], verdict="approve")
    assert told["told"].startswith("Approved")
    assert socket.rung == 2
    await shop.settle()
    assert (await shop.now(made)).state is State.EXECUTED


async def test_who_speaks_at_the_terminal_decides_only_what_is_theirs(shop: Workshop) -> None:
    made = await shop.propose("send_email", mail())
    ada, bob = Socket(shop, "ada"), Socket(shop, "bob")
    with pytest.raises(NotDoneError, match="not yours"):
        await ada.ask("vote", proposal=made.id, content=made.hash, verdict="approve")
    with pytest.raises(UnknownProposalError):
        await bob.ask("show", proposal=made.id)
    assert (await bob.ask("list"))["proposals"] == []
    await ada.ask("withdraw", proposal=made.id)
    assert (await shop.now(made)).state is State.WITHDRAWN


async def test_an_edit_is_approved_with_it_and_its_difference_is_shown(shop: Workshop) -> None:
    made = await shop.propose("send_email", mail("Hello\nKim"))
    socket = Socket(shop)
    await socket.ask("edit", proposal=made.id, content=made.hash, text="Good day\nKim")
    shown = (await socket.ask("show", proposal=made.id))["proposal"]
    assert (shown["state"], shown["changed"]) == ("approved_with_edit", "-Hello\n+Good day\n Kim")


async def test_an_uncertain_one_is_resolved_and_what_was_done_is_taken_back_where_that_can_be(shop: Workshop) -> None:
    from bot.kernel.errors import UncertainError

    shop.outside.channel.sends["Perhaps"] = [UncertainError("cut off")]
    doubtful = await shop.approved("send_message", message("Perhaps"), "a")
    await shop.settle()
    assert (await shop.now(doubtful)).failure is Failure.UNCERTAIN
    socket = Socket(shop)
    await socket.ask("resolve", proposal=doubtful.id, happened=True)
    assert (await shop.now(doubtful)).state is State.EXECUTED
    answer = await socket.ask("reverse", proposal=doubtful.id, severity="grave", reason="wrong person")
    assert "cannot be called back" in answer["refusal"]
    card = (await socket.ask("card", action="send_message"))["card"]
    assert card["worst"] == "grave"
    with pytest.raises(PermanentError, match="no action 'fly'"):
        await socket.ask("card", action="fly")


async def test_only_a_principal_lets_a_class_act_by_itself_and_says_why(shop: Workshop) -> None:
    asked = {"action": "send_message", "mode": "auto_execute"}
    with pytest.raises(PermanentError, match="only a principal"):
        await Socket(shop, "ada").ask("mode", **asked, reason="x")
    with pytest.raises(PermanentError, match="say why"):
        await Socket(shop).ask("mode", **asked, reason=" ")
    with pytest.raises(PermanentError, match="always needs a yes"):
        await Socket(shop).ask("mode", action="change_company_profile", mode="auto_execute", reason="x")
    await Socket(shop).ask("mode", **asked, reason="earned")
    assert (await Socket(shop).ask("card", action="send_message"))["mode"] == "auto_execute"
