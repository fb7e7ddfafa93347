from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.email.addresses import base, is_ours, mailboxes, only_mailbox, parse_one


@pytest.mark.parametrize(
    ("value", "address", "name"),
    [
        ("ann@corp.example", "ann@corp.example", ""),
        ("Ann Lee <Ann@Corp.Example>", "ann@corp.example", "Ann Lee"),
        ('"Lee, Ann" <ann@corp.example>', "ann@corp.example", "Lee, Ann"),
        ('"boss@corp.example" <evil@x.example>', "evil@x.example", "boss@corp.example"),
        ("=?utf-8?Q?boss=40corp=2Eexample=3E?= <evil@x.example>", "evil@x.example", "boss@corp.example>"),
        ("ann@my-company.example (Ann)", "ann@my-company.example", "Ann"),
        ("Ann\r\n <ann@corp.example>", "ann@corp.example", "Ann"),
        ("Jörg <jörg@bücher.example>", "jörg@bücher.example", "Jörg"),
        ("'boss\u202e' <a@x.example>", "a@x.example", "'boss'"),
    ],
)
def test_one_mailbox_is_read(value: str, address: str, name: str) -> None:
    found = only_mailbox(value)
    assert found is not None
    assert (found.address, found.name) == (address, name)


@pytest.mark.case(89)
@pytest.mark.parametrize(
    "value",
    [
        "",
        "(c):",
        '"',
        "<>",
        "a@b.example, c@d.example",
        "<a@b.example><c@d.example>",
        "<@x,@y:a@b.example>",
        "a@b@c.example",
        "group: a@b.example;",
        "a@b.example <c@d.example> e@f.example",
        "(a@b.example",
        "a b@c.example",
        "a@",
        "@b.example",
        "<a@b.example> x",
        "a@b..example",
        "a@-b.example",
        "boss@corp.example)x@evil.example",
        "a@b.example\0",
        "a@[1.2.3.4]",
        '"x" a@b.example',
    ],
)
def test_case_89_ambiguous_or_broken_senders_are_no_sender(value: str) -> None:
    assert only_mailbox(value) is None


@pytest.mark.case(89)
def test_case_89_what_can_be_read_of_a_list_is_read() -> None:
    value = 'a@b.example, ", "C, D" <c@d.example>, team: e@f.example, g@h.example;, (x) i@j.example'
    assert [m.address for m in mailboxes(value)][:1] == ["a@b.example"]
    good = '"C, D" <c@d.example>, team: e@f.example, g@h.example;, (x) i@j.example, nonsense'
    assert [m.address for m in mailboxes(good)] == ["c@d.example", "e@f.example", "g@h.example", "i@j.example"]


@pytest.mark.case(87)
@pytest.mark.parametrize(
    "address", ["bot@bot.example", "bot+notes@bot.example", "BOT+x+y@BOT.example", "bot+@bot.example"]
)
def test_case_87_tags_and_case_do_not_matter(address: str) -> None:
    assert is_ours(address, "bot@bot.example")


@pytest.mark.case(87)
@pytest.mark.parametrize("address", ["bot2@bot.example", "bot@bot.example.evil", "+x@bot.example", "bot", ""])
def test_case_87_other_addresses_are_not_ours(address: str) -> None:
    assert not is_ours(address, "bot@bot.example")


def test_tag_is_kept_apart() -> None:
    assert base("Bot+Notes@Bot.example") == ("bot@bot.example", "notes")


@given(st.text(alphabet=st.characters(), max_size=100) | st.text(alphabet='ab@<>()",;:\\. ', max_size=40))
def test_reading_addresses_never_raises(value: str) -> None:
    for mailbox in mailboxes(value):
        assert parse_one(mailbox.address) == mailbox.address
        mailbox.name.encode("utf-8")
    only_mailbox(value)
