"""Who reads in a room: pure judgement from evidence. Without fresh evidence a room counts as `external`."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from bot.gateway.events import PlaceKind
from bot.kernel.values import dataclass


class Audience(StrEnum):
    """From narrow to wide."""

    PERSON = "person"
    ROOM = "room"
    COMPANY = "company"
    EXTERNAL = "external"

    @property
    def width(self) -> int:
        return list(Audience).index(self)

    def wider_than(self, other: Audience) -> bool:
        return self.width > other.width


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a room at this moment."""

    kind: PlaceKind
    declared: Audience | None
    """What a principal said that the place is."""
    internal: int
    """Roster people, guests excluded, who are known to be in it."""
    guests: int
    unknown: int
    """Accounts known to be in it that belong to nobody of the roster."""
    members: int | None
    """Members that the platform counts, the executive included; None if it has not told."""
    insiders: bool | None = None
    """Whether the platform vouches for everybody in it (see `Place.insiders`)."""


@dataclass(frozen=True, slots=True)
class Judgement:
    audience: Audience
    because: str
    """For the people in the room; names no one."""


def judge(evidence: Evidence) -> Judgement:
    if evidence.insiders is False:
        return Judgement(Audience.EXTERNAL, "someone here is neither on the roster nor a full member of our workspace")
    if evidence.unknown and not evidence.insiders:
        return Judgement(Audience.EXTERNAL, "someone here is not on the roster")
    if evidence.guests:
        return Judgement(Audience.EXTERNAL, "a guest is here")
    if evidence.kind is PlaceKind.DIRECT:
        return Judgement(Audience.PERSON, "only the two of us are here")
    if evidence.kind is PlaceKind.MAIL:
        if evidence.internal <= 1:
            return Judgement(Audience.PERSON, "only the two of us read this thread")
        return Judgement(Audience.ROOM, "only people of the roster read this thread")
    if evidence.declared is None or evidence.declared is Audience.EXTERNAL:
        return Judgement(Audience.EXTERNAL, "nobody has said yet what this place is")
    if evidence.insiders:
        return Judgement(evidence.declared, "a principal said so and everyone here is of the company")
    if evidence.members is None:
        return Judgement(Audience.EXTERNAL, "the platform does not tell how many people are here")
    if evidence.members != evidence.internal + 1:
        return Judgement(
            Audience.EXTERNAL,
            f"{evidence.members} members are here, of whom I know {evidence.internal} and myself",
        )
    return Judgement(evidence.declared, "a principal said so and I know everyone here")


def widest(audiences: Collection[Audience]) -> Audience:
    return max(audiences, key=lambda audience: audience.width)
