"""News about rooms and who is in them, as events. Pure."""

from __future__ import annotations

from datetime import datetime

from bot.gateway.events import Change, MembershipChanged, Nature, Place, PlaceKind, Proof, Sender
from channels.discord.content import Payload
from channels.discord.keys import NAME, direct_key, thread_key
from channels.discord.where import Me, Where, account


def member_changed(
    user: Payload, member: Payload | None, change: Change, where: Where, me: Me, at: datetime
) -> MembershipChanged:
    """Somebody came into or left a guild, as seen from one of its channels."""
    stamp = str(member["joined_at"]) if member and member.get("joined_at") else str(int(at.timestamp()))
    return MembershipChanged(
        keys=(f"{NAME}:member:{where.channel}:{user['id']}:{change}:{stamp}",),
        place_key=where.place_key,
        place=where.place,
        change=change,
        at=at,
        who=account(user, member, me),
    )


def removed(guild: int, channel: int, at: datetime) -> MembershipChanged:
    """The executive can no longer be in this channel: it is gone, or the guild put it out."""
    return MembershipChanged(
        keys=(f"{NAME}:removed:{guild}:{channel}:{int(at.timestamp())}",),
        place_key=thread_key(guild, channel),
        place=Place(PlaceKind.CHANNEL, ""),
        change=Change.REMOVED,
        at=at,
    )


def refused_thread(thread: str, fallback: str, at: datetime) -> MembershipChanged:
    """A thread that may not be opened: its conversation goes on in the channel."""
    return MembershipChanged(
        keys=(f"{NAME}:moved:{thread}:{fallback}",),
        place_key=thread,
        place=Place(PlaceKind.CHANNEL, ""),
        change=Change.MOVED,
        at=at,
        moved_to=fallback,
    )


def blocked(user: int, key: str, at: datetime) -> MembershipChanged:
    """A person takes no direct messages from us."""
    return MembershipChanged(
        keys=(f"{NAME}:blocked:{user}:{key}",),
        place_key=direct_key(user),
        place=Place(PlaceKind.DIRECT, ""),
        change=Change.BLOCKED,
        at=at,
        who=Sender(str(user), "", Nature.PERSON, Proof.PLATFORM),
    )
