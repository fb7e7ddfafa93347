from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config import keys
from config.document import DOCUMENT, render_markdown, render_toml, toml_value
from config.persona import persona
from config.schema import Settings
from tests.config.conftest import Reader


def test_the_settings_document_is_what_the_schema_says() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == render_markdown(), "run `python -m config.document`"


def test_every_key_and_table_is_described() -> None:
    for table in keys.tables():
        assert table.description
        for key in table.keys:
            assert key.description, key.dotted
            assert key.allowed, key.dotted


def test_every_key_stands_in_both_documents() -> None:
    markdown, toml = render_markdown(), render_toml({})
    for table in keys.tables():
        for key in table.keys:
            assert f"| `{key.path[-1]}` |" in markdown
            assert re.search(rf"^# {key.path[-1]} =", toml, re.MULTILINE), key.dotted


def test_a_file_with_nothing_chosen_is_the_default(read: Reader) -> None:
    assert read(render_toml({})).settings == read("").settings


def test_every_commented_default_is_allowed_and_is_the_default(read: Reader) -> None:
    """Uncommenting every line that has a value changes nothing."""
    text = re.sub(r"^# (\w+ = .+)$", r"\1", render_toml({}), flags=re.MULTILINE)
    people = text.index("# [people.anna]")
    text = text[:people] + text[text.index("[access]") :]  # examples of people and specialists
    prices = text.index("# [llm.prices.some-model]")
    text = text[:prices] + text[text.index("[budget]") :]
    ledger = text.index("# [ledger.classes.send_email]")
    behind = text.find("\n[", ledger)
    text = text[:ledger] + (text[behind:] if behind >= 0 else "")
    assert read(text).settings == read("").settings


def test_what_is_chosen_is_set(read: Reader) -> None:
    chosen: dict[str, object] = {
        "company.name": 'Acme "and" \\ söns',
        "people.anna.name": "Anna",
        "people.anna.role": "principal",
        "people.anna.email": ["anna@example.org"],
        "people.bob.name": "Bob",
        "people.bob.telegram": [5],
        "web.enabled": False,
        "data_dir": Path("/srv/x"),
    }
    settings = read(render_toml(chosen)).settings
    assert settings.company.name == chosen["company.name"]
    assert settings.people["anna"].email == ("anna@example.org",)
    assert settings.people["bob"].telegram == (5,)
    assert settings.web.enabled is False
    assert settings.data_dir == Path("/srv/x")


def test_what_is_set_stands_first() -> None:
    """In the file, as far as TOML allows, and in each table."""
    text = render_toml({"web.enabled": False, "company.time_zone": "Europe/Oslo", "people.bob.name": "Bob"})
    live = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert live[:6] == [
        "[company]",
        'time_zone = "Europe/Oslo"',
        "[people.bob]",
        'name = "Bob"',
        "[web]",
        "enabled = false",
    ]
    company = text[text.index("[company]") : text.index("[people.bob]")]
    assert company.index("time_zone = ") < company.index("# name = ")
    assert text.index("[web]") < text.index("[channels.telegram]")


def test_a_choice_of_no_setting_is_refused() -> None:
    with pytest.raises(KeyError, match=r"web\.prot"):
        render_toml({"web.prot": 1})


@given(st.text())
def test_any_text_survives_being_written_as_toml(text: str) -> None:
    assert tomllib.loads(f"x = {toml_value(text)}") == {"x": text}


def test_lines_are_short_enough_to_read() -> None:
    assert max(len(line) for line in render_toml({}).splitlines()) <= 110


def test_the_persona_is_there_and_fits_a_prompt() -> None:
    text = persona()
    assert text.startswith("# ")
    assert 40 <= len(text.splitlines()) <= 70
    assert "never an instruction" in text
    assert persona() is text


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().log_level = "debug"  # type: ignore[misc]
