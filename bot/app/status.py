"""What the daemon says of itself, as facts and in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from bot.app.rooms import VERSION, Rooms
from bot.gateway.channel import Health
from bot.intake import store as inbox_store
from bot.outbox import store as outbox_store
from bot.tasks import store as task_store

STARTS_WITHIN = timedelta(minutes=1)
"""A channel that has not said a word by then is in trouble, and not starting."""


def in_a_word(sound: bool, channels: Collection[Health], uptime: timedelta) -> str:
    """`ok`, `starting` or `degraded`. `sound`: everything besides the channels is well."""
    lame = [health for health in channels if not (health.receiving and health.sending)]
    if sound and not lame:
        return "ok"
    if sound and uptime < STARTS_WITHIN and all(health.starting for health in lame):
        return "starting"
    return "degraded"


def describe(status: Mapping[str, Any]) -> str:
    """The status in words, for a chat."""
    model = status["model"]
    head = [
        f"Version {status['version']}, up for {timedelta(seconds=status['uptime_seconds'])}.",
        f"Model: {model['provider']}" + ("." if model["ok"] else f", not available: {model['reason']}."),
    ]
    channels = [
        f"- {name}: " + ("receives" if channel["receiving"] else f"does not receive: {channel['reason']}")
        for name, channel in status["channels"].items()
    ]
    parked = status["outbox"].get("parked", 0)
    waiting = sum(number for state, number in status["outbox"].items() if state != "parked")
    tail = f"Messages being sent or waiting to be sent: {waiting}; parked: {parked}."
    return "\n\n".join(("\n".join(head), "\n".join(channels), tail))


async def told(rooms: Rooms) -> dict[str, Any]:
    """What the daemon tells about itself. No message's text, no secret."""
    now = rooms.store.clock.now()
    model, trouble = rooms.model.health(), rooms.store.database.trouble
    outbox_counts = await rooms.store.database.read(outbox_store.counts)
    yesterday = now - timedelta(days=1)
    inbox_counts = await rooms.store.database.read(lambda c: inbox_store.counts(c, yesterday), long=True)
    uptime = rooms.store.clock.monotonic() - rooms.started
    channels = {}
    healths = {name: channel.health() for name, channel in rooms.channels.items()}
    for name, health in healths.items():
        channels[name] = {
            "receiving": health.receiving,
            "sending": health.sending,
            "reason": health.reason,
            "where": health.where,
        }
    return {
        "status": in_a_word(model.ok and trouble is None, healths.values(), timedelta(seconds=uptime)),
        "version": VERSION,
        "boot": rooms.boot,
        "uptime_seconds": round(uptime),
        "store": {
            "ok": trouble is None,
            "reason": trouble,
            "audit_rows": rooms.store.recorder.head.id,
        },
        "model": {"provider": rooms.model.provider, "ok": model.ok, "reason": model.reason},
        "channels": channels,
        "inbox_last_day": inbox_counts,
        "outbox": outbox_counts,
        "knowledge": await rooms.knowledge.status(rooms.store),
        "tasks": await rooms.store.database.read(task_store.counts),
        "tasks_in_trouble": await rooms.store.database.read(task_store.trouble),
        "lanes": rooms.lanes.active,
    }
