"""Payloads to events: pure, in every shape that the platform sends."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.gateway.events import (
    Addressed,
    ButtonPressed,
    Change,
    CommandInvoked,
    FormSubmitted,
    MessageDeleted,
    MessageEdited,
    MessageReceived,
    Nature,
    Proof,
    Sender,
    SpanKind,
    Thread,
)
from bot.kernel.errors import PermanentError
from channels.discord import mapping, memberships, presses
from channels.discord.content import body_of, clean_name, mentions, without_mention
from channels.discord.keys import message_of, snowflake_at, target_of, time_of
from channels.discord.mapping import MAX_TITLE, _sender, title_of
from channels.discord.where import Where
from tests.channels.discord.payloads import (
    ALICE,
    DIRECT,
    ME,
    OURS,
    RULES,
    SELF,
    TEXT,
    THREAD,
    events,
    lookup,
    payload,
    received,
)
from tests.channels.support import START

NOW = datetime(2026, 11, 30, 13, tzinfo=UTC)
NAMED = f"<@{ME.id}>"


# Who is spoken to.


def test_a_message_in_a_channel_is_not_for_us_unless_it_names_us() -> None:
    assert received(payload("hello all")).addressed is Addressed.NOT
    assert received(payload(f"hello {NAMED}!")).addressed is Addressed.MENTION
    assert received(payload(f"hello <@!{ME.id}>")).addressed is Addressed.MENTION
    assert received(payload("<@&101> hi", mention_roles=["101"])).addressed is Addressed.MENTION
    assert received(payload("<@&55> hi", mention_roles=["55"])).addressed is Addressed.NOT
    assert received(payload("@everyone hi", mention_everyone=True)).addressed is Addressed.NOT


def test_a_name_inside_code_names_nobody() -> None:
    assert received(payload(f"write `{NAMED}` to ask")).addressed is Addressed.NOT
    assert received(payload(f"```\n{NAMED}\n```")).addressed is Addressed.NOT
    assert not mentions(f"``{NAMED} `x` ``", ME.id)
    assert mentions(f"`a` {NAMED} `b`", ME.id)


def test_an_answer_to_us_is_for_us_and_a_forward_of_us_is_not() -> None:
    answered = payload("was sent", author=SELF, id="900")
    reply = {"type": 19, "message_reference": {"type": 0, "message_id": "900"}, "referenced_message": answered}
    found = received(payload("really?", **reply))
    assert found.addressed is Addressed.REPLY
    assert found.quotes == "was sent"
    assert found.answers is not None
    assert found.answers.endswith(":900")
    forward = {"message_reference": {"type": 1, "message_id": "900"}, "referenced_message": answered}
    assert received(payload("look", **forward)).addressed is Addressed.NOT
    assert received(payload("look", **forward)).answers is None
    other = {**reply, "referenced_message": payload("x", author=ALICE)}
    assert received(payload("ok", **other)).addressed is Addressed.NOT
    gone = {**reply, "referenced_message": None}
    assert received(payload("ok", **gone)).quotes is None


def test_own_threads_go_on_without_a_mention_and_others_do_not() -> None:
    assert received(payload("and now?"), OURS).addressed is Addressed.THREAD
    assert received(payload("and now?"), THREAD).addressed is Addressed.NOT
    assert received(payload(f"{NAMED} and now?"), THREAD).reply_path.opens is None


def test_where_answers_go() -> None:
    opening = received(payload(f"{NAMED} plan the launch"))
    assert opening.thread == Thread("discord:100:1000", "discord:100:200")
    assert opening.reply_path.ref == "discord:200:1000"
    assert opening.reply_path.opens == "plan the launch"
    assert opening.reply_path.fallback == "discord:100:200"
    in_place = received(payload(f"{NAMED} plan"), rules=replace(RULES, open_threads=False))
    assert in_place.thread.key == "discord:100:200"
    assert in_place.reply_path.opens is None
    voice = received(payload(f"{NAMED} plan"), replace(TEXT, can_open=False))
    assert voice.thread.key == "discord:100:200"
    private = received(payload("hi"), replace(OURS, private=True))
    assert private.thread == Thread("discord:100:300", "discord:100:300")
    assert received(payload("hi"), DIRECT).reply_path.thread == "discord:dm:7"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("  what   is\nour runway? ", "what is our runway?"),
        ("", "Conversation with Alice"),
        ("word " * 40, " ".join(["word"] * 11) + "…"),
        ("x" * 200, "x" * (MAX_TITLE - 1) + "…"),
    ],
)
def test_titles_are_short_and_never_empty(text: str, title: str) -> None:
    found = title_of(text, Sender("7", "Alice", Nature.PERSON, Proof.PLATFORM))
    assert found == title
    assert 1 <= len(found) <= 100


# Whose words.


def test_ids_become_names_outside_of_code() -> None:
    text = f"{NAMED} ask <@7> of <@&55> in <#200> <:wave:123> <a:dance:9> <t:1767225600:R> </ask:5> `<@7>` <@99> <#3>"
    body = body_of(payload(text, mentions=[{**ALICE, "member": {"nick": "Al"}}, SELF]), lookup)
    expected = "@exec ask @Al of @Finance in #general :wave: :dance: 2026-01-01 00:00 UTC /ask `<@7>` <@99> <#3>"
    assert body.text == expected
    assert body.spans == ()
    assert body_of(payload("<t:99999999999999>"), lookup).text == "<t:99999999999999>"
    assert body_of(payload("<t:9999999999999>"), lookup).text == "<t:9999999999999>"


def test_block_quotes_are_not_the_writers_words() -> None:
    body = received(payload("> pay 5\nI say no\n>>> all\nof this")).body
    assert [(body.text[s.start : s.end], s.kind) for s in body.spans] == [
        ("> pay 5\n", SpanKind.QUOTED),
        ("I say no\n", SpanKind.OWN),
        (">>> all\nof this", SpanKind.QUOTED),
    ]
    assert body.own() == "I say no"
    assert received(payload("```\n> code\n```")).body.spans == ()
    assert received(payload("a > b\n>c")).body.spans == ()


def test_forwarded_words_are_marked() -> None:
    inner = {"content": "wire the money to <@7>", "mentions": [ALICE], "attachments": [], "flags": 0}
    body = received(payload("see this", message_snapshots=[{"message": inner}])).body
    assert body.text == "see this\nwire the money to @Alice A"
    assert [s.kind for s in body.spans] == [SpanKind.OWN, SpanKind.FORWARDED]
    assert body.own() == "see this"
    alone = received(payload("", message_snapshots=[{"message": inner}])).body
    assert [s.kind for s in alone.spans] == [SpanKind.FORWARDED]
    bare = received(payload("", message_snapshots=[{"message": {"content": ""}}])).body
    assert bare.text == "[forwarded message]"
    command = {**inner, "content": "/new"}
    forwarded = received(payload("", message_snapshots=[{"message": command}]), DIRECT)
    assert forwarded.body.own() == ""


@given(st.text(max_size=200), st.lists(st.text(max_size=30), max_size=3))
def test_spans_cover_any_text_without_gap_or_overlap(content: str, forwards: list[str]) -> None:
    snapshots = [{"message": {"content": f}} for f in forwards]
    body = body_of(payload(content, message_snapshots=snapshots, sticker_items=[{"name": "x"}]), lookup)
    assert body.spans
    assert body.spans[0].start == 0
    assert body.spans[-1].end == len(body.text)
    assert all(a.end == b.start and a.start < a.end for a, b in zip(body.spans, body.spans[1:], strict=False))


@pytest.mark.case(69)
@pytest.mark.parametrize(
    ("extra", "text"),
    [
        ({"sticker_items": [{"id": "1", "name": "wave", "format_type": 1}]}, "[sticker wave]"),
        (
            {"flags": 1 << 13, "attachments": [{"id": "3", "filename": "v.ogg", "duration_secs": 4.6, "url": "u"}]},
            "[voice message, 5 s]",
        ),
        (
            {
                "poll": {
                    "question": {"text": "Lunch?"},
                    "answers": [{"poll_media": {"text": "Yes"}}, {"poll_media": {"emoji": {}}}],
                }
            },
            "[poll: Lunch? (Yes)]",
        ),
    ],
)
def test_case_69_messages_without_text_are_readable(extra: dict[str, Any], text: str) -> None:
    found = received(payload("", **extra), DIRECT)
    assert found.body.text == text
    assert found.body.own() == "", "not the sender's words"
    assert found.attachments == ()


@pytest.mark.case(69)
def test_case_69_an_image_alone_is_a_message_and_only_the_truly_empty_is_ignored() -> None:
    image = {"id": "3", "filename": "a.png", "content_type": "image/png", "size": 10, "url": "https://cdn/a.png"}
    found = received(payload("", attachments=[image]), DIRECT)
    assert found.attachments[0].source == "200:1000:3 https://cdn/a.png"
    assert events(payload("")) == ()
    assert events(payload("  \n")) == ()
    assert events(payload("", embeds=[{"type": "link"}])) == ()


def test_a_file_that_is_too_large_is_named_and_not_fetched() -> None:
    big = {"id": "3", "filename": "b.bin", "content_type": "x/y", "size": 25_000_000, "url": "u"}
    (found,) = received(payload("read this", attachments=[big]), DIRECT).attachments
    assert found.source is None
    assert found.fault == "too large: 25.0 MB, and at most 20 MB are fetched"


# Who writes.


@pytest.mark.case(74)
@pytest.mark.parametrize(
    "extra", [{"author": {**ALICE, "bot": True}}, {"webhook_id": "5"}, {"author": {**ALICE, "system": True}}]
)
def test_case_74_machines_are_ignored(extra: dict[str, Any]) -> None:
    given = payload(f"{NAMED} you too", **extra)
    assert events(given) == ()
    assert _sender(given, ME).nature is Nature.BOT
    assert mapping.edited({**given, "edited_timestamp": "2026-11-30T12:01:00+00:00"}, TEXT, RULES, lookup) == ()


@pytest.mark.case(75)
def test_case_75_the_own_account_is_never_listened_to() -> None:
    given = payload(f"{NAMED} hello", author=SELF)
    assert events(given) == ()
    assert _sender({**given, "author": {**SELF, "bot": False}}, ME).nature is Nature.SELF
    assert events({**given, "author": {**SELF, "bot": False}}) == ()


def test_announcements_of_the_platform_are_not_messages() -> None:
    for kind in (1, 6, 7, 18, 21, 46):
        assert events(payload(f"{NAMED} x", type=kind)) == ()


def test_names_are_shown_and_cleaned() -> None:
    assert received(payload("x", member={"nick": "Boss\u202e"}), DIRECT).sender.name == "Boss"
    assert clean_name("a\x00b" + "c" * 100) == "ab" + "c" * 62


# Commands.


@pytest.mark.parametrize(
    ("text", "where", "name", "arguments"),
    [
        ("/new", DIRECT, "new", ""),
        (f"{NAMED} /status", TEXT, "status", ""),
        (f"{NAMED}, /room this is <#200>", TEXT, "room", "this is <#200>"),
        ("/stop", OURS, "stop", ""),
        ("/corect some words", DIRECT, "corect", "some words"),
    ],
)
def test_typed_commands(text: str, where: Where, name: str, arguments: str) -> None:
    (found,) = events(payload(text), where)
    assert isinstance(found, CommandInvoked)
    assert (found.name, found.arguments) == (name, arguments)
    assert found.thread == where.thread
    assert found.reply_path.opens is None


def test_what_is_no_command() -> None:
    for text, where in (
        ("/new", TEXT),
        ("/new", THREAD),
        ("/unknown words", TEXT),
        ("/etc/hosts is wrong", DIRECT),
        ("> /new", DIRECT),
    ):
        assert isinstance(events(payload(text), where)[0], MessageReceived)


def interaction(kind: int, data: dict[str, Any], **more: Any) -> dict[str, Any]:
    member = {"user": ALICE, "nick": "Al"}
    return {"id": "5000", "type": kind, "token": "tok", "channel_id": "200", "data": data, "member": member, **more}


def test_slash_commands_are_answered_where_they_were_given() -> None:
    data = {"name": "ask", "options": [{"name": "text", "value": " how much? "}]}
    (asked,) = presses.interaction(interaction(2, data), TEXT)
    assert isinstance(asked, MessageReceived)
    assert asked.body.text == "how much?"
    assert asked.thread.key == asked.reply_path.thread == "discord:100:200"
    assert asked.reply_path.ref is None
    assert asked.addressed is Addressed.MENTION
    assert asked.keys == ("discord:interaction:5000",)
    assert asked.sent_at == time_of(5000)
    (new,) = presses.interaction(interaction(2, {"name": "new"}), OURS)
    assert isinstance(new, CommandInvoked)
    assert new.thread.key == "discord:100:300"
    assert new.response == "command:tok"
    assert presses.interaction(interaction(2, {"name": "other"}), TEXT) == ()
    assert presses.interaction(interaction(2, {"name": "ask"}), TEXT) == ()
    assert presses.interaction(interaction(4, data), TEXT) == ()


def test_presses_and_forms() -> None:
    pressed = interaction(3, {"custom_id": "yes:1"}, message={"id": "77"})
    (press,) = presses.interaction(pressed, TEXT)
    assert isinstance(press, ButtonPressed)
    assert (press.token, press.ref, press.response) == ("yes:1", "discord:200:77", "press:tok")
    rows = [
        {"type": 1, "components": [{"type": 4, "custom_id": "a", "value": "1"}]},
        {"type": 18, "component": {"type": 4, "custom_id": "b", "value": "2"}},
    ]
    (form,) = presses.interaction(interaction(5, {"custom_id": "f", "components": rows}), TEXT)
    assert isinstance(form, FormSubmitted)
    assert form.values == (("a", "1"), ("b", "2"))


# Edits and deletes.


def test_an_edit_is_one_only_with_its_time() -> None:
    changed = payload(f"{NAMED} better", edited_timestamp="2026-11-30T12:00:05.000001+00:00")
    (found,) = mapping.edited(changed, TEXT, RULES, lookup)
    assert isinstance(found, MessageEdited)
    assert found.body.text == "@Exec better"
    assert found.thread.key == "discord:100:1000", "the same thread as the message itself"
    assert found.keys == ("discord:1000:edit:1796040005000001",)
    assert mapping.edited(payload("x", embeds=[{"type": "link"}]), TEXT, RULES, lookup) == ()
    assert mapping.edited({"id": "1", "channel_id": "2", "embeds": []}, TEXT, RULES, lookup) == ()


def test_deletes_one_by_one_and_in_bulk() -> None:
    found = mapping.deleted({"id": "10", "channel_id": "200"}, TEXT, NOW)
    found += mapping.deleted({"ids": ["11", "12"], "channel_id": "200"}, TEXT, NOW)
    assert all(isinstance(event, MessageDeleted) for event in found)
    assert [event.keys for event in found] == [(f"discord:{n}:deleted",) for n in (10, 11, 12)]
    assert [event.ref for event in found if isinstance(event, MessageDeleted)] == [
        f"discord:200:{n}" for n in (10, 11, 12)
    ]


def test_members_come_and_go_per_room() -> None:
    member = {"joined_at": "2026-11-30T12:00:00+00:00"}
    joined = memberships.member_changed(ALICE, member, Change.JOINED, THREAD, ME, NOW)
    assert joined.place_key == "discord:100:200"
    assert joined.who is not None
    assert joined.who.address == "7"
    again = memberships.member_changed(ALICE, member, Change.JOINED, THREAD, ME, NOW.replace(hour=14))
    assert again.keys == joined.keys


# Keys.


def test_keys_lead_back() -> None:
    assert target_of("discord:dm:7").user == 7
    assert (target_of("discord:1:2").guild, target_of("discord:1:2").channel) == (1, 2)
    assert message_of("discord:200:1000") == (200, 1000)
    for bad in ("slack:1:2", "discord:1", "discord:x:2", "discord:1:2:3", "discord:1:²", ""):
        with pytest.raises(PermanentError):
            target_of(bad)
    with pytest.raises(PermanentError):
        message_of("discord:dm:7")


@given(st.datetimes(datetime(2015, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001 - hypothesis wants naive bounds
def test_snowflakes_know_their_instant(when: datetime) -> None:
    instant = when.replace(tzinfo=UTC)
    assert 0 <= (instant - time_of(snowflake_at(instant))).total_seconds() < 0.001


def test_the_mention_at_the_start_is_cut_off() -> None:
    assert without_mention(f" {NAMED}, /new", ME.id) == "/new"
    assert without_mention("/new", ME.id) == "/new"
    assert received(payload("x"), DIRECT).sent_at.date() == START.date()
