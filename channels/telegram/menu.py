"""The list of commands that Telegram offers while somebody types a slash."""

from __future__ import annotations

import logging

from telegram import BotCommand
from telegram.error import TelegramError

from bot.gateway.commands import COMMANDS
from channels.telegram.client import Client

log = logging.getLogger(__name__)

MAX_SUMMARY = 256
"""Characters of a description (Bot API, BotCommand)."""


def commands() -> tuple[BotCommand, ...]:
    return tuple(BotCommand(command.name, command.summary[:MAX_SUMMARY]) for command in COMMANDS.values())


async def offer(client: Client) -> None:
    """Tell the platform our commands, if it has others. It goes without: a failure is only logged, and the next start
    tries again."""
    try:
        if tuple(await client.get_my_commands()) != commands():
            await client.set_my_commands(commands())
            log.info("telegram: the list of commands was set")
    except TelegramError as error:
        log.warning("telegram: the list of commands could not be set: %s", error.message)
