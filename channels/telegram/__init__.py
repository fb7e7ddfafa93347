"""Telegram, by the Bot API: long poll or webhook in, messages, files, buttons and drafts out.

`mapping` and `content` turn updates into events, `render` a reply into messages (both pure); `poll` and `webhook`
receive, `send` and `drafts` carry out, `errors` says the library's failures in our two kinds, `adapter` is the channel.
Nobody imports this package; `bot.app` finds `build` by the channel's name, and the library is loaded only then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.gateway.channel import Channel, ChannelContext
    from config.schema import Telegram


def build(settings: Telegram, context: ChannelContext) -> Channel:
    """The channel, not yet connected. `settings.token` must be set."""
    from bot.kernel.imports import without

    # Those of the command line of httpx, and what would decrypt passports: 8 MB.
    with without("click", "pygments", "rich", "cryptography"):
        from channels.telegram import adapter

    return adapter.Telegram(settings, context)
