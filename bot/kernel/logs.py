"""Logs: one line per record on stderr, secrets masked at the sink.

Every secret that settings hold is registered once; wherever it would appear in a line, a traceback included, it is
replaced. Text of messages is not logged at all: lines carry ids.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime

MASK = "[secret]"

_SHAPES = re.compile(
    r"sk-ant-[A-Za-z0-9_\-]{8,}|\b\d{6,12}:[A-Za-z0-9_\-]{30,}\b|\bxox[abeprs]-[A-Za-z0-9\-]{10,}"
    r"|(?i:bearer)\s+[A-Za-z0-9._\-]{16,}"
)
"""Keys that are recognised by their shape even when nobody registered them: Anthropic, Telegram, Slack, bearer."""


class Redactor:
    """Replaces registered secrets and known key shapes. Values shorter than 6 characters are not registered:
    masking them would mask ordinary text."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = sorted({s for s in secrets if len(s) >= 6}, key=len, reverse=True)

    def clean(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return _SHAPES.sub(MASK, text)


class _Formatter(logging.Formatter):
    def __init__(self, redactor: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s %(message)s")
        self._redactor = redactor

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's name
        return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.clean(super().format(record))


def configure(level: str, redactor: Redactor) -> None:
    """Send everything at `level` and above to stderr; libraries that log requests with tokens start at WARNING."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter(redactor))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for noisy in (
        "httpx",
        "httpx2",
        "aiohttp",
        "discord",
        "slack_bolt",
        "slack_sdk",
        "chromadb",
        "httpcore",
        "httpcore2",
        "telegram",
        "mail.log",
        "aiosqlite",
        "uvicorn.access",
        "asyncio",
        "apscheduler",
        "rust-sugiyama",
        "connected_components",
    ):
        logging.getLogger(noisy).setLevel(logging.WARNING)
