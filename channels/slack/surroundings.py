"""Who speaks and where: what payloads and known facts together say about people, places and threads. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from bot.gateway.events import Nature, Place, PlaceKind, Proof, Sender, Thread
from bot.kernel.values import dataclass
from channels.slack.directory import Me, PersonFact, PlaceFact, clean_name
from channels.slack.keys import place_key, thread_key

Payload = Mapping[str, Any]


class Facts(Protocol):
    """What events do not carry."""

    @property
    def company(self) -> str | None:
        """The workspace that is declared to be the company's."""
        ...

    def person(self, user: str) -> PersonFact | None: ...

    def name(self, user: str) -> str | None: ...

    def place(self, channel: str) -> PlaceFact | None: ...

    def is_ours(self, channel: str, root: str) -> bool:
        """Whether the executive takes part in this thread."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    me: Me
    facts: Facts
    limit: int
    """Largest file in bytes."""

    def at(self, channel: str, root: str | None) -> Thread:
        return Thread(thread_key(self.me.team, channel, root), place_key(self.me.team, channel))

    def kind(self, event: Payload) -> PlaceKind:
        known = self.facts.place(str(event["channel"]))
        if known is not None:
            return known.kind
        told = event.get("channel_type")
        if told == "im" or str(event["channel"]).startswith("D"):
            return PlaceKind.DIRECT
        return PlaceKind.GROUP if told in ("group", "mpim", "G") else PlaceKind.CHANNEL

    def place(self, event: Payload) -> Place:
        known = self.facts.place(str(event["channel"]))
        kind = self.kind(event)
        if kind is PlaceKind.DIRECT:
            return Place(kind, "", 2)
        if known is None:
            return Place(kind, "")
        others = tuple(partner(team) for team in known.partners)
        return Place(kind, known.title, known.members, others, known.insiders)

    def person(self, user: str, shown: str = "") -> Sender:
        known = self.facts.person(user)
        nature = Nature.SELF if user == self.me.user else Nature.BOT if known and known.bot else Nature.PERSON
        name = (known.name if known else "") or clean_name(shown) or user
        return Sender(user, name, nature, Proof.PLATFORM, colleague=self._colleague(known))

    def _colleague(self, known: PersonFact | None) -> bool | None:
        if known is None or self.facts.company is None:
            return None
        return known.full and known.team == self.facts.company


def partner(team: str) -> Sender:
    """Another organisation in a shared channel. Its people are not listed one by one; that they are there counts."""
    return Sender(f"team:{team or 'unknown'}", "another organisation", Nature.ANONYMOUS, Proof.NONE)
