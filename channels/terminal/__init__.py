"""The terminal of this machine's own account, over the daemon's socket: one more channel.

A client opens a connection with `{"op": "chat", "thread": "main", "client": <id of its process>, "shown": [<key>...]}`
and gets `{"type": "hello", ...}`. From then on, one JSON object a line:

- client: `say` (id, text), `ack` (key);
- daemon: `accepted` (id; it is durable), `not_taken` (id; say it again later), `refused` (id, message), `draft` (turn,
  text so far or null), `message` (key, text, re: the id it answers, alone: whether it answers only that one).

Nothing is lost or doubled: a client says again under the same id what was not accepted, shows a key once, acknowledges
it after it was shown, and tells on every new connection which keys it has shown. A thread is named by the client; whom
it speaks for is set. `mapping` and `render` are pure, `attached` keeps who is connected, `adapter` ties them together.
Only the gateway, the kernel and the terminal's settings are seen from here.
"""

from __future__ import annotations

from bot.gateway.channel import ChannelContext
from channels.terminal.adapter import TerminalChannel
from config.schema import Terminal


def build(settings: Terminal, context: ChannelContext) -> TerminalChannel:
    """The channel for `context.local_person`, who is called by their id there."""
    return TerminalChannel(context, settings.person or context.local_person)
