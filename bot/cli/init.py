"""`openexecutive init`: asks a few questions and writes a commented settings file, readable by its owner only.

With `--yes` nothing is asked: what the flags do not say stays at its default. Keys and tokens are never arguments
(arguments stand in the process list and in the shell's history): they are asked for without echo, or read from a file.
"""

from __future__ import annotations

import argparse
import getpass
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from bot.cli.checks import mail
from bot.cli.checks.finding import Finding
from bot.company import model
from bot.kernel.values import dataclass
from config.document import render_toml
from config.loader import Loaded, SettingsError, load
from config.rules import local_mail_mode
from config.schema import Llm, Models, Settings
from config.sources import CONFIG_VARIABLE, CONTAINER_VARIABLE, FILE_NAME
from config.upkeep import Budget

OK, FAILED, WRONG = 0, 1, 2


class Ask(Protocol):
    """How questions reach the person; EOFError when there is nobody to answer."""

    def line(self, question: str) -> str: ...

    def secret(self, question: str) -> str:
        """Like `line`, without echo."""
        ...

    def say(self, text: str) -> None: ...


class TerminalAsk:
    def line(self, question: str) -> str:
        return input(question)

    def secret(self, question: str) -> str:
        if not sys.stdin.isatty():  # getpass would fall back to an echoing read, with a warning
            return sys.stdin.readline().rstrip("\n")
        return getpass.getpass(question)

    def say(self, text: str) -> None:
        print(text)


@dataclass(frozen=True, slots=True)
class Answers:
    """What was answered; None leaves the default."""

    company: str | None = None
    business: str | None = None
    time_zone: str | None = None
    principal_name: str | None = None
    principal_email: str | None = None
    telegram_id: int | None = None
    telegram_token: str | None = None
    provider: str | None = None
    api_key: str | None = None
    base_url: str | None = None
    data_dir: Path | None = None


PROFILE = "company.toml"


class InitError(Exception):
    """Nothing was written; the text says why and what to do."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--file", type=Path, help=f"file to write (default: {FILE_NAME} in this folder)")
    parser.add_argument("--force", action="store_true", help="replace the file if there is one")
    parser.add_argument("--yes", action="store_true", help="ask nothing; what is not said here stays at its default")
    parser.add_argument("--company", help="the company's name")
    parser.add_argument("--business", help="what the company does, in a sentence: begins its profile")
    parser.add_argument("--time-zone", help="the company's time zone, for example Europe/Berlin")
    parser.add_argument("--principal-name", help="name of the person who decides")
    parser.add_argument("--principal-email", help="mail address of that person")
    parser.add_argument("--telegram-id", type=int, help="numeric Telegram user id of that person")
    parser.add_argument("--telegram-token-file", type=Path, help="file that holds the bot's token; turns Telegram on")
    parser.add_argument("--provider", choices=("auto", "anthropic", "offline"), help="who writes the answers")
    parser.add_argument("--api-key-file", type=Path, help="file that holds the Anthropic key")
    parser.add_argument("--base-url", help="another server that speaks the Messages API")
    parser.add_argument("--data-dir", type=Path, help="folder of everything the daemon keeps")


def run(args: argparse.Namespace) -> int:
    """0 written, 1 not written, 2 what was said is not allowed."""
    return initialise(args, TerminalAsk(), os.environ, Path.cwd())


def initialise(args: argparse.Namespace, ask: Ask, environ: Mapping[str, str], cwd: Path) -> int:
    target = _target(args, environ, cwd)
    try:
        _refuse_to_replace(target, args.force)
        answers = _flags(args)
        if not args.yes:
            answers = _questions(answers, ask)
        text = render_toml(choices(answers))
        written: list[Loaded] = []
        write_private(target, text, replace=args.force, check=lambda file: written.append(_check(file, cwd)))
    except EOFError:
        ask.say("\nNobody answers here. Say --yes and give the answers as flags (`openexecutive init --help`).")
        return WRONG
    except SettingsError as error:
        ask.say(f"Nothing was written: {error}")
        return WRONG
    except InitError as error:
        ask.say(str(error))
        return FAILED
    except OSError as error:
        ask.say(f"{target} cannot be written: {error.strerror}")
        return FAILED
    for finding in _of_mail(written[0].settings, environ):
        ask.say(f"Note: {finding.what}. To mend it, {finding.mend} ({finding.where}).\n")
    ask.say(_farewell(target, answers, environ, cwd))
    if answers.business:
        ask.say(_begin_profile(target.parent / PROFILE, answers.company, answers.business, force=args.force))
    return OK


def _begin_profile(file: Path, company: str | None, business: str, *, force: bool) -> str:
    """Write the first fields of the company's profile beside the settings; what is said of it."""
    import_it = f"\nOnce it runs, `openexecutive company import {file.name}` tells the executive what is in {file}."
    if file.exists() and not force:
        return f"\n{file} is there already and stays as it is. {import_it.strip()}"
    try:
        told = {"name": company or "", "business": business}
        fields = [model.field(name, [line], model.default_audience(name)) for name, line in told.items() if line]
        write_private(file, model.to_file(fields), replace=force, check=lambda _: None)
    except OSError as error:
        return f"\n{file} cannot be written: {error.strerror}"
    except model.ProfileError as error:
        return f"\nThe profile was not begun: {error.message}"
    return import_it


def _of_mail(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """Why mail of the people who were named would not be read."""
    local_mode = local_mail_mode(settings, environ.get(CONTAINER_VARIABLE) == "1")
    return [*mail.provable(settings, local_mode), *mail.outside(settings, local_mode)]


def _target(args: argparse.Namespace, environ: Mapping[str, str], cwd: Path) -> Path:
    named: Path | None = args.file
    return cwd / (named or Path(environ.get(CONFIG_VARIABLE) or FILE_NAME)).expanduser()


def _refuse_to_replace(target: Path, force: bool) -> None:
    if target.exists() and not force:
        raise InitError(f"{target} is there already. Edit it, or say --force to replace it.")


def _flags(args: argparse.Namespace) -> Answers:
    return Answers(
        company=args.company,
        business=args.business,
        time_zone=args.time_zone,
        principal_name=args.principal_name,
        principal_email=args.principal_email,
        telegram_id=args.telegram_id,
        telegram_token=_content(args.telegram_token_file),
        provider=args.provider,
        api_key=_content(args.api_key_file),
        base_url=args.base_url,
        data_dir=args.data_dir,
    )


def _content(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InitError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8'}") from error
    if not text:
        raise InitError(f"{path} is empty.")
    return text


# --- questions ------------------------------------------------------------------------------------------------------


def _questions(given: Answers, ask: Ask) -> Answers:
    ask.say("A few questions. Return keeps what stands in brackets; everything can be changed in the file later.\n")
    company = given.company or _asked(ask, "Company name", "the company")
    name = given.principal_name or _asked(ask, "Your name (you decide about people and approvals)", "Principal")
    address = given.principal_email or _asked(ask, "Your mail address", "principal@localhost", _looks_like_mail)
    token, number = given.telegram_token, given.telegram_id
    if token is None:
        token = ask.secret("Telegram bot token from @BotFather, not shown (Return: no Telegram): ").strip() or None
    if token is not None and number is None:
        text = _asked(ask, "Your numeric Telegram user id (Return: pair later)", "", _looks_like_id)
        number = int(text) if text else None
    provider, key = given.provider, given.api_key
    if provider is None and key is None and given.base_url is None:
        provider = _asked(ask, "Who writes the answers: anthropic or offline", "offline", _is_provider)
    if provider == "anthropic" and key is None and given.base_url is None:
        key = ask.secret("Anthropic key, not shown: ").strip() or None
    if key is not None and given.api_key is None:
        where = _asked(
            ask,
            "Keep the key in the file (only you can read it) or in the environment: file or env",
            "file",
            lambda text: None if text in ("file", "env") else "file or env",
        )
        if where == "env":
            key, provider = None, "auto"
    elif provider == "anthropic" and key is None and given.base_url is None:
        provider = "auto"
    business = given.business or _asked(ask, "What the company does, in a sentence (Return: later)", "") or None
    return Answers(
        company=company,
        business=business,
        time_zone=given.time_zone,
        principal_name=name,
        principal_email=address,
        telegram_id=number,
        telegram_token=token,
        provider=provider,
        api_key=key,
        base_url=given.base_url,
        data_dir=given.data_dir,
    )


def _asked(ask: Ask, question: str, default: str, check: Callable[[str], str | None] = lambda _: None) -> str:
    """Ask until `check` has nothing to say against the answer."""
    shown = f"{question} [{default}]: " if default else f"{question}: "
    while True:
        text = ask.line(shown).strip() or default
        objection = check(text)
        if objection is None:
            return text
        ask.say(f"  {objection}")


def _looks_like_mail(text: str) -> str | None:
    return None if re.fullmatch(r"[^@\s]+@[^@\s]+", text) else "a mail address such as anna@example.org"


def _looks_like_id(text: str) -> str | None:
    return None if not text or re.fullmatch(r"[0-9]{1,18}", text) else "a number; @userinfobot tells it, or pair later"


def _is_provider(text: str) -> str | None:
    return None if text in ("anthropic", "offline") else "anthropic or offline"


# --- writing --------------------------------------------------------------------------------------------------------


def choices(answers: Answers) -> dict[str, object]:
    """The settings that `answers` stand for, by dotted key."""
    name = answers.principal_name or "Principal"
    person = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-") or "principal"
    found: dict[str, object | None] = {
        "data_dir": answers.data_dir,
        "company.name": answers.company,
        "company.time_zone": answers.time_zone,
        f"people.{person}.name": name,
        f"people.{person}.role": "principal",
        f"people.{person}.email": [answers.principal_email or "principal@localhost"],
        f"people.{person}.telegram": [answers.telegram_id] if answers.telegram_id is not None else None,
        "llm.provider": answers.provider,
        "llm.api_key": answers.api_key,
        "llm.base_url": answers.base_url,
        "channels.telegram.enabled": True if answers.telegram_token is not None else None,
        "channels.telegram.token": answers.telegram_token,
    }
    return {key: value for key, value in found.items() if value is not None}


def _check(written: Path, cwd: Path) -> Loaded:
    """The file alone must be a valid one, whatever the environment adds later."""
    nowhere = written.parent / "no-such-folder"
    try:
        return load({}, written, cwd, system_file=nowhere, docker_secrets=nowhere)
    except SettingsError as error:
        raise SettingsError([type(f)("", f.key, f.problem, f.given, f.allowed) for f in error.faults]) from None


def write_private(target: Path, text: str, *, replace: bool, check: Callable[[Path], None]) -> None:
    """Write `text` with mode 0600, whole or not at all. `check` sees the finished file before it takes its name.
    FileExistsError if `target` is there and `replace` is false, even if it came while we wrote."""
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # mode 0600
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        check(temporary)
        if replace:
            temporary.replace(target)
        else:
            os.link(temporary, target)  # unlike a rename it refuses to replace
    finally:
        temporary.unlink(missing_ok=True)
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


_PEOPLE, _MESSAGES, _DAYS = 5, 10, 21


def _estimate(answers: Answers, environ: Mapping[str, str]) -> str:
    """What a month may cost: a small company, a usual message, half of the prompt from the cache, one consult for two
    messages."""
    keyed = answers.api_key or answers.base_url or environ.get("ANTHROPIC_API_KEY")
    if answers.provider == "offline" or not keyed:
        return "Answers are written on this machine by fixed rules: the model costs nothing."
    models, prices, budget = Models(), Llm().known_prices, Budget()
    orchestrator, standard = prices[models.orchestrator], prices[models.standard]
    answer = 6_000 * orchestrator.input + 12_000 * (orchestrator.cache_read or orchestrator.input)
    answer += 600 * orchestrator.output
    consult = 4_000 * standard.input + 1_000 * standard.output
    month = _PEOPLE * _MESSAGES * _DAYS * (answer + consult / 2) / 1_000_000
    return (
        f"What a month costs: about {month:.0f} US dollars for {_PEOPLE} people with {_MESSAGES} messages a day "
        f"each (21 days), by list prices that you must check (llm.prices). At most {budget.company:g} a day are spent, "
        f"{budget.person:g} by one person (budget)."
    )


def _farewell(target: Path, answers: Answers, environ: Mapping[str, str], cwd: Path) -> str:
    command = "openexecutive" if shutil.which("openexecutive", path=environ.get("PATH")) else shlex.quote(sys.argv[0])
    if target != cwd / FILE_NAME and environ.get(CONFIG_VARIABLE) != str(target):
        command = f"{CONFIG_VARIABLE}={shlex.quote(str(target))} {command}"
    lines = [f"Wrote {target} (only you can read it)."]
    if answers.provider == "auto" and answers.api_key is None and not environ.get("ANTHROPIC_API_KEY"):
        lines.append("Set ANTHROPIC_API_KEY in the daemon's environment; without it answers are written offline.")
    lines += ["", _estimate(answers, environ)]
    lines += ["", "Next:", f"  {command} doctor", f"  {command} run"]
    return "\n".join(lines)
