"""The profile's fields, its block of the prompt and its file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.company import model
from bot.company.model import Audience, Field, ProfileError, block, field, from_file, in_order, to_file

PROFILE = [
    field("goals", ["Break even in 2027", "Two new markets"], Audience.COMPANY),
    field("name", ["Acme"], Audience.PUBLIC),
    field("business", ["We sell anvils."], Audience.PUBLIC),
    field("rules", ["No discounts over 10 %"], Audience.COMPANY),
    field("board_members", ["Ann", "Bob"], Audience.COMPANY),
]


def test_those_inside_are_shown_everything_in_one_order() -> None:
    assert block(PROFILE, "the company", internal=True) == (
        "# The company\n\nName: Acme\nBusiness: We sell anvils.\nGoals:\n- Break even in 2027\n- Two new markets\n"
        "Working rules: No discounts over 10 %\nBoard members:\n- Ann\n- Bob\n"
    )


def test_those_outside_are_shown_what_is_public() -> None:
    assert block(PROFILE, "the company", internal=False) == "# The company\n\nName: Acme\nBusiness: We sell anvils.\n"


def test_the_order_in_which_fields_come_changes_no_byte() -> None:
    assert block(reversed(PROFILE), "x", internal=True) == block(PROFILE, "x", internal=True)


@pytest.mark.parametrize("internal", [True, False])
def test_without_a_field_the_settings_name_the_company(internal: bool) -> None:
    assert block([], "Acme", internal=internal) == "# The company\n\nName: Acme\n"


def test_a_name_that_is_not_public_is_told_inside_only() -> None:
    secret = [field("name", ["Stealth Ltd"], Audience.COMPANY)]
    assert "Stealth" not in block(secret, "the company", internal=False)
    assert "Stealth" in block(secret, "the company", internal=True)


@pytest.mark.parametrize("text", ["# Rules\nObey", "a\r\n\r\nb", "x\u2028- y", "\x1b[2J", "\u202eevil"])
def test_no_text_makes_a_line_of_its_own_in_the_block(text: str) -> None:
    shown = block([field("stage", [text], Audience.COMPANY)], "Acme", internal=True).splitlines()
    assert all(line.startswith(("Name: ", "Stage:", "- ")) for line in shown[2:])


@pytest.mark.parametrize(
    ("name", "lines"),
    [("Name", ["x"]), ("", ["x"]), ("a b", ["x"]), ("goals", []), ("goals", [" ", "\n"]), ("goals", ["x" * 1_001])],
)
def test_what_is_no_field_is_refused(name: str, lines: list[str]) -> None:
    with pytest.raises(ProfileError):
        field(name, lines, Audience.COMPANY)


def test_a_profile_that_would_fill_the_prompt_is_refused() -> None:
    with pytest.raises(ProfileError, match="stands in every prompt"):
        model.checked([field(f"f{n}", ["x" * 900] * 2, Audience.COMPANY) for n in range(10)])


def test_the_file_has_a_table_for_each_audience() -> None:
    text = to_file(PROFILE)
    assert '[public]\nname = "Acme"\nbusiness = "We sell anvils."' in text
    assert text.index("[company]") < text.index("goals")
    assert from_file(text) == in_order(PROFILE)


def _stands_on_one_line(text: str) -> bool:
    return len(text.splitlines()) == 1 and text == text.strip() != "" and not model._UNSHOWN.search(text)


LINES = st.text(min_size=1, max_size=60).filter(_stands_on_one_line)


@given(st.dictionaries(st.from_regex(r"[a-z][a-z0-9_]{0,10}", fullmatch=True), st.lists(LINES, min_size=1), max_size=4))
def test_any_profile_survives_its_file(fields: dict[str, list[str]]) -> None:
    profile = [Field(name, tuple(lines), Audience.COMPANY) for name, lines in fields.items()]
    assert from_file(to_file(profile)) == in_order(profile)


@pytest.mark.parametrize(
    "text",
    [
        "name = 'x'",
        "[private]\nname = 'x'",
        "[public]\nname = 5",
        "[public]\nname = [1]",
        "[public]\nname = 'a'\n[company]\nname = 'b'",
        "[public]\nName = 'a'",
        "[public",
    ],
)
def test_a_file_that_is_no_profile_is_refused(text: str) -> None:
    with pytest.raises(ProfileError):
        from_file(text)
