"""Events of a made-up chat platform called `test`, short to write down."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from bot.gateway.events import (
    Addressed,
    Attachment,
    Body,
    ButtonPressed,
    Chain,
    Change,
    CommandInvoked,
    DeliveryReported,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    MessageReceived,
    Nature,
    Outcome,
    Place,
    PlaceKind,
    Proof,
    ReplyPath,
    Sender,
    Thread,
)
from tests.clock import START
from tests.sessions.rooms import CHANNEL

DM = Thread("test:dm:1", "test:dm:1")
GROUP = Thread("test:room", "test:room")
TOPIC = Thread("test:room:7", "test:room")

DIRECT_PLACE = Place(PlaceKind.DIRECT, "")
GROUP_PLACE = Place(PlaceKind.GROUP, "Room", 3)


def sender(address: str = "1", nature: Nature = Nature.PERSON, proof: Proof = Proof.PLATFORM) -> Sender:
    return Sender(address, f"Name of {address}", nature, proof)


def _place(thread: Thread | Chain) -> Place:
    if isinstance(thread, Chain):
        return Place(PlaceKind.MAIL, "Subject")
    return DIRECT_PLACE if thread.key.startswith("test:dm:") else GROUP_PLACE


def dm(address: str) -> Thread:
    return Thread(f"test:dm:{address}", f"test:dm:{address}")


def message(
    key: str,
    text: str = "hello",
    *,
    by: Sender | str = "1",
    thread: Thread | Chain | None = None,
    place: Place | None = None,
    at: datetime = START,
    addressed: Addressed = Addressed.DIRECT,
    album: str | None = None,
    automatic: str | None = None,
    live: bool = True,
    body: Body | None = None,
    attachments: tuple[Attachment, ...] = (),
) -> MessageReceived:
    who = sender(by) if isinstance(by, str) else by
    where = thread or dm(who.address)
    return MessageReceived(
        keys=(f"{CHANNEL}:{key}",),
        ref=f"{CHANNEL}:{key}",
        thread=where,
        place=place or _place(where),
        sender=who,
        body=body or Body(text),
        sent_at=at,
        addressed=addressed,
        reply_path=ReplyPath("" if isinstance(where, Chain) else where.key, who.address, f"{CHANNEL}:{key}"),
        attachments=attachments,
        group=album,
        automatic=automatic,
        live=live,
    )


def command(
    key: str, name: str, arguments: str = "", *, by: str = "1", thread: Thread | None = None, at: datetime = START
) -> CommandInvoked:
    where = thread or dm(by)
    return CommandInvoked(
        (f"{CHANNEL}:{key}",), f"{CHANNEL}:{key}", where, _place(where), sender(by), name, arguments, at,
        ReplyPath(where.key, by),
    )  # fmt: skip


def edit(
    key: str, of: str, text: str, *, by: str = "1", at: datetime = START, thread: Thread | None = None
) -> MessageEdited:
    where = thread or dm(by)
    return MessageEdited(
        (f"{CHANNEL}:{key}",), f"{CHANNEL}:{of}", where, _place(where), sender(by), Body(text), at, Addressed.DIRECT,
        ReplyPath(where.key, by),
    )  # fmt: skip


def delete(key: str, of: str, *, thread: Thread = DM, at: datetime = START) -> MessageDeleted:
    return MessageDeleted((f"{CHANNEL}:{key}",), f"{CHANNEL}:{of}", thread, at)


def press(key: str, token: str = "yes", *, by: str = "1", thread: Thread = DM) -> ButtonPressed:
    return ButtonPressed(
        (f"{CHANNEL}:{key}",), f"{CHANNEL}:button", thread, _place(thread), sender(by), token, START, None
    )


def membership(
    key: str,
    change: Change,
    who: str | None = None,
    *,
    place_key: str = GROUP.place,
    members: int | None = None,
    moved_to: str | None = None,
) -> MembershipChanged:
    return MembershipChanged(
        (f"{CHANNEL}:{key}",),
        place_key,
        replace(GROUP_PLACE, members=members),
        change,
        START,
        sender(who) if who else None,
        moved_to,
    )


def report(key: str, *of: str, outcome: Outcome = Outcome.FAILED) -> DeliveryReported:
    return DeliveryReported((f"{CHANNEL}:{key}",), of, outcome, "mailbox of ada is full", START)
