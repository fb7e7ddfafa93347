"""Settings of what needs a yes before it is done."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from config.section import Section
from config.types import Allowed, Duration, PersonKey, Wait

ACTIONS = (
    "change_company_profile",
    "create_schedule",
    "forget",
    "promote_memory",
    "reply_all",
    "send_email",
    "send_message",
)
ActionKey = Annotated[str, Field(min_length=1, max_length=40), Allowed("a class of actions: " + ", ".join(ACTIONS))]
DepartmentKey = Annotated[str, Field(min_length=1, max_length=80), Allowed("a department as people name it")]


class ActionClass(Section):
    """Who decides about one class of actions: `[ledger.classes.<class>]`. Without it, the head of the department that
    it concerns decides, else the principals."""

    approvers: tuple[PersonKey, ...] = Field((), description="people who may say yes; each of them is asked")
    two_persons: bool = Field(False, description="true: two of them must say yes to the same content")


class Department(Section):
    """Who decides for a department: `[ledger.departments.<department>]`."""

    head: PersonKey | None = Field(None, description="who says yes to what concerns it")


class Deputy(Section):
    """Who may say yes in somebody's place: `[ledger.deputies.<id>]`."""

    person: PersonKey | None = Field(None, description="asked together with them")


class Ledger(Section):
    """What the executive may do outwardly only after a person's yes."""

    expires_after: Duration = Field(
        timedelta(days=2), description="how long a proposal waits; unanswered by then, it is not done"
    )
    remind_before: Duration = Field(
        timedelta(hours=6), description="how long before that its approvers are reminded, once"
    )
    duplicate_window: Wait = Field(
        timedelta(minutes=30), description="how long nearly the same text is not sent to the same people again"
    )
    per_hour: int = Field(
        6, ge=1, le=1_000, description="most that is sent to one person or address in an hour; the rest waits"
    )
    classes: Annotated[
        dict[ActionKey, ActionClass], Allowed("a table per class: [ledger.classes.<class>] with what differs")
    ] = Field(default_factory=dict, description="classes of actions with rules of their own")
    departments: Annotated[
        dict[DepartmentKey, Department], Allowed("a table per department: [ledger.departments.<department>] with head")
    ] = Field(default_factory=dict, description="heads of departments")
    deputies: Annotated[dict[PersonKey, Deputy], Allowed("a table per person: [ledger.deputies.<id>] with person")] = (
        Field(default_factory=dict, description="who stands in for whom")
    )
