"""From settings to a connection that is logged in."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable

from bot.kernel.errors import PermanentError
from channels.email.imap_client import ImapClient
from config.schema import Email

ROOM = 1_000_000
"""Bytes by which a message may be larger than its server said."""


async def log_in(
    settings: Email, access_token: Callable[[], Awaitable[str]], tls: ssl.SSLContext | None = None
) -> ImapClient:
    """Connect and log in. `tls`: trust to use instead of the system's. The caller closes the connection. Raises
    `LostError`, `LoginRefusedError`, `RefusedError`, or what `access_token` raises."""
    imap = settings.imap
    if imap.host is None:
        raise PermanentError("channels.email.imap.host is not set")
    token = await access_token() if imap.auth == "oauth" else None
    client = await ImapClient.connect(imap.host, imap.port, imap.security, imap.timeout, imap.max_size + ROOM, tls)
    username = imap.username or settings.address
    try:
        if token is not None:
            await client.login_by_token(username, token)
        else:
            await client.login(username, imap.password.get_secret_value() if imap.password is not None else "")
    except BaseException:
        await client.close()
        raise
    return client
