"""Reply tokens: what they prove, and under which From, in which thread, in whose hands they prove nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.gateway.events import MessageReceived, Proof, ReplyPath
from bot.gateway.operations import Reply
from bot.kernel.ids import OutboxId
from channels.email import proof
from channels.email.proof import Rules, Verdict
from channels.email.tokens import Tokens
from tests.channels.email.harness import running
from tests.channels.email.support import Domain, Records, Roster, envelope, mail
from tests.channels.email.test_adapter import said
from tests.channels.support import START
from tests.fakes.smtp import SmtpSink, parsed

ANN, BOB, ME = "ann@corp.example", "bob@corp.example", "executive@bot.example"
THREAD, OTHER_THREAD = "email:06h2rmw200t9r5gdbbdjhbxe", "email:06h2rmw400t9r5gdbbdjhbxe"
TOKENS = Tokens(ME, "email", bytes(32))
RULES = Rules(local_mode=False, authserv_id=None, per_user_from=frozenset(), tokens=TOKENS)
KEY = OutboxId("0123456789abcdefghjkmnpq")


def address(thread: str = THREAD, recipient: str = ANN) -> str:
    found = TOKENS.address(thread, recipient)
    assert found is not None
    return found


def check(raw: bytes, recipient: str = ME, rules: Rules = RULES) -> Verdict:
    return proof.check(raw, envelope(peer="198.51.99.9", recipient=recipient), rules, Records({}))


def test_address_has_the_form_that_is_documented() -> None:
    assert re.fullmatch(r"executive\+t-[0-9a-z]{24}-[a-z2-7]{16}@bot\.example", address())
    assert len(address().partition("@")[0]) <= 64


@pytest.mark.parametrize(
    ("own", "thread"),
    [("e" * 21 + "@x", THREAD), (ME, "t"), (ME, "telegram:" + THREAD[6:]), (ME, "email:short"), (ME, THREAD + "x")],
)
def test_no_token_where_none_fits(own: str, thread: str) -> None:
    assert replace(TOKENS, own=own).address(thread, ANN) is None


def test_longest_own_address_that_has_room() -> None:
    tokens = replace(TOKENS, own="e" * 20 + "@x")
    found = tokens.address(THREAD, ANN)
    assert found is not None
    assert len(found.partition("@")[0]) == 64


def test_token_is_of_one_thread_one_person_one_installation_and_one_executive() -> None:
    assert TOKENS.thread([address()], ANN) == THREAD
    assert TOKENS.thread([address()], BOB) is None
    swapped = address().replace(THREAD[6:], OTHER_THREAD[6:])
    assert TOKENS.thread([swapped], ANN) is None
    assert replace(TOKENS, secret=b"x" * 32).thread([address()], ANN) is None
    assert replace(TOKENS, own="other@bot.example").thread([address().replace("executive", "other")], ANN) is None


@pytest.mark.case(87)
def test_case_87_case_and_other_tags_do_not_matter_to_it() -> None:
    assert TOKENS.thread([ME, "executive+notes@bot.example", address().upper()], ANN) == THREAD
    assert TOKENS.thread(["executive+notes@bot.example", "executive+t-@bot.example", "nonsense", ""], ANN) is None


def test_unicode_domain_and_its_wire_form_are_one() -> None:
    token = TOKENS.address(THREAD, "ann@bücher.example")
    assert token is not None
    assert TOKENS.thread([token], "ann@xn--bcher-kva.example") == THREAD


@given(st.text(max_size=80))
def test_no_text_is_taken_for_a_token(text: str) -> None:
    assert TOKENS.thread([text, f"executive+{text}@bot.example"], ANN) is None


def test_secret_is_not_shown() -> None:
    assert "secret" not in repr(TOKENS)


@pytest.mark.case(85)
def test_case_85_token_under_its_own_from_proves_the_person_in_that_thread() -> None:
    verdict = check(mail("And?", references="<other@bot.example>"), address())
    assert (verdict.proof, verdict.thread) == (Proof.TOKEN, THREAD)
    assert not verdict.chain_trusted
    assert not verdict.reply_to_trusted


@pytest.mark.case(85)
@pytest.mark.parametrize(
    ("raw", "recipient"),
    [
        (mail("x", **{"from": BOB}), address()),  # a colleague to whom it was forwarded
        (mail("x", **{"from": "eve@evil.example"}), address()),  # a stranger who got hold of it
        (mail("x", **{"from": f"eve@evil.example, {ANN}"}), address()),
        (mail("x", **{"from": [ANN, "eve@evil.example"]}), address()),
        (mail("x", sender=ANN, **{"from": "eve@evil.example"}), address()),
        (mail("x"), address(recipient=BOB)),
        (mail("x"), address()[:60] + "@bot.example"),
        (mail("x"), address().replace("bot.example", "evil.example")),
        (mail("x", date=format_datetime(START - timedelta(days=6))), address()),
        (mail("x", date=""), address()),
    ],
)
def test_case_85_stolen_token_proves_nothing(raw: bytes, recipient: str) -> None:
    assert check(raw, recipient).proof is Proof.NONE


def test_token_in_a_header_counts_where_a_server_took_it_off_the_envelope() -> None:
    for name in ("to", "cc", "delivered_to", "x_original_to"):
        assert check(mail("x", **{name: f"Executive <{address()}>"})).thread == THREAD
    assert check(mail("x", subject=address())).proof is Proof.NONE
    assert check(mail(f"To: {address()}")).proof is Proof.NONE


def test_token_needs_no_dns() -> None:
    rules = replace(RULES, per_user_from=frozenset({"corp.example"}))
    assert not proof.needs_dns(mail(), envelope(recipient=address()), rules)
    assert proof.needs_dns(mail(), envelope(), rules)


async def test_our_mail_asks_for_the_answer_at_its_readers_token_which_then_proves_it(tmp_path: Path) -> None:
    """The whole way round, over SMTP: question, answer, and the answer to the answer without any signature."""
    corp = Domain()
    inbox = Roster([ANN, BOB])
    async with SmtpSink() as sink:
        settings = {"address": ME, "per_user_from": ["corp.example"]}
        relay = {"host": "127.0.0.1", "port": sink.port, "security": "none"}
        async with running(
            tmp_path, inbox, local_mode=False, resolver=Records(corp.records), relay=relay, **settings
        ) as channel:
            await said(channel, corp.sign(mail("Question")), ANN, ME)
            event = inbox.events[0]
            assert isinstance(event, MessageReceived)
            path = replace(event.reply_path, thread=THREAD)
            (op,) = channel.channel.plan(Reply(path, "Answer"))
            await channel.channel.send(op, KEY, False)
            reply_to = str(parsed(next(iter(sink.mails)))["Reply-To"])
            assert parsed(next(iter(sink.mails)))["From"] == ME
            await said(channel, mail("And?", message_id="<2@corp.example>", to=reply_to), ANN, reply_to)
            await said(channel, mail("Me too", message_id="<3@x>", **{"from": BOB}), BOB, reply_to)
    assert [e.sender.proof for e in inbox.events if isinstance(e, MessageReceived)] == [Proof.DOMAIN, Proof.TOKEN]
    second = inbox.events[1]
    assert isinstance(second, MessageReceived)
    assert (second.thread.key, second.reply_path.address) == (THREAD, ANN)
    (turned_away,) = inbox.turned_away
    assert isinstance(turned_away, MessageReceived)
    assert turned_away.sender.proof is Proof.NONE


@pytest.mark.parametrize(("local_mode", "more"), [(True, {}), (False, {"reply_tokens": False})])
async def test_no_token_in_local_mode_or_where_it_is_switched_off(
    tmp_path: Path, local_mode: bool, more: dict[str, Any]
) -> None:
    async with running(tmp_path, Roster([ANN]), local_mode=local_mode, address=ME, **more) as channel:
        (op,) = channel.channel.plan(Reply(ReplyPath(THREAD, ANN), "Answer"))
        await channel.channel.send(op, KEY, False)
        assert await said(channel, mail("x"), ANN, address()) != ""
    (file,) = (tmp_path / "maildir" / "new").iterdir()
    assert b"Reply-To" not in file.read_bytes()


async def test_unasked_mail_begins_a_thread_that_its_answer_joins(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with SmtpSink() as sink:
        relay = {"host": "127.0.0.1", "port": sink.port, "security": "none"}
        async with running(tmp_path, inbox, local_mode=False, relay=relay, address=ME) as channel:
            path = await channel.channel.direct(ANN)
            (op,) = channel.channel.plan(Reply(path, "Good morning"))
            await channel.channel.send(op, KEY, False)
            reply_to = str(parsed(next(iter(sink.mails)))["Reply-To"])
            await said(channel, mail("Morning", to=reply_to), ANN, reply_to)
    (event,) = inbox.events
    assert isinstance(event, MessageReceived)
    assert event.thread.key == path.thread
