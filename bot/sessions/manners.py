"""Whose words the executive takes as put to it, where several people talk: pure, one rule for every platform."""

from __future__ import annotations

from enum import StrEnum

from bot.gateway.events import Addressed


class Hearing(StrEnum):
    """What is heard in a place. From little to all."""

    ADDRESSED = "addressed"  # only what is put to the executive by name or as an answer
    THREADS = "threads"  # also what people say to each other in threads that it takes part in
    ALL = "all"  # everything that people of the roster say there


class Heard(StrEnum):
    SPOKEN_TO = "spoken_to"  # it is put to the executive, which answers
    OVERHEARD = "overheard"  # it is kept, and a look decides whether the executive is being spoken to
    UNHEARD = "unheard"  # neither kept nor read


def judge(addressed: Addressed, hearing: Hearing, *, shared: bool) -> Heard:
    """`shared`: more than one person writes in the thread. In a thread with one person every message is for the
    executive; among several only what names it or answers it is."""
    match addressed:
        case Addressed.NOT:
            return Heard.OVERHEARD if hearing is Hearing.ALL else Heard.UNHEARD
        case Addressed.THREAD if shared:
            return Heard.UNHEARD if hearing is Hearing.ADDRESSED else Heard.OVERHEARD
        case _:
            return Heard.SPOKEN_TO
