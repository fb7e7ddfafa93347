"""DKIM is checked against signatures made here; DNS is a table."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime

import pytest

from bot.gateway.events import Proof
from channels.email import proof, results, signed
from channels.email.fields import split
from channels.email.proof import Rules, Verdict, Via
from channels.email.resolver import DnsFailure
from tests.channels.email.support import Domain, Records, envelope, mail
from tests.channels.support import START

RULES = Rules(local_mode=False, authserv_id=None, per_user_from=frozenset({"corp.example", "my-corp.example"}))
STRANGE_IP = "198.51.99.99"


@pytest.fixture(scope="module")
def corp() -> Domain:
    return Domain()


def check(
    raw: bytes, records: Records, rules: Rules = RULES, peer: str = STRANGE_IP, mail_from: str = "ann@corp.example"
) -> Verdict:
    return proof.check(raw, envelope(mail_from, peer), rules, records)


@pytest.mark.case(83)
def test_case_83_aligned_signature_proves(corp: Domain) -> None:
    verdict = check(corp.sign(mail()), Records(corp.records))
    assert verdict == Verdict(Proof.DOMAIN, "DKIM, aligned", True, True, True)


@pytest.mark.case(83)
def test_case_83_aligned_spf_proves_the_envelopes_own_sender(corp: Domain) -> None:
    records = Records(corp.records)
    assert check(mail(), records, peer=corp.ip).proof is Proof.DOMAIN
    assert check(mail(), records, peer=corp.ip, mail_from="bob@corp.example").proof is Proof.NONE
    assert check(mail(), records, peer=STRANGE_IP).proof is Proof.NONE


@pytest.mark.case(83)
def test_case_83_from_header_alone_proves_nothing(corp: Domain) -> None:
    assert check(mail(), Records(corp.records)).proof is Proof.NONE


@pytest.mark.case(83)
def test_case_83_signature_of_another_domain_proves_nothing(corp: Domain) -> None:
    evil = Domain("evil.example")
    raw = evil.sign(mail())
    verdict = check(raw, Records(corp.records | evil.records), mail_from="x@evil.example", peer=evil.ip)
    assert verdict.proof is Proof.NONE


@pytest.mark.case(83)
@pytest.mark.parametrize("change", [(b"Hello.", b"Hello!"), (b"Plans", b"Plots"), (b"ann@corp", b"bob@corp")])
def test_case_83_changed_mail_proves_nothing(corp: Domain, change: tuple[bytes, bytes]) -> None:
    raw = corp.sign(mail()).replace(*change)
    assert check(raw, Records(corp.records), mail_from="x@y.example").proof is Proof.NONE


@pytest.mark.case(83)
def test_case_83_no_policy_no_proof(corp: Domain) -> None:
    without = {k: v for k, v in corp.records.items() if not k[0].startswith("_dmarc")}
    assert check(corp.sign(mail()), Records(without)).proof is Proof.NONE
    twice = corp.records | {("_dmarc.corp.example", "TXT"): ["v=DMARC1; p=none", "v=DMARC1; p=none"]}
    assert check(corp.sign(mail()), Records(twice)).proof is Proof.NONE


@pytest.mark.case(83)
def test_case_83_policy_of_the_organisation_counts() -> None:
    sub = Domain("mail.corp.example")
    records = sub.records | {("_dmarc.corp.example", "TXT"): ["v=DMARC1; p=reject"]}
    del records["_dmarc.mail.corp.example", "TXT"]
    raw = sub.sign(mail(**{"from": "ann@mail.corp.example"}))
    rules = replace(RULES, per_user_from=frozenset({"mail.corp.example"}))
    assert check(raw, Records(records), rules, mail_from="").proof is Proof.DOMAIN


@pytest.mark.case(83)
def test_case_83_hyphens_in_domains_are_read_whole() -> None:
    domain = Domain("my-corp.example")
    raw = domain.sign(mail(**{"from": "ann@my-corp.example"}))
    assert check(raw, Records(domain.records), mail_from="").proof is Proof.DOMAIN
    cut = replace(RULES, per_user_from=frozenset({"my"}))
    assert check(raw, Records(domain.records), cut, mail_from="").proof is Proof.NONE


def test_domain_outside_per_user_from_proves_no_person_and_asks_nobody(corp: Domain) -> None:
    records = Records(corp.records)
    verdict = check(corp.sign(mail()), records, replace(RULES, per_user_from=frozenset()))
    assert verdict.proof is Proof.NONE
    assert "per_user_from" in verdict.note
    assert records.asked == []


@pytest.mark.case(83)
@pytest.mark.parametrize("broken", ["s1._domainkey.corp.example", "_dmarc.corp.example", "corp.example", "*"])
def test_case_83_dns_failure_is_no_verdict(corp: Domain, broken: str) -> None:
    raw = mail() if broken == "corp.example" else corp.sign(mail())
    with pytest.raises(DnsFailure):
        check(raw, Records(corp.records, [broken]))


def test_a_good_signature_needs_no_spf(corp: Domain) -> None:
    assert check(corp.sign(mail()), Records(corp.records, ["corp.example"])).proof is Proof.DOMAIN


def test_signature_over_a_part_proves_nothing(corp: Domain) -> None:
    raw = corp.sign(mail(), length=True)
    assert check(raw, Records(corp.records)).proof is Proof.NONE
    assert check(raw + b"and more", Records(corp.records)).proof is Proof.NONE


@pytest.mark.parametrize(
    "extra",
    [
        b"From: boss@corp.example\r\n",
        b"from: boss@corp.example\r\n",
        b"Date: Mon, 30 Nov 2026 12:00:00 +0000\r\n",
        b"Subject: other\r\n",
        b"X: y\rFrom: boss@corp.example\r\r",
        b"X: \0\r\n",
        b"no field at all\r\n",
    ],
)
def test_added_headers_that_can_be_read_in_two_ways_prove_nothing(corp: Domain, extra: bytes) -> None:
    assert check(extra + corp.sign(mail()), Records(corp.records)).proof is Proof.NONE


@pytest.mark.parametrize("days", [-6, 6])
def test_replayed_date_proves_nothing(corp: Domain, days: int) -> None:
    raw = corp.sign(mail(date=format_datetime(START + timedelta(days=days))))
    assert check(raw, Records(corp.records)).proof is Proof.NONE


@pytest.mark.parametrize("days", [-4, 4])
def test_date_within_five_days_proves(corp: Domain, days: int) -> None:
    raw = corp.sign(mail(date=format_datetime(START + timedelta(days=days))))
    assert check(raw, Records(corp.records)).proof is Proof.DOMAIN


def test_unsigned_date_or_subject_prove_nothing(corp: Domain) -> None:
    assert check(corp.sign(mail(), "from", "subject"), Records(corp.records)).proof is Proof.NONE
    assert check(corp.sign(mail(), "from", "date"), Records(corp.records)).proof is Proof.NONE


@pytest.mark.parametrize("header", ["In-Reply-To", "References"])
def test_unsigned_references_are_not_the_senders(corp: Domain, header: str) -> None:
    signed = corp.sign(mail(), "from", "date", "subject", "to")
    replayed = f"{header}: <secret@bot.example>\r\n".encode() + signed
    verdict = check(replayed, Records(corp.records))
    assert verdict.proof is Proof.DOMAIN
    assert not verdict.chain_trusted
    own = corp.sign(mail(**{header.lower().replace("-", "_"): "<secret@bot.example>"}))
    assert check(own, Records(corp.records)).chain_trusted
    assert not check(f"{header}: <x@bot.example>\r\n".encode() + own, Records(corp.records)).chain_trusted


def test_unsigned_reply_to_is_not_the_senders(corp: Domain) -> None:
    replayed = b"Reply-To: eve@evil.example\r\n" + corp.sign(mail(), "from", "date", "subject")
    assert not check(replayed, Records(corp.records)).reply_to_trusted


def test_spf_of_this_machine_proves_nothing(corp: Domain) -> None:
    records = corp.records | {("corp.example", "TXT"): ["v=spf1 +all"]}
    assert check(mail(), Records(records), peer="127.0.0.1").proof is Proof.NONE
    assert check(mail(), Records(records), peer="10.0.0.1").proof is Proof.NONE
    assert check(mail(), Records(records), peer=STRANGE_IP).proof is Proof.DOMAIN


def test_spf_through_includes_and_mx(corp: Domain) -> None:
    records = corp.records | {
        ("corp.example", "TXT"): ["v=spf1 include:_spf.corp.example mx -all"],
        ("_spf.corp.example", "TXT"): ["v=spf1 a:out.corp.example ?all"],
        ("out.corp.example", "A"): ["198.51.99.1"],
        ("corp.example", "MX"): ["10 in.corp.example"],
        ("in.corp.example", "A"): ["198.51.99.2"],
    }
    for ip, expected in (("198.51.99.1", Proof.DOMAIN), ("198.51.99.2", Proof.DOMAIN), ("198.51.99.3", Proof.NONE)):
        assert check(mail(), Records(records), peer=ip).proof is expected


@pytest.mark.parametrize(
    "record",
    ["v=spf1 include:corp.example -all", "v=spf1 nonsense -all", "v=spf1 exists:%{", "v=spf1 redirect=corp.example"],
)
def test_broken_spf_proves_nothing(corp: Domain, record: str) -> None:
    assert check(mail(), Records(corp.records | {("corp.example", "TXT"): [record]}), peer=corp.ip).proof is Proof.NONE


@pytest.mark.parametrize(
    "value",
    ["garbage", "v=1; a=rsa-sha256; d=corp.example; s=s1; h=from:date:subject; bh=x; b=y", "d=corp.example", "=;=", ""],
)
def test_broken_signatures_are_no_crash(corp: Domain, value: str) -> None:
    raw = f"DKIM-Signature: {value}\r\n".encode() + mail()
    assert check(raw, Records(corp.records)).proof is Proof.NONE


@pytest.mark.parametrize("key", ["", "v=DKIM1; p=", "v=DKIM1; p=AAAA", "p=!!", "v=DKIM1; k=ed25519; p=AAAA"])
def test_broken_keys_are_no_crash(corp: Domain, key: str) -> None:
    records = corp.records | {("s1._domainkey.corp.example", "TXT"): [key]}
    assert check(corp.sign(mail()), Records(records)).proof is Proof.NONE


HEADER_RULES = replace(RULES, authserv_id="mx.corp.example")
GOOD = "mx.corp.example; dmarc=pass header.from=corp.example; spf=pass smtp.mailfrom=ann@corp.example"


def by_header(raw: bytes, via: Via = Via.TRUSTED, mail_from: str = "ann@corp.example") -> Verdict:
    return proof.check(raw, envelope(mail_from, STRANGE_IP, via=via), HEADER_RULES, Records({}))


@pytest.mark.case(84)
def test_case_84_the_trusted_servers_word_counts() -> None:
    assert by_header(mail(authentication_results=GOOD)).proof is Proof.DOMAIN


@pytest.mark.case(84)
@pytest.mark.parametrize(
    "value",
    [
        "evil.example; dmarc=pass header.from=corp.example",
        "mx.corp.example; dmarc=fail header.from=corp.example",
        'mx.corp.example; dmarc=fail reason="dmarc=pass" header.from=corp.example',
        "mx.corp.example; dmarc=fail (dmarc=pass) header.from=corp.example",
        "mx.corp.example; spf=pass smtp.mailfrom=corp.example",
        "mx.corp.example; dmarc=pass header.from=evil.example",
        "evil.example (mx.corp.example; dmarc=pass header.from=corp.example); none",
        "mx.corp.example.evil.example; dmarc=pass header.from=corp.example",
        "mx.corp.example; none",
        "mx.corp.example; dmarc=pass header.from=corp.example; dmarc=fail header.from=corp.example",
        "mx.corp.example; x=y; dmarc",
        "",
    ],
)
def test_case_84_other_words_do_not_count(value: str) -> None:
    assert by_header(mail(authentication_results=[value or "x"])).proof is Proof.NONE


@pytest.mark.case(84)
def test_case_84_forged_pass_below_a_real_fail() -> None:
    real = "mx.corp.example; dmarc=fail header.from=corp.example"
    assert by_header(mail(authentication_results=[real, GOOD])).proof is Proof.NONE
    apart = (
        f"Authentication-Results: {real}\r\nReceived: by mx.corp.example\r\nAuthentication-Results: {GOOD}\r\n".encode()
    )
    assert by_header(apart + mail()).proof is Proof.NONE


@pytest.mark.case(84)
def test_case_84_forged_pass_above_the_fail_of_another_server_stays_ours_only() -> None:
    other = "other.example; dmarc=fail header.from=corp.example"
    assert by_header(mail(authentication_results=[other, GOOD])).proof is Proof.DOMAIN


@pytest.mark.case(84)
def test_case_84_direct_senders_cannot_bring_their_own_results() -> None:
    assert by_header(mail(authentication_results=GOOD), via=Via.ANYBODY).proof is Proof.NONE


@pytest.mark.case(84)
def test_case_84_pass_by_signature_trusts_only_signed_references(corp: Domain) -> None:
    word = b"Authentication-Results: mx.corp.example; dmarc=pass header.from=corp.example\r\n"
    plain = by_header(word + corp.sign(mail()))
    assert (plain.proof, plain.chain_trusted) == (Proof.DOMAIN, True)
    replayed = by_header(word + b"References: <x@bot.example>\r\n" + corp.sign(mail(), "from", "date", "subject"))
    assert (replayed.proof, replayed.chain_trusted) == (Proof.DOMAIN, False)
    assert by_header(word + corp.sign(mail(), length=True)).proof is Proof.NONE
    assert by_header(word + mail()).proof is Proof.NONE


def test_results_ignore_what_stands_in_other_fields() -> None:
    assert results.read(split(mail(subject=GOOD)), "mx.corp.example") is None


LOCAL = Rules(local_mode=True, authserv_id=None, per_user_from=frozenset())
LOCAL_MAIL = mail(**{"from": "principal@localhost"})


def test_local_mode_believes_this_machine() -> None:
    for peer in ("127.0.0.1", "::1", "127.8.9.1"):
        assert check(LOCAL_MAIL, Records({}), LOCAL, peer) == Verdict(Proof.LOCAL, "local mode", True, True, True)


@pytest.mark.parametrize(
    ("raw", "rules", "peer"),
    [
        (LOCAL_MAIL, LOCAL, "192.168.1.5"),
        (LOCAL_MAIL, LOCAL, ""),
        (LOCAL_MAIL, replace(LOCAL, local_mode=False), "127.0.0.1"),
        (b"Received: from x by y\r\n" + LOCAL_MAIL, LOCAL, "127.0.0.1"),
        (b"From: principal@localhost\r\n" + LOCAL_MAIL, LOCAL, "127.0.0.1"),
        (mail(**{"from": "ann@corp.example"}), LOCAL, "127.0.0.1"),
        (mail(**{"from": "principal@localhost.evil.example"}), LOCAL, "127.0.0.1"),
    ],
)
def test_local_mode_believes_nobody_else(raw: bytes, rules: Rules, peer: str) -> None:
    assert check(raw, Records({}), rules, peer).proof is Proof.NONE


def test_local_mode_asks_no_dns() -> None:
    assert not proof.needs_dns(LOCAL_MAIL, envelope(), LOCAL)
    assert proof.needs_dns(mail(), envelope(), RULES)


@pytest.mark.parametrize(
    ("peer", "networks", "among"),
    [
        ("10.1.2.3", ["10.1.0.0/16"], True),
        ("10.2.2.3", ["10.1.0.0/16"], False),
        ("::ffff:10.1.2.3", ["10.1.0.0/16"], True),
        ("fd00::1", ["10.1.0.0/16", "fd00::/8"], True),
        ("127.0.0.1", [], False),
        ("nonsense", ["0.0.0.0/0"], False),
        ("", ["0.0.0.0/0", "::/0"], False),
    ],
)
def test_peers_are_trusted_by_network(peer: str, networks: list[str], among: bool) -> None:
    assert proof.is_among(peer, networks) is among


def test_signatures_are_looked_for_in_the_header_alone_however_large_the_mail_is() -> None:
    signature = b"DKIM-Signature: v=1; a=rsa-sha256; d=corp.example; h=from:date; s=k\r\n"
    header = signature + b"From: a@corp.example\r\n"
    body = signature + b"x" * 76 + b"\r\n"
    large = header + b"\r\n" + body * 100_000
    signed.signatures(header)  # imports
    began = time.thread_time()
    found = signed.signatures(large)
    assert time.thread_time() - began < 0.05, "a mail is proven on the event loop"
    assert [(one.domain, one.headers) for one in found] == [("corp.example", ("from", "date"))]
