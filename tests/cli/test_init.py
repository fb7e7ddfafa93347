from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from bot.cli import init
from bot.company import model
from config.loader import Loaded, load

KEY = "sk-ant-api03-never-to-be-shown"
TOKEN = "123456789:AAnever-to-be-shown-at-all-0000000"


class Scripted:
    """Answers in order; keeps all that was said."""

    def __init__(self, answers: Iterable[str] = ()) -> None:
        self.answers = list(answers)
        self.said: list[str] = []
        self.secretly: list[str] = []

    def line(self, question: str) -> str:
        self.said.append(question)
        if not self.answers:
            raise EOFError
        return self.answers.pop(0)

    def secret(self, question: str) -> str:
        self.secretly.append(question)
        return self.line(question)

    def say(self, text: str) -> None:
        self.said.append(text)

    @property
    def text(self) -> str:
        return "\n".join(self.said)


def arguments(*flags: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    init.add_arguments(parser)
    return parser.parse_args(flags)


def loaded(folder: Path) -> Loaded:
    return load({}, None, folder, system_file=folder / "none", docker_secrets=folder / "none")


def test_flags_alone_write_a_private_file_that_loads(tmp_path: Path) -> None:
    ask = Scripted()
    flags = ("--yes", "--company", "Acme", "--principal-name", "Anna Müller", "--principal-email", "anna@example.org")
    assert init.initialise(arguments(*flags), ask, {}, tmp_path) == 0
    file = tmp_path / "openexecutive.toml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["openexecutive.toml"]
    settings = loaded(tmp_path).settings
    assert settings.company.name == "Acme"
    (person,) = settings.people.values()
    assert (person.name, person.role, person.email) == ("Anna Müller", "principal", ("anna@example.org",))
    assert "doctor\n" in ask.text
    assert ask.text.endswith(" run")


def test_it_says_that_mail_of_a_principal_elsewhere_would_not_be_read(tmp_path: Path) -> None:
    ask = Scripted()
    assert init.initialise(arguments("--yes", "--principal-email", "anna@corp.example"), ask, {}, tmp_path) == 0
    assert "mail from anna@corp.example does not arrive" in ask.text
    (tmp_path / "token").write_text(TOKEN)
    flags = ("--yes", "--force", "--principal-email", "anna@corp.example", "--telegram-token-file")
    ask = Scripted()
    assert init.initialise(arguments(*flags, str(tmp_path / "token")), ask, {}, tmp_path) == 0
    assert "no domain proves who wrote a mail (corp.example): mail from there is refused" in ask.text
    assert "channels.email.per_user_from" in ask.text
    ask = Scripted()
    assert init.initialise(arguments("--yes", "--force"), ask, {}, tmp_path) == 0
    assert "Note:" not in ask.text


def test_yes_alone_keeps_the_embedded_default(tmp_path: Path) -> None:
    assert init.initialise(arguments("--yes"), Scripted(), {}, tmp_path) == 0
    (person,) = loaded(tmp_path).settings.people.values()
    assert person.email == ("principal@localhost",)
    assert loaded(tmp_path).settings.llm.provider == "auto"


def test_questions_are_asked_and_keys_neither_echoed_nor_repeated(tmp_path: Path) -> None:
    ask = Scripted(["Acme", "Anna", "anna@example.org", TOKEN, "5", "anthropic", KEY, "file", ""])
    assert init.initialise(arguments(), ask, {}, tmp_path) == 0
    assert ask.answers == []
    assert len(ask.secretly) == 2
    assert KEY not in ask.text
    assert TOKEN not in ask.text
    settings = loaded(tmp_path).settings
    assert settings.llm.api_key is not None
    assert settings.llm.api_key.get_secret_value() == KEY
    assert settings.channels.telegram.enabled
    assert settings.people["anna"].telegram == (5,)


def test_a_key_for_the_environment_is_not_written(tmp_path: Path) -> None:
    ask = Scripted(["", "", "", "", "anthropic", KEY, "env", ""])
    assert init.initialise(arguments(), ask, {}, tmp_path) == 0
    assert KEY not in (tmp_path / "openexecutive.toml").read_text()
    assert "ANTHROPIC_API_KEY" in ask.text
    assert loaded(tmp_path).settings.llm.provider == "auto"


def test_return_at_every_question_gives_the_embedded_default(tmp_path: Path) -> None:
    ask = Scripted([""] * 6)
    assert init.initialise(arguments(), ask, {}, tmp_path) == 0
    settings = loaded(tmp_path).settings
    assert settings.llm.provider == "offline"
    assert not settings.channels.telegram.enabled


def test_an_answer_that_is_none_is_asked_again(tmp_path: Path) -> None:
    ask = Scripted(["", "", "not a mail", "anna@example.org", "", "openai", "offline", ""])
    assert init.initialise(arguments(), ask, {}, tmp_path) == 0
    assert ask.answers == []
    assert loaded(tmp_path).settings.roster["principal"].email == ("anna@example.org",)


def test_a_file_that_is_there_is_kept_unless_forced(tmp_path: Path) -> None:
    file = tmp_path / "openexecutive.toml"
    file.write_text("# mine")
    ask = Scripted()
    assert init.initialise(arguments("--yes"), ask, {}, tmp_path) == 1
    assert file.read_text() == "# mine"
    assert "--force" in ask.text
    file.chmod(0o644)
    assert init.initialise(arguments("--yes", "--force"), Scripted(), {}, tmp_path) == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "# mine" not in file.read_text()


def test_a_file_that_comes_while_we_write_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "x.toml"

    def somebody_else_writes(_: Path) -> None:
        target.write_text("theirs")

    with pytest.raises(FileExistsError):
        init.write_private(target, "ours", replace=False, check=somebody_else_writes)
    assert target.read_text() == "theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["x.toml"]


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (("--principal-email", "anna"), "not a mail address"),
        (("--time-zone", "Berlin"), "time zone"),
        (("--provider", "anthropic"), "missing"),
        (("--base-url", "localhost"), "llm.base_url"),
        (("--telegram-id", "-5"), "people.principal.telegram"),
        (("--principal-email", "executive@localhost"), "own address"),
    ],
)
def test_what_is_not_allowed_writes_nothing(tmp_path: Path, flags: tuple[str, ...], word: str) -> None:
    ask = Scripted()
    assert init.initialise(arguments("--yes", *flags), ask, {}, tmp_path) == 2
    assert word in ask.text
    assert list(tmp_path.iterdir()) == []


def test_secrets_come_from_files(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY + "\n")
    (tmp_path / "token").write_text(TOKEN + "\n")
    flags = ("--yes", "--api-key-file", str(tmp_path / "key"), "--telegram-token-file", str(tmp_path / "token"))
    ask = Scripted()
    assert init.initialise(arguments(*flags), ask, {}, tmp_path) == 0
    settings = loaded(tmp_path).settings
    assert settings.channels.telegram.token is not None
    assert settings.channels.telegram.token.get_secret_value() == TOKEN
    assert KEY not in ask.text


@pytest.mark.parametrize("content", [None, b"", b"\xff"])
def test_a_secret_file_that_holds_none(tmp_path: Path, content: bytes | None) -> None:
    key = tmp_path / "key"
    if content is not None:
        key.write_bytes(content)
    ask = Scripted()
    assert init.initialise(arguments("--yes", "--api-key-file", str(key)), ask, {}, tmp_path) == 1
    assert str(key) in ask.text
    assert not (tmp_path / "openexecutive.toml").exists()


def test_nobody_there_to_answer(tmp_path: Path) -> None:
    ask = Scripted()
    assert init.initialise(arguments(), ask, {}, tmp_path) == 2
    assert "--yes" in ask.text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "person"), [("Anna Müller", "anna-m-ller"), ("李雷", "principal"), ("x" * 80, "x" * 40)]
)
def test_every_name_makes_an_id(tmp_path: Path, name: str, person: str) -> None:
    assert init.initialise(arguments("--yes", "--principal-name", name), Scripted(), {}, tmp_path) == 0
    assert list(loaded(tmp_path).settings.people) == [person]


def test_another_place_is_named_in_the_next_commands(tmp_path: Path) -> None:
    ask = Scripted()
    target = tmp_path / "etc" / "executive settings.toml"
    assert init.initialise(arguments("--yes", "--file", str(target)), ask, {}, tmp_path) == 0
    assert target.exists()
    assert f"OPENEXECUTIVE_CONFIG='{target}' " in ask.text
    environ = {"OPENEXECUTIVE_CONFIG": str(target)}
    assert init.initialise(arguments("--yes", "--force"), ask, environ, tmp_path) == 0
    assert not (tmp_path / "openexecutive.toml").exists()


def test_the_data_folder_can_be_named(tmp_path: Path) -> None:
    assert init.initialise(arguments("--yes", "--data-dir", "/srv/x"), Scripted(), {}, tmp_path) == 0
    assert loaded(tmp_path).settings.data_dir == Path("/srv/x")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ask = Scripted()
    assert init.initialise(arguments("--yes", "--file", str(tmp_path / "file" / "x.toml")), ask, {}, tmp_path) == 1
    assert "cannot be written" in ask.text


def test_run_in_a_terminal_less_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENEXECUTIVE_CONFIG", raising=False)
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert init.run(arguments()) == 2
    assert "--yes" in capsys.readouterr().out
    assert init.run(arguments("--yes")) == 0


def test_a_month_is_estimated_where_a_provider_is_paid(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("sk-x", encoding="utf-8")
    paid, free = Scripted(), Scripted()
    assert init.initialise(arguments("--yes", "--api-key-file", str(key)), paid, {}, tmp_path) == 0
    assert init.initialise(arguments("--yes", "--force"), free, {}, tmp_path) == 0
    assert "US dollars for 5 people" in paid.text
    assert "At most 20 a day are spent, 3 by one person" in paid.text
    assert "the model costs nothing" in free.text


def test_what_the_company_does_begins_its_profile_beside_the_settings(tmp_path: Path) -> None:
    flags = ("--yes", "--company", "Acme", "--business", "Bicycle parts for\ncities")
    ask = Scripted()
    assert init.initialise(arguments(*flags), ask, {}, tmp_path) == 0
    fields = {each.name: each.lines for each in model.from_file((tmp_path / "company.toml").read_text())}
    assert fields == {"name": ("Acme",), "business": ("Bicycle parts for", "cities")}
    assert "openexecutive company import company.toml" in ask.text


def test_a_profile_that_is_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / "company.toml").write_text("# mine")
    ask = Scripted()
    assert init.initialise(arguments("--yes", "--business", "Bicycles"), ask, {}, tmp_path) == 0
    assert (tmp_path / "company.toml").read_text() == "# mine"
    assert "stays as it is" in ask.text
