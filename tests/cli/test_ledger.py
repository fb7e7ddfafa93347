"""`openexecutive ledger`: what is asked of the daemon, and what is printed."""

from __future__ import annotations

from pathlib import Path

from tests.cli.program import answering, command, daemon

RATE = {"count": 1, "of": 2, "between": [0.1, 0.9]}
PROPOSAL = {
    "id": "06h2yzq1g4nxqa278paq3kgh", "class": "send_email", "state": "proposed", "what": "Send a mail",
    "fields": [["To", "kim@outside.example"], ["Subject", "The fair"]], "text": "We come.\x1b[31m", "changed": "",
    "reason": "Ada wants it", "memories": ["we launch in March"], "hidden_memories": 2, "asked_by": "Ada",
    "approvers": ["Boss"], "decided_by": None, "yours": True, "two_persons": False, "tainted": True, "failure": None,
    "came_back": False,
    "severity": None, "content": "9f3e1a" + "0" * 58, "made_at": "2026-03-01T10:00:00+00:00",
    "expires_at": "2026-03-03T10:00:00+00:00", "decided_at": None, "result": None,
}  # fmt: skip


async def test_the_whole_of_a_proposal_is_shown_before_it_can_be_approved(folder: Path) -> None:
    operations = {
        "ledger.list": answering({"proposals": [PROPOSAL]}),
        "ledger.show": answering({"proposal": PROPOSAL}),
        "ledger.vote": answering({"told": "Approved: it is being done."}),
    }
    async with daemon(folder, operations):
        listed = await command("ledger", "list")
        shown = await command("ledger", "show", "paq3kgh")
        unseen = await command("ledger", "approve", "paq3kgh")
        approved = await command("ledger", "approve", "paq3kgh", "--content", "9f3e1a")
    assert "Send a mail (kim@outside.example)  * yours" in listed.stdout
    for words in ("The fair", "| We come.", "why: Ada wants it", "we launch in March", "2 memories", "look twice"):
        assert words in shown.stdout
    assert "\x1b" not in shown.stdout
    assert unseen.returncode == 1
    assert "--content 9f3e1a" in unseen.stderr
    assert "| We come." in unseen.stdout
    assert approved.stdout == "Approved: it is being done.\n"


async def test_what_could_not_be_taken_back_says_so_and_a_card_is_counted(folder: Path) -> None:
    rates = dict.fromkeys(("unchanged", "edited", "rejected", "no_response", "reversed", "failed", "undelivered"), RATE)
    operations = {
        "ledger.reverse": answering({"refusal": "a mail cannot be called back"}),
        "ledger.card": answering({"card": rates, "mode": "propose", "recommended": None}),
    }
    async with daemon(folder, operations):
        back = await command("ledger", "reverse", "x", "--severity", "grave", "--reason", "y")
        card = await command("ledger", "card", "send_email")
    assert (back.returncode, "cannot be called back" in back.stdout) == (1, True)
    assert "1 of 2 (10% to 90% with 95 % confidence)" in card.stdout


async def test_without_a_daemon_it_says_that_it_needs_one(folder: Path) -> None:
    ended = await command("ledger", "list")
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
