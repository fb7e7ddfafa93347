"""Who writes what where: numbers are dealt out to channels, people and rooms, the same for every run of a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PEOPLE = 16
"""Of each network channel."""
SHARES: Mapping[str, int] = {"telegram": 5, "discord": 5, "slack": 5, "email": 4, "terminal": 1}
"""Of 20 messages in a row."""
_ROUND = [name for name, share in SHARES.items() for _ in range(share)]
GROUP_EVERY = 4
"""One message in so many is written into the channel's group."""


@dataclass(frozen=True)
class Planned:
    number: int
    channel: str
    person: int
    group: bool


def planned(number: int) -> Planned:
    """Where message `number` (from 1) is written, and by whom. Neighbours go to different channels."""
    at = (number - 1) * 7 % len(_ROUND)
    channel = _ROUND[at]
    order = (number - 1) // len(_ROUND) * SHARES[channel] + at - _ROUND.index(channel)
    group = channel not in ("email", "terminal") and order % GROUP_EVERY == GROUP_EVERY - 1
    return Planned(number, channel, order % PEOPLE, group)


def person_id(channel: str, person: int) -> str:
    return f"{channel[0]}{person}"


def people_settings(handles: Mapping[str, Mapping[int, str]]) -> dict[str, str]:
    """`handles`: by channel and person, what settings hold (JSON). The first of each channel is a principal."""
    found: dict[str, str] = {}
    for channel, owned in handles.items():
        for person, handle in owned.items():
            key = f"OPENEXECUTIVE_PEOPLE__{person_id(channel, person).upper()}__"
            found[f"{key}NAME"] = person_id(channel, person).upper()
            found[f"{key}ROLE"] = "principal" if person == 0 else "member"
            if channel != "terminal":
                found[f"{key}{channel.upper()}"] = handle
    return found
