from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from bot.gateway.codec import dump_event, load_event
from bot.gateway.events import (
    Addressed,
    ButtonPressed,
    Change,
    CommandInvoked,
    InboundEvent,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    MessageReceived,
    Nature,
    PlaceKind,
)
from bot.kernel.errors import PermanentError
from channels.slack.directory import Me, PersonFact, PlaceFact, clean_name, person_fact, place_fact
from channels.slack.interactions import Interactions
from channels.slack.keys import Pressed, Target, message_of, target_of
from channels.slack.mapping import Mapper, title_of
from tests.channels.support import START

ME = Me("T1", "UBOT", "B1")


@dataclass
class Known:
    company: str | None = None
    people: dict[str, PersonFact] = field(default_factory=lambda: {"U1": PersonFact("Ann", bot=False, team="T1")})
    places: dict[str, PlaceFact] = field(default_factory=dict)
    ours: set[tuple[str, str]] = field(default_factory=set)

    def person(self, user: str) -> PersonFact | None:
        return self.people.get(user)

    def name(self, user: str) -> str | None:
        return self.people[user].name if user in self.people else None

    def place(self, channel: str) -> PlaceFact | None:
        return self.places.get(channel)

    def is_ours(self, channel: str, root: str) -> bool:
        return (channel, root) in self.ours


def mapped(
    event: Mapping[str, Any], known: Known | None = None, event_id: str | None = "Ev1"
) -> tuple[InboundEvent, ...]:
    events = Mapper(ME, known or Known(), 20_000_000).event(event, event_id)
    for one in events:
        assert load_event(dump_event(one)) == one
    return events


def said(text: str = "hi", **more: Any) -> dict[str, Any]:
    base = {"type": "message", "user": "U1", "text": text, "channel": "C1", "channel_type": "channel", "ts": "2.000100"}
    return {**base, "event_ts": base["ts"], **more}


def message(event: Mapping[str, Any], known: Known | None = None) -> MessageReceived:
    (found,) = mapped(event, known)
    assert isinstance(found, MessageReceived)
    return found


@pytest.mark.case(49)
@pytest.mark.parametrize("order", [("message", "app_mention"), ("app_mention", "message")])
def test_case_49_both_forms_of_a_mention_are_one_thing_under_one_key(order: tuple[str, str]) -> None:
    first, second = (message({**said("<@UBOT> hi"), "type": kind}) for kind in order)
    assert first.addressed is second.addressed is Addressed.MENTION
    assert set(first.keys) & set(second.keys) >= {"slack:T1:C1:2.000100"}
    assert first.thread == second.thread


@pytest.mark.case(49)
def test_case_49_a_mention_that_only_the_twin_tells_is_one_too() -> None:
    assert message(said("executive, hi")).addressed is Addressed.NOT
    assert message({**said("executive, hi"), "type": "app_mention"}).addressed is Addressed.MENTION


@pytest.mark.case(45)
def test_case_45_an_event_is_known_by_its_id_and_by_its_message() -> None:
    assert message(said(channel_type="im", channel="D1")).keys == ("slack:event:Ev1", "slack:T1:D1:2.000100")
    (back,) = mapped(said(), event_id=None)
    assert back.keys == ("slack:T1:C1:2.000100",), "read back: the same message under the same key"


@pytest.mark.case(54)
def test_case_54_the_thread_is_always_that_of_the_root() -> None:
    assert message(said("<@UBOT>", thread_ts="1.000000")).reply_path.thread == "slack:T1:C1:1.000000"
    assert message(said("<@UBOT>")).reply_path.thread == "slack:T1:C1:2.000100"
    assert message(said("<@UBOT>", thread_ts="2.000100")).thread.key == "slack:T1:C1:2.000100"


@pytest.mark.case(55)
def test_case_55_a_direct_message_is_answered_in_the_open_unless_it_is_in_a_thread() -> None:
    direct = {"channel": "D1", "channel_type": "im"}
    assert message(said(**direct)).reply_path.thread == "slack:T1:D1"
    assert message(said(**direct, thread_ts="1.000000")).reply_path.thread == "slack:T1:D1:1.000000"
    assert message(said(**direct)).place.kind is PlaceKind.DIRECT


@pytest.mark.case(55)
def test_case_55_what_is_not_answered_gets_no_thread() -> None:
    overheard = message(said("good morning"))
    assert overheard.addressed is Addressed.NOT
    assert overheard.reply_path.thread == "slack:T1:C1"


def test_why_it_is_spoken_to() -> None:
    known = Known(ours={("C1", "1.000000")})
    thread = {"thread_ts": "1.000000"}
    assert message(said(**thread), known).addressed is Addressed.THREAD
    assert message(said(thread_ts="1.500000"), known).addressed is Addressed.NOT
    assert message(said(thread_ts="1.500000", parent_user_id="UBOT"), known).addressed is Addressed.THREAD
    assert message(said(channel="G1", channel_type="mpim")).addressed is Addressed.NOT
    assert message(said("<@UBOT>", channel="G1", channel_type="mpim")).place.kind is PlaceKind.GROUP
    assert message(said("<@UBOT2>")).addressed is Addressed.NOT


@pytest.mark.case(74, 75)
@pytest.mark.parametrize(
    "more",
    [
        {"bot_id": "B2"},
        {"bot_id": "B2", "subtype": "bot_message", "user": None},
        {"user": "UBOT"},
        {"user": "UBOT", "bot_id": "B1"},
        {"bot_id": "B1", "user": None},
        {"user": "USLACKBOT"},
        {"user": "UROBOT"},
        {"user": None},
    ],
)
def test_case_74_and_75_neither_bots_nor_ourselves_are_heard(more: dict[str, Any]) -> None:
    known = Known(people={"UROBOT": PersonFact("Robot", bot=True, team="T1")})
    event = said("<@UBOT> hi", **more)
    assert mapped(event, known) == ()
    assert mapped({**event, "type": "app_mention"}, known) == ()
    changed = {"message": {**event, "edited": {"ts": "3.0"}}, "previous_message": {"text": "x"}}
    assert mapped({**said(subtype="message_changed"), **changed}, known) == ()


@pytest.mark.parametrize("subtype", ["channel_join", "channel_topic", "reminder_add", "pinned_item", "huddle_thread"])
def test_notices_of_the_platform_are_nobodys_words(subtype: str) -> None:
    assert mapped(said(subtype=subtype, channel="D1", channel_type="im")) == ()


def changed(before: dict[str, Any], after: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        **said(subtype="message_changed", ts="9.000000", event_ts="9.000000", **more),
        "user": None,
        "message": after,
        "previous_message": before,
    }


@pytest.mark.case(51)
def test_case_51_only_changed_words_or_a_new_stamp_are_an_edit() -> None:
    old = said("hello")
    stamped = {**old, "text": "hello all", "edited": {"user": "U1", "ts": "5.000000"}}
    (edit,) = mapped(changed(old, stamped))
    assert isinstance(edit, MessageEdited)
    assert (edit.body.text, edit.ref) == ("hello all", "slack:T1:C1:2.000100")
    assert edit.keys == ("slack:event:Ev1", "slack:T1:C1:2.000100:5.000000")
    assert mapped(changed(old, {**old, "edited": {"ts": "6.000000"}})), "stamped though the words are the same"


@pytest.mark.case(51)
@pytest.mark.parametrize(
    "after",
    [
        {"attachments": [{"from_url": "https://a.example"}]},
        {"reply_count": 1, "thread_ts": "2.000100", "latest_reply": "3.0"},
        {"metadata": {"event_type": "x", "event_payload": {}}},
        {"reactions": [{"name": "eyes"}]},
        {"edited": {"ts": "5.0"}, "user": "UBOT"},
    ],
)
def test_case_51_previews_replies_and_metadata_are_no_edits(after: dict[str, Any]) -> None:
    edited = {"edited": {"ts": "5.0"}} if "edited" in after else {}
    assert mapped(changed({**said("hello"), **edited}, {**said("hello"), **after})) == ()


@pytest.mark.case(52)
def test_case_52_a_preview_of_an_edited_message_is_not_the_edit_again() -> None:
    edited = {**said("hello"), "edited": {"ts": "5.0"}}
    assert mapped(changed(edited, {**edited, "attachments": [{"id": 1}]})) == ()


def test_a_deletion_names_the_message_and_its_thread() -> None:
    event = said(subtype="message_deleted", deleted_ts="2.000100", ts="8.000000", event_ts="8.000000")
    (gone,) = mapped({**event, "previous_message": said(thread_ts="1.000000")})
    assert isinstance(gone, MessageDeleted)
    assert (gone.ref, gone.thread.key) == ("slack:T1:C1:2.000100", "slack:T1:C1:1.000000")
    assert mapped({**event, "previous_message": said(user="UBOT")}) == ()
    tombstone = {"subtype": "tombstone", "user": "USLACKBOT", "ts": "2.000100", "text": "This message was deleted."}
    (root,) = mapped(changed(said("x"), tombstone))
    assert isinstance(root, MessageDeleted)
    assert root.ref == "slack:T1:C1:2.000100"


def test_files_alone_are_a_message_and_nothing_is_none() -> None:
    files = [{"id": "F1", "name": "a.pdf", "mimetype": "application/pdf", "size": 5}]
    found = message(said("", files=files, subtype="file_share", channel="D1", channel_type="im"))
    assert [one.source for one in found.attachments] == ["F1"]
    assert mapped(said(" ")) == ()


def test_commands_are_read_in_a_mention_and_alone() -> None:
    for event in (
        said("<@UBOT> /status"),
        said("/status", channel="D1", channel_type="im"),
        {**said("<@UBOT>: /status now"), "type": "app_mention"},
    ):
        (command,) = mapped(event)
        assert isinstance(command, CommandInvoked)
        assert command.name == "status"
    assert isinstance(mapped(said("/status"))[0], MessageReceived), "not addressed"
    assert isinstance(mapped(said("<@UBOT> status"))[0], MessageReceived), "an ordinary word"
    quoted = said("&gt; /stop\nwhat is that?", channel="D1", channel_type="im")
    assert isinstance(mapped(quoted)[0], MessageReceived)


def test_a_place_is_what_the_platform_told() -> None:
    shared = place_fact(
        {
            "name": "partners",
            "is_private": False,
            "is_ext_shared": True,
            "context_team_id": "T1",
            "shared_team_ids": ["T1", "T9"],
            "connected_team_ids": ["T9"],
            "num_members": 7,
        }
    )
    known = Known(places={"C1": shared})
    place = message(said("<@UBOT>"), known).place
    assert (place.kind, place.title, place.members) == (PlaceKind.CHANNEL, "partners", 7)
    assert [(other.address, other.nature) for other in place.others] == [("team:T9", Nature.ANONYMOUS)]
    assert place_fact({"is_ext_shared": True, "context_team_id": "T1"}).partners == ("unknown",)
    assert place_fact({"is_im": True, "user": "U1"}).kind is PlaceKind.DIRECT
    assert place_fact({"is_mpim": True, "name": "mpdm-a--b-1"}).kind is PlaceKind.GROUP
    assert place_fact({"num_members": 0, "name": "x"}).members is None
    unknown = message(said("<@UBOT>")).place
    assert (unknown.members, unknown.others) == (None, ()), "unknown counts as external"


def test_names_are_cleaned() -> None:
    assert clean_name("A\u202enn\n  B\x00en" + "x" * 99).startswith("Ann Ben")
    assert len(clean_name("x" * 99)) == 64
    assert person_fact({"profile": {"display_name": "", "real_name": "Ann A"}, "is_bot": True}).name == "Ann A"
    assert message(said(user="U7")).sender.name == "U7"


@pytest.mark.parametrize(
    ("event", "change", "who"),
    [
        ({"type": "member_joined_channel", "user": "U1", "channel_type": "C"}, Change.JOINED, "U1"),
        ({"type": "member_left_channel", "user": "U1", "channel_type": "G"}, Change.LEFT, "U1"),
        ({"type": "member_joined_channel", "user": "UBOT"}, Change.JOINED, None),
        ({"type": "member_left_channel", "user": "UBOT"}, Change.REMOVED, None),
        ({"type": "channel_left"}, Change.REMOVED, None),
        ({"type": "group_left"}, Change.REMOVED, None),
        ({"type": "channel_deleted"}, Change.REMOVED, None),
        ({"type": "channel_shared", "connected_team_id": "T9"}, Change.JOINED, "team:T9"),
        ({"type": "channel_unshared", "previously_connected_team_id": "T9"}, Change.LEFT, "team:T9"),
    ],
)
def test_comings_and_goings(event: dict[str, Any], change: Change, who: str | None) -> None:
    (found,) = mapped({"channel": "C1", "event_ts": "3.000000", **event})
    assert isinstance(found, MembershipChanged)
    assert (found.change, found.who.address if found.who else None) == (change, who)
    assert found.place_key == "slack:T1:C1"


def test_what_is_no_event_of_ours_maps_to_nothing() -> None:
    for event in (
        {"type": "channel_rename", "channel": {"id": "C1", "name": "x"}},
        {"type": "tokens_revoked", "tokens": {"bot": ["UBOT"]}},
        {"type": "app_home_opened", "channel": "D1", "user": "U1"},
        {"type": "reaction_added", "user": "U1", "item": {}},
        {"type": "never_heard_of"},
    ):
        assert mapped(event) == ()


def test_a_slash_command_is_a_command_or_a_message() -> None:
    mapper = Interactions(ME, Known(), 1)
    body = {"channel_id": "C1", "user_id": "U1", "user_name": "ann", "trigger_id": "7.1", "response_url": "https://r"}
    (status,) = mapper.slash({**body, "text": " Status now"}, START)
    assert isinstance(status, CommandInvoked)
    assert (status.name, status.arguments, status.response) == ("status", "now", "https://r")
    assert status.reply_path.thread == "slack:T1:C1"
    (nothing,) = mapper.slash({**body, "text": ""}, START)
    assert isinstance(nothing, CommandInvoked)
    assert nothing.name == "help"
    (asked,) = mapper.slash({**body, "text": "what is &lt;this&gt;?"}, START)
    assert isinstance(asked, MessageReceived)
    assert (asked.body.text, asked.addressed) == ("what is <this>?", Addressed.MENTION)
    (direct,) = mapper.slash({**body, "channel_id": "D1", "text": "hello"}, START)
    assert isinstance(direct, MessageReceived)
    assert direct.addressed is Addressed.DIRECT


def test_a_shortcut_hands_over_words_that_are_not_the_askers() -> None:
    body = {
        "type": "message_action",
        "channel": {"id": "C1"},
        "user": {"id": "U1", "username": "ann"},
        "message_ts": "2.000100",
        "trigger_id": "8.1",
        "message": {"user": "U2", "text": "pay *Eve*", "ts": "2.000100", "thread_ts": "1.000000"},
    }
    (asked,) = Interactions(ME, Known(), 1).shortcut(body, START)
    assert isinstance(asked, MessageReceived)
    assert (asked.body.text, asked.body.own(), asked.sender.address) == ("pay **Eve**", "", "U1")
    assert asked.reply_path.thread == "slack:T1:C1:1.000000"


def test_a_press_carries_its_token_and_way_back() -> None:
    body = {
        "type": "block_actions",
        "user": {"id": "U1", "username": "ann"},
        "channel": {"id": "C1"},
        "container": {"message_ts": "2.000100", "channel_id": "C1", "thread_ts": "1.000000"},
        "actions": [{"type": "button", "action_id": "choice-0", "value": "tok"}, {"type": "overflow"}],
        "trigger_id": "9.1",
        "response_url": "https://r",
    }
    (press,) = Interactions(ME, Known(), 1).press(body, START)
    assert isinstance(press, ButtonPressed)
    assert (press.token, press.ref) == ("tok", "slack:T1:C1:2.000100")
    assert Pressed.read(press.response or "") == Pressed("9.1", "C1", "1.000000", "2.000100", "https://r")
    assert Pressed.read("https://r") is None
    assert press.thread.key == "slack:T1:C1:1.000000"
    assert Interactions(ME, Known(), 1).press({"user": {"id": "U1"}, "actions": []}, START) == ()


def test_keys_are_read_back_and_others_refused() -> None:
    assert target_of("slack:T1:C1:1.000000") == Target("C1", "1.000000")
    assert target_of("slack:T1:D1") == Target("D1")
    assert message_of("slack:T1:C1:2.000100") == ("C1", "2.000100")
    for wrong in ("telegram:1", "slack:T1", "slack:T1:", "slack:T1:C1:x", "slack:T1:C1:1:2", ""):
        with pytest.raises(PermanentError):
            target_of(wrong)
    with pytest.raises(PermanentError):
        message_of("slack:T1:C1")


def test_a_title_is_short_and_plain() -> None:
    assert title_of("<@UBOT> what of\nthe *plan*?", ME) == "what of the **plan**?"
    assert len(title_of("word " * 50, ME)) <= 61
