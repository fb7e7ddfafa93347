"""The console's chat: one more channel, whose far end are pages of this daemon.

There is nothing to connect to and nothing to cut: a message comes in by a call of the page's server, and is sent once
its row of the outbox is written, since the page is drawn from these rows. Sending tells the pages that are open.

`mapping` (pure) knows the names of conversations and makes events, `listening` keeps who has a page open, `adapter`
ties them together. Only the gateway, the kernel and the settings are seen from here; `bot.web.console.chat` draws the
pages and is handed the channel as `bot.gateway.pages.Pages`.
"""

from __future__ import annotations

from bot.gateway.channel import ChannelContext
from channels.web.adapter import WebChannel
from config.schema import WebChat


def build(settings: WebChat, context: ChannelContext) -> WebChannel:
    return WebChannel(context, settings.max_upload)
