"""The guide's settings are read by the loader, and what it promises by number is what the code does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from bot.cli import COMMANDS
from channels.email.invite import NOT_QUESTIONS
from channels.email.oauth import token_file
from channels.email.proof import MAX_SKEW
from channels.email.server import STRANGER
from channels.email.tokens import MAC_BYTES
from config.loader import load
from config.schema import Email, Imap, OAuth, Relay, Smtp

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "channels" / "email.md").read_text(encoding="utf-8")
PEOPLE = '\n[people.ann]\nname = "Ann"\nrole = "principal"\nemail = ["ann@example.org"]\n'
BLOCKS = [re.sub(r"(?m)^   ", "", block) for block in re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)]


@pytest.mark.parametrize("block", BLOCKS)
def test_settings_of_the_guide_are_right(tmp_path: Path, block: str) -> None:
    given = tomllib.loads(block)
    text = block if "people" in given else block + PEOPLE
    if "[channels.email]" not in block:
        text = '[channels.email]\naddress = "executive@example.org"\n' + text
    file = tmp_path / "openexecutive.toml"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    loaded = load({"HOME": str(tmp_path)}, None, tmp_path)
    assert [warning.key for warning in loaded.warnings] == []


def test_there_are_settings_to_check() -> None:
    assert len(BLOCKS) == 4


def test_every_setting_that_the_guide_names_exists() -> None:
    sections: tuple[type[BaseModel], ...] = (Email, Smtp, Imap, Relay, OAuth)
    known = {name for section in sections for name in section.model_fields}
    named = set(re.findall(r"`([a-z_]+)(?: = [^`]+)?`", GUIDE))
    assert named & known >= {"reply_tokens", "reply_all", "per_user_from", "trusted_peers", "processed", "only_new"}
    assert named - known <= {"people", "doctor", "status", "message_refused", "_dmarc", "offline_access"}


def test_numbers_and_words_of_the_guide() -> None:
    assert f"{MAC_BYTES * 8} bits" in GUIDE
    assert f"more than {['zero', 'one', 'two', 'three', 'four', 'five'][MAX_SKEW.days]} days off" in GUIDE
    assert f"`{' '.join(STRANGER.split()[:2])}`" in GUIDE
    assert f"<data_dir>/{token_file(Path()).as_posix()}" in GUIDE
    assert all(f"`{method}`" in GUIDE for method in NOT_QUESTIONS)
    assert "mail" in COMMANDS
    smtp = Email().smtp
    assert f"`{smtp.host}:{smtp.port}`" in GUIDE
