"""What the daemon says of itself, in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any


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
