"""Events of the Events API as events of the gateway. Pure.

A mention comes twice, as `message` and as `app_mention`; both get the same keys, so whichever is accepted first is the
one turn. Without the app's own verified account (`Me`) nothing can be mapped.
"""

from __future__ import annotations

from bot.gateway.commands import typed
from bot.gateway.events import (
    Addressed,
    Change,
    CommandInvoked,
    InboundEvent,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    MessageReceived,
    Nature,
    PlaceKind,
    ReplyPath,
    Sender,
    SpanKind,
    Thread,
)
from bot.kernel.values import dataclass
from channels.slack.directory import Me
from channels.slack.keys import instant, place_key, ref, thread_key
from channels.slack.surroundings import Payload, Surroundings, partner
from channels.slack.words import attachments_of, body_of, markdown, mentions, without_mention

_SPOKEN = frozenset({None, "", "file_share", "me_message", "thread_broadcast", "reply_broadcast"})
"""Subtypes of `message` that are somebody's words (Slack, message event subtypes)."""
_GONE = frozenset({"channel_left", "group_left", "channel_deleted", "group_deleted"})


@dataclass(frozen=True, slots=True)
class Mapper(Surroundings):
    def event(self, event: Payload, event_id: str | None) -> tuple[InboundEvent, ...]:
        """Events of one inner event, in order; none for what does not concern the executive. `event_id` is None for
        what was read back. Raises `ValueError`, `KeyError`, `TypeError` or `AttributeError` on a shape that nobody
        foresaw."""
        keys = () if event_id is None else (f"slack:event:{event_id}",)
        kind = event.get("type")
        if kind in ("message", "app_mention"):
            match event.get("subtype"):
                case "message_changed":
                    return self._changed(event, keys)
                case "message_deleted":
                    return self._deleted(event, keys)
                case subtype if subtype in _SPOKEN:
                    return self._message(event, keys)
                case _:
                    return ()
        return self._membership(event, keys)

    def edit_of(self, message: Payload, channel: str) -> tuple[InboundEvent, ...]:
        """The edit of a message that was found while reading back."""
        return self._edit({**message, "channel": channel}, str(message["ts"]), ())

    def _message(self, event: Payload, keys: tuple[str, ...]) -> tuple[InboundEvent, ...]:
        sender = self._author(event)
        if sender is None:
            return ()
        channel, ts = str(event["channel"]), str(event["ts"])
        body = body_of(event, self.facts.name)
        attachments = attachments_of(event, self.limit)
        if not (body.text.strip() or attachments):
            return ()
        addressed = self._addressed(event)
        thread = self._thread(event, addressed)
        own_ref = ref(self.me.team, channel, ts)
        path = ReplyPath(thread.key, sender.address, own_ref)
        place = self.place(event)
        command = self._command(event) if addressed is not Addressed.NOT else None
        if command is not None:
            name, arguments = command
            return (
                CommandInvoked(
                    keys=(*keys, own_ref),
                    ref=own_ref,
                    thread=thread,
                    place=place,
                    sender=sender,
                    name=name,
                    arguments=arguments,
                    sent_at=instant(ts),
                    reply_path=path,
                ),
            )
        return (
            MessageReceived(
                keys=(*keys, own_ref),
                ref=own_ref,
                thread=thread,
                place=place,
                sender=sender,
                body=body,
                sent_at=instant(ts),
                addressed=addressed,
                reply_path=path,
                attachments=attachments,
            ),
        )

    def _command(self, event: Payload) -> tuple[str, str] | None:
        """A command in the sender's own words, at the start or behind our name."""
        words = without_mention(str(event.get("text") or ""), self.me.user)
        own = body_of({"text": words}, self.facts.name)
        if own.spans and own.spans[0].kind is not SpanKind.OWN:
            return None
        found = typed(own.own())
        return None if found is None or found.bot is not None else (found.name, found.arguments)

    def _changed(self, event: Payload, keys: tuple[str, ...]) -> tuple[InboundEvent, ...]:
        """An edit by a person. Link previews, thread counts and our own growing answers change messages too: there the
        words stay and nothing new is stamped."""
        after, before = event["message"], event.get("previous_message") or {}
        channel = str(event["channel"])
        if after.get("subtype") == "tombstone":  # the root of a thread was deleted, the thread stays
            return self._deleted({**event, "deleted_ts": after["ts"], "previous_message": before}, keys)
        edited = (after.get("edited") or {}).get("ts")
        same_words = after.get("text") == before.get("text")
        if same_words and edited == (before.get("edited") or {}).get("ts"):
            return ()
        return self._edit(
            {"channel_type": event.get("channel_type"), **after, "channel": channel}, str(event["ts"]), keys
        )

    def _edit(self, message: Payload, at: str, keys: tuple[str, ...]) -> tuple[InboundEvent, ...]:
        sender = self._author(message)
        if sender is None or message.get("subtype") not in _SPOKEN:
            return ()
        stamped = str((message.get("edited") or {}).get("ts") or at)
        addressed = self._addressed(message)
        thread = self._thread(message, addressed)
        own_ref = ref(self.me.team, str(message["channel"]), str(message["ts"]))
        return (
            MessageEdited(
                keys=(*keys, f"{own_ref}:{stamped}"),
                ref=own_ref,
                thread=thread,
                place=self.place(message),
                sender=sender,
                body=body_of(message, self.facts.name),
                edited_at=instant(stamped),
                addressed=addressed,
                reply_path=ReplyPath(thread.key, sender.address, own_ref),
            ),
        )

    def _deleted(self, event: Payload, keys: tuple[str, ...]) -> tuple[InboundEvent, ...]:
        before = event.get("previous_message") or {}
        if self._is_own(before):
            return ()
        channel, ts = str(event["channel"]), str(event["deleted_ts"])
        root = before.get("thread_ts")
        own_ref = ref(self.me.team, channel, ts)
        return (
            MessageDeleted(
                keys=(*keys, f"{own_ref}:deleted"),
                ref=own_ref,
                thread=Thread(
                    thread_key(self.me.team, channel, str(root) if root else None), place_key(self.me.team, channel)
                ),
                deleted_at=instant(str(event.get("event_ts") or event["ts"])),
            ),
        )

    def _membership(self, event: Payload, keys: tuple[str, ...]) -> tuple[InboundEvent, ...]:
        kind = event.get("type")
        channel = event.get("channel")
        if not isinstance(channel, str) or not channel:
            return ()
        user = str(event.get("user") or "")
        if kind in _GONE or (kind == "member_left_channel" and user == self.me.user):
            return (self._shift(event, keys, Change.REMOVED, None),)
        if kind in ("member_joined_channel", "member_left_channel"):
            who = None if user == self.me.user else self.person(user)
            change = Change.JOINED if kind == "member_joined_channel" else Change.LEFT
            return (self._shift(event, keys, change, who),)
        if kind == "channel_shared":
            return (self._shift(event, keys, Change.JOINED, partner(str(event.get("connected_team_id") or ""))),)
        if kind == "channel_unshared":
            left = partner(str(event.get("previously_connected_team_id") or ""))
            return (self._shift(event, keys, Change.LEFT, left),)
        return ()

    def _shift(self, event: Payload, keys: tuple[str, ...], change: Change, who: Sender | None) -> MembershipChanged:
        channel = str(event["channel"])
        return MembershipChanged(
            keys=keys or (f"slack:member:{channel}:{who.address if who else ''}:{change}:{event.get('event_ts')}",),
            place_key=place_key(self.me.team, channel),
            place=self.place(event),
            change=change,
            at=instant(str(event["event_ts"])),
            who=who,
        )

    # --- parts -----------------------------------------------------------------------------------------------------

    def _addressed(self, event: Payload) -> Addressed:
        """Why the executive is spoken to. A group conversation is a room like any other: it has to be named there."""
        channel = str(event["channel"])
        if self.kind(event) is PlaceKind.DIRECT:
            return Addressed.DIRECT
        if event.get("type") == "app_mention" or mentions(str(event.get("text") or ""), self.me.user):
            return Addressed.MENTION
        root = event.get("thread_ts")
        if not root or root == event.get("ts"):
            return Addressed.NOT
        ours = event.get("parent_user_id") == self.me.user or self.facts.is_ours(channel, str(root))
        return Addressed.THREAD if ours else Addressed.NOT

    def _thread(self, event: Payload, addressed: Addressed) -> Thread:
        """The real thread, by its root. Only in a channel, and only for what is answered, a message without a thread
        becomes the root of one; in a direct conversation it is answered in the open."""
        root = event.get("thread_ts")
        if not root and self.kind(event) is not PlaceKind.DIRECT and addressed is not Addressed.NOT:
            root = event["ts"]
        return self.at(str(event["channel"]), str(root) if root else None)

    def _is_own(self, message: Payload) -> bool:
        return message.get("user") == self.me.user or bool(self.me.bot and message.get("bot_id") == self.me.bot)

    def _author(self, message: Payload) -> Sender | None:
        """The person who wrote a message; None for ourselves, for apps and bots, and for nobody."""
        user = str(message.get("user") or "")
        if not user or user == "USLACKBOT" or self._is_own(message) or message.get("bot_id"):
            return None
        sender = self.person(user)
        return None if sender.nature is Nature.BOT else sender


def title_of(text: str, me: Me) -> str:
    """A short title for a conversation that begins with `text`."""
    words = " ".join(markdown(without_mention(text, me.user), lambda user: None).split())
    return words[:60] + ("…" if len(words) > 60 else "")
