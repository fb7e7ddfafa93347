"""Mail that comes in from a mailbox.

A message counts as taken when `Inbox.accept` has committed it together with how far the mailbox was read; only then is
it moved to another folder. A crash in between leaves it where it was: the next start moves it. Whether somebody has
read a message (\\Seen) plays no part. After a change of UIDVALIDITY the folder is read again from the day of the first
start, and what was taken before is recognised by its own identity.

Mail of people whom the core does not admit is audited and moved like all other: a mailbox has no way to refuse it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, timedelta

from bot.gateway.channel import ChannelContext, Cursor, Health, Inbox
from bot.kernel.errors import OpenExecutiveError
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Bug, attempt
from channels.email import fields, proof
from channels.email.imap_client import Facts, ImapClient, LoginRefusedError, LostError, RefusedError
from channels.email.imap_login import log_in
from channels.email.imap_place import EVER, Place, search_since
from channels.email.reading import Reader
from channels.email.resolver import DnsFailure
from config.schema import Email

log = logging.getLogger(__name__)

IDLE = timedelta(minutes=9)
"""RFC 2177: a client renews IDLE every 29 minutes at the latest; many routers forget a silent connection sooner."""
PUT_OFF = timedelta(minutes=5)
"""Between tries of messages whose sender could not be proven because DNS did not answer."""
GIVE_UP = timedelta(days=1)
"""After that such a sender is unproven."""
BATCH = 200


class Mailbox:
    def __init__(
        self, settings: Email, context: ChannelContext, reader: Reader, access_token: Callable[[], Awaitable[str]]
    ) -> None:
        self._settings = settings.imap
        self._all = settings
        self._context = context
        self._reader = reader
        self._access_token = access_token
        self._where = f"{settings.imap.username or settings.address} at {settings.imap.host}, {settings.imap.folder}"
        self._cursor = f"imap:{settings.imap.host}:{settings.imap.username or settings.address}:{settings.imap.folder}"
        self._attempt = 0
        self._again_at = context.clock.now()
        self.health = Health(False, "the mailbox was not opened yet")

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled."""
        backoff = Backoff()
        while True:
            try:
                await self._session(inbox)
            except OpenExecutiveError as error:
                self._attempt += 1
                self._down(self._explained(error))
            await self._context.clock.sleep(backoff.delay(self._attempt))

    def _down(self, reason: str) -> None:
        if self.health.reason != reason:
            log.warning("%s", reason)
            self.health = Health(False, reason, self._context.clock.now(), self._where)

    def _explained(self, error: OpenExecutiveError) -> str:
        if isinstance(error, LoginRefusedError):
            check = "password" if self._settings.auth == "password" else "oauth, and run `openexecutive mail login`"
            return f"{error.message}: check channels.email.imap.username and {check}"
        return error.message

    async def _session(self, inbox: Inbox) -> None:
        """One connection, until it breaks."""
        client = await log_in(self._all, self._access_token)
        try:
            selected = await client.select(self._settings.folder)
            place = await self._begin(client, inbox, selected.validity, selected.next_uid)
            await self._move_leftovers(client, place)
            if not self.health.receiving:
                log.info("reading the mailbox %s", self._where)
            self.health = Health(True, None, self._context.clock.now(), self._where)
            self._context.ready()
            while True:
                place = await self._take_all(client, inbox, place)
                self._attempt = 0
                await self._wait(client, place)
        finally:
            await client.close()

    async def _begin(self, client: ImapClient, inbox: Inbox, validity: int, next_uid: int | None) -> Place:
        """Where to go on. The place of the first start is committed at once: mail that comes during the next downtime
        is not taken for old mail."""
        stored = await inbox.cursor(self._cursor)
        place = None if stored is None else Place.load(stored)
        if place is not None and place.validity == validity:
            return place
        present = await client.search("ALL") if next_uid is None else ()
        last = max(present, default=0) if next_uid is None else next_uid - 1
        if place is None:
            old, since = (last, self._context.clock.now()) if self._settings.only_new else (0, EVER)
            fresh = Place(validity, old, old, since)
        else:
            log.warning("the mailbox %s was rebuilt by its server: reading it again", self._where)
            fresh = Place(validity, last, last, place.since)
            failed = await self._read_again(client, inbox, place, last)
            fresh = replace(fresh, later=failed)
        await inbox.accept([], Cursor(self._cursor, fresh.dump()))
        return fresh

    async def _read_again(self, client: ImapClient, inbox: Inbox, old: Place, last: int) -> tuple[int, ...]:
        """Everything since the first start, under UIDs that are not stored until it is done: after a crash it is done
        again, and nothing is taken twice. Returns what could not be taken yet."""
        key = "ALL" if old.since == EVER else search_since((old.since - timedelta(days=1)).date())
        found = [uid for uid in await client.search(key) if uid <= last]
        put_off = []
        for start in range(0, len(found), BATCH):
            for facts in await client.facts(found[start : start + BATCH]):
                old_mail = facts.arrived is not None and facts.arrived < old.since
                if not old_mail and not await self._take(client, inbox, facts, None):
                    put_off.append(facts.uid)
        return tuple(put_off)

    async def _move_leftovers(self, client: ImapClient, place: Place) -> None:
        """Taken before a crash, and not moved any more."""
        if self._settings.processed is None or place.uid <= place.floor:
            return
        for uid in await client.search(f"UID {place.floor + 1}:{place.uid}"):
            if place.floor < uid <= place.uid and uid not in place.later:
                await self._put_away(client, uid)

    async def _take_all(self, client: ImapClient, inbox: Inbox, place: Place) -> Place:
        """What is new, then what was put off."""
        while True:
            client.changed = False
            new = [uid for uid in await client.search(f"UID {place.uid + 1}:*") if uid > place.uid]
            if not new:
                break
            for facts in await client.facts(new[:BATCH]):
                after = await self._try(client, inbox, facts, place)
                if after is None:
                    return place
                place = after
            place = place.past(new[:BATCH][-1])  # the last ones may have vanished meanwhile
        if not place.later or self._context.clock.now() < self._again_at:
            return place
        still = await client.facts(place.later)
        place = place.without(set(place.later) - {facts.uid for facts in still})
        for facts in still:
            if client.changed:
                return place  # new mail does not wait for old
            place = await self._try(client, inbox, facts, place) or place
        self._again_at = self._context.clock.now() + PUT_OFF
        return place

    async def _try(self, client: ImapClient, inbox: Inbox, facts: Facts, place: Place) -> Place | None:
        """One message; None if nothing may follow it yet."""
        after = place.after(facts.uid)
        return after if await self._take(client, inbox, facts, after) else place.put_off(facts.uid)

    async def _take(self, client: ImapClient, inbox: Inbox, facts: Facts, after: Place | None) -> bool:
        """Whether it is done with. It is not while its sender's DNS does not answer, or if it cannot be read by a fault
        of ours: then it stays, and is tried again later. Raises `TransientError` if the store cannot take it."""
        too_large = facts.size > self._settings.max_size
        raw = await client.fetch(facts.uid, header_only=too_large)
        if raw is None:
            return True
        now = self._context.clock.now()
        arrived = now if facts.arrived is None else min(facts.arrived.astimezone(UTC), now)
        envelope = proof.Envelope("", "", return_path(raw), (), arrived, proof.Via.MAILBOX)
        reading = self._reader.read(
            raw,
            envelope,
            inbox,
            left_out=facts.size if too_large else None,
            wait_for_dns=now - arrived < GIVE_UP,
        )
        try:
            event = await attempt(reading, "reading a mail")
        except DnsFailure as error:
            log.warning("a message is put off: %s", error.message)
            return False
        if isinstance(event, Bug):
            return False
        await inbox.accept([event], None if after is None else Cursor(self._cursor, after.dump()))
        await self._put_away(client, facts.uid)
        return True

    async def _put_away(self, client: ImapClient, uid: int) -> None:
        """That it stays where it is does no harm: it is known."""
        folder = self._settings.processed
        if folder is None:
            return
        try:
            await client.move(uid, folder)
        except RefusedError as error:
            log.warning("a message was taken, but not moved to %s: %s", folder, error.message)

    async def _wait(self, client: ImapClient, place: Place) -> None:
        """Until there may be something new."""
        if client.changed:
            return
        clock = self._context.clock
        if "IDLE" in client.capabilities:
            try:
                await client.idle(clock.sleep(PUT_OFF if place.later else IDLE))
            except RefusedError as error:
                raise LostError(error.message) from error
        else:
            await clock.sleep(self._settings.poll)
            await client.noop()


def return_path(raw: bytes) -> str:
    """The envelope's sender, as the delivering server wrote it (RFC 5321 s4.4): the topmost Return-Path. Without one
    nothing is known, which is not the null sender."""
    for name, value in fields.split(raw):
        if name == "return-path":
            match = re.search(r"<([^<>]*)>", value)
            return match[1] if match else value.strip()
    return "unknown"
