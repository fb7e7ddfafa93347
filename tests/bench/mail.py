"""The first mail to a daemon that is just being started, and its answer in the Maildir."""

from __future__ import annotations

import asyncio
import smtplib
import time
from email.message import EmailMessage
from pathlib import Path

PATIENCE = 60.0
LOOK = 0.002


async def first_answer(port: int, maildir: Path) -> float:
    """Send a mail as soon as `port` takes one; returns when its answer lay in the Maildir (`time.monotonic()`)."""
    async with asyncio.timeout(PATIENCE):
        while not await asyncio.to_thread(_send, port):  # noqa: ASYNC110 - another process rings no bell
            await asyncio.sleep(LOOK)
        while not any((maildir / "new").glob("*")):  # noqa: ASYNC110 - nor does a folder
            await asyncio.sleep(LOOK)
        return time.monotonic()


def _send(port: int) -> bool:
    """False if nobody listens yet."""
    mail = EmailMessage()
    mail["From"] = "principal@localhost"
    mail["To"] = "executive@localhost"
    mail["Subject"] = "Hello"
    mail["Message-ID"] = "<first@bench.example>"
    mail.set_content("hello")
    try:
        with smtplib.SMTP("127.0.0.1", port) as server:
            server.send_message(mail)
    except ConnectionRefusedError:
        return False
    return True
