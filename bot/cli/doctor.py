"""`openexecutive doctor`: checks every part that is configured and says how to mend each fault.

Exit code 0: nothing is broken (there may be warnings); 1: something is; 2: the settings themselves are wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from bot.cli.checks import machine, mail, services
from bot.cli.checks.finding import Finding, Level, warn
from bot.kernel.clock import SystemClock
from bot.kernel.logs import Redactor
from bot.kernel.values import dataclass
from config.charters import charters
from config.keys import secret_values
from config.loader import Loaded, SettingsError, load
from config.rules import local_mail_mode
from config.sources import CONTAINER_VARIABLE

OK, FAILED, WRONG = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Options:
    """`offline`: ask nobody outside of this machine. `timeout`: seconds for each wait on a far end."""

    offline: bool = False
    timeout: float = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--offline", action="store_true", help="look at this machine only; ask no server")
    parser.add_argument("--timeout", type=float, default=10.0, metavar="SECONDS", help="for each server (default: 10)")


def run(args: argparse.Namespace) -> int:
    """`args.config`, if the caller has such an option, names the settings file."""
    named: Path | None = getattr(args, "config", None)
    code, text = examine(os.environ, named, Path.cwd(), Options(args.offline, args.timeout))
    print(text)
    return code


def examine(environ: Mapping[str, str], file: Path | None, cwd: Path, options: Options) -> tuple[int, str]:
    """Exit code and report."""
    try:
        loaded = load(environ, file, cwd)
        charters(loaded.settings)  # files that the settings name
    except SettingsError as error:
        return WRONG, str(error)
    in_container = environ.get(CONTAINER_VARIABLE) == "1"
    findings = asyncio.run(diagnose(loaded, in_container, options, sdk(), SystemClock().now()))
    text = report(findings, min(shutil.get_terminal_size().columns, 100))
    code = FAILED if any(finding.level is Level.FAIL for finding in findings) else OK
    return code, Redactor(secret_values(loaded.settings)).clean(text)


def sdk() -> services.Known:
    """What the installed Anthropic SDK says of models; it is imported only if a check asks (it takes a second)."""

    def models() -> frozenset[str]:
        from bot.llm.anthropic import known_models

        return known_models()

    def retired() -> Mapping[str, str]:
        from bot.llm.anthropic import retired_models

        return retired_models()

    return services.Known(models, retired)


async def diagnose(
    loaded: Loaded, in_container: bool, options: Options, known: services.Known, now: datetime
) -> list[Finding]:
    """All findings, this machine first."""
    settings = loaded.settings
    zones = [settings.company.time_zone, *(person.time_zone for person in settings.roster.values())]
    found = [
        machine.python(),
        machine.sqlite(),
        machine.time_zones(zones),
        machine.clock(now),
        machine.settings_file(loaded),
    ]
    found += [warn(f"{w.key}: {w.problem}", w.where, w.allowed or "see docs/settings.md") for w in loaded.warnings]
    found += machine.data_folder(settings.data_dir)
    found += machine.ports(settings, machine.daemon_running(settings.data_dir))
    found += machine.certificate(settings)
    local_mode = local_mail_mode(settings, in_container)
    found += mail.provable(settings, local_mode)
    found += mail.outside(settings, local_mode)
    if options.offline:
        return found
    timeout = options.timeout
    found += await asyncio.to_thread(lambda: list(services.model(settings.llm, known, now, timeout)))
    found += await asyncio.to_thread(lambda: list(services.telegram(settings.channels.telegram, now, timeout)))
    if (email := settings.channels.email).enabled:
        token = await mail.access_token(email, settings.data_dir, SystemClock())
        if isinstance(token, Finding):
            found, token = [*found, token], None
        found += await services.relay(email.relay, timeout, token=token)
        found += await mail.mailbox(email, token, timeout)
    found += await asyncio.to_thread(lambda: list(services.sender_proof(settings, local_mode, timeout)))
    return found


def report(findings: Sequence[Finding], width: int) -> str:
    """Plain lines of at most `width` columns: the level, what was found, and below it where, and how to mend it."""
    lines: list[str] = []
    for finding in findings:
        lines += _wrapped(finding.what, f"{finding.level.value:<5} ", width)
        if finding.where and finding.level is not Level.OK:
            lines += _wrapped(finding.where, "      in: ", width)
        if finding.mend:
            lines += _wrapped(finding.mend, "      mend: ", width)
    count = Counter(finding.level for finding in findings)
    lines += ["", f"ok {count[Level.OK]}, warnings {count[Level.WARN]}, faults {count[Level.FAIL]}"]
    return "\n".join(lines)


def _wrapped(text: str, lead: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        max(width, 30),
        initial_indent=lead,
        subsequent_indent=" " * 8 if lead.startswith(" ") else " " * 6,
        break_long_words=False,
        break_on_hyphens=False,
    )
