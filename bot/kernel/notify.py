"""Tells the service manager how the daemon is, by systemd's protocol (sd_notify(3)): `READY=1`, `STOPPING=1`,
`WATCHDOG=1`, `STATUS=...`. Without a `NOTIFY_SOCKET` there is nobody to tell."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from datetime import timedelta


def notify(environ: Mapping[str, str], message: str) -> bool:
    """Send `message` (one or more `NAME=value` lines) to `NOTIFY_SOCKET`. True if it was sent. A manager that cannot
    be reached is not worth a failure: the state that counts is in the daemon, not in its report."""
    address = environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):  # sd_notify(3): other kinds of sockets are for virtual machines
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as sender:
            sender.sendto(message.encode(), address)
    except OSError:
        return False
    return True


def watchdog_interval(environ: Mapping[str, str], pid: int) -> timedelta | None:
    """How often `WATCHDOG=1` is due: half of `WATCHDOG_USEC`, as sd_watchdog_enabled(3) recommends. None if the
    manager does not watch this process."""
    text = environ.get("WATCHDOG_USEC", "")
    if not text.isascii() or not text.isdigit() or int(text) == 0 or environ.get("WATCHDOG_PID", str(pid)) != str(pid):
        return None
    return timedelta(microseconds=int(text) / 2)
