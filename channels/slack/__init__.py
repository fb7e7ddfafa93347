"""Slack, by an app of your own in Socket Mode: mentions, direct messages, threads, commands and buttons in; messages
that grow, files and questions out.

`mapping`, `interactions` and `words` turn payloads into events, `render` a reply into messages (all pure); `link` holds
the one socket, `receive` dispatches through slack-bolt and commits before it acknowledges, `catchup` reads back what a
gap swallowed, `send`, `find` and `drafts` carry out and look up, `errors` says the library's failures in our two kinds,
`manifest` is what the app must be allowed, `adapter` the channel. Nobody imports this package; `bot.app` finds `build`
by the channel's name, and the library is loaded only then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.gateway.channel import Channel, ChannelContext
    from config.schema import Slack


def build(settings: Slack, context: ChannelContext) -> Channel:
    """The channel, not yet connected. `settings.bot_token` and `settings.app_token` must be set."""
    from channels.slack import adapter

    return adapter.Slack(settings, context)
