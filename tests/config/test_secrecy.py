"""A secret is planted in every place that holds one, and next to it, and looked for in everything that is printed."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config import keys
from config.document import render_toml
from config.effective import effective, render
from config.faults import SettingsError
from tests.config.conftest import Reader

SECRET = "hunter2-Geheim"  # looks like no known key
SECRETS = [key.dotted for key in keys.secrets()]
OTHERS = [key for table in keys.tables() for key in table.keys if not key.secret and keys.ANY not in key.path]


def test_there_are_secrets_to_look_for() -> None:
    assert set(SECRETS) == {
        "llm.api_key",
        "backup.passphrase",
        "channels.telegram.token",
        "channels.telegram.webhook_secret",
        "channels.email.relay.password",
        "channels.email.imap.password",
        "channels.email.oauth.client_secret",
        "channels.discord.token",
        "channels.slack.bot_token",
        "channels.slack.app_token",
    }


def _everything(read: Reader, text: str, environ: dict[str, str], values: bool = True) -> str:
    """All that can be printed of these settings; without `values`, the faults alone."""
    try:
        loaded = read(text, environ)
    except SettingsError as error:
        return f"{error}\n{error!r}\n{error.faults!r}\n{error.__cause__!r}"
    if not values:
        return ""
    return "\n".join([repr(loaded), str(loaded.settings), loaded.settings.model_dump_json(), render(loaded)])


@pytest.mark.parametrize("key", SECRETS)
@pytest.mark.parametrize("value", [f'"{SECRET}"', f'"{SECRET}\\n{SECRET}"', f'["{SECRET}"]', f'{{ x = "{SECRET}" }}'])
def test_in_its_own_key_right_or_wrong(read: Reader, key: str, value: str) -> None:
    table, _, name = key.rpartition(".")
    assert SECRET not in _everything(read, f"[{table}]\n{name} = {value}\n", {})


@pytest.mark.parametrize("key", SECRETS)
def test_in_a_misspelt_key(read: Reader, key: str) -> None:
    table, _, name = key.rpartition(".")
    assert SECRET not in _everything(read, f'[{table}]\n{name}x = "{SECRET}"\n', {})
    variable = keys.environment_name(key.split("."))
    assert SECRET not in _everything(read, "", {variable + "X": SECRET})


@pytest.mark.parametrize("key", SECRETS)
def test_in_place_of_its_table(read: Reader, key: str) -> None:
    table = key.rpartition(".")[0]
    assert SECRET not in _everything(read, f'{table} = "{SECRET}"\n', {})
    variable = keys.environment_name(table.split("."))
    assert SECRET not in _everything(read, "", {variable: SECRET})
    assert SECRET not in _everything(read, "", {variable: json.dumps({"x": SECRET})})


@pytest.mark.parametrize(
    "text", [f'x = "{SECRET}', f"{SECRET} {SECRET}", f'x = "{SECRET}"\nx = "{SECRET}"', f"[{SECRET}"]
)
def test_in_a_file_that_is_not_toml(read: Reader, text: str) -> None:
    assert SECRET not in _everything(read, text, {})


@pytest.mark.parametrize("content", [b"\xff", b"\n", b"\0"])
def test_in_a_secret_file_that_is_wrong(read: Reader, content: bytes) -> None:
    environ = read.credential("llm.api_key", SECRET.encode() + content + SECRET.encode())
    assert SECRET not in _everything(read, "", environ)


@given(data=st.data())
def test_a_secret_that_is_set_and_pasted_into_another_key_is_not_shown(data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(SECRETS))
    other = data.draw(st.sampled_from(OTHERS))
    secret = data.draw(st.text("abcdefgh0123456789:_-", min_size=8, max_size=40).filter(lambda s: s.strip("-:_") == s))
    wrap = data.draw(st.sampled_from(['"{}"', '["{}"]', '"x{}x"', '"{}\\n"']))
    environ = {keys.environment_name(key.split(".")): secret}
    with tempfile.TemporaryDirectory() as folder:
        read = Reader(Path(folder))
        table, _, name = other.dotted.rpartition(".")
        text = (f"[{table}]\n" if table else "") + f"{name} = {wrap.format(secret)}\n"
        assert secret not in _everything(read, text, environ, values=False)


@pytest.mark.parametrize("pasted", ["sk-ant-api03-abcdefghijkl", "123456789:AAabcdefghijklmnop", "x" * 32])
def test_what_looks_like_a_key_is_not_shown_wherever_it_stands(read: Reader, pasted: str) -> None:
    assert pasted not in _everything(read, f'log_level = "{pasted}"', {})


def test_the_masked_view_says_set_or_not_set_and_from_where(read: Reader) -> None:
    loaded = read('[llm]\napi_key = "k-12345"\n[people.a]\nname = "A"\nrole = "principal"')
    found = {item.key: item for item in effective(loaded)}
    assert found["llm.api_key"].value == "set"
    assert str(found["llm.api_key"].source).endswith("openexecutive.toml")
    assert found["channels.telegram.token"].value == "not set"
    assert found["people.a.name"].value == '"A"'
    assert (found["web.port"].value, str(found["web.port"].source)) == ("8321", "default")
    assert "web.port" not in render(loaded, changed_only=True)
    assert keys.secret_values(loaded.settings) == ("k-12345",)


def test_the_written_file_holds_only_what_was_chosen() -> None:
    assert SECRET in render_toml({"llm.api_key": SECRET})
    assert SECRET not in render_toml({"company.name": "x"})
