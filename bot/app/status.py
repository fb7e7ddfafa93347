"""What the daemon says of itself, in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from bot.gateway.channel import Health

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
