"""Slash commands, message shortcuts, buttons and forms as events of the gateway; forms as Slack shows them. Pure."""

from __future__ import annotations

import json
from datetime import datetime

from bot.gateway.commands import parse
from bot.gateway.events import (
    Addressed,
    ButtonPressed,
    CommandInvoked,
    FormSubmitted,
    InboundEvent,
    MessageReceived,
    PlaceKind,
    ReplyPath,
    Thread,
)
from bot.gateway.forms import LONGEST_VALUE, Form
from bot.kernel.values import dataclass
from channels.slack.keys import Pressed, place_key, ref
from channels.slack.surroundings import Payload, Surroundings
from channels.slack.words import attachments_of, body_of, forwarded


@dataclass(frozen=True, slots=True)
class Interactions(Surroundings):
    """Raises `ValueError`, `KeyError`, `TypeError` or `AttributeError` on a shape that nobody foresaw."""

    def slash(self, body: Payload, now: datetime) -> tuple[InboundEvent, ...]:
        """A slash command. It has no message of its own and cannot be given in a thread, so it is answered where it
        was given; a first word that is none of the commands begins an ordinary message."""
        channel, user = str(body["channel_id"]), str(body["user_id"])
        text = str(body.get("text") or "").strip()
        key = f"slack:command:{body['trigger_id']}"
        thread = Thread(*[place_key(self.me.team, channel)] * 2)
        sender = self.person(user, str(body.get("user_name") or ""))
        path = ReplyPath(thread.key, user)
        place = self.place({"channel": channel})
        command = parse("/" + (text or "help").removeprefix("/"))
        if command is not None:
            return (
                CommandInvoked(
                    keys=(key,),
                    ref=None,
                    thread=thread,
                    place=place,
                    sender=sender,
                    name=command.name,
                    arguments=command.arguments,
                    sent_at=now,
                    reply_path=path,
                    response=_url(body),
                ),
            )
        addressed = Addressed.DIRECT if place.kind is PlaceKind.DIRECT else Addressed.MENTION
        return (
            MessageReceived(
                keys=(key,),
                ref=key,
                thread=thread,
                place=place,
                sender=sender,
                body=body_of({"text": text}, self.facts.name),
                sent_at=now,
                addressed=addressed,
                reply_path=path,
            ),
        )

    def shortcut(self, body: Payload, now: datetime) -> tuple[InboundEvent, ...]:
        """Somebody hands a message to the executive: it is answered in that message's thread, and none of its words
        are theirs."""
        message = body["message"]
        channel, user, ts = str(body["channel"]["id"]), str(body["user"]["id"]), str(body["message_ts"])
        text = forwarded(message, self.facts.name)
        attachments = attachments_of(message, self.limit)
        if not (text.text.strip() or attachments):
            return ()
        key = f"slack:shortcut:{body['trigger_id']}"
        root = str(message.get("thread_ts") or ts)
        direct = self.place({"channel": channel}).kind is PlaceKind.DIRECT
        thread = self.at(channel, None if direct and not message.get("thread_ts") else root)
        return (
            MessageReceived(
                keys=(key,),
                ref=key,
                thread=thread,
                place=self.place({"channel": channel}),
                sender=self.person(user, str(body["user"].get("username") or body["user"].get("name") or "")),
                body=text,
                sent_at=now,
                addressed=Addressed.DIRECT if direct else Addressed.MENTION,
                reply_path=ReplyPath(thread.key, user, ref(self.me.team, channel, ts)),
                attachments=attachments,
            ),
        )

    def press(self, body: Payload, now: datetime) -> tuple[InboundEvent, ...]:
        """One event for each button that was pressed; others than buttons are not ours."""
        container = body.get("container") or {}
        channel = str((body.get("channel") or {}).get("id") or container.get("channel_id") or "")
        ts = str(container.get("message_ts") or (body.get("message") or {}).get("ts") or "")
        if not channel or not ts:
            return ()
        root = container.get("thread_ts") or (body.get("message") or {}).get("thread_ts")
        return tuple(
            ButtonPressed(
                keys=(f"slack:press:{body['trigger_id']}:{action.get('action_id')}",),
                ref=ref(self.me.team, channel, ts),
                thread=self.at(channel, str(root) if root else None),
                place=self.place({"channel": channel}),
                sender=self.person(str(body["user"]["id"]), str(body["user"].get("username") or "")),
                token=str(action["value"]),
                pressed_at=now,
                response=_handle(body, channel, str(root or ""), ts),
            )
            for action in body.get("actions") or ()
            if action.get("type") == "button" and action.get("value")
        )

    def submit(self, body: Payload, now: datetime) -> tuple[InboundEvent, ...]:
        """A form of ours that was sent. Where its button stands went along with it."""
        view = body["view"]
        opened = json.loads(str(view.get("private_metadata") or "{}"))
        channel, root, ts = str(opened["channel"]), str(opened["root"]), str(opened["ts"])
        fields = ((view.get("state") or {}).get("values") or {}).values()
        values = tuple((str(name), str(one.get("value") or "")) for field in fields for name, one in field.items())
        return (
            FormSubmitted(
                keys=(f"slack:form:{view['id']}",),
                thread=self.at(channel, root or None),
                place=self.place({"channel": channel}),
                sender=self.person(str(body["user"]["id"]), str(body["user"].get("username") or "")),
                token=str(view["callback_id"]),
                values=values,
                submitted_at=now,
                response=str(opened.get("url") or "") or None,
                ref=ref(self.me.team, channel, ts),
            ),
        )


def where_opened(body: Payload) -> str:
    """The conversation in which the button of a sent form stands. Raises like `Interactions.submit`."""
    return str(json.loads(str(body["view"].get("private_metadata") or "{}"))["channel"])


def view(form: Form, pressed: Pressed) -> dict[str, object]:
    """A form as Slack shows it (Block Kit, modal)."""
    blocks = [
        {
            "type": "input",
            "block_id": field.name,
            "label": _plain(field.label),
            "element": {
                "type": "plain_text_input",
                "action_id": field.name,
                "multiline": field.long,
                "max_length": LONGEST_VALUE,
                **({"initial_value": field.value} if field.value else {}),
            },
        }
        for field in form.fields
    ]
    opened = {"channel": pressed.channel, "root": pressed.root, "ts": pressed.ts, "url": pressed.url}
    return {
        "type": "modal",
        "callback_id": form.token,
        "private_metadata": json.dumps(opened),
        "title": _plain(form.title),
        "submit": _plain("Send"),
        "close": _plain("Cancel"),
        "blocks": blocks,
    }


def _plain(text: str) -> dict[str, object]:
    return {"type": "plain_text", "text": text}


def _handle(body: Payload, channel: str, root: str, ts: str) -> str | None:
    url = _url(body)
    return None if url is None else str(Pressed(str(body["trigger_id"]), channel, root, ts, url))


def _url(body: Payload) -> str | None:
    return str(body["response_url"]) if body.get("response_url") else None
