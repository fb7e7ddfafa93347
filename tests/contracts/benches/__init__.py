"""Far ends of all platforms, driven as their people drive them, on top of the servers of `tests.fakes`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.contracts.bench import FarEnd
from tests.contracts.benches.discord import DiscordEnd
from tests.contracts.benches.email import MaildirEnd, RelayEnd
from tests.contracts.benches.slack import SlackEnd
from tests.contracts.benches.telegram import TelegramEnd
from tests.contracts.benches.terminal import TerminalEnd
from tests.contracts.benches.web import WebEnd

FAR_ENDS: dict[str, Callable[[Path], FarEnd]] = {
    "telegram": lambda _: TelegramEnd(),
    "discord": lambda _: DiscordEnd(),
    "slack": lambda _: SlackEnd(),
    "email": lambda _: RelayEnd(),
    "maildir": lambda data: MaildirEnd(data),
    "terminal": lambda _: TerminalEnd(),
    "web": lambda _: WebEnd(),
}
"""By name; made for the data folder of the adapter that they meet."""
