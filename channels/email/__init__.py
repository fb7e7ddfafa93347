"""Mail: one SMTP server for what comes in, a relay or a Maildir for what goes out.

`mime` reads a mail into plain values, `quote` says whose words each part is, `guards` why a mail must not be answered,
`dsn` what a bounce is about, `proof` whether the sender is who the header says, `mapping` turns all of it into one
inbound event; these are pure and never raise for what a stranger wrote. `compose` writes mail, `maildir` and `relay`
deliver it; `server` speaks SMTP and `adapter` ties them to the core. Nothing here decides who may speak: that is
intake's. Only the gateway, the kernel and the mail settings are seen from here.
"""

from __future__ import annotations

from bot.gateway.channel import ChannelContext
from channels.email.adapter import EmailChannel
from config.schema import Email


def build(settings: Email, context: ChannelContext, *, local_mode: bool | None = None) -> EmailChannel:
    """The mail channel. `local_mode`: the server is bound to loopback, there is no relay and no other network channel,
    so that roster senders `@localhost` are taken for who they say they are; None takes the context's word."""
    trusted = context.local_trust if local_mode is None else local_mode
    return EmailChannel(settings, context, local_mode=trusted)
