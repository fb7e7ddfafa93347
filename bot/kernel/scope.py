"""Scope: who is reading. A closed union, always a required argument, never with a default.

A `Scope` says on whose behalf; `bot.sessions` alone turns it into a `Visible`: what SQL may return.
"""

from __future__ import annotations

from bot.kernel.ids import PersonId, SessionId
from bot.kernel.values import dataclass


@dataclass(frozen=True, slots=True)
class SessionScope:
    """A turn, its tools and chat commands: the session itself and what its audience may see of the company."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class PersonScope:
    """A person on the console, the API or in their own DM: the sessions they are a member of, while they are."""

    person: PersonId


@dataclass(frozen=True, slots=True)
class DepartmentScope:
    """Company claims of one department."""

    department: str


@dataclass(frozen=True, slots=True)
class OperatorScope:
    """The local command line. `reason` is required to read what was said to the executive in private; it is audited."""

    reason: str | None


Scope = SessionScope | PersonScope | DepartmentScope | OperatorScope
