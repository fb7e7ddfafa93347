"""Who people are and what places are, as Slack has just told: the facts that events do not carry.

Asked only for what concerns the executive, all at once and for a short time: an event that is not acknowledged within
three seconds comes again. What is not known in time stays unknown; rooms of unknown size count as external.
"""

from __future__ import annotations

import asyncio
import logging
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Generic, TypeVar

from bot.gateway.events import PlaceKind
from bot.kernel.clock import Clock
from bot.kernel.supervise import Supervisor
from bot.kernel.values import dataclass
from channels.slack.client import Client
from channels.slack.errors import Failure
from channels.slack.state import State

log = logging.getLogger(__name__)

PATIENCE = timedelta(seconds=1.5)
PERSON_FRESH = timedelta(hours=1)
PLACE_FRESH = timedelta(minutes=5)
AFTER_FAILURE = timedelta(seconds=30)
_REMEMBERED = 5000
_PAGE = 200
_MOST_PAGES = 10
"""Of members of a channel, or of the workspace: 2,000."""
_ONE_BY_ONE = 20
"""People who are looked up one by one; for more, all of the workspace are."""
_ID = re.compile(r"<@([UW][A-Z0-9]+)")


@dataclass(frozen=True, slots=True)
class Me:
    """The app's own account, as auth.test verified it."""

    team: str
    user: str
    bot: str
    name: str = "executive"
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PersonFact:
    name: str
    bot: bool
    team: str
    full: bool = False
    """A full member of that workspace: no guest, no stranger from another, no app, and not gone."""


@dataclass(frozen=True, slots=True)
class PlaceFact:
    kind: PlaceKind
    title: str
    members: int | None
    partners: tuple[str, ...] = ()
    """Other organisations in the channel (Slack Connect)."""
    accounts: tuple[str, ...] | None = None
    """Everybody in it. Asked for only where a workspace is declared to be the company's."""
    insiders: bool | None = None
    """See `Place.insiders`."""


V = TypeVar("V")


class _Memory(Generic[V]):
    def __init__(self, clock: Clock, fresh: timedelta) -> None:
        self._clock = clock
        self._fresh = fresh
        self._known: dict[str, tuple[V | None, float]] = {}

    def get(self, key: str) -> V | None:
        found, at = self._known.get(key, (None, 0.0))
        return found if found is not None and self._age(at) <= self._fresh else None

    def asked(self, key: str) -> bool:
        """Whether asking again is no use yet."""
        if key not in self._known:
            return False
        found, at = self._known[key]
        return self._age(at) <= (self._fresh if found is not None else AFTER_FAILURE)

    def put(self, key: str, value: V | None) -> None:
        while len(self._known) >= _REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = (value, self._clock.monotonic())

    def forget(self, key: str) -> None:
        self._known.pop(key, None)

    def _age(self, at: float) -> timedelta:
        return timedelta(seconds=self._clock.monotonic() - at)


class Directory:
    """`company`: id of the workspace that is declared to be the company's."""

    def __init__(
        self, client: Client, clock: Clock, supervisor: Supervisor, state: State, company: str | None = None
    ) -> None:
        self.company = company
        self._client = client
        self._supervisor = supervisor
        self._state = state
        self._people: _Memory[PersonFact] = _Memory(clock, PERSON_FRESH)
        self._places: _Memory[PlaceFact] = _Memory(clock, PLACE_FRESH)

    def person(self, user: str) -> PersonFact | None:
        return self._people.get(user)

    def name(self, user: str) -> str | None:
        found = self._people.get(user)
        return found.name if found is not None else None

    def place(self, channel: str) -> PlaceFact | None:
        return self._places.get(channel)

    def forget_place(self, channel: str) -> None:
        self._places.forget(channel)

    async def learn(self, users: Iterable[str], channels: Iterable[str]) -> None:
        """Ask for those that are not known; return when all are, or patience ends."""
        jobs = [
            self._supervisor.job(f"slack person {user}", self._ask_person(user))
            for user in dict.fromkeys(users)
            if not self._people.asked(user)
        ]
        jobs += [
            self._supervisor.job(f"slack place {channel}", self._ask_place(channel))
            for channel in dict.fromkeys(channels)
            if not self._places.asked(channel)
        ]
        if jobs:
            await asyncio.wait(jobs, timeout=PATIENCE.total_seconds())

    async def _ask_person(self, user: str) -> None:
        try:
            answer = await self._client.web.users_info(user=user)
        except Failure as error:
            self._failed(f"person {user}", error)
            self._people.put(user, None)
            return
        self._people.put(user, person_fact(answer.get("user") or {}))

    async def _ask_place(self, channel: str) -> None:
        try:
            answer = await self._client.web.conversations_info(channel=channel, include_num_members=True)
        except Failure as error:
            self._failed(f"place {channel}", error)
            self._places.put(channel, None)
            return
        fact = place_fact(answer.get("channel") or {})
        self._places.put(channel, fact)
        if self.company is not None and fact.kind is not PlaceKind.DIRECT and not fact.partners:
            accounts = await self._accounts(channel)
            if accounts is not None:
                self._places.put(channel, replace(fact, accounts=accounts))

    async def _accounts(self, channel: str) -> tuple[str, ...] | None:
        """Everybody in a channel, each of them looked up; None if that cannot be had."""
        found: list[str] = []
        cursor = ""
        try:
            for _ in range(_MOST_PAGES):
                answer = await self._client.web.conversations_members(channel=channel, limit=_PAGE, cursor=cursor)
                found += map(str, answer.get("members") or ())
                cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
                if not cursor:
                    break
            else:
                return None
            fresh = [user for user in found if not self._people.asked(user)]
            if len(fresh) > _ONE_BY_ONE:
                await self._ask_everyone()
                fresh = [user for user in fresh if not self._people.asked(user)][:_ONE_BY_ONE]
            for user in fresh:
                await self._ask_person(user)
        except Failure as error:
            self._failed(f"members of {channel}", error)
            return None
        return tuple(found)

    async def _ask_everyone(self) -> None:
        """The whole workspace in a few requests, where one for each would be too many (Web API rate limits)."""
        cursor = ""
        for _ in range(_MOST_PAGES):
            answer = await self._client.web.users_list(limit=_PAGE, cursor=cursor)
            for user in answer.get("members") or ():
                self._people.put(str(user["id"]), person_fact(user))
            cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return

    def _failed(self, what: str, error: BaseException) -> None:
        self._state.saw(error)
        log.info("slack: %s is not known: %s", what, type(error).__name__)


def person_fact(user: Mapping[str, Any]) -> PersonFact:
    profile = user.get("profile") or {}
    name = profile.get("display_name") or profile.get("real_name") or user.get("real_name") or user.get("name") or ""
    less = ("deleted", "is_bot", "is_app_user", "is_restricted", "is_ultra_restricted", "is_stranger")
    # What Slack does not say is not taken for a yes.
    full = user.get("is_restricted") is False and not any(user.get(what) for what in less)
    return PersonFact(clean_name(str(name)), bool(user.get("is_bot")), str(user.get("team_id") or ""), full)


def place_fact(channel: Mapping[str, Any]) -> PlaceFact:
    """`others` of a shared channel are its partner organisations: any of them makes the room external."""
    members = channel.get("num_members")
    title = clean_name(str(channel.get("name") or ""))
    if channel.get("is_im"):
        return PlaceFact(PlaceKind.DIRECT, title, 2)
    closed = channel.get("is_mpim") or channel.get("is_group") or channel.get("is_private")
    own = {str(channel.get("context_team_id") or ""), *map(str, channel.get("internal_team_ids") or ())}
    listed = (*(channel.get("connected_team_ids") or ()), *(channel.get("shared_team_ids") or ()))
    partners = tuple(dict.fromkeys(str(team) for team in listed if str(team) not in own))
    if channel.get("is_ext_shared") and not partners:
        partners = ("unknown",)
    return PlaceFact(
        PlaceKind.GROUP if closed else PlaceKind.CHANNEL,
        title,
        members if isinstance(members, int) and members > 0 else None,
        partners,
    )


def mentioned(text: str) -> list[str]:
    """Accounts whose names are needed to read `text`."""
    return list(dict.fromkeys(_ID.findall(text)))[:10]


def clean_name(shown: str) -> str:
    """A name without controls and direction marks, at most 64 characters."""
    kept = "".join(c for c in shown if unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp", "Cs"))
    return " ".join(kept.split())[:64]
