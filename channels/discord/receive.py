"""From what the gateway says to what is committed, in order, with what was missed fetched in between.

Frames are put into a queue as they come (the library goes on at once, heartbeats are never held up) and are committed
one after the other. While a channel is being read back, its live events wait, so its order holds; a message that comes
both ways has one key. Nothing is lost with the queue: what was not committed is behind its channel's cursor.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from bot.gateway.channel import Accepted, Inbox
from bot.gateway.events import (
    Addressed,
    Change,
    CommandInvoked,
    InboundEvent,
    MembershipChanged,
    MessageReceived,
)
from bot.kernel.clock import Clock
from bot.kernel.errors import TransientError
from bot.kernel.retry import Backoff
from bot.kernel.values import dataclass
from channels.discord import mapping, memberships, presses
from channels.discord.client import Api
from channels.discord.content import Payload
from channels.discord.interactions import Interactions
from channels.discord.keys import target_of
from channels.discord.places import Places
from channels.discord.readback import ReadBack
from channels.discord.register import Register
from channels.discord.roster import Listed, Roster, direct_channels
from channels.discord.state import State
from channels.discord.where import Rules, Where

log = logging.getLogger(__name__)

TOGETHER = 50
"""Frames that are committed at once when many wait."""
RETRY = Backoff(first=timedelta(seconds=0.5), cap=timedelta(seconds=60))

_OF_CHANNEL = frozenset({"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK"})
_HEARD = _OF_CHANNEL | {
    "READY",
    "RESUMED",
    "INTERACTION_CREATE",
    "GUILD_CREATE",
    "GUILD_DELETE",
    "CHANNEL_DELETE",
    "THREAD_DELETE",
    "GUILD_MEMBER_ADD",
    "GUILD_MEMBER_REMOVE",
}


@dataclass(frozen=True, slots=True)
class _Heard:
    event: str
    data: Any
    joined: bool | None = None
    """Of a message in a thread: whether we took part when it was written, if the library knew the thread."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A channel was read back; what came in it meanwhile is next."""

    channel: int


class Receiver:
    def __init__(
        self, api: Api, places: Places, register: Register, state: State, clock: Clock, interactions: Interactions
    ) -> None:
        self._api = api
        self._places = places
        self._register = register
        self._state = state
        self._clock = clock
        self._interactions = interactions
        self._rules: Rules | None = None
        self._queue: asyncio.Queue[_Heard | _Read | Listed] = asyncio.Queue()
        self._held: dict[int, list[_Heard]] = {}
        self._once_more: set[int] = set()
        """Channels in which there was another gap while they were being read back."""
        self._inbox: Inbox | None = None
        self._roster = Roster(api, clock, self._queue.put_nowait)
        self._history = ReadBack(
            api, register, clock, self._commit_page, lambda channel: self._queue.put_nowait(_Read(channel))
        )

    def identified(self, rules: Rules) -> None:
        """Without our own verified account nothing is looked at."""
        self._rules = rules

    def hear(self, event: str, data: Any) -> None:
        if event.startswith(("GUILD_", "CHANNEL_")):
            self._places.changed()
        if event in _OF_CHANNEL and not str(data.get("channel_id")).isdigit():
            return
        if event in _HEARD:
            joined = self._places.takes_part(int(data["channel_id"])) if event in _OF_CHANNEL else None
            self._queue.put_nowait(_Heard(event, data, joined))

    async def load(self, inbox: Inbox) -> None:
        """Learn what earlier processes read; before anything is received."""
        await self._until_taken(lambda: self._register.load(inbox))

    async def run(self, inbox: Inbox) -> None:
        self._inbox = inbox
        try:
            while True:
                items = [await self._queue.get()]
                while len(items) < TOGETHER and not self._queue.empty():
                    items.append(self._queue.get_nowait())
                await self._take_all(items, inbox)
        finally:
            await self._roster.stop()
            await self._history.stop()

    async def _take_all(self, items: Sequence[_Heard | _Read | Listed], inbox: Inbox) -> None:
        """In their order; messages that stand together are committed together."""
        together: list[_Heard] = []
        for item in items:
            if isinstance(item, _Heard) and item.event in _OF_CHANNEL:
                if self._roster.unknown:
                    await self._take_first_words(item, inbox)
                held = self._held.get(int(item.data["channel_id"]))
                (together if held is None else held).append(item)
            elif isinstance(item, _Read):
                if item.channel in self._once_more:
                    self._once_more.discard(item.channel)
                    self._history.begin((item.channel,))
                else:
                    together += self._held.pop(item.channel, ())
            elif isinstance(item, Listed):
                await self._take_people(item, inbox)
            else:
                await self._take_messages(together, inbox)
                together = []
                await self._take(item, inbox)
        await self._take_messages(together, inbox)

    async def _take(self, heard: _Heard, inbox: Inbox) -> None:
        async def handle() -> None:
            try:
                await self._handle(heard, inbox)
            except (AttributeError, KeyError, TypeError, ValueError):
                log.exception("discord: a %s cannot be read and is passed over", heard.event)

        if heard.event != "INTERACTION_CREATE":
            await self._until_taken(handle)
            return
        try:
            await handle()
        except TransientError as error:
            # The platform waits three seconds and does not come again: better a plain no than silence.
            log.warning("discord: an interaction could not be taken: %s", error.message)
            self._interactions.acknowledge(heard.data, None)

    async def _until_taken(self, work: Callable[[], Awaitable[None]]) -> None:
        failures = 0
        while True:
            try:
                await work()
            except TransientError as error:
                failures += 1
                self._state.stored(f"what arrives cannot be taken in: {error.message}")
                await self._clock.sleep(RETRY.delay(failures, error.retry_after))
            else:
                self._state.stored(None)
                return

    async def _handle(self, heard: _Heard, inbox: Inbox) -> None:
        event, data = heard.event, heard.data
        match event:
            case "INTERACTION_CREATE":
                await self._interaction(data, inbox)
            case "READY":
                self._register.ready()
                await self._roster.begin(int(guild["id"]) for guild in data.get("guilds", ()))
                self._places.joined = self._register.threads()
                self._read_back(self._register.of_guild(0))
            case "GUILD_CREATE":
                await self._guild(data, inbox)
            case "RESUMED":
                # The gateway has repeated what was missed; where something is going on, history is asked as well.
                guilds = self._api.client.guilds if self._api.client is not None else ()
                for guild in (0, *(guild.id for guild in guilds)):
                    self._read_back(self._register.recent(self._register.of_guild(guild)))
                await self._roster.ask_again()
            case "GUILD_DELETE" if not data.get("unavailable"):
                self._roster.known(int(data["id"]))
                await self._gone(int(data["id"]), self._register.of_guild(int(data["id"])), inbox)
            case "CHANNEL_DELETE" | "THREAD_DELETE" if int(data["id"]) in self._register and "guild_id" in data:
                await self._gone(int(data["guild_id"]), (int(data["id"]),), inbox)
            case "GUILD_MEMBER_ADD" | "GUILD_MEMBER_REMOVE":
                await self._member(event, data, inbox)
            case _:
                pass

    # --- messages ---

    async def _take_messages(self, heard: Sequence[_Heard], inbox: Inbox) -> None:
        if heard:
            await self._until_taken(lambda: self._commit_messages(heard, inbox))

    async def _commit_messages(self, heard: Sequence[_Heard], inbox: Inbox) -> None:
        """Commit what these say, in one transaction, with the cursor of the last channel among them. The cursors of the
        others stay behind, which costs a repeated look after a restart and nothing else."""
        found: list[tuple[_Heard, Where, InboundEvent]] = []
        for one in heard:
            for where, event in await self._prepared(one):
                await self._use(where, event, inbox)
                found.append((one, where, event))
        if not found:
            return
        await self._register.save(inbox)
        created = [(where, int(one.data["id"])) for one, where, _ in found if one.event == "MESSAGE_CREATE"]
        moved = next(((w, n) for w, n in reversed(created) if self._register.cursor(w.channel, n) is not None), None)
        cursor = self._register.cursor(moved[0].channel, moved[1]) if moved is not None else None
        answers = await inbox.accept([event for _, _, event in found], cursor)
        if moved is not None:
            self._register.committed(moved[0].channel, moved[1])
        for (one, where, _), answer in zip(found, answers, strict=True):
            if answer is Accepted.NEW and one.event == "MESSAGE_CREATE" and where.guild is not None:
                # A room that opted in to more than what is said to the executive: to be heard is not to take part.
                self._enter(where.channel, where.guild, int(one.data["id"]), thread=where.ours)
        if created and not self._held and not self._roster.unknown:
            self._register.hear(max(number for _, number in created))
        await self._register.save(inbox)

    async def _prepared(self, heard: _Heard) -> list[tuple[Where, InboundEvent]]:
        event, data = heard.event, heard.data
        try:
            if event == "MESSAGE_UPDATE" and not data.get("edited_timestamp"):
                return []
            where = await self._where(data)
            if where is None:
                return []
            if heard.joined is not None:
                where = replace(where, ours=heard.joined or where.channel in self._places.joined)
            return [(where, each) for each in self._mapped(event, data, where)]
        except (AttributeError, KeyError, TypeError, ValueError):
            log.exception("discord: a %s cannot be read and is passed over", event)
            return []

    async def _where(self, data: Payload) -> Where | None:
        guild = int(data["guild_id"]) if data.get("guild_id") else None
        writer = data.get("author")
        mine = writer is not None and self._rules is not None and int(writer["id"]) == self._rules.me.id
        user = int(writer["id"]) if guild is None and writer is not None and not mine else None
        return await self._places.where(int(data["channel_id"]), guild, user)

    def _mapped(self, event: str, data: Payload, where: Where) -> tuple[InboundEvent, ...]:
        rules = self._rules
        if rules is None:
            return ()
        if event == "MESSAGE_CREATE":
            return mapping.message(data, where, rules, self._places.lookup)
        if event == "MESSAGE_UPDATE":
            return mapping.edited(data, where, rules, self._places.lookup)
        return mapping.deleted(data, where, self._clock.now())

    async def _use(self, where: Where, event: InboundEvent, inbox: Inbox) -> None:
        """Enter the channels of an event that concerns the executive into the register, before it is committed: its
        own, and the thread that its answer will open."""
        if not isinstance(event, MessageReceived | CommandInvoked):
            return
        if isinstance(event, MessageReceived) and event.addressed is Addressed.NOT:
            return
        number = int(event.keys[0].rpartition(":")[2])
        if where.guild is None:
            if not self._register.used_today(where.channel) and await inbox.is_known(event.sender.address):
                self._enter(where.channel, 0, number - 1, thread=False)
            return
        self._enter(where.channel, where.guild, number - 1, thread=where.parent is not None)
        opened = target_of(event.reply_path.thread).channel
        if opened is not None and opened != where.channel:
            self._enter(opened, where.guild, opened, thread=True)

    def _enter(self, channel: int, guild: int, since: int, *, thread: bool) -> None:
        if thread:
            self._places.joined.add(channel)
        self._register.enter(channel, guild, since, thread=thread)

    async def _interaction(self, data: Payload, inbox: Inbox) -> None:
        member = data.get("member")
        user = int((member["user"] if member else data["user"])["id"])
        guild = int(data["guild_id"]) if data.get("guild_id") else None
        where = await self._places.where(int(data["channel_id"]), guild, user)
        if where is None or self._rules is None:
            return
        events = presses.interaction(data, where)
        if not events:
            return
        self._interactions.received(data)
        if guild is None:
            await self._first_words(where.channel, user, inbox)
        await self._use(where, events[0], inbox)
        await self._register.save(inbox)
        answers = await inbox.accept(events)
        self._interactions.acknowledge(data, answers[0])

    # --- rooms ---

    async def _guild(self, data: Payload, inbox: Inbox) -> None:
        """A guild became known: read back what is in use there, and threads of ours that began while we were away."""
        if data.get("unavailable"):
            return
        guild = int(data["id"])
        last = {
            int(channel["id"]): int(channel.get("last_message_id") or 0)
            for channel in (*data.get("channels", ()), *data.get("threads", ()))
        }
        heard = self._register.heard()
        for thread in data.get("threads", ()):
            number = int(thread["id"])
            if "member" in thread and number > heard > 0 and number not in self._register:
                self._enter(number, guild, number - 1, thread=True)
        await self._register.save(inbox)
        self._roster.ask(guild)
        known = self._register.of_guild(guild)
        self._read_back([c for c in known if last.get(c) is None or last[c] > (self._register.position(c) or 0)])

    async def _take_people(self, listed: Listed, inbox: Inbox) -> None:
        if listed.session == self._roster.session:
            await self._until_taken(lambda: self._people(listed, inbox))

    async def _people(self, listed: Listed, inbox: Inbox) -> None:
        """Read back the private chats of a guild's members that are not in use yet."""
        heard = self._register.heard()
        opened, whole = await direct_channels(self._places, inbox, listed.users) if heard else ((), True)
        fresh = [channel for channel in opened if channel not in self._register]
        for channel in fresh:
            self._enter(channel, 0, heard, thread=False)
        await self._register.save(inbox)
        self._read_back(fresh)
        if whole:
            self._roster.known(listed.guild)

    async def _take_first_words(self, heard: _Heard, inbox: Inbox) -> None:
        user = str((heard.data.get("author") or {}).get("id"))
        if heard.event == "MESSAGE_CREATE" and not heard.data.get("guild_id") and user.isdigit():
            await self._until_taken(lambda: self._first_words(int(heard.data["channel_id"]), int(user), inbox))

    async def _first_words(self, channel: int, user: int, inbox: Inbox) -> None:
        """Somebody writes in a chat that is not in use, before it was looked at who wrote while we were away: perhaps
        they have, so the chat is read back before what they say now."""
        heard = self._register.heard()
        if not self._roster.unknown or not heard or channel in self._register:
            return
        if await inbox.is_known(str(user)):
            self._enter(channel, 0, heard, thread=False)
            await self._register.save(inbox)
            self._read_back((channel,))

    async def _gone(self, guild: int, channels: Sequence[int], inbox: Inbox) -> None:
        now = self._clock.now()
        for channel in channels:
            await inbox.accept([memberships.removed(guild, channel, now)])
        self._register.leave(channels)
        await self._register.save(inbox)

    async def _member(self, event: str, data: Payload, inbox: Inbox) -> None:
        if self._rules is None or int(data["user"]["id"]) == self._rules.me.id:
            return
        guild, user, now = int(data["guild_id"]), data["user"], self._clock.now()
        joined = event == "GUILD_MEMBER_ADD"
        change = Change.JOINED if joined else Change.LEFT
        events: dict[str, MembershipChanged] = {}
        for channel in self._register.of_guild(guild):
            where = await self._places.where(channel, guild, None)
            if (
                where is None
                or where.private
                or (joined and not self._places.sees(where.parent or channel, int(user["id"])))
            ):
                continue
            events.setdefault(
                where.place_key,
                memberships.member_changed(user, data if joined else None, change, where, self._rules.me, now),
            )
        if events:
            await inbox.accept(tuple(events.values()))

    # --- reading back ---

    def _read_back(self, channels: Iterable[int]) -> None:
        """From now on what comes live in these channels waits until they are through. One that is being read back
        already is read once more: its last page may have been made before what was missed now."""
        wanted = tuple(channels)
        self._once_more.update(channel for channel in wanted if channel in self._held)
        fresh = [channel for channel in wanted if channel not in self._held]
        self._held.update((channel, []) for channel in fresh)
        self._history.begin(fresh)

    async def _commit_page(self, channel: int, messages: Sequence[Payload]) -> bool:
        inbox, rules = self._inbox, self._rules
        if inbox is None or rules is None:
            return False
        direct = channel in self._register.of_guild(0)
        others = (number for one in messages if (number := int(one["author"]["id"])) != rules.me.id)
        user = next(others, None) if direct else None
        where = await self._places.where(channel, None if direct else 0, user)
        if where is None:
            return False
        events = [event for one in messages for event in self._foreseen(one, where)]
        for event in events:
            await self._use(where, event, inbox)
        await self._register.save(inbox)
        newest = int(messages[-1]["id"])
        await inbox.accept(events, self._register.cursor(channel, newest))
        self._register.committed(channel, newest)
        return True

    def _foreseen(self, message: Payload, where: Where) -> tuple[InboundEvent, ...]:
        try:
            return self._mapped("MESSAGE_CREATE", message, where)
        except (AttributeError, KeyError, TypeError, ValueError):
            log.exception("discord: message %s cannot be read and is passed over", message.get("id"))
            return ()
