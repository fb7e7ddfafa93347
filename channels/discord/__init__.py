"""Discord, by its gateway and REST API (v10): messages, threads, slash commands, buttons and files both ways.

`content` and `mapping` turn payloads into events, `render` a reply into messages (all pure); `link` keeps the gateway,
`receive` commits what it brings, `readback` fetches what it missed; `send`, `drafts` and `interactions` carry out,
`errors` says the platform's failures in our two kinds, `places` knows the rooms, `adapter` is the channel.
Nobody imports this package; `bot.app` finds `build` by the channel's name, and the library is loaded only then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.gateway.channel import Channel, ChannelContext
    from config.schema import Discord


def build(settings: Discord, context: ChannelContext) -> Channel:
    """The channel, not yet connected. `settings.token` must be set."""
    from channels.discord import adapter

    return adapter.Discord(settings, context)
