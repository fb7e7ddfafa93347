from __future__ import annotations

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
    MessageEdited,
    MessageReceived,
    Nature,
    PlaceKind,
    Proof,
    SpanKind,
    Thread,
)
from channels.telegram.forms import Handle
from tests.channels.support import START
from tests.channels.telegram.updates import ALICE, BOT, DATE, FORUM, GROUP, PRIVATE, entity, event, events, message


def received(payload: dict[str, Any]) -> MessageReceived:
    found = event(payload)
    assert isinstance(found, MessageReceived)
    assert load_event(dump_event(found)) == found
    assert isinstance(found.thread, Thread)
    return found


def thread_of(found: MessageReceived) -> Thread:
    assert isinstance(found.thread, Thread)
    return found.thread


def test_a_direct_message() -> None:
    found = received(message(text="hi"))
    assert thread_of(found).key == thread_of(found).place == "telegram:7"
    assert (found.ref, found.keys) == ("telegram:7:10", ("telegram:7:10",))
    assert (found.sender.address, found.sender.name) == ("7", "Alice A")
    assert (found.sender.nature, found.sender.proof) == (Nature.PERSON, Proof.PLATFORM)
    assert (found.addressed, found.place.kind, found.place.members) == (Addressed.DIRECT, PlaceKind.DIRECT, 2)
    assert (found.body.text, found.body.own(), found.sent_at) == ("hi", "hi", START)
    assert (found.reply_path.thread, found.reply_path.ref) == ("telegram:7", "telegram:7:10")


def addressed(text: str, **more: Any) -> Addressed:
    return received(message(GROUP, text=text, **more)).addressed


@pytest.mark.case(25)
@pytest.mark.parametrize("before", ["", "👋 ", "👨‍👩‍👧‍👦🇩🇪 ", "漢字 é ", "𝔘𝔫𝔦 "])
@pytest.mark.parametrize("name", ["@exec_bot", "@EXEC_BOT", "@Exec_Bot"])
def test_case_25_mention_after_emoji_is_found_without_case(before: str, name: str) -> None:
    text = f"{before}{name} what now"
    assert addressed(text, entities=[entity(text, name, "mention")]) is Addressed.MENTION


@pytest.mark.case(25)
def test_case_25_a_mention_in_a_caption_counts() -> None:
    text = "👋 @exec_bot look"
    found = received(
        message(
            GROUP,
            caption=text,
            caption_entities=[entity(text, "@exec_bot", "mention")],
            photo=[{"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1}],
        )
    )
    assert (found.addressed, found.body.text, len(found.attachments)) == (Addressed.MENTION, text, 1)


@pytest.mark.case(25)
@pytest.mark.parametrize(("offset", "length"), [(900, 9), (0, 900), (1, 2), (3, 0)])
def test_case_25_entities_out_of_range_or_through_a_character_are_no_mention(offset: int, length: int) -> None:
    broken = {"type": "mention", "offset": offset, "length": length}
    assert addressed("👋 hello", entities=[broken]) is Addressed.NOT


def test_a_mention_without_a_name_and_one_of_somebody_else() -> None:
    text = "Executive, hi"
    assert addressed(text, entities=[entity(text, "Executive", "text_mention", user=BOT)]) is Addressed.MENTION
    assert addressed(text, entities=[entity(text, "Executive", "text_mention", user=ALICE)]) is Addressed.NOT
    text = "@exec_bot_2 hi"
    assert addressed(text, entities=[entity(text, "@exec_bot_2", "mention")]) is Addressed.NOT
    assert addressed("mail exec@exec_bot now") is Addressed.NOT, "only what the platform calls a mention is one"


def test_an_answer_to_us_is_for_us_and_one_to_another_is_not() -> None:
    ours = message(GROUP, BOT, message_id=9, text="what I said")
    found = received(message(GROUP, text="and then?", reply_to_message=ours))
    assert (found.addressed, found.quotes) == (Addressed.REPLY, "what I said")
    assert found.answers is not None
    assert found.answers.endswith(":9")
    theirs = message(GROUP, {**ALICE, "id": 8}, message_id=9, text="x")
    assert addressed("no", reply_to_message=theirs) is Addressed.NOT
    picked = received(
        message(GROUP, text="y", reply_to_message=ours, quote={"text": "I said", "position": 5, "is_manual": True})
    )
    assert picked.quotes == "I said"


@pytest.mark.case(26)
def test_case_26_a_topic_is_a_thread_only_if_the_message_says_so() -> None:
    assert thread_of(received(message(FORUM, text="x", message_thread_id=77, is_topic_message=True))).key == (
        "telegram:-100:77"
    )
    for general in (
        {},
        {"message_thread_id": 55},
        {"message_thread_id": 1, "is_topic_message": True},
        {"message_thread_id": 9, "reply_to_message": message(FORUM, message_id=9, text="q")},
    ):
        found = received(message(FORUM, text="x", **general))
        assert thread_of(found).key == found.reply_path.thread == "telegram:-100"
    assert thread_of(received(message(FORUM, text="x", message_thread_id=77, is_topic_message=True))).place == (
        "telegram:-100"
    )


@pytest.mark.case(26)
def test_case_26_the_opening_of_a_topic_is_not_an_answered_message() -> None:
    opening = message(
        FORUM, BOT, message_id=77, forum_topic_created={"name": "Plans", "icon_color": 1}, is_topic_message=True
    )
    found = received(message(FORUM, text="x", message_thread_id=77, is_topic_message=True, reply_to_message=opening))
    assert (found.addressed, found.quotes) == (Addressed.NOT, None)


def command(payload: dict[str, Any]) -> CommandInvoked:
    found = event(payload)
    assert isinstance(found, CommandInvoked)
    return found


def test_commands() -> None:
    found = command(message(text="/NEW please"))
    assert (found.name, found.arguments, found.keys) == ("new", "please", ("telegram:7:10",))
    text = "/status@EXEC_bot"
    assert command(message(GROUP, text=text, entities=[entity(text, text, "bot_command")])).name == "status"
    text = "@exec_bot /help"
    assert command(message(GROUP, text=text, entities=[entity(text, "@exec_bot", "mention")])).name == "help"


def test_the_platforms_own_start_asks_for_help() -> None:
    assert command(message(text="/start")).name == "help"
    assert command(message(text="/start now")).name == "help"


def test_what_is_no_command_of_ours() -> None:
    text = "/status@other_bot"
    found = received(message(GROUP, text=text, entities=[entity(text, text, "bot_command")]))
    assert found.addressed is Addressed.NOT
    assert isinstance(event(message(text="/status@other_bot")), MessageReceived)
    assert received(message(GROUP, text="/status")).addressed is Addressed.NOT, "in a group it must name us"
    assert command(message(text="/unknown x")).name == "unknown"
    assert isinstance(event(message(text="/etc/hosts is wrong")), MessageReceived)
    forwarded = {"type": "user", "date": DATE, "sender_user": ALICE}
    assert isinstance(event(message(text="/new", forward_origin=forwarded)), MessageReceived)
    quoted = message(text="/new\nx", entities=[{"type": "blockquote", "offset": 0, "length": 4}])
    assert isinstance(event(quoted), MessageReceived), "quoted words command nothing"


def test_forwarded_and_quoted_words_are_not_the_senders() -> None:
    origin = {"type": "hidden_user", "date": DATE, "sender_user_name": "Bob"}
    found = received(message(text="pay Bob", forward_origin=origin))
    assert [span.kind for span in found.body.spans] == [SpanKind.FORWARDED]
    assert found.body.own() == ""
    text = "😀 see\nhe said so\nagreed"
    found = received(message(text=text, entities=[entity(text, "he said so", "blockquote")]))
    assert found.body.own() == "😀 see\n\nagreed"
    assert "".join(text[s.start : s.end] for s in found.body.spans) == text


FILE = {"file_id": "f1", "file_unique_id": "u1"}
STICKER = {"type": "regular", "width": 1, "height": 1, "is_animated": False, "is_video": False, "emoji": "👍"}
POLL = {
    "id": "1",
    "question": "Go?",
    "options": [{"text": text, "voter_count": 0, "persistent_id": text} for text in "yn"],
    "type": "regular",
    "total_voter_count": 0,
    **dict.fromkeys(("is_closed", "is_anonymous", "allows_multiple_answers", "allows_revoting", "members_only"), False),
}
MEDIA: dict[str, tuple[dict[str, Any], str]] = {
    "sticker": ({**FILE, **STICKER}, "[sticker 👍]"),
    "voice": ({**FILE, "duration": 3}, "[voice message]"),
    "video": ({**FILE, "width": 1, "height": 1, "duration": 3}, "[video]"),
    "video_note": ({**FILE, "length": 1, "duration": 3}, "[video message]"),
    "location": ({"latitude": 52.5, "longitude": 13.25}, "[location: 52.50000, 13.25000]"),
    "contact": ({"phone_number": "+49 1", "first_name": "Bo", "last_name": "B"}, "[contact: Bo B +49 1]"),
    "dice": ({"emoji": "🎲", "value": 4}, "[🎲 4]"),
    "poll": (POLL, "[poll: Go? (y; n)]"),
}


@pytest.mark.parametrize("kind", MEDIA)
def test_what_is_not_read_stands_as_a_line_that_is_not_the_senders_words(kind: str) -> None:
    content, line = MEDIA[kind]
    found = received(message(**{kind: content}))
    assert (found.body.text, found.body.own()) == (line, "")


def test_a_caption_stays_with_its_video_and_hidden_links_are_shown() -> None:
    found = received(message(video=MEDIA["video"][0], caption="look"))
    assert (found.body.text, found.body.own()) == ("look\n[video]", "look")
    text = "read this"
    found = received(message(text=text, entities=[entity(text, "this", "text_link", url="https://a.example/")]))
    assert (found.body.text, found.body.own()) == ("read this\n[link: this → https://a.example/]", text)


def test_documents_and_photos() -> None:
    document = {**FILE, "file_name": "plan.pdf", "mime_type": "application/pdf", "file_size": 5}
    (found,) = received(message(document=document, caption="the plan")).attachments
    assert (found.name, found.declared_type, found.size, found.source) == ("plan.pdf", "application/pdf", 5, "f1")
    photo = [
        {"file_id": name, "file_unique_id": name, "width": side, "height": side, "file_size": size}
        for name, side, size in (("s", 90, 10), ("m", 800, 1000), ("l", 4000, 30_000_000))
    ]
    (found,) = received(message(photo=photo)).attachments
    assert (found.source, found.fault) == ("m", None), "the largest that can be fetched"


@pytest.mark.case(42)
@pytest.mark.parametrize("size", [20_000_001, 25_000_000, 2_000_000_000])
def test_case_42_a_file_too_large_keeps_its_caption_and_names_the_fault(size: int) -> None:
    document = {**FILE, "file_name": "film.mkv", "file_size": size}
    found = received(message(document=document, caption="have a look"))
    (attachment,) = found.attachments
    assert (found.body.text, attachment.source, attachment.size) == ("have a look", None, size)
    assert attachment.fault is not None
    assert "20 MB" in attachment.fault


@pytest.mark.case(43)
def test_case_43_an_album_is_one_group_whose_messages_keep_their_own_keys() -> None:
    album = [
        received(message(message_id=n, media_group_id="g", photo=[{**FILE, "width": 1, "height": 1}], caption=caption))
        for n, caption in ((11, None), (12, "three pictures"), (13, None))
    ]
    assert {one.group for one in album} == {"telegram:7:g"}
    assert len({one.keys for one in album}) == 3
    assert [one.body.text for one in album] == ["", "three pictures", ""]


@pytest.mark.case(39)
def test_case_39_an_edit_is_an_edit_of_the_same_ref_with_a_key_per_edit() -> None:
    found = [event(message(text=text, edit_date=DATE + n), "edited_message") for text, n in (("b", 2), ("c", 5))]
    assert all(isinstance(one, MessageEdited) and one.ref == "telegram:7:10" for one in found)
    assert found[0].keys == (f"telegram:7:10:{DATE + 2}",)
    assert len({one.keys for one in found}) == 2
    assert isinstance(event(message(text="/new", edit_date=DATE + 2), "edited_message"), MessageEdited)


@pytest.mark.case(41)
def test_case_41_an_anonymous_admin_is_nobody_and_a_press_has_its_own_identity() -> None:
    admin = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
    text = "/status@exec_bot"
    anonymous = command(
        message(GROUP, admin, text=text, entities=[entity(text, text, "bot_command")], sender_chat=GROUP)
    )
    assert (anonymous.sender.nature, anonymous.sender.proof) == (Nature.ANONYMOUS, Proof.NONE)
    assert anonymous.sender.address == "-100"
    press = event(
        {"id": "q1", "from": ALICE, "chat_instance": "1", "data": "t", "message": message(GROUP, BOT)}, "callback_query"
    )
    assert isinstance(press, ButtonPressed)
    assert (press.sender.address, press.sender.nature, press.keys) == ("7", Nature.PERSON, ("telegram:callback:q1",))
    assert (press.token, press.ref) == ("t", "telegram:-100:10")
    assert Handle.read(press.response or "") == Handle("q1", -100, None, 10, 7)
    assert Handle.read("q1") is None
    bare = received(message(GROUP, admin, text="hi"))
    assert bare.sender.nature is Nature.ANONYMOUS


def test_a_press_under_a_message_that_is_gone_still_arrives() -> None:
    gone = {"chat": GROUP, "message_id": 5, "date": 0}
    press = event({"id": "q", "from": ALICE, "chat_instance": "1", "data": "t", "message": gone}, "callback_query")
    assert isinstance(press, ButtonPressed)
    assert (press.ref, press.thread.key) == ("telegram:-100:5", "telegram:-100")


def test_channel_posts_are_nobodys() -> None:
    channel = {"id": -200, "type": "channel", "title": "News"}
    (found,) = events("channel_post", message(channel, None, text="x", sender_chat=channel))
    assert isinstance(found, MessageReceived)
    assert (found.sender.nature, found.addressed, found.place.kind) == (
        Nature.ANONYMOUS,
        Addressed.NOT,
        PlaceKind.CHANNEL,
    )


@pytest.mark.case(74, 75)
def test_case_74_and_75_bots_and_our_own_messages_make_no_event() -> None:
    other = {"id": 99, "is_bot": True, "first_name": "B", "username": "other_bot"}
    text = "@exec_bot hello"
    for sender in (other, BOT):
        said = message(GROUP, sender, text=text, entities=[entity(text, "@exec_bot", "mention")])
        assert events("message", said) == ()
        assert events("edited_message", {**said, "edit_date": DATE}) == ()
    assert events("message", message(PRIVATE, BOT, text="me")) == ()


def change(found: InboundEvent) -> MembershipChanged:
    assert isinstance(found, MembershipChanged)
    return found


@pytest.mark.case(44)
@pytest.mark.parametrize(
    ("chat", "old", "new", "expected"),
    [
        (PRIVATE, "member", "kicked", Change.BLOCKED),
        (PRIVATE, "kicked", "member", Change.UNBLOCKED),
        (GROUP, "left", "member", Change.JOINED),
        (GROUP, "left", "administrator", Change.JOINED),
        (GROUP, "member", "left", Change.REMOVED),
        (GROUP, "administrator", "kicked", Change.REMOVED),
        (GROUP, "member", "administrator", None),
    ],
)
def test_case_44_own_membership(chat: dict[str, Any], old: str, new: str, expected: Change | None) -> None:
    def standing(status: str) -> dict[str, Any]:
        rights = dict.fromkeys(
            (
                "can_be_edited", "is_anonymous", "can_manage_chat", "can_delete_messages", "can_manage_video_chats",
                "can_restrict_members", "can_promote_members", "can_change_info", "can_invite_users",
                "can_post_stories", "can_edit_stories", "can_delete_stories",
            ),
            False,
        )  # fmt: skip
        extra: dict[str, dict[str, Any]] = {"kicked": {"until_date": 0}, "administrator": rights}
        more = extra.get(status, {})
        return {"status": status, "user": BOT, **more}

    update = {
        "chat": chat,
        "from": ALICE,
        "date": DATE,
        "old_chat_member": standing(old),
        "new_chat_member": standing(new),
    }
    found = events("my_chat_member", update)
    assert [change(one).change for one in found] == ([expected] if expected else [])
    if found and chat is PRIVATE:
        who = change(found[0]).who
        assert who is not None
        assert who.address == "7"


def test_the_move_to_a_supergroup_is_one_event_from_either_half() -> None:
    old, new = {"id": -5, "type": "group", "title": "Team"}, {"id": -1005, "type": "supergroup", "title": "Team"}
    first = change(event(message(old, text=None, migrate_to_chat_id=-1005)))
    second = change(event(message(new, migrate_from_chat_id=-5)))
    assert first.keys == second.keys
    for one in (first, second):
        assert (one.change, one.place_key, one.moved_to) == (Change.MOVED, "telegram:-5", "telegram:-1005")


def test_people_who_come_and_go() -> None:
    bob = {"id": 8, "is_bot": False, "first_name": "Bob"}
    found = [change(one) for one in events("message", message(GROUP, new_chat_members=[bob, ALICE, BOT]))]
    assert [(one.change, one.who and one.who.address) for one in found] == [(Change.JOINED, "8"), (Change.JOINED, "7")]
    (left,) = events("message", message(GROUP, left_chat_member=bob))
    assert change(left).change is Change.LEFT


def test_service_messages_say_nothing() -> None:
    for service in ({"pinned_message": message(GROUP, text="x")}, {"new_chat_title": "y"}, {"delete_chat_photo": True}):
        assert events("message", message(GROUP, **service)) == ()


def test_names_are_cleaned_and_a_public_group_is_open_to_more() -> None:
    spoof = {**ALICE, "first_name": "Al\u202eice\n" + "x" * 100, "last_name": "\u200b"}
    found = received(message({**GROUP, "username": "open_team"}, spoof, text="x"))
    assert found.sender.name.startswith("Alice x") or found.sender.name.startswith("Alicex")
    assert len(found.sender.name) <= 64
    assert (found.place.kind, found.place.members) == (PlaceKind.CHANNEL, 3)
